// Right answers of all-reduce, item by item on the host, and the items that they are of.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "catalog.hpp"

namespace rungs::tests::across {

// whole: small whole numbers, whose sums of eight are exact in every type, in any order. rounded: numbers of several
// magnitudes and both signs, whose sums depend on the order; zeros of both signs among them.
enum class items { whole, rounded };

constexpr std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdull;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53ull;
  return bits ^ bits >> 33;
}

// Item i of a rank: depends on both, and on the seed.
template <class T>
T item_of(items kind, int rank, std::size_t i, std::uint64_t seed) {
  const std::uint64_t bits = mix(mix(seed + 0x9e3779b97f4a7c15ull * (rank + 1)) ^ i);
  if (kind == items::whole) return T(static_cast<float>(static_cast<int>(bits % 31) - 15));
  if constexpr (std::is_same_v<T, int>) {
    return static_cast<int>(bits % (1u << 28)) - (1 << 27);
  } else {
    if (bits % 64 == 0) return T(bits >> 32 & 1 ? 0.0f : -0.0f);
    const float mantissa = 1 + static_cast<float>(bits >> 8 & 0xffff) * 0x1p-16f;
    const float magnitude = std::ldexp(mantissa, static_cast<int>(bits >> 40 & 7) - 4);
    return T(bits >> 50 & 1 ? magnitude : -magnitude);
  }
}

// What ranks fold in: halves in float.
template <class T>
auto widened(T item) {
  if constexpr (std::is_same_v<T, int>)
    return item;
  else
    return static_cast<float>(item);
}

// Written apart from rungs::plus and rungs::maximum; there are no NaN among the items.
template <class T>
T combined(catalog::op op, T a, T b) {
  if (op == catalog::op::plus) return a + b;
  if constexpr (std::is_same_v<T, float>)
    if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

// ((rank 0, rank 1), rank 2) …, rounded once.
template <class T>
T answer_of(catalog::op op, items kind, int num_ranks, std::size_t i, std::uint64_t seed) {
  auto value = widened(item_of<T>(kind, 0, i, seed));
  for (int r = 1; r < num_ranks; ++r) value = combined(op, value, widened(item_of<T>(kind, r, i, seed)));
  return T(value);
}

template <class F>
auto with_type(catalog::scalar type, F f) {
  switch (type) {
    case catalog::scalar::f16:
      return f(__half{});
    case catalog::scalar::bf16:
      return f(__nv_bfloat16{});
    case catalog::scalar::i32:
      return f(int{});
    default:
      return f(float{});
  }
}
constexpr std::size_t bytes_of(catalog::scalar type) {
  return type == catalog::scalar::f16 || type == catalog::scalar::bf16 ? 2 : 4;
}

// num_items items of a rank, or answers for so many ranks, as bytes.
inline std::vector<unsigned char> items_of(catalog::scalar type, items kind, int rank, std::size_t num_items,
                                           std::uint64_t seed) {
  std::vector<unsigned char> bytes(num_items * bytes_of(type));
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    for (std::size_t i = 0; i < num_items; ++i) {
      const T item = item_of<T>(kind, rank, i, seed);
      std::memcpy(bytes.data() + i * sizeof(T), &item, sizeof(T));
    }
  });
  return bytes;
}
inline std::vector<unsigned char> answers_of(catalog::scalar type, catalog::op op, items kind, int num_ranks,
                                             std::size_t num_items, std::uint64_t seed) {
  std::vector<unsigned char> bytes(num_items * bytes_of(type));
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    for (std::size_t i = 0; i < num_items; ++i) {
      const T item = answer_of<T>(op, kind, num_ranks, i, seed);
      std::memcpy(bytes.data() + i * sizeof(T), &item, sizeof(T));
    }
  });
  return bytes;
}

}  // namespace rungs::tests::across
