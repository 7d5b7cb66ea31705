// Rung 0. Top-p as textbooks have it, a block a row: softmax, sort, prefix sum, cut, draw.
// The sort is all that costs: it moves a row of 64-bit words eight times, and most of these tokens are then cut away.
// A thread's part of the row lies together, so a warp's loads are far apart. The words of a row are read from the
// second cache, or from DRAM where there are many rows. Softmax's division is left out: the cut is at a share of the
// sum of weights instead.
// Source: Holtzman et al. 2020.
#pragma once

#include "rungs/parts/parts_of_threads.cuh"
#include "rungs/parts/sorted_tokens.cuh"
#include "rungs/parts/top_p_calls.cuh"

namespace rungs::RUNGS_ABI::sampling {

using parts::first_to_reach, parts::token, parts::weight_sum;

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) scan_then_cut_kernel(parts::top_p_rows<T> rows) {
  const auto row = rows.from(blockIdx.x);
  const unsigned n = row.num_columns;
  token* const tokens = row.first_scratch();
  weight_sum* const sums = row.second_scratch();
  const float greatest = row.template greatest<block_threads>();
  for (unsigned i = threadIdx.x; i < n; i += block_threads) tokens[i] = parts::token_of(row.at(i), i);
  __syncthreads();
  parts::sort_and_scan<block_threads>(row, greatest, tokens, sums, n);
  if (threadIdx.x != 0) return;
  *row.tokens = -1;
  if (sums[n - 1] == 0) return;
  const unsigned last = first_to_reach(sums, n, row.sum_to_keep(sums[n - 1]));
  const unsigned drawn = first_to_reach(sums, last + 1, row.sum_to_draw(sums[last]));
  *row.tokens = static_cast<int>(parts::column_of(tokens[drawn]));
}

struct scan_then_cut : parts::top_p_calls<scan_then_cut> {
  static constexpr auto idea = "a block sorts a row, scans its weights, cuts where they reach p, and draws";
  static constexpr int block_threads = 512, items_per_thread = 1;

  template <class T>
  static cudaError_t enqueue(const parts::top_p_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(scan_then_cut_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::sampling
