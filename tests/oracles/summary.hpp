// What the device checker knows about an input after one pass: enough to state the exact result of every operator here.
// Host and device absorb items by the same code; it is tested against the host oracle (reference.hpp), which shares
// none.
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

struct summary {
  // Items as integers: integer types as they are, floats times 2^30.
  static constexpr int grid_bits = 30;
  __int128 sum = 0;
  unsigned __int128 magnitudes = 0;
  std::uint64_t any_bit = 0;   // or of all magnitudes: its lowest bit divides every item
  std::uint64_t off_grid = 0;  // floats that are no such integers below 2^62: `sum` is then not the sum
  std::uint64_t nans = 0;
  std::uint64_t least = ~0ull, most = 0;  // order keys, of everything but NaN
  std::uint64_t checksum = 0;             // of bits and positions
  std::uint64_t count = 0;

  template <class T>
  __host__ __device__ void absorb(T x, std::uint64_t index) {
    ++count;
    std::int64_t integer = 0;
    if constexpr (is_float<T>) {
      const double wide = to_double(x);
      checksum += detail::hash(detail::bit_copy<std::uint64_t>(wide), index);
      if (wide != wide) {
        ++nans;
        return;
      }
      const double scaled = wide * static_cast<double>(1ull << grid_bits);
      constexpr double most_exact = static_cast<double>(1ull << 62);
      if (!(scaled > -most_exact && scaled < most_exact) ||
          static_cast<double>(static_cast<std::int64_t>(scaled)) != scaled)
        ++off_grid;
      else
        integer = static_cast<std::int64_t>(scaled);
    } else {
      checksum += detail::hash(static_cast<std::uint64_t>(x), index);
      integer = static_cast<std::int64_t>(x);
    }
    if constexpr (std::is_same_v<T, std::uint64_t>)
      sum += static_cast<__int128>(x);
    else
      sum += integer;
    const std::uint64_t magnitude =
        integer < 0 ? 0 - static_cast<std::uint64_t>(integer) : static_cast<std::uint64_t>(integer);
    magnitudes += magnitude;
    any_bit |= magnitude;
    const std::uint64_t key = order_key(x);
    if (key < least) least = key;
    if (key > most) most = key;
  }

  // Affine maps are told apart, no more.
  __host__ __device__ void absorb(affine x, std::uint64_t index) {
    ++count;
    checksum += detail::hash(std::uint64_t{x.offset} << 32 | x.slope, index);
  }

  __host__ __device__ void merge(const summary& other) {
    sum += other.sum;
    magnitudes += other.magnitudes;
    any_bit |= other.any_bit;
    off_grid += other.off_grid;
    nans += other.nans;
    if (other.least < least) least = other.least;
    if (other.most > most) most = other.most;
    checksum += other.checksum;
    count += other.count;
  }
};

}  // namespace rungs::tests
