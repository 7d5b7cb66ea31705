// What a group's greatest magnitude makes of its scale, and how its items become codes: a struct for each format.
//
// of(greatest) takes a magnitude without infinity, and answers the scale as it is stored and the factor that items are
// multiplied by. Where the greatest is NaN, both are NaN, and so is every item that is read back. encode(piece, factor)
// makes the codes of 16 bytes of items.
#pragma once

#include "rungs/production/low_precision/formats.cuh"
#include "rungs/production/rows/row_group.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Stored>
struct scaling {
  Stored scale;
  float factor;
};

// Correctly rounded quotient of a magnitude and a constant. A product with the reciprocal is rounded anew by its exact
// remainder (Markstein, 1990).
__device__ inline float divided_by(float magnitude, float divisor, float reciprocal) {
  const float quotient = magnitude * reciprocal;
  return fmaf(fmaf(-quotient, divisor, magnitude), reciprocal, quotient);
}

// Correctly rounded 1 / value for 2^-126 <= value < 2^126, and NaN for NaN. __frcp_rn does the same there, on all GPUs
// from sm_75 to sm_90, after a branch for other values.
__device__ inline float reciprocal(float value) {
  float estimate;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(value));
  return fmaf(estimate, -fmaf(value, estimate, -1.0f), estimate);
}

__device__ inline float nan_factor() { return __uint_as_float(0x7fffffffu); }

// 2^(127 - code), for codes below 254.
__device__ inline float inverse_of_power(unsigned code) { return __uint_as_float((254 - code) << 23); }

// The values that become codes: items times the factor, rounded, and not contracted with what follows.
template <class T>
__device__ void scaled(const row_piece<T>& piece, float factor, typename row_piece<T>::floats& values) {
  piece.get(values);
#pragma unroll
  for (float& value : values) value = __fmul_rn(value, factor);
}

struct e4m3_codes {
  static constexpr int code_bits = 8;
  template <class T>
  __device__ static uint2 encode(const row_piece<T>& piece, float factor) {
    typename row_piece<T>::floats values;
    scaled(piece, factor, values);
    return encode<T>(values);
  }
  // Of values that are scaled already.
  template <class T>
  __device__ static uint2 encode(const typename row_piece<T>::floats& values) {
    uint2 codes{four_as_fp8<__NV_E4M3>(values), 0};
    if constexpr (row_piece<T>::items == 8) codes.y = four_as_fp8<__NV_E4M3>(values + 4);
    return codes;
  }
};

struct e2m1_codes {
  static constexpr int code_bits = 4;
  template <class T>
  __device__ static uint2 encode(const row_piece<T>& piece, float factor) {
    typename row_piece<T>::floats magnitudes;
    piece.get_once(magnitudes);
#pragma unroll
    for (float& magnitude : magnitudes) magnitude = __fmul_rn(fabsf(magnitude), factor);
    return {as_e2m1<row_piece<T>::items>(magnitudes) | signs_for_e2m1<T>(piece.bits), 0};
  }
};

// Of factors that are powers of two.
struct e2m1_codes_by_powers : e2m1_codes {
  template <class T>
  __device__ static uint2 encode(const row_piece<T>& piece, float factor) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<T, __nv_bfloat16>)
      return {as_e2m1_by_power(magnitudes_of<T>(piece.bits), factor) | signs_for_e2m1<T>(piece.bits), 0};
#endif
    return e2m1_codes::encode(piece, factor);
  }
};

// The scale is greatest / 448, and never below the smallest normal float. So its inverse is finite.
__device__ inline float fp8_scale(float greatest) {
  constexpr float smallest = 0x1p-126f;
  const float scale = divided_by(greatest, greatest_e4m3, 1 / greatest_e4m3);
  return scale < smallest ? smallest : scale;
}

struct fp8_by_floats : e4m3_codes {
  using stored = float;
  __device__ scaling<float> of(float greatest) const {
    const float scale = fp8_scale(greatest);
    return {scale, reciprocal(scale)};
  }
};

// The same scale, up to the next power of two.
struct fp8_by_powers : e4m3_codes {
  using stored = unsigned char;
  __device__ scaling<unsigned char> of(float greatest) const {
    const float scale = fp8_scale(greatest);
    if (!(scale == scale)) return {255, nan_factor()};
    const unsigned code = (__float_as_uint(scale) + 0x7fffffu) >> 23;
    return {static_cast<unsigned char>(code), inverse_of_power(code)};
  }
};

// 2^(floor(log2 greatest) - exponent of the greatest power of two among codes), at least 2^-127.
template <class Codes, unsigned code_exponent>
struct mx_scales : Codes {
  using stored = unsigned char;
  __device__ scaling<unsigned char> of(float greatest) const {
    if (!(greatest == greatest)) return {255, nan_factor()};
    const unsigned exponent = __float_as_uint(greatest) >> 23, code = max(exponent, code_exponent) - code_exponent;
    return {static_cast<unsigned char>(code), inverse_of_power(code)};
  }
};
using mxfp8 = mx_scales<e4m3_codes, exponent_e4m3>;
using mxfp4 = mx_scales<e2m1_codes_by_powers, exponent_e2m1>;

// greatest / 6 / global scale, to the nearest e4m3. Where that is 0, so are all codes. A step lies between 2^-109 and
// 2^109, as a global scale lies between 2^-100 and 2^100.
struct nvfp4 : e2m1_codes {
  using stored = unsigned char;
  float global_scale, global_inverse;

  __device__ scaling<unsigned char> of(float greatest) const {
    const float wanted = divided_by(greatest, greatest_e2m1, 1 / greatest_e2m1) * global_inverse;
    const auto code = static_cast<unsigned char>(__nv_cvt_float_to_fp8(wanted, __NV_SATFINITE, __NV_E4M3));
    const float step = two_of_fp8<__NV_E4M3>(code).x * global_scale;
    return {code, code == 0 ? 0.0f : reciprocal(step)};
  }
};

}  // namespace rungs::RUNGS_ABI::production
