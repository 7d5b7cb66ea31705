// Formats of 4 and 8 bits, word by word: what a kernel needs of e4m3, e5m2, e2m1 and of their scales.
//
// fp8 is converted by the toolkit, two codes at a time: one instruction since sm_89. For fp4 the toolkit has one
// instruction on sm_100a only, and 26 a value to read and 52 to write elsewhere. A byte permute reads four codes, and
// an addition that rounds in the right place writes one.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstring>
#include <type_traits>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::production {

// Greatest finite values, and the exponents of the greatest powers of two, as the specifications have them.
inline constexpr float greatest_e4m3 = 448, greatest_e2m1 = 6;
inline constexpr unsigned exponent_e4m3 = 8, exponent_e2m1 = 2;

template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>;
template <class T>
inline constexpr __nv_fp8_interpretation_t fp8_kind = std::is_same_v<T, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;

// --- reading

// The two codes in the low half of a word.
template <__nv_fp8_interpretation_t kind>
__device__ float2 two_of_fp8(unsigned codes) {
  return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(codes), kind)));
}

// The sum of the four codes in a word.
template <__nv_fp8_interpretation_t kind>
__device__ float sum_of_fp8(unsigned codes) {
  const float2 low = two_of_fp8<kind>(codes), high = two_of_fp8<kind>(codes >> 16);
  return (low.x + low.y) + (high.x + high.y);
}

// Each nibble of the selector's low half becomes a byte: twice the magnitude of e2m1, or 0 where the sign is set,
// because a permute then repeats the sign bit of the byte that it has found.
__device__ inline unsigned doubled_where_positive(unsigned codes) {
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(0x03020100u), "r"(0x0c080604u), "r"(codes));
  return bytes;
}

// Twice the sum of so many words of eight codes each, exactly. Bytes add up to 12 * 2 * words at most.
template <int num_words>
__device__ int doubled_sum_of_fp4(const unsigned* words) {
  static_assert(num_words <= 10, "a byte holds up to 255");
  unsigned positive = 0, negative = 0;
#pragma unroll
  for (int i = 0; i < num_words; ++i) {
    const unsigned inverted = words[i] ^ 0x88888888u;
    positive += doubled_where_positive(words[i]) + doubled_where_positive(words[i] >> 16);
    negative += doubled_where_positive(inverted) + doubled_where_positive(inverted >> 16);
  }
  return static_cast<int>(__dp4a(positive, 0x01010101u, 0u)) - static_cast<int>(__dp4a(negative, 0x01010101u, 0u));
}

__device__ inline float value_of_scale(float scale) { return scale; }
__device__ inline float value_of_scale(__nv_fp8_e4m3 scale) { return two_of_fp8<__NV_E4M3>(scale.__x).x; }
// 2^(code - 127); 255 is NaN.
__device__ inline float value_of_scale(__nv_fp8_e8m0 scale) {
  const unsigned code = scale.__x;
  return __uint_as_float(code == 255 ? 0x7fffffffu : code == 0 ? 0x00400000u : code << 23);
}

// --- magnitudes: without their sign, the bits of floats are in the order of their values, infinity and NaN last

template <class T>
inline constexpr unsigned bits_of_infinity = std::is_same_v<T, float>    ? 0x7f800000u
                                             : std::is_same_v<T, __half> ? 0x7c00u
                                                                         : 0x7f80u;

template <class T>
__device__ int4 magnitudes_of(const int4& items) {
  constexpr int all = sizeof(T) == 4 ? 0x7fffffff : 0x7fff7fff;
  return {items.x & all, items.y & all, items.z & all, items.w & all};
}

// The greatest magnitude of 16 bytes of items, as bits.
template <class T>
__device__ unsigned greatest_magnitude(const int4& items) {
  const int4 all = magnitudes_of<T>(items);
  if constexpr (sizeof(T) == 4) {
    return max(max(all.x, all.y), max(all.z, all.w));
  } else {
    const unsigned pairs = __vmaxu2(__vmaxu2(all.x, all.y), __vmaxu2(all.z, all.w));
    return max(pairs & 0xffffu, pairs >> 16);
  }
}

// The greater of two magnitudes of floats, the second given with its sign. NaN where one is.
__device__ inline float greater_magnitude(float greatest, float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return __uint_as_float(max(__float_as_uint(greatest), __float_as_uint(value) & 0x7fffffffu));
#else
  float greater;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(greatest), "f"(fabsf(value)));
  return greater;
#endif
}

// As a float: NaN stays NaN, infinity becomes the greatest finite number of T.
template <class T>
__device__ float finite_magnitude(unsigned bits) {
  if (bits == bits_of_infinity<T>) --bits;
  if constexpr (sizeof(T) == 4) return __uint_as_float(bits);
  if constexpr (std::is_same_v<T, __half>) return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
  return __uint_as_float(bits << 16);
}

// --- writing

// The four codes of fp8 nearest to the values, ties to even, saturating. NaN becomes 0x7f.
template <__nv_fp8_interpretation_t kind>
__device__ unsigned four_as_fp8(const float* values) {
  const unsigned low = __nv_cvt_float2_to_fp8x2({values[0], values[1]}, __NV_SATFINITE, kind);
  const unsigned high = __nv_cvt_float2_to_fp8x2({values[2], values[3]}, __NV_SATFINITE, kind);
  return low | high << 16;
}

// The codes of e2m1 nearest to so many magnitudes, ties to even, saturating; the first in the lowest four bits. NaN
// becomes 7, which is 6.
//
// Codes count by halves to 2, then by ones, and by twos from 4 on: as a function of the magnitude y the code is the
// least of 2 y, y + 2, y / 2 + 4 and 7, rounded. Added to 2^23, each is rounded by one addition. The least is found
// among bits: they are in the order of the values, and one instruction compares three since sm_90.
template <int num_values>
__device__ unsigned as_e2m1(const float* magnitudes) {
  constexpr float base = 0x1p23f;
  constexpr int base_bits = 0x4b000000;
  constexpr unsigned ones = num_values == 8 ? 0x11111111u : 0x1111u;
  static_assert(num_values == 8 || num_values == 4);
  unsigned codes = 0;
#pragma unroll
  for (int i = 0; i < num_values; ++i) {
    const float y = magnitudes[i];
    const int by_halves = __float_as_int(fmaf(y, 2.0f, base)), by_ones = __float_as_int(y + (base + 2)),
              by_twos = __float_as_int(fmaf(y, 0.5f, base + 4));
    codes += static_cast<unsigned>(min(__vimin3_s32(by_halves, by_ones, by_twos), base_bits + 7)) << (4 * i);
  }
  return codes - base_bits * ones;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800  // the first with arithmetic of bf16
// The same of eight magnitudes of bf16 times a power of two, two at a time. A product is exact, or so small that its
// code is 0. Of bf16, 128 is what 2^23 is of float: numbers from there on are whole.
__device__ inline unsigned as_e2m1_by_power(const int4& magnitudes, float power) {
  constexpr float base = 128;
  const auto both = [](float value) { return __float2bfloat162_rn(value); };
  __nv_bfloat162 pairs[4];
  memcpy(pairs, &magnitudes, sizeof(pairs));
  unsigned codes[4];  // in the lowest byte of each half
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 y = __hmul2_rn(pairs[i], both(power)), by_halves = __hfma2(y, both(2), both(base)),
                         by_ones = __hadd2_rn(y, both(base + 2)), by_twos = __hfma2(y, both(0.5f), both(base + 4));
    const __nv_bfloat162 code = __hmin2(__hmin2(by_halves, by_ones), __hmin2(by_twos, both(base + 7)));
    memcpy(&codes[i], &code, sizeof(code));
  }
  // Codes of items 0, 2, 1 and 3, then of 4, 6, 5 and 7.
  const unsigned first = __byte_perm(codes[0], codes[1], 0x6240), second = __byte_perm(codes[2], codes[3], 0x6240);
  return __byte_perm(first, second, 0x5410) | __byte_perm(first, second, 0x7632) << 4;
}
#endif

// The signs of 16 bytes of items, each in the highest bit of its code of four.
template <class T>
__device__ unsigned signs_for_e2m1(const int4& items) {
  unsigned even, odd;  // a byte an item, its sign on top
  if constexpr (sizeof(T) == 4) {
    even = __byte_perm(items.x, items.z, 0x0073);
    odd = __byte_perm(items.y, items.w, 0x0073);
    return (even >> 4 & 0x0808u) | (odd & 0x8080u);
  } else {
    const unsigned first = __byte_perm(items.x, items.y, 0x7351), second = __byte_perm(items.z, items.w, 0x7351);
    even = __byte_perm(first, second, 0x5410);
    odd = __byte_perm(first, second, 0x7632);
    return (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
  }
}

}  // namespace rungs::RUNGS_ABI::production
