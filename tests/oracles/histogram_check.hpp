// Checks the counters of a histogram of any length, on the host or the device: sorted keys instead of a formula. Tested
// against the host oracle (histogram_reference.hpp), from which it has the boundaries of the bins.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "catalog.hpp"
#include "oracles/keys.hpp"
#include "oracles/samples.hpp"

namespace rungs::tests {

// A key whose unsigned order is the order of the values of all types but u64, which has keys of its own; zeros are
// alike. NaN has none.
template <class T>
__host__ __device__ std::uint64_t histogram_key(T x) {
  if constexpr (is_float<T>) {
    const double wide = to_double(x);
    return order_key(wide == 0 ? 0.0 : wide);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return x;
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ 1ull << 63;
  }
}

template <class T>
__host__ __device__ bool is_nan(T x) {
  if constexpr (is_float<T>) {
    const double wide = to_double(x);
    return wide != wide;
  } else {
    return false;
  }
}

// How many keys are not above this one.
__host__ __device__ inline int keys_up_to(const std::uint64_t* keys, int num_keys, std::uint64_t key) {
  int first = 0;
  while (num_keys > 0) {
    const int half = num_keys / 2;
    if (keys[first + half] <= key) {
      first += half + 1;
      num_keys -= half + 1;
    } else {
      num_keys = half;
    }
  }
  return first;
}

// Samples to be counted, where the site is.
struct histogram_task {
  catalog::scalar sample{};
  const void* samples = nullptr;
  std::size_t num_items = 0;
  int num_channels = 1, num_active_channels = 1;
  int num_bins = 1;
  const std::uint64_t* boundaries = nullptr;  // num_bins + 1
  // num_bins for each active channel, one after the other; then those below, above, and NaN.
  unsigned long long* counts = nullptr;

  __host__ __device__ std::size_t num_counters() const {
    return static_cast<std::size_t>(num_active_channels) * static_cast<std::size_t>(num_bins);
  }
  __host__ __device__ std::size_t num_counts() const { return num_counters() + 3; }
  // Where sample i is counted, or num_counts() for what does not count at all.
  template <class T>
  __host__ __device__ std::size_t place(T x, std::size_t i) const {
    const std::size_t channel = i % static_cast<std::size_t>(num_channels);
    if (channel >= static_cast<std::size_t>(num_active_channels)) return num_counts();
    if (is_nan(x)) return num_counters() + 2;
    const int up_to = keys_up_to(boundaries, num_bins + 1, histogram_key(x));
    if (up_to == 0) return num_counters();
    if (up_to > num_bins) return num_counters() + 1;
    return channel * static_cast<std::size_t>(num_bins) + static_cast<std::size_t>(up_to - 1);
  }
};

// On host memory.
void count_on_host(const histogram_task& task);

}  // namespace rungs::tests
