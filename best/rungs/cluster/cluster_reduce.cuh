// rungs::ClusterReduce: BlockReduce over the blocks of a cluster. CUB has no such thing.
//
//   __global__ void __cluster_dims__(8) kernel(…) {
//     __shared__ rungs::ClusterReduce<float, 256>::TempStorage temp_storage;
//     float sum = rungs::ClusterReduce<float, 256>(temp_storage).AllSum(x);   // in every thread of the eight blocks
//
// T                any type that BlockReduce takes.
// BlockDimX, Y, Z  the dimensions of each block, 1 to 1024 threads. The cluster may have 1 to 16 blocks, in any
//                  dimensions; how many there are is found at run time. The first thread is thread 0 of the block of
//                  rank 0; then come its other threads, then the block of rank 1.
// TempStorage      shared memory, 16 T and one T a warp, a __shared__ variable of the kernel: it has to have the same
//                  address in all blocks. Without one the collective brings its own, one for each type.
//
// Sum, Reduce, AllSum and AllReduce are in warp/parts/reduce_calls.cuh. All threads of all blocks make a call, none has
// exited. Inside it they meet twice at the cluster's barrier, so what was written before the call is seen by the
// cluster behind it; no thread may have arrived there without having waited. A second call may follow at once. Behind a
// call no block touches a peer's memory: blocks may exit, or use the storage for something else after __syncthreads().
//
// Blocks reduce as BlockReduce does, then one block's aggregate after the other is added, in their order: up to fifteen
// operations deeper. The same operators, accuracy and repeatability.
//
// Compiles for every architecture, for kernels that have another way; below sm_90 the call traps. Launched without a
// cluster, each block is one of its own.
//
// The idea: rungs/cluster/reductions/00_remote_stores, with the cluster's barrier in place of one that counts bytes, so
// that nothing has to be set up and calls can be repeated.
#pragma once

#include "rungs/block/block_reduce.cuh"
#include "rungs/cluster/parts/exchange.cuh"

namespace rungs::RUNGS_ABI {

template <class T, int BlockDimX, int BlockDimY = 1, int BlockDimZ = 1>
class ClusterReduce : public device::reduce_calls<ClusterReduce<T, BlockDimX, BlockDimY, BlockDimZ>, T> {
  friend device::reduce_calls<ClusterReduce, T>;
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;
  using block_reduce = BlockReduce<T, BlockDimX, BLOCK_REDUCE_WARP_REDUCTIONS, BlockDimY, BlockDimZ>;

 public:
  struct TempStorage {
    typename block_reduce::TempStorage block;
    device::exchange<T> cluster;
  };

  __device__ ClusterReduce() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit ClusterReduce(TempStorage& temp_storage) : storage_(temp_storage) {}

 private:
  template <bool to_all, bool whole, class Op>
  __device__ T reduce(T value, Op op, int num_valid) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    const int rank = static_cast<int>(cluster::parts::block_rank());
    int num_blocks = static_cast<int>(cluster::parts::num_blocks());
    storage_.cluster.open();
    block_reduce block(storage_.block);
    if constexpr (whole) {
      value = block.AllReduce(value, op);
    } else {
      // What a block without valid items tells is not taken.
      const int left = num_valid - rank * place::num_threads;
      value = block.AllReduce(value, op, left > 0 ? left : 1);
      const int num_filled = (num_valid - 1) / place::num_threads + 1;
      num_blocks = num_filled < num_blocks ? num_filled : num_blocks;
    }
    storage_.cluster.template tell<to_all>(value, place::thread(), place::num_threads);
    if (!to_all && rank > 0) return value;
    T aggregate = storage_.cluster.of_blocks[0];
#pragma unroll
    for (int i = 1; i < device::most_cluster_blocks; ++i)
      if (i < num_blocks) aggregate = static_cast<T>(op(aggregate, static_cast<T>(storage_.cluster.of_blocks[i])));
    return aggregate;
#else
    __trap();
    return value;
#endif
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
