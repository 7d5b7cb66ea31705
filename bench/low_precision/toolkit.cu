// What one writes with cuda_fp8.h and cuda_fp4.h: loads and stores of 16 bytes where the shape has them, several on
// their way, values in registers between two reductions, and the headers' conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <cstring>

#include "low_precision/ways.hpp"

namespace rungs::bench {
namespace {

constexpr unsigned all_lanes = 0xffffffff;
constexpr int lanes = 32, columns = static_cast<int>(toolkit_columns), block_threads = 256;

template <int num_lanes>
__device__ float sum_of(float value) {
#pragma unroll
  for (int distance = num_lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
  return value;
}
template <int num_lanes>
__device__ float greatest_of(float value) {
#pragma unroll
  for (int distance = num_lanes / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}
// Of a block. Storage is not used again.
struct block_storage {
  float of_warps[block_threads / lanes];
};
template <bool adds>
__device__ float of_block(float value, block_storage& storage) {
  value = adds ? sum_of<lanes>(value) : greatest_of<lanes>(value);
  if (threadIdx.x % lanes == 0) storage.of_warps[threadIdx.x / lanes] = value;
  __syncthreads();
  constexpr int warps = block_threads / lanes;
  value = storage.of_warps[threadIdx.x % warps];
  return adds ? sum_of<warps>(value) : greatest_of<warps>(value);
}

template <__nv_fp8_interpretation_t kind>
__device__ float2 two_of_fp8(__nv_fp8x2_storage_t codes) {
  return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(codes, kind)));
}

// --- sums: a warp a row

template <__nv_fp8_interpretation_t kind>
__global__ void __launch_bounds__(block_threads) sum_fp8_kernel(const uint4* codes, float* sums) {
  constexpr int vectors = columns / 16, own = vectors / lanes;
  const std::size_t row = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / lanes;
  const int lane = threadIdx.x % lanes;
  uint4 loaded[own];
#pragma unroll
  for (int v = 0; v < own; ++v) loaded[v] = codes[row * vectors + v * lanes + lane];
  float sum = 0;
#pragma unroll
  for (int v = 0; v < own; ++v) {
    __nv_fp8x2_storage_t pairs[8];
    memcpy(pairs, &loaded[v], sizeof(pairs));
#pragma unroll
    for (const auto pair : pairs) {
      const float2 values = two_of_fp8<kind>(pair);
      sum += values.x + values.y;
    }
  }
  sum = sum_of<lanes>(sum);
  if (lane == 0) sums[row] = sum;
}

__device__ float value_of(__nv_fp8_e4m3 scale) { return static_cast<float>(scale); }
__device__ float value_of(__nv_fp8_e8m0 scale) { return static_cast<float>(scale); }

template <class Scale, int group>
__global__ void __launch_bounds__(block_threads) sum_fp4_kernel(const uint4* codes, const Scale* scales, float* sums) {
  constexpr int vectors = columns / 32, own = vectors / lanes, groups = 32 / group;
  const std::size_t row = (std::size_t{blockIdx.x} * block_threads + threadIdx.x) / lanes;
  const int lane = threadIdx.x % lanes;
  uint4 loaded[own];
  Scale of_groups[own][groups];
#pragma unroll
  for (int v = 0; v < own; ++v) {
    const std::size_t vector = row * vectors + v * lanes + lane;
    loaded[v] = codes[vector];
#pragma unroll
    for (int g = 0; g < groups; ++g) of_groups[v][g] = scales[vector * groups + g];
  }
  float sum = 0;
#pragma unroll
  for (int v = 0; v < own; ++v) {
    __nv_fp4x2_storage_t pairs[16];
    memcpy(pairs, &loaded[v], sizeof(pairs));
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      __half2 of_group = {};
#pragma unroll
      for (int i = 0; i < group / 2; ++i)
        of_group = __hadd2(of_group, __half2(__nv_cvt_fp4x2_to_halfraw2(pairs[g * (group / 2) + i], __NV_E2M1)));
      const float2 both = __half22float2(of_group);
      sum += (both.x + both.y) * value_of(of_groups[v][g]);
    }
  }
  sum = sum_of<lanes>(sum);
  if (lane == 0) sums[row] = sum;
}

// --- quantisation by groups

struct halves {
  __nv_bfloat162 pairs[4];

  __device__ float greatest() const {
    const __nv_bfloat162 all =
        __hmax2(__hmax2(__habs2(pairs[0]), __habs2(pairs[1])), __hmax2(__habs2(pairs[2]), __habs2(pairs[3])));
    return fmaxf(__low2float(all), __high2float(all));
  }
};
__device__ halves halves_of(const uint4& vector) {
  halves all;
  memcpy(&all, &vector, sizeof(all));
  return all;
}
__device__ float2 scaled(const __nv_bfloat162& pair, float factor) {
  const float2 values = __bfloat1622float2(pair);
  return {values.x * factor, values.y * factor};
}

template <work does>
struct scheme {
  static constexpr bool has_floats = does == work::fp8_groups || does == work::fp8_rows;
  static constexpr bool is_fp4 = does == work::mxfp4 || does == work::nvfp4;
  using scale = std::conditional_t<has_floats, float, __nv_fp8_storage_t>;
  using codes = std::conditional_t<is_fp4, unsigned, uint2>;  // of eight items

  __device__ static scale scale_of(float greatest, float& factor) {
    if constexpr (has_floats) {
      const float found = fmaxf(greatest / 448, 0x1p-126f);
      factor = 1 / found;
      return found;
    } else if constexpr (does == work::nvfp4) {
      const scale found = __nv_cvt_float_to_fp8(greatest / 6, __NV_SATFINITE, __NV_E4M3);
      factor = found == 0 ? 0 : 1 / __half2float(__half(__nv_cvt_fp8_to_halfraw(found, __NV_E4M3)));
      return found;
    } else {
      const float unit = does == work::mxfp4 ? 0x1p-2f : 0x1p-8f;
      const scale found = __nv_cvt_float_to_e8m0(greatest * unit, __NV_SATFINITE, cudaRoundZero);
      factor = __uint_as_float((254u - found) << 23);  // 2^(127 - found)
      return found;
    }
  }
  __device__ static codes encode(const halves& items, float factor) {
    if constexpr (is_fp4) {
      __nv_fp4x2_storage_t bytes[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        bytes[i] = __nv_cvt_float2_to_fp4x2(scaled(items.pairs[i], factor), __NV_E2M1, cudaRoundNearest);
      codes all;
      memcpy(&all, bytes, sizeof(all));
      return all;
    } else {
      __nv_fp8x2_storage_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        pairs[i] = __nv_cvt_float2_to_fp8x2(scaled(items.pairs[i], factor), __NV_SATFINITE, __NV_E4M3);
      codes all;
      memcpy(&all, pairs, sizeof(all));
      return all;
    }
  }
};

constexpr int thread_vectors = 4;

template <work does>
__global__ void __launch_bounds__(block_threads)
    quantise_groups_kernel(const uint4* items, typename scheme<does>::codes* codes,
                           typename scheme<does>::scale* scales) {
  using how = scheme<does>;
  constexpr int group_lanes = (does == work::nvfp4 ? 16 : does == work::fp8_groups ? 128 : 32) / 8;
  const std::size_t first = std::size_t{blockIdx.x} * block_threads * thread_vectors + threadIdx.x;
  uint4 loaded[thread_vectors];
#pragma unroll
  for (int v = 0; v < thread_vectors; ++v) loaded[v] = items[first + v * block_threads];
#pragma unroll
  for (int v = 0; v < thread_vectors; ++v) {
    const std::size_t vector = first + v * block_threads;
    const halves own = halves_of(loaded[v]);
    float factor;
    const auto scale = how::scale_of(greatest_of<group_lanes>(own.greatest()), factor);
    codes[vector] = how::encode(own, factor);
    if (threadIdx.x % group_lanes == 0) scales[vector / group_lanes] = scale;
  }
}

// --- a block a row

__global__ void __launch_bounds__(block_threads) quantise_rows_kernel(const uint4* items, uint2* codes, float* scales) {
  using how = scheme<work::fp8_rows>;
  constexpr int vectors = columns / 8, own = vectors / block_threads;
  __shared__ block_storage storage;
  const std::size_t first = std::size_t{blockIdx.x} * vectors + threadIdx.x;
  halves loaded[own];
  float greatest = 0, factor;
#pragma unroll
  for (int v = 0; v < own; ++v) loaded[v] = halves_of(items[first + v * block_threads]);
#pragma unroll
  for (const halves& each : loaded) greatest = fmaxf(greatest, each.greatest());
  const float scale = how::scale_of(of_block<false>(greatest, storage), factor);
#pragma unroll
  for (int v = 0; v < own; ++v) codes[first + v * block_threads] = how::encode(loaded[v], factor);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

// 16 codes a thread.
__device__ void values_of_row(const uint4* codes, float factor, float (&values)[16]) {
  static_assert(columns == 16 * block_threads);
  const uint4 loaded = codes[std::size_t{blockIdx.x} * block_threads + threadIdx.x];
  __nv_fp8x2_storage_t pairs[8];
  memcpy(pairs, &loaded, sizeof(pairs));
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float2 both = two_of_fp8<__NV_E4M3>(pairs[i]);
    values[2 * i] = both.x * factor;
    values[2 * i + 1] = both.y * factor;
  }
}
__device__ void store_row(uint4* results, const float (&values)[16]) {
  __nv_bfloat162 pairs[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  uint4 vectors[2];
  memcpy(vectors, pairs, sizeof(vectors));
#pragma unroll
  for (int v = 0; v < 2; ++v) results[(std::size_t{blockIdx.x} * block_threads + threadIdx.x) * 2 + v] = vectors[v];
}

__global__ void __launch_bounds__(block_threads)
    softmax_kernel(const uint4* codes, const float* scale, uint4* results) {
  __shared__ block_storage of_greatest, of_sum;
  float values[16];
  values_of_row(codes, *scale, values);
  float greatest = values[0], sum = 0;
#pragma unroll
  for (const float value : values) greatest = fmaxf(greatest, value);
  greatest = of_block<false>(greatest, of_greatest);
#pragma unroll
  for (float& value : values) sum += value = __expf(value - greatest);
  const float factor = 1 / of_block<true>(sum, of_sum);
#pragma unroll
  for (float& value : values) value *= factor;
  store_row(results, values);
}

__global__ void __launch_bounds__(block_threads)
    rms_norm_kernel(const uint4* codes, const uint4* weights, uint4* results, float epsilon) {
  __shared__ block_storage storage;
  float values[16], squares = 0;
  values_of_row(codes, 1, values);
#pragma unroll
  for (const float value : values) squares += value * value;
  const float factor = rsqrtf(of_block<true>(squares, storage) / columns + epsilon);
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    const halves own = halves_of(weights[threadIdx.x * 2 + v]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 both = scaled(own.pairs[i], factor);
      values[8 * v + 2 * i] *= both.x;
      values[8 * v + 2 * i + 1] *= both.y;
    }
  }
  store_row(results, values);
}

__global__ void __launch_bounds__(block_threads)
    rms_norm_to_codes_kernel(const uint4* items, const uint4* weights, uint2* codes, float* scales, float epsilon) {
  using how = scheme<work::fp8_rows>;
  constexpr int vectors = columns / 8, own = vectors / block_threads;
  __shared__ block_storage of_squares, of_greatest;
  const std::size_t first = std::size_t{blockIdx.x} * vectors + threadIdx.x;
  halves loaded[own], weight[own];
  float2 values[own][4];
  float squares = 0, greatest = 0, factor;
#pragma unroll
  for (int v = 0; v < own; ++v) loaded[v] = halves_of(items[first + v * block_threads]);
#pragma unroll
  for (int v = 0; v < own; ++v) weight[v] = halves_of(weights[threadIdx.x + v * block_threads]);
#pragma unroll
  for (int v = 0; v < own; ++v) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 both = __bfloat1622float2(loaded[v].pairs[i]), by = __bfloat1622float2(weight[v].pairs[i]);
      squares += both.x * both.x + both.y * both.y;
      values[v][i] = {both.x * by.x, both.y * by.y};
      greatest = fmaxf(greatest, fmaxf(fabsf(values[v][i].x), fabsf(values[v][i].y)));
    }
  }
  const float norm = rsqrtf(of_block<true>(squares, of_squares) / columns + epsilon);
  const float scale = how::scale_of(of_block<false>(greatest, of_greatest) * norm, factor);
#pragma unroll
  for (int v = 0; v < own; ++v) {
    __nv_fp8x2_storage_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      pairs[i] = __nv_cvt_float2_to_fp8x2({values[v][i].x * norm * factor, values[v][i].y * norm * factor},
                                          __NV_SATFINITE, __NV_E4M3);
    memcpy(&codes[first + v * block_threads], pairs, sizeof(pairs));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

template <work does>
void quantise(const low_precision_cell& cell, const catalog::arguments& a, cudaStream_t stream) {
  using how = scheme<does>;
  const std::size_t blocks = cell.in_bytes() / (sizeof(uint4) * block_threads * thread_vectors);
  auto* const codes = static_cast<typename how::codes*>(a.d_out);
  auto* const scales = reinterpret_cast<typename how::scale*>(static_cast<std::byte*>(a.d_out) + cell.result_bytes());
  quantise_groups_kernel<does>
      <<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(static_cast<const uint4*>(a.d_in), codes, scales);
}

}  // namespace

cudaError_t by_toolkit(const low_precision_cell& cell, const catalog::arguments& a, cudaStream_t stream) {
  constexpr int warps = block_threads / lanes;
  constexpr float epsilon = 1e-5f;
  if (cell.num_columns != toolkit_columns || cell.num_rows % warps != 0) return cudaErrorInvalidValue;
  const auto num_rows = static_cast<unsigned>(cell.num_rows);
  const auto* const in = static_cast<const uint4*>(a.d_in);
  auto* const out = static_cast<uint4*>(a.d_out);
  auto* const sums = static_cast<float*>(a.d_out);
  auto* const codes = static_cast<uint2*>(a.d_out);
  auto* const scales = reinterpret_cast<float*>(static_cast<std::byte*>(a.d_out) + cell.result_bytes());
  switch (cell.does) {
    case work::sum_e4m3:
      sum_fp8_kernel<__NV_E4M3><<<num_rows / warps, block_threads, 0, stream>>>(in, sums);
      break;
    case work::sum_e5m2:
      sum_fp8_kernel<__NV_E5M2><<<num_rows / warps, block_threads, 0, stream>>>(in, sums);
      break;
    case work::sum_nvfp4:
      sum_fp4_kernel<__nv_fp8_e4m3, 16>
          <<<num_rows / warps, block_threads, 0, stream>>>(in, static_cast<const __nv_fp8_e4m3*>(a.d_second), sums);
      break;
    case work::sum_mxfp4:
      sum_fp4_kernel<__nv_fp8_e8m0, 32>
          <<<num_rows / warps, block_threads, 0, stream>>>(in, static_cast<const __nv_fp8_e8m0*>(a.d_second), sums);
      break;
    case work::fp8_groups:
      quantise<work::fp8_groups>(cell, a, stream);
      break;
    case work::mxfp8:
      quantise<work::mxfp8>(cell, a, stream);
      break;
    case work::mxfp4:
      quantise<work::mxfp4>(cell, a, stream);
      break;
    case work::nvfp4:
      quantise<work::nvfp4>(cell, a, stream);
      break;
    case work::fp8_rows:
      quantise_rows_kernel<<<num_rows, block_threads, 0, stream>>>(in, codes, scales);
      break;
    case work::softmax:
      softmax_kernel<<<num_rows, block_threads, 0, stream>>>(in, static_cast<const float*>(a.d_second), out);
      break;
    case work::rms_norm:
      rms_norm_kernel<<<num_rows, block_threads, 0, stream>>>(in, static_cast<const uint4*>(a.d_second), out, epsilon);
      break;
    case work::rms_norm_to_codes:
      rms_norm_to_codes_kernel<<<num_rows, block_threads, 0, stream>>>(in, static_cast<const uint4*>(a.d_second), codes,
                                                                       scales, epsilon);
      break;
  }
  return cudaGetLastError();
}

}  // namespace rungs::bench
