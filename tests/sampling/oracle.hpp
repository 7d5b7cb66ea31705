// What rungs/rows/sampling.cuh promises, by sorting whole rows on the host: weights, cuts and draws, bit by bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rungs::tests {

struct sampling_rules {
  float temperature = 1;
  int top_k = 0;
  float top_p = 1, min_p = 0;
  bool from_probabilities = false;
};

// Philox4x32-10.
struct philox_words {
  std::uint32_t words[4];
};
inline philox_words host_philox(philox_words counter, std::uint64_t key) {
  auto& [c] = counter;
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
    const std::uint64_t first = std::uint64_t{0xd2511f53} * c[0], second = std::uint64_t{0xcd9e8d57} * c[2];
    counter = {{static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(second),
                static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(first)}};
  }
  return counter;
}

// A row's levels and weights, its tokens that have any in the order of the cuts, and how many of them stay.
class host_row {
 public:
  std::vector<std::uint32_t> levels, weights;
  std::vector<int> order;
  std::size_t num_kept = 0;
  std::uint64_t kept_sum = 0;
  bool from_probabilities;

  host_row(const std::vector<float>& values, const sampling_rules& rules)
      : levels(values.size()), weights(values.size()), from_probabilities(rules.from_probabilities) {
    const float inf = INFINITY;
    float greatest = -inf;
    for (const float value : values)
      if (value > greatest) greatest = value;
    const bool is_none = rules.from_probabilities ? !(greatest >= std::ldexp(1.0f, -96)) : greatest == -inf;
    for (std::size_t i = 0; i < values.size() && !is_none; ++i) {
      levels[i] = level_of(values[i], greatest, rules);
      const double exact_share = weight_of(levels[i], rules.from_probabilities);
      weights[i] = exact_share >= rules.min_p * 0x1p31 ? static_cast<std::uint32_t>(exact_share) : 0;
      if (weights[i] > 0) order.push_back(static_cast<int>(i));
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
    num_kept = order.size();
    const std::size_t top_k = rules.temperature == 0 ? 1 : static_cast<std::size_t>(rules.top_k);
    if (top_k > 0) num_kept = std::min(num_kept, top_k);
    kept_sum = sum_of_first(num_kept);
    if (rules.top_p < 1 && num_kept > 0) {
      const auto share = static_cast<std::uint64_t>(std::floor(rules.top_p * 0x1p32));
      const unsigned __int128 product = static_cast<unsigned __int128>(kept_sum) * share;
      auto target = static_cast<std::uint64_t>((product + 0xffffffff) >> 32);
      if (target == 0) target = 1;
      num_kept = first_to_reach(target) + 1;
      kept_sum = sum_of_first(num_kept);
    }
  }

  int last_kept() const { return num_kept > 0 ? order[num_kept - 1] : -1; }
  // `fraction` in units of 2^-64.
  int draw(std::uint64_t fraction) const {
    if (num_kept == 0) return -1;
    return order[first_to_reach(
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(kept_sum) * fraction) >> 64) + 1)];
  }
  static std::uint64_t fraction_of(float uniform) {
    if (!(uniform > 0)) return 0;
    return uniform >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(std::ldexp(static_cast<double>(uniform), 64));
  }
  float probability(int token) const {
    return token < 0 ? 0 : static_cast<float>(static_cast<double>(weights[token]) / static_cast<double>(kept_sum));
  }

 private:
  static std::uint32_t level_of(float value, float greatest, const sampling_rules& rules) {
    constexpr std::uint32_t most = 32u << 17;
    if (std::isnan(value)) return 0;
    greatest = std::fmin(greatest, FLT_MAX);
    if (value > greatest) return most;
    if (rules.from_probabilities) {
      const float factor = 0x1p31f / greatest, scaled = value * factor;
      if (!(scaled > 0.5f)) return 0;
      int exponent;
      const double mantissa = 2 * std::frexp(scaled, &exponent) - 1;  // scaled = 2^(exponent - 1) (1 + mantissa)
      return std::min(most, static_cast<std::uint32_t>(std::floor((exponent + mantissa) * 0x1p17 + 0.5)));
    }
    const double exact = rules.temperature == 0 ? 1 : 1.4426950408889634 / rules.temperature;
    const float factor = exact < FLT_MAX ? static_cast<float>(exact) : FLT_MAX;
    const volatile float difference = value - greatest;
    const volatile float binary = difference * factor;
    if (!(binary > -32)) return 0;
    // 96 + binary in a float, whose last bit is 2^-17 there.
    const volatile float shifted = binary + 96;
    return static_cast<std::uint32_t>((static_cast<double>(shifted) - 64) * 0x1p17);
  }
  static double weight_of(std::uint32_t level, bool from_probabilities) {
    if (level == 0) return 0;
    const float f = static_cast<float>((level & 0x1ffff) * 0x1p-17);
    float mantissa = 1 + f;
    if (!from_probabilities) {
      float sum = 0x1.e974fap-10f;
      for (const float coefficient : {0x1.277856p-7f, 0x1.c91ce6p-5f, 0x1.ebdb56p-3f, 0x1.62e4bap-1f, 1.0f})
        sum = std::fma(sum, f, coefficient);
      mantissa = sum;
    }
    return std::nearbyint(std::ldexp(static_cast<double>(mantissa), static_cast<int>(level >> 17) - 1));
  }
  std::uint64_t sum_of_first(std::size_t count) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += weights[static_cast<std::size_t>(order[i])];
    return sum;
  }
  std::size_t first_to_reach(std::uint64_t target) const {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    while ((sum += weights[static_cast<std::size_t>(order[i])]) < target) ++i;
    return i;
  }
};

}  // namespace rungs::tests
