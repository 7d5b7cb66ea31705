// What rungs of top-p sampling share: rows, tokens in one word of 64 bits, weights, and the call made of a launch.
//
// A weight is 2^31 times a token's probability over the greatest one, as an integer. Sums of integers have no order, so
// every rung draws the same token, and it is that of rungs/rows/sampling.cuh.
#pragma once

#include <cfloat>
#include <cmath>

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

using weight_sum = unsigned long long;

// A rank, which is less the greater the logit, over the column. NaN has the least rank, and no weight.
using token = unsigned long long;
__device__ inline token token_of(float logit, unsigned column) {
  return static_cast<token>(rank_of<false>(logit)) << 32 | column;
}
__device__ inline unsigned column_of(token of) { return static_cast<unsigned>(of); }

// 2^31 exp(logit - greatest), the exponent being whole + f, a multiple of 2^-17. The polynomial is 2^f. 0 of NaN.
__device__ inline unsigned weight_of(float logit, float greatest) {
  const float binary = (logit - greatest) * 1.44269504f;
  const float exponent = fminf(fmaxf(binary, -32), 0) + 96 - 96, whole = floorf(exponent), f = exponent - whole;
  float power = fmaf(0x1.e974fap-10f, f, 0x1.277856p-7f);
  power = fmaf(power, f, 0x1.c91ce6p-5f);
  power = fmaf(power, f, 0x1.ebdb56p-3f);
  power = fmaf(power, f, 0x1.62e4bap-1f);
  power = fmaf(power, f, 1);
  return __float2uint_rn(ldexpf(power, 31 + static_cast<int>(whole)));
}

// Rows of logits, what is drawn from them, and two arrays of words of each row.
template <class T>
struct top_p_rows {
  const T* logits;
  const float* uniforms;
  int* tokens;
  token* scratch;
  unsigned num_columns;
  weight_sum share;  // top_p in units of 2^-32

  __host__ __device__ top_p_rows from(std::size_t row) const {
    return {logits + row * num_columns,      uniforms + row, tokens + row,
            scratch + 2 * row * num_columns, num_columns,    share};
  }
  // Of the first row.
  __device__ float at(unsigned column) const { return static_cast<float>(logits[column]); }
  __device__ token* first_scratch() const { return scratch; }
  __device__ token* second_scratch() const { return scratch + num_columns; }

  // All threads: the greatest logit. +inf counts as the greatest float.
  template <int block_threads>
  __device__ float greatest() const {
    __shared__ float of_block;
    float found = -INFINITY;
    for (unsigned column = threadIdx.x; column < num_columns; column += block_threads) found = fmaxf(found, at(column));
    found = block_reduce<block_threads>(found, maximum{});
    if (threadIdx.x == 0) of_block = fminf(found, FLT_MAX);
    __syncthreads();
    return of_block;
  }
  // What the first tokens have to sum up to: the share of all weights, rounded up, but at least 1.
  __device__ weight_sum sum_to_keep(weight_sum all) const {
    const weight_sum sum = (all >> 32) * share + (((all & 0xffffffff) * share + 0xffffffff) >> 32);
    return sum > 0 ? sum : 1;
  }
  // The token that is drawn is the first at which the sum reaches this: 1 to `kept`, the sum of those that are kept.
  __device__ weight_sum sum_to_draw(weight_sum kept) const {
    return __umul64hi(kept, __float2ull_rz(fmaxf(*uniforms, 0) * 0x1p64f)) + 1;
  }
};

// A rung derives from top_p_calls<rung> and writes one function,
//
//   template <class T>
//   static cudaError_t enqueue(const top_p_rows<T>& rows, std::size_t num_rows, cudaStream_t stream);
//
// which is called with 1 to 2^31 - 1 rows of 1 to max_columns logits.
template <class Rung>
struct top_p_calls {
  static constexpr bool deterministic = true;
  static constexpr std::size_t max_rows = 0x7fffffff, max_columns = std::size_t{1} << 24;

  // d_tokens[row] = a token of d_logits[row * num_columns …]: the first ones, by falling logit, whose probabilities
  // reach top_p are kept, at least one. Of these d_uniforms[row], from [0, 1), chooses by the inverse transform. Of
  // equal logits the lesser column comes first. NaN and -inf are never drawn; -1 where there is nothing else. T is
  // float, __half or __nv_bfloat16. Storage: 16 bytes an item. cudaErrorInvalidValue for a top_p outside 0 to 1, or a
  // shape beyond the limits above.
  template <class T>
  static cudaError_t sample(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_logits,
                            const float* d_uniforms, int* d_tokens, std::size_t num_rows, std::size_t num_columns,
                            float top_p, cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    if (!(top_p >= 0 && top_p <= 1) || num_rows > max_rows || num_columns < 1 || num_columns > max_columns)
      return cudaErrorInvalidValue;
    const std::size_t bytes = 2 * num_rows * num_columns * sizeof(token);
    if (answered(d_temp_storage, temp_storage_bytes, bytes, region, error) || num_rows == 0) return error;
    const top_p_rows<T> rows{d_logits,
                             d_uniforms,
                             d_tokens,
                             reinterpret_cast<token*>(region),
                             static_cast<unsigned>(num_columns),
                             static_cast<weight_sum>(top_p * 0x1p32f)};
    return Rung::enqueue(rows, num_rows, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
