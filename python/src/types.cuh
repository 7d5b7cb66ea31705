// From what a caller names at run time to types.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <rungs/rows/matrix.cuh>

#include <cstddef>
#include <type_traits>

#include "rungs_torch.h"

namespace rungs_torch {

template <class T>
struct type_is {
  using named = T;
};

template <class T>
inline constexpr rungs_type code = std::is_same_v<T, float>           ? rungs_f32
                                   : std::is_same_v<T, double>        ? rungs_f64
                                   : std::is_same_v<T, __half>        ? rungs_f16
                                   : std::is_same_v<T, __nv_bfloat16> ? rungs_bf16
                                   : std::is_same_v<T, unsigned char> ? rungs_u8
                                   : std::is_same_v<T, int>           ? rungs_i32
                                   : std::is_same_v<T, __nv_fp8_e4m3> ? rungs_e4m3
                                   : std::is_same_v<T, __nv_fp8_e5m2> ? rungs_e5m2
                                   : std::is_same_v<T, __nv_fp8_e8m0> ? rungs_e8m0
                                                                      : rungs_i64;

// call(type_is<T>) for the one of Types that `type` stands for.
template <class... Types, class Call>
int with_type(int type, Call call) {
  cudaError_t error = cudaErrorNotSupported;
  static_cast<void>(((type == code<Types> && (error = call(type_is<Types>{}), true)) || ...));
  return error;
}

template <class Call>
int with_float(int type, Call call) {
  return with_type<float, __half, __nv_bfloat16>(type, call);
}
template <class Call>
int with_number(int type, Call call) {
  return with_type<float, double, __half, __nv_bfloat16, int, long long>(type, call);
}

template <class Call>
int with_fp8(int type, Call call) {
  return with_type<__nv_fp8_e4m3, __nv_fp8_e5m2>(type, call);
}

// A matrix whose sizes are known, of memory whose type is.
struct shape {
  std::size_t num_rows, num_columns;

  template <class T>
  rungs::rows::matrix<const T> read(const void* d_in, std::size_t stride) const {
    return {static_cast<const T*>(d_in), num_rows, num_columns, stride};
  }
  template <class T>
  rungs::rows::matrix<const T> read(const void* d_in) const {
    return read<T>(d_in, num_columns);
  }
  template <class T>
  rungs::rows::matrix<T> written(void* d_out, std::size_t stride) const {
    return {static_cast<T*>(d_out), num_rows, num_columns, stride};
  }
  template <class T>
  rungs::rows::matrix<T> written(void* d_out) const {
    return written<T>(d_out, num_columns);
  }
};

// What sums of T are kept in.
template <class T>
using sum_of = std::conditional_t<std::is_integral_v<T>, long long, T>;

inline cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace rungs_torch
