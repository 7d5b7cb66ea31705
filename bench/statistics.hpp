// What is said about samples: order statistics, and intervals that assume no distribution.
// Samples must be finite; anything else throws std::invalid_argument. No samples give NaN.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace rungs::bench {

struct summary_of_samples {
  std::size_t count = 0;
  double median, low, high;  // and the 95 % confidence interval of the median
  double iqr, min, p95;
};

struct interval {
  double low, high;
};

// median(numerator) / median(denominator) with its interval. The interval is NaN with fewer than six samples on a side.
struct ratio {
  double value, low, high;
};

double median(std::span<const double> samples);

// Linear interpolation between order statistics (R's type 7); 0 <= fraction <= 1.
double quantile(std::span<const double> samples, double fraction);

// The narrowest symmetric pair of order statistics that covers the median with at least this confidence; the extremes
// where no pair does (fewer than six samples at 95 %).
interval median_interval(std::span<const double> samples, double confidence);

summary_of_samples summarise(std::span<const double> samples);

// From the end of one median's interval to the other end of the other's, widened by a step of the clock, seen as the
// smallest distance between samples. Two intervals of 95 % that do not touch are further apart than 99 % of such pairs
// of the same code, whatever the distribution: times that jump between two states defeat intervals that assume a
// density.
ratio ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator, double confidence);

inline constexpr double ratio_confidence = 0.95;

// How far apart two entries of the same code were seen: the largest |ln ratio| of these twins, or their 99th percentile
// from a hundred on, as a fraction. 0 without twins.
double noise_floor(std::span<const double> twin_ratios);

// How far apart two entries of the same code were in a cell that moves so many bytes, as a ratio; NaN where none was
// measured.
struct twin_of_cell {
  std::size_t bytes;
  double ratio;
  int mode = 0;  // cells of other modes tell nothing
};
// Of each cell the noise floor from the twins of other cells of its mode: those with at most four times as many or as
// few bytes where they are enough, else all.
std::vector<double> noise_floors_of_twins(std::span<const twin_of_cell> cells);

// FASTER or SLOWER only if the interval excludes 1 and the difference exceeds the floor. SAME otherwise; AMBIGUOUS
// where the interval is wider than 10 % or missing, so that not even SAME can be said.
std::string_view verdict(const ratio& speedup, double floor);

}  // namespace rungs::bench
