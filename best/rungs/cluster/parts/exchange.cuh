// One value of each block of a cluster, told to its peers. Device code for sm_90 and later; callers guard with
// __CUDA_ARCH__.
#pragma once

#include "rungs/cluster/parts/peers.cuh"
#include "rungs/warp/parts/lanes.cuh"

namespace rungs::RUNGS_ABI::device {

inline constexpr int most_cluster_blocks = 16;

// Values are pushed: each block's are in its own memory when it reads them, so nobody has to stay for a peer that
// reads. A cluster's barrier stands before the stores, because a peer may not have started, or still read what the last
// exchange brought; and one behind them. The first one is waited for while the block makes its value.
template <class T>
struct exchange {
  carried<T> of_blocks[most_cluster_blocks];

  // All threads of the cluster, first this …
  __device__ void open() { cluster::parts::arrive(); }
  // … then that; `value` is the same in all threads of a block. Told to all blocks, or to the first alone.
  template <bool to_all>
  __device__ void tell(const T& value, unsigned thread, unsigned block_threads) {
    const unsigned rank = cluster::parts::block_rank();
    const unsigned num_told = to_all ? cluster::parts::num_blocks() : 1;
    cluster::parts::wait();
#pragma unroll 1
    for (unsigned peer = thread; peer < num_told; peer += block_threads) {
      carried<T>* const mine = of_blocks + rank;
      *(peer == rank ? mine : cluster::parts::of_rank(mine, peer)) = carried<T>(value);
    }
    __syncwarp();  // the barrier is for whole warps, and the loop may have parted this one
    cluster::parts::meet();
  }
};

}  // namespace rungs::RUNGS_ABI::device
