// Rung 0. A block a row finds the greatest candidate that is less than the last one it found, k times.
// A round is a reduction by warp shuffles, as in extrema/02_packed_word. It reads the whole row, so the time grows with
// k; only rows that stay in the caches between two rounds are read from DRAM once.
#pragma once

#include "rungs/parts/block.cuh"
#include "rungs/parts/top_k_calls.cuh"

namespace rungs::RUNGS_ABI::top_k {

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) rounds_of_arg_max_kernel(parts::top_k_rows<T> rows) {
  __shared__ parts::candidate found;
  const auto row = rows.from(blockIdx.x);
  parts::candidate last = ~parts::candidate{0};
  for (unsigned place = 0; place < row.k; ++place) {
    parts::candidate best = 0;
    row.template for_each<block_threads>(0, row.num_columns, [&](parts::candidate each) {
      if (each < last) best = maximum{}(best, each);
    });
    best = parts::block_reduce<block_threads>(best, maximum{});
    if (threadIdx.x == 0) {
      row.write(place, best);
      found = best;
    }
    __syncthreads();
    last = found;
  }
}

struct rounds_of_arg_max : parts::top_k_calls<rounds_of_arg_max> {
  static constexpr auto idea = "a block a row, the greatest of what is left in each of k rounds";
  static constexpr int block_threads = 512, items_per_thread = 8;
  // Beyond, one block reads a row for milliseconds in each round.
  static constexpr std::size_t max_k = 1024, max_columns = std::size_t{1} << 22;

  template <class T>
  static cudaError_t enqueue(const parts::top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(rounds_of_arg_max_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
