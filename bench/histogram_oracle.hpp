// What a histogram must come to: samples are binned and counted here by code that shares nothing with the variants.
// Host and device compile the same functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "samples.hpp"

namespace rungs::bench {

struct histogram_question {
  catalog::scalar type{};     // of the samples
  std::size_t num_items = 0;  // samples, of whole pixels only
  int num_channels = 1, num_active_channels = 1;
  unsigned num_bins = 1;
  bool even = true;
  double first = 0, last = 1;  // levels
  double scale = 1;            // of even bins of floats: bins / (last - first), as a float where samples are no doubles
  const double* edges = nullptr;  // of uneven bins: num_bins + 1, ascending, where the counting runs

  __host__ __device__ std::size_t num_counters() const { return std::size_t{num_bins} * num_active_channels; }
};

struct counted {
  std::vector<std::uint64_t> counters;
  std::uint64_t inside = 0;  // samples of active channels between the first level and the last
};

template <class T>
__host__ __device__ double value_of(T sample) {
  if constexpr (is_floating<T>)
    return to_double(sample);
  else
    return static_cast<double>(sample);
}

template <class T>
__host__ __device__ bool is_inside(const histogram_question& of, T sample) {
  return value_of(sample) >= of.first && value_of(sample) < of.last;
}

// Of a sample inside: even bins of integers by exact division; of floats by the formula that CUB documents, in the type
// of their levels; uneven bins by the last edge that is not above the sample.
template <class T>
__host__ __device__ unsigned bin_of(const histogram_question& of, T sample) {
  if (!of.even) {
    unsigned below = 0, above = of.num_bins;
    while (above - below > 1) {
      const unsigned middle = below + (above - below) / 2;
      (of.edges[middle] <= value_of(sample) ? below : above) = middle;
    }
    return below;
  }
  if constexpr (is_floating<T>) {
    using number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    // A difference and then a product: nothing for the compiler to fuse.
    const number product =
        (static_cast<number>(value_of(sample)) - static_cast<number>(of.first)) * static_cast<number>(of.scale);
    const auto bin = static_cast<unsigned>(product);
    return bin < of.num_bins ? bin : of.num_bins - 1;
  } else {
    // Samples take at most 32 bits and bins at most 31, so the product holds.
    const auto offset =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(sample) - static_cast<std::int64_t>(of.first));
    const auto range =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(of.last) - static_cast<std::int64_t>(of.first));
    return static_cast<unsigned>(offset * of.num_bins / range);
  }
}

// Which channel sample i is of; false where that one is not counted.
__host__ __device__ inline bool is_active(const histogram_question& of, std::size_t i) {
  return static_cast<int>(i % static_cast<unsigned>(of.num_channels)) < of.num_active_channels;
}
__host__ __device__ inline std::size_t first_counter(const histogram_question& of, std::size_t i) {
  return i % static_cast<unsigned>(of.num_channels) * of.num_bins;
}

bool has_oracle_of_histograms(const catalog::record& record);
histogram_question question_of(const catalog::record& record, const sample_source& from);
std::vector<double> edges_for(const histogram_question& of, const sample_source& from);  // empty for even bins

// On the host.
counted count_samples(const histogram_question& of, const void* samples);

}  // namespace rungs::bench
