// Input data and what is known about it. Item i is a pure function of (seed, i), so host and device make the same items
// without a copy, and a summary of the items is all that a verification needs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "catalog.hpp"
#include "rungs/operators.cuh"

namespace rungs::bench {

// general  floats in (-1, 1), every bit of the mantissa random. Integers of both signs (over the whole type where its
//          sums are unsigned or narrow, else so small that no partial sum overflows).
//          Affine maps have odd slopes: an even one forgets a bit of what came before it, and after some forty items
//          of random slope a lost prefix would not be seen.
// whole    floats are whole numbers whose magnitudes sum to less than 2^24, so that every order of additions is exact.
// unit     whole ones are 1 or -1: what such numbers may be multiplied by, and their products still are.
struct workload {
  catalog::scalar type{};
  std::size_t num_items = 0;
  std::uint64_t seed = 0;
  bool whole = false;
  bool unit = false;
};

// Exact facts about items. Floats: high + low is the sum to about 2^-100 of the magnitudes. Integers: the sum modulo
// 2^64; least and greatest as keys that order like the values.
struct summary_of_items {
  double high = 0, low = 0, magnitudes = 0;
  std::uint64_t sum = 0;
  double least = 0, greatest = 0;
  std::uint64_t least_key = 0, greatest_key = 0;
  bool any = false;
};

template <class T>
inline constexpr bool is_floating =
    std::is_floating_point_v<T> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
inline constexpr bool is_number = !std::is_same_v<T, affine>;

__host__ __device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {  // SplitMix64
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

template <class T>
__host__ __device__ T item(const workload& from, std::size_t index) {
  const std::uint64_t bits = random_bits(from.seed, index);
  if constexpr (!is_number<T>) {
    return {static_cast<unsigned>(bits) | 1, static_cast<unsigned>(bits >> 32)};
  } else if constexpr (is_floating<T>) {
    if (from.whole && from.unit) return static_cast<T>(bits >> 63 ? -1.0f : 1.0f);
    if (from.whole) {
      constexpr std::uint64_t budget = 1 << 23;
      if (from.num_items > budget && bits % from.num_items >= budget) return static_cast<T>(0.0f);
      const std::uint64_t most = from.num_items >= budget ? 1 : budget / from.num_items;
      const auto magnitude = static_cast<float>(1 + (bits >> 8) % (most < 200 ? most : 200));
      return static_cast<T>(bits >> 63 ? -magnitude : magnitude);
    }
    if constexpr (std::is_same_v<T, double>) {
      return (static_cast<double>(bits >> 12) * 2 + 1) * 0x1p-52 - 1;
    } else {
      return static_cast<T>((static_cast<float>(bits >> 41) * 2 + 1) * 0x1p-23f - 1);
    }
  } else if constexpr (std::is_signed_v<T> && sizeof(T) == 4) {
    return static_cast<T>(static_cast<std::int64_t>(bits >> 51) - (1 << 12));
  } else if constexpr (std::is_signed_v<T> && sizeof(T) == 8) {
    return static_cast<T>(static_cast<std::int64_t>(bits >> 23) - (std::int64_t{1} << 40));
  } else {
    return static_cast<T>(bits >> 32 ^ bits);
  }
}

// (high, low) += value, without error in high + low but for the last bits of low.
__host__ __device__ inline void add_exactly(double& high, double& low, double value) {
  const double sum = high + value, part = sum - high;
  low += (high - (sum - part)) + (value - part);
  high = sum;
}

template <class T>
__host__ __device__ inline double to_double(T value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<float>(value);
}

template <class T>
__host__ __device__ inline std::uint64_t order_key(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ (1ull << 63);
  else
    return value;
}

template <class T>
__host__ __device__ void include(summary_of_items& about, T value) {
  if constexpr (is_floating<T>) {
    const double number = to_double(value);
    add_exactly(about.high, about.low, number);
    about.magnitudes += number < 0 ? -number : number;
    if (!about.any || number < about.least) about.least = number;
    if (!about.any || number > about.greatest) about.greatest = number;
  } else {
    const std::uint64_t key = order_key(value);
    about.sum += static_cast<std::uint64_t>(value);
    if (!about.any || key < about.least_key) about.least_key = key;
    if (!about.any || key > about.greatest_key) about.greatest_key = key;
  }
  about.any = true;
}

// The product of a pair, without error: what is below its last place is a value of its own. An integer's modulo 2^64.
template <class T>
__host__ __device__ void include_product(summary_of_items& about, T x, T y) {
  if constexpr (is_floating<T>) {
    const double product = to_double(x) * to_double(y);
    add_exactly(about.high, about.low, product);
    about.low += fma(to_double(x), to_double(y), -product);
    about.magnitudes += product < 0 ? -product : product;
  } else {
    about.sum += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
  }
  about.any = true;
}

// Whether an item is the least (the greatest) of those that are summed up.
template <class T>
__host__ __device__ bool is_extreme(const summary_of_items& about, bool least, T item) {
  if constexpr (is_floating<T>)
    return to_double(item) == (least ? about.least : about.greatest);
  else
    return order_key(item) == (least ? about.least_key : about.greatest_key);
}

__host__ __device__ inline void merge(summary_of_items& into, const summary_of_items& other) {
  if (!other.any) return;
  if (!into.any) {
    into = other;
    return;
  }
  add_exactly(into.high, into.low, other.high);
  into.low += other.low;
  into.magnitudes += other.magnitudes;
  into.sum += other.sum;
  if (other.least < into.least) into.least = other.least;
  if (other.greatest > into.greatest) into.greatest = other.greatest;
  if (other.least_key < into.least_key) into.least_key = other.least_key;
  if (other.greatest_key > into.greatest_key) into.greatest_key = other.greatest_key;
}

// Calls visit(T{}) for the C++ type of a scalar; false for scalar::none and for pairs, which only atomics know.
template <class Visit>
bool with_type(catalog::scalar type, Visit visit) {
  using catalog::scalar;
  const auto is = [&](scalar name, auto value) {
    if (type == name) visit(value);
    return type == name;
  };
  return is(scalar::i8, std::int8_t{}) || is(scalar::u8, std::uint8_t{}) || is(scalar::i16, std::int16_t{}) ||
         is(scalar::u16, std::uint16_t{}) || is(scalar::i32, std::int32_t{}) || is(scalar::u32, std::uint32_t{}) ||
         is(scalar::i64, 0ll) || is(scalar::u64, 0ull) || is(scalar::f16, __half{}) ||
         is(scalar::bf16, __nv_bfloat16{}) || is(scalar::f32, float{}) || is(scalar::f64, double{}) ||
         is(scalar::affine, affine{});
}

// On the host. Only numbers have a summary.
void generate(const workload& from, void* items);
summary_of_items summarise_items(catalog::scalar type, const void* items, std::size_t num_items);
summary_of_items summarise_products(catalog::scalar type, const void* x, const void* y, std::size_t num_items);
// Where the first of the least (the greatest) items stands.
std::uint64_t first_extreme(catalog::scalar type, const void* items, std::size_t num_items,
                            const summary_of_items& about, bool least);

}  // namespace rungs::bench
