// What histograms count: levels, and samples by distribution. Sample i is a pure function of (seed, i), in whole
// numbers or in sums that are exact, so that host and device make the same samples without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "workload.hpp"

namespace rungs::bench {

// uniform       every bin as often
// constant      one bin, which the seed picks
// eight_hot     the first eight bins, so that every lane of a warp has company, in few words next to each other
// zipf          bin k about as often as 1 / (k + 1): floor((bins + 1)^u) - 1 for a uniform u
// sorted        ascending; the seed says which share of the range the lower half of the samples takes
// runs          equal samples in a row, 64 on average, up to 256
// out_of_range  half of the samples uniform, the others on either side of the levels, near and far; of floats also NaN
//               and the infinities
// Within its bin a sample lies anywhere; of floats one in sixteen on the lower edge itself.
enum class distribution : unsigned char { uniform, constant, eight_hot, zipf, sorted, runs, out_of_range };
inline constexpr distribution all_distributions[] = {
    distribution::uniform, distribution::constant, distribution::eight_hot,   distribution::zipf,
    distribution::sorted,  distribution::runs,     distribution::out_of_range};
constexpr std::string_view name(distribution value) {
  constexpr std::string_view names[] = {"uniform", "constant", "eight_hot", "zipf", "sorted", "runs", "out_of_range"};
  return names[static_cast<int>(value)];
}

// The levels of a case: even, or uneven by up to a bin's width. In units, of which a float's level counts quarters.
struct bin_edges {
  unsigned num_bins = 1;
  bool even = true, in_quarters = false;
  long long lower = 0;     // the first level
  std::uint64_t span = 1;  // from the first level to the last

  // Where bin i begins, from the first level on; of even bins the first whole unit in it.
  __host__ __device__ std::int64_t edge(std::uint64_t i) const {
    if (i == 0) return 0;
    if (i >= num_bins) return static_cast<std::int64_t>(span);
    if (even) return static_cast<std::int64_t>((i * span + num_bins - 1) / num_bins);
    const std::uint64_t width = span / num_bins;
    return static_cast<std::int64_t>(i * span / num_bins + (width > 1 ? random_bits(0x65646765, i) % width : 0));
  }
  double level(std::uint64_t i) const { return static_cast<double>(lower + edge(i)) * (in_quarters ? 0.25 : 1); }
};

// Integers of one and two bytes: over the whole type. All others: [0, bins); uneven integers: [0, 4 bins), where there
// is room for edges that are not even. Where there are fewer values than bins, edges coincide.
bin_edges edges_of(catalog::scalar sample_type, std::size_t num_bins, bool even);
// Whether there is anything outside of the levels.
bool has_outside(catalog::scalar sample_type);
// As the call takes them: the first and the last, or all of them; in words, for their alignment.
std::vector<std::uint64_t> levels_of(const bin_edges& edges, catalog::scalar level_type);

struct sample_source {
  catalog::scalar type{};
  std::size_t num_items = 0;
  std::uint64_t seed = 0;
  bench::distribution distribution{};
  bin_edges edges;
  std::uint64_t log2_of_bins = 0;  // log2(bins + 1) in units of 2^-24
  std::size_t contention = 0;      // so many percent of uniform samples are moved to one bin, which the seed picks
};
sample_source samples_from(catalog::scalar type, std::size_t num_items, std::uint64_t seed,
                           bench::distribution distribution, const bin_edges& edges);

// Integers of eight bytes are not counted: a double does not hold them.
template <class T>
inline constexpr bool is_sample = is_number<T> && (sizeof(T) <= 4 || is_floating<T>);

inline constexpr double infinity = std::numeric_limits<double>::infinity(),
                        not_a_number = std::numeric_limits<double>::quiet_NaN();
template <class T>
inline constexpr auto least_of = static_cast<std::int64_t>(std::numeric_limits<T>::lowest());
template <class T>
inline constexpr auto most_of = static_cast<std::int64_t>(std::numeric_limits<T>::max());

template <class T>
__host__ __device__ T rounded(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<T>(static_cast<float>(value));
}

template <class T>
__host__ __device__ T sample_in(const bin_edges& edges, unsigned bin, std::uint64_t bits) {
  const std::int64_t first = edges.edge(bin), width = edges.edge(bin + std::uint64_t{1}) - first;
  if constexpr (is_floating<T>) {
    const std::uint64_t fraction = bits % 16 == 0 ? 0 : bits >> 44;
    const double offset = static_cast<double>(width) * (static_cast<double>(fraction) * 0x1p-20);
    const double lower = static_cast<double>(edges.lower + first);
    const T sample = rounded<T>(0.25 * (lower + offset));
    // What rounds up into the next bin stays on the edge of its own.
    return to_double(sample) < 0.25 * (lower + static_cast<double>(width)) ? sample : rounded<T>(0.25 * lower);
  } else {
    std::int64_t offset = first;
    if (width > 1) offset += static_cast<std::int64_t>((bits >> 32) * static_cast<std::uint64_t>(width) >> 32);
    const auto last = static_cast<std::int64_t>(edges.span) - 1;
    return static_cast<T>(edges.lower + (offset < last ? offset : last));
  }
}

// An integer where the levels take in the whole type lies inside, all the same.
template <class T>
__host__ __device__ T sample_outside(const bin_edges& edges, std::uint64_t bits) {
  const auto near = static_cast<std::int64_t>(1 + (bits >> 8) % 1000);
  const std::int64_t first = edges.lower, end = edges.lower + static_cast<std::int64_t>(edges.span);
  if constexpr (is_floating<T>) {
    const double lower = 0.25 * static_cast<double>(first), upper = 0.25 * static_cast<double>(end),
                 away = static_cast<double>(near);
    const double outside[] = {not_a_number, infinity,          -infinity,    upper,
                              upper + away, upper + 32 * away, lower - away, lower - 0x1p-10 * away};
    return rounded<T>(outside[bits % 8]);
  } else {
    constexpr std::int64_t least = least_of<T>, most = most_of<T>;
    const std::int64_t outside[] = {first - near, end - 1 + near, least + near - 1, most - near + 1};
    const std::int64_t sample = outside[bits % 4];
    const bool held = sample >= least && sample <= most, inside = sample >= first && sample < end;
    return static_cast<T>(held && !inside ? sample : most - near + 1);
  }
}

// floor(2^(u * log2_of_bins)) - 1 for u = fraction / 2^32; the parabola for 2^f errs by at most 0.3 %.
__host__ __device__ inline unsigned zipf_bin(const sample_source& from, std::uint64_t fraction) {
  constexpr std::uint64_t curved = 1'476'739'000, straight = (1ull << 32) - curved;
  const std::uint64_t exponent = fraction * from.log2_of_bins;  // in units of 2^-56
  const std::uint64_t f = exponent >> 24 & 0xffffffff;
  const std::uint64_t power = (1ull << 32) + (f * (straight + (curved * f >> 32)) >> 32);
  const std::uint64_t bin = (power << (exponent >> 56) >> 32) - 1;
  return static_cast<unsigned>(bin < from.edges.num_bins ? bin : from.edges.num_bins - 1);
}

template <class T>
__host__ __device__ T sorted_sample(const sample_source& from, std::size_t index) {
  const std::uint64_t share = 384 + random_bits(from.seed, 0) % 257;  // of 1024: what the lower half takes
  constexpr std::uint64_t half = 1 << 29;
  const std::uint64_t at = (static_cast<std::uint64_t>(index) << 30) / from.num_items;
  const std::uint64_t height = at < half ? at * share >> 9 : (share << 20) + ((at - half) * (1024 - share) >> 9);
  if constexpr (is_floating<T>) {
    // So fine that the last sample still lies below the last level.
    constexpr int digits = std::is_same_v<T, double>   ? 30
                           : std::is_same_v<T, float>  ? 23
                           : std::is_same_v<T, __half> ? 10
                                                       : 7;
    const double part = static_cast<double>(height >> (30 - digits)) / (1 << digits);
    return rounded<T>(0.25 * (static_cast<double>(from.edges.lower) + static_cast<double>(from.edges.span) * part));
  } else {
    return static_cast<T>(from.edges.lower + static_cast<std::int64_t>(height * from.edges.span >> 30));
  }
}

template <class T>
__host__ __device__ T sample(const sample_source& from, std::size_t index) {
  constexpr std::uint64_t other = 0x706c616365;
  std::uint64_t key = index;
  if (from.distribution == distribution::sorted) return sorted_sample<T>(from, index);
  if (from.distribution == distribution::runs) {
    // Three cuts through every 256 samples.
    const std::uint64_t cuts = random_bits(~from.seed ^ other, index >> 8), at = index & 255;
    key = (index >> 8 << 2) + ((cuts & 255) <= at) + ((cuts >> 8 & 255) <= at) + ((cuts >> 16 & 255) <= at);
  }
  const std::uint64_t bits = random_bits(from.seed, key), place = random_bits(from.seed ^ other, key);
  const std::uint64_t fraction = bits >> 32;
  auto bin = static_cast<unsigned>(fraction * from.edges.num_bins >> 32);
  switch (from.distribution) {
    case distribution::constant:
      bin = static_cast<unsigned>(random_bits(from.seed, 0) % from.edges.num_bins);
      break;
    case distribution::eight_hot:
      bin = static_cast<unsigned>(fraction % 8 % from.edges.num_bins);
      break;
    case distribution::zipf:
      bin = zipf_bin(from, fraction);
      break;
    case distribution::out_of_range:
      if (bits % 2 == 0) return sample_outside<T>(from.edges, place);
      break;
    case distribution::uniform:
      if (bits % 100 < from.contention) bin = static_cast<unsigned>(random_bits(from.seed, 0) % from.edges.num_bins);
      break;
    case distribution::sorted:
    case distribution::runs:
      break;
  }
  return sample_in<T>(from.edges, bin, place);
}

// On the host.
void generate(const sample_source& from, void* samples);

}  // namespace rungs::bench
