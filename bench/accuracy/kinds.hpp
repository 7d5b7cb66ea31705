// Ten kinds of floats whose sums are easy or hard; none is larger than a float holds. The same on every machine, but
// for the last bits of logarithms.
#pragma once

#include <span>
#include <string_view>

namespace rungs::bench {

enum class kind : unsigned char {
  uniform,
  normal,
  integers,
  scaled,
  log_uniform,
  cancelling,
  denormal,
  ascending,
  random_bits,
  near_largest
};
inline constexpr int num_kinds = 10;
constexpr std::string_view name(kind value) {
  constexpr std::string_view names[num_kinds] = {"uniform",    "normal",   "integers",  "scaled",      "log_uniform",
                                                 "cancelling", "denormal", "ascending", "random_bits", "near_largest"};
  return names[static_cast<int>(value)];
}
constexpr std::string_view description(kind value) {
  constexpr std::string_view words[num_kinds] = {
      "uniform in [0, 1)",
      "normal, of mean 0 and deviation 1",
      "whole numbers from -1000 to 1000",
      "uniform in [0, 1) times 2^u, u uniform in [-10, 10)",
      "either sign, 2^u, u uniform in [-125, 115)",
      "threes: about 2^120, about 2^-100, and the first with its sign changed",
      "denormals of either sign",
      "either sign, magnitudes that ascend from 2^-100 to 2^100",
      "random bits, magnitudes below 2^109",
      "pairs near the largest float, of opposite signs, that nearly cancel"};
  return words[static_cast<int>(value)];
}

void make(kind what, std::span<float> items);

// What each item is multiplied by in a dot product: whole numbers 1 or 2 of whole numbers, else from [0.5, 1), so that
// no product is larger than its item. Items that cancel get the same factor.
void make_factors(kind what, std::span<float> factors);

}  // namespace rungs::bench
