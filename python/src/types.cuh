// From what a caller names at run time to types.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

// What sums of T are kept in.
template <class T>
using sum_of = std::conditional_t<std::is_integral_v<T>, long long, T>;

inline cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace rungs_torch
