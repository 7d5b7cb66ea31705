// Rung 2. One word of 64 bits for a pair: a rank of 32 bits, less the sooner the item is answered, over the index.
// Against 01_warp_shuffle: the lesser word is the better pair, so a level takes two shuffles and one comparison. One
// atomicMin a block replaces the pairs in memory. Items have 32 bits, and there are fewer than 2^32 of them. An integer
// is its own rank, with the sign bit turned; of a float the other bits are turned, too, where it is negative.
#pragma once

#include <climits>

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/pairs.cuh"
#include "rungs/parts/placed.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::extrema {

using word = unsigned long long;

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads)
    packed_word_kernel(const T* d_in, std::size_t num_items, word* best_of_all, ReductionOpT) {
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  constexpr bool least = std::is_same_v<ReductionOpT, minimum>;
  word best = ULLONG_MAX;
  for (std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x; i < num_items; i += num_threads)
    best = minimum{}(best, static_cast<word>(parts::rank_of<least>(d_in[i])) << 32 | i);
  best = parts::block_reduce<block_threads>(best, minimum{});
  if (threadIdx.x == 0) atomicMin(best_of_all, best);
}

// No item has the word of nothing, whose index is beyond the last one.
template <class T, class ReductionOpT>
__global__ void unpack_kernel(const T* d_in, const word* best_of_all, T* d_item, long long* d_index, ReductionOpT) {
  const word best = *best_of_all;
  const long long index = static_cast<long long>(best & UINT_MAX);
  parts::write_place(best == ULLONG_MAX ? parts::no_item<ReductionOpT, T>() : parts::placed<T>{d_in[index], index},
                     d_item, d_index);
}

struct packed_word {
  static constexpr auto idea = "rank and index in a word of 64 bits, one atomicMin a block";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr int blocks_per_multiprocessor = 8;
  static constexpr bool deterministic = true;
  static constexpr std::size_t max_items = UINT_MAX;

  template <class T, class ReductionOpT>
  static cudaError_t arg_extremum(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_item,
                                  long long* d_index, std::size_t num_items, ReductionOpT reduction_op,
                                  cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    word* best;
    cudaError_t error = parts::plan_blocks(num_items, block_threads, blocks_per_multiprocessor, grid_blocks);
    if (error != cudaSuccess) return error;
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, 1, best, error)) return error;
    error = parts::initialise(best, word{ULLONG_MAX}, stream);
    if (error != cudaSuccess) return error;
    error = parts::launch(packed_word_kernel<block_threads, T, ReductionOpT>, grid_blocks, block_threads, stream, d_in,
                          num_items, best, reduction_op);
    if (error != cudaSuccess) return error;
    return parts::launch(unpack_kernel<T, ReductionOpT>, 1, 1, stream, d_in, static_cast<const word*>(best), d_item,
                         d_index, reduction_op);
  }
};

}  // namespace rungs::RUNGS_ABI::extrema
