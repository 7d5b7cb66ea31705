// Rung 1. Weights are added up in bins, 32 for each power of two. A scan of the bins tells in which one the cut is.
// Against 00_scan_then_cut: only the tokens of that bin are sorted, and those of the bin that the draw falls into. The
// row is read six times, and little is moved. Where most logits are equal, their bin has most of the row, and that is
// sorted for the cut and again for the draw.
#pragma once

#include "rungs/sampling/00_scan_then_cut.cuh"

namespace rungs::RUNGS_ABI::sampling {

inline constexpr int bin_bits = 5, num_bins = 32 << bin_bits;

// By the exponent of a weight that is not 0 and the next five bits, the greatest weights first.
__device__ inline unsigned bin_of(unsigned weight) {
  const unsigned upper_bits = __float_as_uint(__uint2float_rz(weight)) >> (23 - bin_bits);
  return num_bins - 1 - (upper_bits - (127 << bin_bits));
}

struct search_result {
  unsigned column;
  weight_sum sum;
};

// All threads: the first token at which the sum of weights reaches `target`, and that sum. sums_of_bins is scanned.
template <int block_threads, class T>
__device__ search_result search(const parts::top_p_rows<T>& row, float greatest, const weight_sum* sums_of_bins,
                                weight_sum target) {
  __shared__ unsigned num_tokens;
  token* const tokens = row.first_scratch();
  weight_sum* const sums = row.second_scratch();
  const unsigned bin = first_to_reach(sums_of_bins, num_bins, target);
  const weight_sum before = bin > 0 ? sums_of_bins[bin - 1] : 0;
  // As in the sort: count, scan, write. So the tokens stay in the order of their columns.
  const parts::own_part<block_threads> part(row.num_columns);
  const auto is_inside = [&](unsigned column) {
    const unsigned weight = parts::weight_of(row.at(column), greatest);
    return weight > 0 && bin_of(weight) == bin;
  };
  unsigned count = 0;
  for (unsigned column = part.begin; column < part.end; ++column) count += is_inside(column);
  unsigned place = parts::sum_before<block_threads>(count);
  for (unsigned column = part.begin; column < part.end; ++column)
    if (is_inside(column)) tokens[place++] = parts::token_of(row.at(column), column);
  if (threadIdx.x == block_threads - 1) num_tokens = place;
  __syncthreads();
  parts::sort_and_scan<block_threads>(row, greatest, tokens, sums, num_tokens);
  const unsigned found = first_to_reach(sums, num_tokens, target - before);
  return {parts::column_of(tokens[found]), before + sums[found]};
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) cut_by_bins_kernel(parts::top_p_rows<T> rows) {
  __shared__ weight_sum sums[num_bins];
  const auto row = rows.from(blockIdx.x);
  const float greatest = row.template greatest<block_threads>();
  for (int bin = threadIdx.x; bin < num_bins; bin += block_threads) sums[bin] = 0;
  __syncthreads();
  for (unsigned column = threadIdx.x; column < row.num_columns; column += block_threads)
    if (const weight_sum weight = parts::weight_of(row.at(column), greatest); weight > 0)
      atomicAdd(&sums[bin_of(static_cast<unsigned>(weight))], weight);
  __syncthreads();
  parts::scan_sums<block_threads>(sums, num_bins);
  const weight_sum all = sums[num_bins - 1];
  if (threadIdx.x == 0) *row.tokens = -1;
  if (all == 0) return;
  const weight_sum kept = search<block_threads>(row, greatest, sums, row.sum_to_keep(all)).sum;
  const unsigned drawn = search<block_threads>(row, greatest, sums, row.sum_to_draw(kept)).column;
  if (threadIdx.x == 0) *row.tokens = static_cast<int>(drawn);
}

struct cut_by_bins : parts::top_p_calls<cut_by_bins> {
  static constexpr auto idea = "a block adds weights up in bins, and sorts the bin of the cut and that of the draw";
  static constexpr int block_threads = 512, items_per_thread = 1;

  template <class T>
  static cudaError_t enqueue(const parts::top_p_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(cut_by_bins_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::sampling
