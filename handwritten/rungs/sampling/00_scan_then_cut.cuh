// Rung 0. Top-p as textbooks have it, a block a row: softmax, sort, prefix sum, cut, draw.
// The sort is all that costs: it moves a row of 64-bit words eight times, and most of these tokens are then cut away.
// A thread's part of the row lies together, so a warp's loads are far apart. The words of a row are read from the
// second cache, or from DRAM where there are many rows. Softmax's division is left out: the cut is at a share of the
// sum of weights instead.
// Source: Holtzman et al. 2020; a radix sort by counts and scans, Satish, Harris, Garland 2009.
#pragma once

#include "rungs/parts/parts_of_threads.cuh"
#include "rungs/parts/top_p_calls.cuh"

namespace rungs::RUNGS_ABI::sampling {

using parts::first_to_reach, parts::own_part, parts::sum_before, parts::token, parts::weight_sum;

// All threads: sorts n tokens by falling logit, by four bits of the rank at a time, the last ones first. A thread
// counts the digits of its part, a scan makes places of all counts, and each token goes to its place. Equal digits stay
// in order, so equal logits stay in the order of their columns. After eight turns the result is where it began.
template <int block_threads>
__device__ void sort_tokens(token* from, token* to, unsigned n) {
  constexpr int digit_bits = 4, num_digits = 1 << digit_bits;
  __shared__ unsigned places[num_digits * block_threads];  // by digit, then by thread
  const own_part<block_threads> part(n);
  for (int shift = 32; shift < 64; shift += digit_bits) {
    const auto place_of = [&](token each) -> unsigned& {
      return places[(each >> shift) % num_digits * block_threads + threadIdx.x];
    };
    for (int digit = 0; digit < num_digits; ++digit) places[digit * block_threads + threadIdx.x] = 0;
    for (unsigned i = part.begin; i < part.end; ++i) ++place_of(from[i]);
    __syncthreads();
    unsigned* const successive = places + threadIdx.x * num_digits;
    unsigned sum = 0;
    for (int i = 0; i < num_digits; ++i) sum += successive[i];
    unsigned place = sum_before<block_threads>(sum);
    for (int i = 0; i < num_digits; ++i) {
      const unsigned count = successive[i];
      successive[i] = place;
      place += count;
    }
    __syncthreads();
    for (unsigned i = part.begin; i < part.end; ++i) to[place_of(from[i])++] = from[i];
    __syncthreads();
    token* const sorted = to;
    to = from;
    from = sorted;
  }
}

// All threads: sums[i] = sums[0] + … + sums[i], each thread adding up its part twice.
template <int block_threads>
__device__ void scan_sums(weight_sum* sums, unsigned n) {
  const own_part<block_threads> part(n);
  weight_sum sum = 0;
  for (unsigned i = part.begin; i < part.end; ++i) sum += sums[i];
  sum = sum_before<block_threads>(sum);
  for (unsigned i = part.begin; i < part.end; ++i) sums[i] = sum += sums[i];
  __syncthreads();
}

// All threads: sorts n tokens. sums[i] = the weights of the first i + 1; meanwhile it is scratch.
template <int block_threads, class T>
__device__ void sort_and_scan(const parts::top_p_rows<T>& row, float greatest, token* tokens, weight_sum* sums,
                              unsigned n) {
  sort_tokens<block_threads>(tokens, sums, n);
  for (unsigned i = threadIdx.x; i < n; i += block_threads)
    sums[i] = parts::weight_of(row.at(parts::column_of(tokens[i])), greatest);
  __syncthreads();
  scan_sums<block_threads>(sums, n);
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) scan_then_cut_kernel(parts::top_p_rows<T> rows) {
  const auto row = rows.from(blockIdx.x);
  const unsigned n = row.num_columns;
  token* const tokens = row.first_scratch();
  weight_sum* const sums = row.second_scratch();
  const float greatest = row.template greatest<block_threads>();
  for (unsigned i = threadIdx.x; i < n; i += block_threads) tokens[i] = parts::token_of(row.at(i), i);
  __syncthreads();
  sort_and_scan<block_threads>(row, greatest, tokens, sums, n);
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
