// Tokens of a row sorted by a block, and the sums of their weights in that order.
// Source: a radix sort by counts and scans, Satish, Harris, Garland 2009.
#pragma once

#include <cuda_runtime.h>

#include "rungs/parts/parts_of_threads.cuh"
#include "rungs/parts/top_p_calls.cuh"

namespace rungs::RUNGS_ABI::parts {

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

}  // namespace rungs::RUNGS_ABI::parts
