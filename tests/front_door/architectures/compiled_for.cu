// Compiled once for each list of architectures, as CALLS: the same calls as other files make, and some of its own
// types.
#include "front_door/architectures/compiled_for.hpp"

#include <rungs/device/device_histogram.cuh>
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>

#include <cstddef>
#include <iterator>
#include <numeric>

#include "front_door/far_away.hpp"
#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

// Of this file alone, as its namespace is.
struct own_sum {
  __host__ __device__ long long operator()(long long a, long long b) const { return a + b; }
};

// Items that are read one by one, by no other file.
template <class T>
struct own_reader {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = const T*;
  using reference = const T&;
  const T* items;

  __host__ __device__ reference operator*() const { return *items; }
  template <class Offset>
  __host__ __device__ reference operator[](Offset i) const {
    return items[i];
  }
  template <class Offset>
  __host__ __device__ own_reader operator+(Offset i) const {
    return {items + i};
  }
};

// right(in) answers all outputs.
template <class In, class Out, class Call, class Right>
file_call made(const char* name, Call call, Right right) {
  return {name, both_forms<std::size_t>([=](std::size_t n, auto&... storage) {
            return call(far_away<const In>(1), far_away<Out>(2), n, storage...);
          }),
          [=](std::size_t n) {
            const std::vector<In> in = items<In>(n, 97, 0);
            const std::vector<Out> expected = right(in);
            const device_array<In> d_in(in);
            const device_array<Out> d_out(expected.size());
            expect_in_both_forms(name + (", n = " + std::to_string(n)), expected, d_out,
                                 [&](auto&... storage) { return call(d_in.read(), d_out.get(), n, storage...); });
          }};
}

template <class T>
std::vector<T> sum_of(const std::vector<T>& in) {
  return {std::accumulate(in.begin(), in.end(), T{})};
}
template <class T>
std::vector<T> sums_of(const std::vector<T>& in) {
  std::vector<T> sums(in.size());
  std::inclusive_scan(in.begin(), in.end(), sums.begin());
  return sums;
}

}  // namespace

std::vector<file_call> CALLS() {
  const auto sum = [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
    return DeviceReduce::Sum(storage..., d_in, d_out, n);
  };
  const auto scan = [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
    return DeviceScan::InclusiveSum(storage..., d_in, d_out, n);
  };
  return {
      made<int, int>("Sum of ints", sum, sum_of<int>),
      made<double, double>("Sum of doubles", sum, sum_of<double>),
      made<double, double>(
          "Sum by an iterator of this file",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceReduce::Sum(storage..., own_reader<double>{d_in}, d_out, n);
          },
          sum_of<double>),
      made<long long, long long>(
          "Reduce by an operator of this file",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceReduce::Reduce(storage..., d_in, d_out, n, own_sum{}, 0ll);
          },
          sum_of<long long>),
      made<int, int>("InclusiveSum of ints", scan, sums_of<int>),
      made<int, int>(
          "InclusiveSum by an iterator of this file",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceScan::InclusiveSum(storage..., own_reader<int>{d_in}, d_out, n);
          },
          sums_of<int>),
      made<long long, long long>(
          "InclusiveScan by an operator of this file",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceScan::InclusiveScan(storage..., d_in, d_out, own_sum{}, n);
          },
          sums_of<long long>),
      made<unsigned char, unsigned>(
          "HistogramEven of bytes",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceHistogram::HistogramEven(storage..., d_in, d_out, 257, 0, 256, n);
          },
          [](const std::vector<unsigned char>& in) {
            std::vector<unsigned> counts(256);
            for (const unsigned char each : in) ++counts[each];
            return counts;
          }),
      // More bins than a block holds.
      made<int, unsigned>(
          "HistogramEven of ints",
          [](auto d_in, auto d_out, std::size_t n, auto&... storage) {
            return DeviceHistogram::HistogramEven(storage..., d_in, d_out, 70'001, 0, 70'000, n);
          },
          [](const std::vector<int>& in) {
            std::vector<unsigned> counts(70'000);
            for (const int each : in) ++counts[static_cast<std::size_t>(each)];
            return counts;
          }),
  };
}

}  // namespace rungs::tests
