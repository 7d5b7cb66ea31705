// Rung 3. The lanes of a warp that go to one address join first, and one of them sends what they come to.
// Against 00_global: at most one atomic for each address that a warp has. On few addresses up to 32 become one; on
// many, finding that no two lanes agree is pure cost.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic_update.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::atomics {

// What the values of the lanes in `peers` come to. All of these lanes call it, with the same peers.
template <class Op, class T>
__device__ T of_all_peers(unsigned peers, T value, Op) {
  if constexpr (std::is_same_v<Op, increment>) {
    return static_cast<T>(__popc(peers));
  } else {
    T total = __shfl_sync(peers, value, __ffs(peers) - 1);
    for (unsigned left = peers & (peers - 1); left != 0; left &= left - 1)
      total = parts::together<Op>{}(total, __shfl_sync(peers, value, __ffs(left) - 1));
    return total;
  }
}

template <class Op, class T>
__global__ void warp_aggregated_kernel(T* d_values, parts::updates work, Op op) {
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * blockDim.x;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  for (std::size_t first = thread - lane; first < work.num_operations; first += num_threads) {
    const std::size_t i = first + lane;
    const unsigned bits = work.bits_of(i);
    const unsigned address = i < work.num_operations ? work.address_of(bits) : work.num_addresses;
    const unsigned peers = __match_any_sync(parts::full_mask, address);
    const T total = of_all_peers(peers, work.value_of<Op, T>(i, bits), op);
    const bool is_first = (peers & ((1u << lane) - 1)) == 0;
    if (is_first && i < work.num_operations) parts::native_update(d_values + address, total, op);
  }
}

struct warp_aggregated : parts::update_calls<warp_aggregated> {
  static constexpr auto idea = "lanes of a warp on one address join first, and one of them sends an atomic";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;
  template <class Op, class T>
  static constexpr bool takes = parts::has_native<Op, T>;

  template <class Op, class T>
  static cudaError_t send(T* d_values, const parts::updates& work, Op op, std::size_t grid_blocks,
                          cudaStream_t stream) {
    return parts::launch(warp_aggregated_kernel<Op, T>, grid_blocks, block_threads, stream, d_values, work, op);
  }
};

}  // namespace rungs::RUNGS_ABI::atomics
