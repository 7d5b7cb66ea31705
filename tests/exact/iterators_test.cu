// Exact sums and dot products of what no pointer gives: items made while they are read, few or 2^32 of them, counted by
// any integer; results written through an iterator; calls with defaults.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <rungs/device/device_reduce.cuh>

#include "generic/support.cuh"
#include "gpu_test.hpp"
#include "made.cuh"
#include "oracles/exact_sum.hpp"

namespace rungs::tests {
namespace {

using ExactOfIterators = OnAGpu;

template <class T>
std::uint64_t bits_of(const T& value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
struct tenth {
  __host__ __device__ T operator()(std::ptrdiff_t) const { return T(0.1f); }
};
// Of both signs, over 200 binades.
struct scattered {
  __host__ __device__ float operator()(std::ptrdiff_t i) const {
    const auto mixed = static_cast<unsigned>(i) * 2654435761u;
    const unsigned bits = (mixed & 0x807fffff) | (27 + mixed / 64 % 200) << 23;
    float item;
    memcpy(&item, &bits, sizeof item);
    return item;
  }
};
struct wide {
  __host__ __device__ double operator()(std::ptrdiff_t i) const {
    return static_cast<double>(i) * (i % 2 == 0 ? 1e-200 : -1e200);
  }
};
// Writes twice what it is given: a result that went through it tells.
struct doubled_on_its_way {
  using value_type = double;
  using iterator_category = std::output_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = doubled_on_its_way;
  double* to;
  __host__ __device__ doubled_on_its_way operator*() const { return *this; }
  __host__ __device__ const doubled_on_its_way& operator=(double value) const {
    *to = 2 * value;
    return *this;
  }
};

TEST_F(ExactOfIterators, SumsAndDotsOfMadeItems) {
  workspace workspace;
  const auto sum = device_vector<float>({0.0f});
  const auto dot = device_vector<float>({0.0f}), mixed = device_vector<float>({0.0f});
  const auto sum_of_wide = device_vector<double>({0.0});
  for (const int n : {0, 1, 2, 33, 1000, 100'003, 1'000'001}) {
    SCOPED_TRACE(n);
    std::vector<float> host(static_cast<std::size_t>(n));
    exact_total of_sum, of_dot, of_wide;
    for (int i = 0; i < n; ++i) {
      const float item = host[static_cast<std::size_t>(i)] = scattered{}(i);
      of_sum.add(f32_format, bits_of(item));
      of_dot.add_product(f32_format, bits_of(item), bits_of(scattered{}(i + 77)));
      of_wide.add(f64_format, bits_of(wide{}(i)));
    }
    const device_vector<float> in(host);
    ASSERT_EQ(DeviceReduce::ExactSum(workspace, made<scattered>{}, sum.items, n), cudaSuccess);
    ASSERT_EQ(DeviceReduce::ExactDot(workspace, made<scattered>{}, made<scattered>{{}, 77}, dot.items, n), cudaSuccess);
    ASSERT_EQ(DeviceReduce::ExactDot(workspace, in.items, made<scattered>{{}, 77}, mixed.items, n), cudaSuccess);
    ASSERT_EQ(DeviceReduce::ExactSum(workspace, made<wide>{}, sum_of_wide.items, n), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(bits_of(sum.front()), of_sum.rounded(f32_format));
    EXPECT_EQ(bits_of(dot.front()), of_dot.rounded(f32_format));
    EXPECT_EQ(bits_of(mixed.front()), of_dot.rounded(f32_format));
    EXPECT_EQ(bits_of(sum_of_wide.front()), of_wide.rounded(f64_format));
  }
}

template <class T>
void expect_right_for_billions(float_format format) {
  workspace workspace;
  const std::size_t n = (std::size_t{1} << 32) + 5;
  const auto sum = device_vector<double>({0.0}), dot = device_vector<double>({0.0});
  const made<tenth<T>> items{};
  ASSERT_EQ(DeviceReduce::ExactSum(workspace, items, sum.items, n), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactDot(workspace, items, items, dot.items, n), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  exact_total of_sum, of_dot;
  of_sum.add(format, bits_of(items[0]), n);
  of_dot.add_product(format, bits_of(items[0]), bits_of(items[0]), n);
  EXPECT_EQ(bits_of(sum.front()), of_sum.rounded(f64_format));
  EXPECT_EQ(bits_of(dot.front()), of_dot.rounded(f64_format));
}
TEST_F(ExactOfIterators, BillionsOfFloats) { expect_right_for_billions<float>(f32_format); }
TEST_F(ExactOfIterators, BillionsOfDoubles) { expect_right_for_billions<double>(f64_format); }

TEST_F(ExactOfIterators, CountsOfAnyIntegerType) {
  const device_vector<float> in(std::vector<float>(100, 0.1f));
  const auto out = device_vector<float>(std::vector<float>(5));
  std::size_t bytes = 0, bytes_of_dot = 0;
  ASSERT_EQ(DeviceReduce::ExactSum(nullptr, bytes, in.items, out.items, 100), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactDot(nullptr, bytes_of_dot, in.items, in.items, out.items, 100), cudaSuccess);
  const device_vector<unsigned char> storage(std::vector<unsigned char>(bytes + bytes_of_dot));
  ASSERT_EQ(DeviceReduce::ExactSum(storage.items, bytes, in.items, out.items, 100), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactSum(storage.items, bytes, in.items, out.items + 1, 100u), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactSum(storage.items, bytes, in.items, out.items + 2, 100ll), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactSum(storage.items, bytes, in.items, out.items + 3, static_cast<unsigned char>(100)),
            cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactDot(storage.items, bytes_of_dot, in.items, in.items, out.items + 4, 100l), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.read(4)[static_cast<std::size_t>(i)], 10.0f) << i;
  EXPECT_EQ(out.read(5)[4], 1.0f);
}

TEST_F(ExactOfIterators, NothingOfNoMemory) {
  workspace workspace;
  const auto out = device_vector<float>({5.0f, 5.0f});
  const float* const none = nullptr;
  ASSERT_EQ(DeviceReduce::ExactSum(workspace, none, out.items, 0), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactDot(workspace, none, none, out.items + 1, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(bits_of(out.read(2)[0]), 0u);
  EXPECT_EQ(bits_of(out.read(2)[1]), 0u);
}

TEST_F(ExactOfIterators, ResultsThroughAnIterator) {
  workspace workspace;
  const device_vector<float> in(std::vector<float>(1000, 0.1f));
  const auto out = device_vector<double>({0.0});
  ASSERT_EQ(DeviceReduce::ExactSum(workspace, in.items, doubled_on_its_way{out.items}, 1000), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out.front(), 2000 * static_cast<double>(0.1f));
}

// A record on the device: merged in a kernel, and rounded there.
__global__ void merge(exact_sum<float>* into, const exact_sum<float>* other, float* rounded) {
  *into += *other;
  *rounded = into->rounded<float>();
}
TEST_F(ExactOfIterators, RecordsAreMergedOnTheDevice) {
  workspace workspace;
  std::vector<float> host(10'001);
  exact_total expected;
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i] = scattered{}(static_cast<std::ptrdiff_t>(i));
    expected.add(f32_format, bits_of(host[i]));
  }
  const device_vector<float> in(host);
  const device_vector<exact_sum<float>> parts(std::vector<exact_sum<float>>(2));
  const auto out = device_vector<float>({0.0f});
  ASSERT_EQ(DeviceReduce::ExactSum(workspace, in.items, parts.items, 3333), cudaSuccess);
  ASSERT_EQ(DeviceReduce::ExactSum(workspace, in.items + 3333, parts.items + 1, host.size() - 3333), cudaSuccess);
  merge<<<1, 1>>>(parts.items, parts.items + 1, out.items);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(bits_of(out.front()), expected.rounded(f32_format));
  EXPECT_EQ(bits_of(parts.front().rounded<float>()), expected.rounded(f32_format));
}

}  // namespace
}  // namespace rungs::tests
