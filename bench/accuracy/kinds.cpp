#include "accuracy/kinds.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace rungs::bench {
namespace {

// SplitMix64's output function: a number for each index.
std::uint64_t mixed(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// In [0, 1), of 24 bits.
float fraction(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

float item(kind what, std::size_t i, std::size_t num_items) {
  const std::uint64_t own = mixed(2 * i), other = mixed(2 * i + 1);
  const float u = fraction(own), v = fraction(other), sign = own & 1 ? 1.0f : -1.0f;
  switch (what) {
    case kind::uniform:
      return u;
    case kind::normal:  // by Box and Muller
      return std::sqrt(-2 * std::log(1 - v)) * std::cos(6.2831853f * u);
    case kind::integers:
      return static_cast<float>(static_cast<int>(own % 2001) - 1000);
    case kind::scaled:
      return u * std::exp2(20 * v - 10);
    case kind::log_uniform:
      return sign * std::exp2(240 * v - 125);
    case kind::cancelling: {
      const std::size_t first = i - i % 3;
      if (first + 2 >= num_items) return 0x1p-149f;
      const float large = (1 + fraction(mixed(2 * first))) * 0x1p120f;
      return i % 3 == 0 ? large : i % 3 == 1 ? u * 0x1p-100f : -large;
    }
    case kind::denormal:
      return from_bits(static_cast<std::uint32_t>((own & 0x7fffff) | (other & 0x80000000u)));
    case kind::ascending:
      return sign * (1 + u) * std::exp2(200 * static_cast<float>(i) / static_cast<float>(num_items) - 100);
    case kind::random_bits: {
      const auto bits = static_cast<std::uint32_t>(own);
      return from_bits((bits >> 23 & 0xff) < 236 ? bits : bits ^ 0x40000000u);
    }
    case kind::near_largest: {
      const std::uint64_t pair = mixed(i / 2 * 2);
      const float large = (pair & 1 ? 1.7e38f : -1.7e38f) * (1 + fraction(pair));
      return i % 2 == 0 ? large : -large * (1 - v * 0x1p-14f);
    }
  }
  return 0;
}

float factor(kind what, std::size_t i) {
  const std::size_t group = what == kind::cancelling ? i / 3 : what == kind::near_largest ? i / 2 : i;
  const std::uint64_t own = mixed(~std::uint64_t{group});
  return what == kind::integers ? 1 + static_cast<float>(own & 1) : 0.5f + static_cast<float>(own >> 41) * 0x1p-24f;
}

}  // namespace

void make(kind what, std::span<float> items) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = item(what, i, items.size());
}

void make_factors(kind what, std::span<float> factors) {
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = factor(what, i);
}

}  // namespace rungs::bench
