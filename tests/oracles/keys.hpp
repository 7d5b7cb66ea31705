// Items of any type in 64 bits.
#pragma once

#include <cstdint>

#include "oracles/samples.hpp"

namespace rungs::tests {

// A key whose unsigned order is the order of the values, -0 before +0. NaN has none.
template <class T>
__host__ __device__ std::uint64_t order_key(T x) {
  if constexpr (is_float<T>) {
    const auto bits = detail::bit_copy<std::uint64_t>(to_double(x));  // exact, and keeps the sign of zero
    return bits >> 63 ? ~bits : bits | 1ull << 63;
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ (std::is_signed_v<T> ? 1ull << 63 : 0);
  }
}

// Integers extended by their sign, floats as doubles, affine maps as they are.
template <class T>
__host__ __device__ std::uint64_t widened(T x) {
  if constexpr (std::is_same_v<T, affine>)
    return std::uint64_t{x.offset} << 32 | x.slope;
  else if constexpr (is_float<T>)
    return detail::bit_copy<std::uint64_t>(to_double(x));
  else
    return static_cast<std::uint64_t>(x);
}

// Such sums see every change of an item and every exchange of two. Items of other types with the same values have the
// same sum.
template <class T>
__host__ __device__ std::uint64_t checksum_of(T x, std::uint64_t index) {
  return detail::hash(widened(x), index);
}

}  // namespace rungs::tests
