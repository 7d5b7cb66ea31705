// Histograms with bins of one width, and how often each value occurs.
#include <rungs/device/device_histogram.cuh>

#include <limits>

#include "types.cuh"

namespace rungs_torch {

// A level as torch.histc means it: the last bin holds samples that equal the upper one.
template <class T>
struct inclusive_level {
  T value;
  __host__ __device__ operator T() const { return value; }
};

}  // namespace rungs_torch

namespace rungs::RUNGS_ABI::parts {

// The bins of torch.histc, rounded as it rounds.
template <class T>
struct even_rule<T, rungs_torch::inclusive_level<T>, false> {
  T lower, upper;

  bool set(unsigned, T lower_level, T upper_level) {
    lower = lower_level;
    upper = upper_level;
    return lower < upper && std::isfinite(upper - lower);
  }
  __device__ unsigned bin_of(T sample, unsigned num_bins) const {
    const auto bin =
        static_cast<unsigned>(static_cast<int>((sample - lower) * static_cast<T>(num_bins) / (upper - lower)));
    const unsigned last = num_bins - 1;
    return sample >= lower && sample <= upper ? (bin < last ? bin : last) : num_bins;
  }
  bool is_unit(unsigned) const { return false; }
};

}  // namespace rungs::RUNGS_ABI::parts

using namespace rungs_torch;

namespace {
// As many levels as the front door can be told of.
bool fits(size_t num_bins) { return num_bins > 0 && num_bins < size_t(std::numeric_limits<int>::max()); }
}  // namespace

int rungs_count_even(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_samples, void* d_bins,
                     size_t num_bins, double lower, double upper, size_t num_samples, void* stream) {
  if (!fits(num_bins)) return cudaErrorInvalidValue;
  return with_type<float, double>(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rungs::DeviceHistogram::HistogramEven(
        d_temp_storage, *temp_storage_bytes, static_cast<const T*>(d_samples), static_cast<T*>(d_bins),
        static_cast<int>(num_bins) + 1, inclusive_level<T>{static_cast<T>(lower)},
        inclusive_level<T>{static_cast<T>(upper)}, num_samples, stream_of(stream));
  });
}

int rungs_count_values(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_samples,
                       long long* d_bins, size_t num_bins, size_t num_samples, void* stream) {
  if (!fits(num_bins)) return cudaErrorInvalidValue;
  return with_type<unsigned char, int, long long>(type, [&](auto item) {
    using T = typename decltype(item)::named;
    using level = std::conditional_t<sizeof(T) == 8, long long, int>;
    return rungs::DeviceHistogram::HistogramEven(d_temp_storage, *temp_storage_bytes, static_cast<const T*>(d_samples),
                                                 reinterpret_cast<unsigned long long*>(d_bins),
                                                 static_cast<int>(num_bins) + 1, level{0}, static_cast<level>(num_bins),
                                                 num_samples, stream_of(stream));
  });
}
