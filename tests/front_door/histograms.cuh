// Programs that make histograms. Included by a file for each library, which names it DOOR and what they are to be
// called HISTOGRAMS.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cuda/std/array>

#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

namespace device = DOOR;

}  // namespace

std::vector<outcome> HISTOGRAMS(std::size_t num_items) {
  stage on;
  const int n = static_cast<int>(num_items);
  const device_array<unsigned char> d_bytes(items<unsigned char>(num_items, 251, 0));
  const device_array<int> d_ints(items<int>(num_items));
  const device_array<float> d_floats(items<float>(num_items));
  const device_array<int> d_counters(std::size_t{3 * 256 + 1});

  on.run("HistogramEven of bytes", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(storage..., d_bytes.read(), d_counters.get(), 257, 0, 256, n);
  });
  on.run("HistogramEven of ints", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(storage..., d_ints.read(), d_counters.get(), 101, -400, 400, n);
  });
  on.run("HistogramEven of an iterator", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(
        storage..., thrust::make_transform_iterator(thrust::counting_iterator<int>(0), scattered_int{}),
        d_counters.get(), 201, -2000, 2000, n);
  });
  const device_array<float> d_levels(std::vector<float>{-400.0f, -10.5f, -0.5f, 0.5f, 250.0f, 499.0f});
  on.run("HistogramRange of floats", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramRange(storage..., d_floats.read(), d_counters.get(), 6, d_levels.get(), n);
  });
  // Rows of 37 samples, 40 apart.
  const int rows = n / 40;
  on.run("HistogramEven of rows", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(storage..., d_ints.read(), d_counters.get(), 101, -400, 400, 37, rows,
                                                  40 * sizeof(int));
  });
  const cuda::std::array<int*, 3> d_histogram{d_counters.get(), d_counters.get() + 256, d_counters.get() + 512};
  const cuda::std::array<int, 3> num_levels{257, 129, 65}, lower_level{0, 0, 0}, upper_level{256, 256, 256};
  on.run("MultiHistogramEven of bytes", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::MultiHistogramEven<4, 3>(storage..., d_bytes.read(), d_histogram, num_levels,
                                                             lower_level, upper_level, n / 4);
  });
  // Rows of nine pixels of three channels, 40 bytes apart.
  on.run("MultiHistogramEven of rows", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::MultiHistogramEven<3, 3>(storage..., d_bytes.read(), d_histogram, num_levels,
                                                             lower_level, upper_level, 9, rows, std::size_t{40});
  });
  const cuda::std::array<int*, 2> d_two_histograms{d_counters.get(), d_counters.get() + 256};
  const cuda::std::array<const float*, 2> levels{d_levels.get(), d_levels.get() + 1};
  const cuda::std::array<int, 2> num_edges{6, 5};
  on.run("MultiHistogramRange of floats", d_counters, [&](auto&... storage) {
    return device::DeviceHistogram::MultiHistogramRange<3, 2>(storage..., d_floats.read(), d_two_histograms, num_edges,
                                                              levels, n / 3);
  });
  return on.outcomes;
}

}  // namespace rungs::tests
