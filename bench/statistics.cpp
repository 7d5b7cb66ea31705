#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace rungs::bench {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t fewest_for_interval = 6;

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  for (const double sample : copy) {
    if (!std::isfinite(sample)) throw std::invalid_argument("a sample is not a finite number");
  }
  std::sort(copy.begin(), copy.end());
  return copy;
}

double quantile_of_sorted(const std::vector<double>& samples, double fraction) {
  if (samples.empty()) return nan;
  const double position = fraction * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

// P(X = k) of a fair coin thrown n times.
double coin(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) - static_cast<double>(n) * std::log(2.0));
}

interval interval_of_sorted(const std::vector<double>& samples, double confidence) {
  if (samples.empty()) return {nan, nan};
  const std::size_t n = samples.size();
  std::size_t rank = 0;  // of the lower end, from 0
  double tail = coin(n, 0);
  while (rank + 1 < (n + 1) / 2 && tail + coin(n, rank + 1) <= (1 - confidence) / 2) tail += coin(n, ++rank);
  return {samples[rank], samples[n - 1 - rank]};
}

double smallest_step(const std::vector<double>& samples) {
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double gap = samples[i] - samples[i - 1];
    if (gap > 1e-9 * samples[i]) step = std::min(step, gap);
  }
  return std::isfinite(step) ? step : 0;
}

}  // namespace

double median(std::span<const double> samples) { return quantile_of_sorted(sorted(samples), 0.5); }

double quantile(std::span<const double> samples, double fraction) {
  return quantile_of_sorted(sorted(samples), fraction);
}

interval median_interval(std::span<const double> samples, double confidence) {
  return interval_of_sorted(sorted(samples), confidence);
}

summary_of_samples summarise(std::span<const double> samples) {
  const auto in_order = sorted(samples);
  const auto [low, high] = interval_of_sorted(in_order, 0.95);
  return {.count = in_order.size(),
          .median = quantile_of_sorted(in_order, 0.5),
          .low = low,
          .high = high,
          .iqr = quantile_of_sorted(in_order, 0.75) - quantile_of_sorted(in_order, 0.25),
          .min = in_order.empty() ? nan : in_order.front(),
          .p95 = quantile_of_sorted(in_order, 0.95)};
}

ratio ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator, double confidence) {
  const auto above = sorted(numerator), below = sorted(denominator);
  if (above.empty() || below.empty()) return {nan, nan, nan};
  if (above.front() <= 0 || below.front() <= 0) throw std::invalid_argument("a ratio needs positive samples");
  const double value = quantile_of_sorted(above, 0.5) / quantile_of_sorted(below, 0.5);
  if (std::min(above.size(), below.size()) < fewest_for_interval) return {value, nan, nan};
  // A tick of the clock on either side: a difference of one tick does not count.
  const double tick = std::max(smallest_step(above), smallest_step(below));
  const auto [above_low, above_high] = interval_of_sorted(above, confidence);
  const auto [below_low, below_high] = interval_of_sorted(below, confidence);
  return {value, (above_low - tick) / (below_high + tick),
          (above_high + tick) / std::max(below_low - tick, below_low / 2)};
}

double noise_floor(std::span<const double> twin_ratios) {
  if (twin_ratios.empty()) return 0;
  std::vector<double> distances;
  for (const double twin : twin_ratios) distances.push_back(std::abs(std::log(twin)));
  return std::expm1(quantile(distances, distances.size() < 100 ? 1.0 : 0.99));
}

std::vector<double> noise_floors_of_twins(std::span<const twin_of_cell> cells) {
  constexpr double alike = 4.01;
  constexpr std::size_t enough_twins = 5;
  std::vector<double> floors;
  for (const twin_of_cell& own : cells) {
    std::vector<double> near, all;
    for (const twin_of_cell& other : cells) {
      if (&other == &own || other.mode != own.mode || std::isnan(other.ratio)) continue;
      all.push_back(other.ratio);
      const double apart = static_cast<double>(other.bytes) / static_cast<double>(own.bytes);
      if (apart >= 1 / alike && apart <= alike) near.push_back(other.ratio);
    }
    floors.push_back(noise_floor(near.size() >= enough_twins ? near : all));
  }
  return floors;
}

std::string_view verdict(const ratio& speedup, double floor) {
  if (!std::isfinite(speedup.low) || !std::isfinite(speedup.high)) return "AMBIGUOUS";
  if (speedup.low > 1 && speedup.value > 1 + floor) return "FASTER";
  if (speedup.high < 1 && speedup.value < 1 / (1 + floor)) return "SLOWER";
  return speedup.high - speedup.low > 0.10 ? "AMBIGUOUS" : "SAME";
}

}  // namespace rungs::bench
