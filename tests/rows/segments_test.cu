// rungs::DeviceSegmentedReduce against sums on the host: sizes on both sides of every change of mapping, any type and
// operator that DeviceReduce takes, and that the bits of a segment depend on the segment alone.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <rungs/device/device_segmented_reduce.cuh>
#include <type_traits>
#include <vector>

namespace rungs::tests {
namespace {

using segmented = DeviceSegmentedReduce;

template <class T>
struct on_device {
  explicit on_device(const std::vector<T>& items) : size(items.size()) {
    EXPECT_EQ(cudaMalloc(&data, size * sizeof(T) + 1), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, items.data(), size * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  explicit on_device(std::size_t n) : on_device(std::vector<T>(n)) {}
  ~on_device() { cudaFree(data); }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  std::vector<T> read() const {
    std::vector<T> items(size);
    EXPECT_EQ(cudaMemcpy(items.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return items;
  }
  T* data = nullptr;
  std::size_t size;
};

// call(d_temp_storage, temp_storage_bytes) in two phases, on storage at an odd address that holds anything.
template <class Call>
cudaError_t in_two_phases(Call call) {
  std::size_t bytes = 0;
  if (const cudaError_t error = call(nullptr, bytes)) return error;
  EXPECT_GT(bytes, 0u);
  unsigned char* storage = nullptr;
  EXPECT_EQ(cudaMalloc(&storage, bytes + 1), cudaSuccess);
  EXPECT_EQ(cudaMemset(storage, 0xa5, bytes + 1), cudaSuccess);
  std::size_t too_few = bytes - 1;
  EXPECT_EQ(call(storage + 1, too_few), cudaErrorInvalidValue);
  cudaError_t error = call(storage + 1, bytes);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  cudaFree(storage);
  return error;
}

struct Segments : testing::Test {
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no usable GPU";
  }
};

// Items with small magnitudes, so that sums of floats are exact.
template <class T>
std::vector<T> small_items(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> items(n);
  for (T& item : items) item = T(static_cast<int>(engine() % 7) - (std::is_unsigned_v<T> ? 0 : 3));
  return items;
}

std::vector<std::size_t> sizes(std::size_t item_bytes) {
  std::vector<std::size_t> all = {1, 2, 3, 5, 31, 33, 1000, 70'001};
  const std::size_t piece = item_bytes > 16 || 16 % item_bytes != 0 ? 1 : 16 / item_bytes;
  for (std::size_t pieces = 1; pieces <= 1024; pieces *= 2)
    for (const std::size_t size : {pieces * piece - 1, pieces * piece, pieces * piece + 1})
      if (size > 0) all.push_back(size);
  return all;
}

template <class T>
struct SegmentsOf : Segments {};
using Types = testing::Types<int, unsigned char, short, long long, float, double, __half>;
TYPED_TEST_SUITE(SegmentsOf, Types);

TYPED_TEST(SegmentsOf, SumsMinimaMaximaAndTheirPlaces) {
  using T = TypeParam;
  using output = std::conditional_t<std::is_same_v<T, unsigned char> || std::is_same_v<T, short>, int, T>;
  for (const std::size_t size : sizes(sizeof(T)))
    for (const std::size_t offset : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "segments of " << size << ", offset " << offset);
      const std::size_t n = size < 2000 ? 203 : 5;
      const std::vector<T> items = small_items<T>(n * size + offset, static_cast<unsigned>(size));
      const on_device<T> in(items);
      const on_device<output> sums(n);
      const on_device<T> least(n), greatest(n);
      const on_device<KeyValuePair<int, T>> places(n);
      const T* const d_in = in.data + offset;
      ASSERT_EQ(in_two_phases([&](auto&&... storage) { return segmented::Sum(storage..., d_in, sums.data, n, size); }),
                cudaSuccess);
      workspace kept;
      ASSERT_EQ(segmented::Min(kept, d_in, least.data, n, size), cudaSuccess);
      ASSERT_EQ(segmented::Max(kept, d_in, greatest.data, n, size), cudaSuccess);
      ASSERT_EQ(segmented::ArgMax(kept, d_in, places.data, n, size), cudaSuccess);
      const auto sum = sums.read();
      const auto first = least.read(), last = greatest.read();
      const auto place = places.read();
      for (std::size_t s = 0; s < n; ++s) {
        double expected = 0;
        std::size_t at = 0;
        float lowest = 1000, highest = -1000;
        for (std::size_t i = 0; i < size; ++i) {
          const float item = static_cast<float>(items[offset + s * size + i]);
          expected += item;
          lowest = std::fmin(lowest, item);
          if (item > highest) highest = item, at = i;
        }
        // A half holds integers up to 2048.
        if (!std::is_same_v<T, __half> || std::fabs(expected) <= 2048)
          ASSERT_EQ(static_cast<double>(static_cast<float>(sum[s])), expected) << "segment " << s;
        ASSERT_EQ(static_cast<float>(first[s]), lowest);
        ASSERT_EQ(static_cast<float>(last[s]), highest);
        ASSERT_EQ(place[s].key, static_cast<int>(at));
        ASSERT_EQ(static_cast<float>(place[s].value), highest);
      }
    }
}

// Sizes that go in parts, and operators that know no identity.
struct gcd {
  __host__ __device__ unsigned operator()(unsigned a, unsigned b) const {
    if (a == 0 || b == 0) return 1;  // nothing but items may be seen
    while (b != 0) {
      const unsigned rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
};
TEST_F(Segments, LongSegmentsAndOperatorsWithoutIdentity) {
  for (const std::size_t size : {32'768, 32'769, 100'003, 1'000'003}) {
    SCOPED_TRACE(size);
    const std::size_t n = 3;
    std::vector<unsigned> items(n * size);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = static_cast<unsigned>(6 * (i / size + 1) * (1 + i % 5));
    const on_device<unsigned> in(items), out(n);
    ASSERT_EQ(in_two_phases([&](auto&&... storage) {
                return segmented::Reduce(storage..., in.data, out.data, n, size, gcd{}, 360360u);
              }),
              cudaSuccess);
    EXPECT_EQ(out.read(), (std::vector<unsigned>{6, 12, 18}));
    const on_device<long long> sums(n);
    ASSERT_EQ(in_two_phases([&](auto&&... storage) { return segmented::Sum(storage..., in.data, sums.data, n, size); }),
              cudaSuccess);
    for (std::size_t s = 0; s < n; ++s) {
      long long expected = 0;
      for (std::size_t i = 0; i < size; ++i) expected += items[s * size + i];
      EXPECT_EQ(sums.read()[s], expected);
    }
  }
}

struct triple {
  int a, b, c;
};
struct by_member {
  __host__ __device__ triple operator()(const triple& x, const triple& y) const {
    return {x.a + y.a, x.b < y.b ? y.b : x.b, x.c < y.c ? x.c : y.c};
  }
};
// Item i is i % 1000, from nowhere.
struct counting {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = int;
  std::ptrdiff_t first = 0;
  __host__ __device__ int operator[](std::ptrdiff_t i) const { return static_cast<int>((first + i) % 1000); }
  __host__ __device__ counting operator+(std::ptrdiff_t i) const { return {first + i}; }
};
TEST_F(Segments, StructsAndIterators) {
  for (const std::size_t size : {1, 7, 100, 3000, 50'000}) {
    SCOPED_TRACE(size);
    const std::size_t n = 11;
    std::vector<triple> items(n * size);
    for (std::size_t i = 0; i < items.size(); ++i)
      items[i] = {1, static_cast<int>(i * 7919 % 10007), static_cast<int>(i * 31 % 997)};
    const on_device<triple> in(items), out(n);
    ASSERT_EQ(in_two_phases([&](auto&&... storage) {
                return segmented::Reduce(storage..., in.data, out.data, n, size, by_member{}, triple{0, -1, 5000});
              }),
              cudaSuccess);
    const on_device<long long> sums(n);
    ASSERT_EQ(
        in_two_phases([&](auto&&... storage) { return segmented::Sum(storage..., counting{}, sums.data, n, size); }),
        cudaSuccess);
    for (std::size_t s = 0; s < n; ++s) {
      triple expected{0, -1, 5000};
      long long sum = 0;
      for (std::size_t i = 0; i < size; ++i) {
        expected = by_member{}(expected, items[s * size + i]);
        sum += static_cast<long long>((s * size + i) % 1000);
      }
      const triple found = out.read()[s];
      EXPECT_EQ(found.a, expected.a);
      EXPECT_EQ(found.b, expected.b);
      EXPECT_EQ(found.c, expected.c);
      EXPECT_EQ(sums.read()[s], sum);
    }
  }
}

TEST_F(Segments, OfNothing) {
  const on_device<float> in(1), out(4);
  const on_device<KeyValuePair<int, float>> places(4);
  workspace kept;
  ASSERT_EQ(segmented::Reduce(kept, in.data, out.data, 4, 0, plus{}, 5.0f), cudaSuccess);
  EXPECT_EQ(out.read(), std::vector<float>(4, 5.0f));
  ASSERT_EQ(segmented::ArgMin(kept, in.data, places.data, 4, 0), cudaSuccess);
  for (const auto& place : places.read()) {
    EXPECT_EQ(place.key, 1);
    EXPECT_EQ(place.value, std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(segmented::Sum(kept, in.data, out.data, 0, 100), cudaSuccess);
}

TEST_F(Segments, NanAndTies) {
  std::vector<float> items(300, 1);
  items[150] = NAN;
  items[250] = items[260] = -2;
  const on_device<float> in(items), out(3);
  const on_device<KeyValuePair<int, float>> places(3);
  workspace kept;
  ASSERT_EQ(segmented::ArgMin(kept, in.data, places.data, 3, 100), cudaSuccess);
  ASSERT_EQ(segmented::Min(kept, in.data, out.data, 3, 100), cudaSuccess);
  const auto place = places.read();
  EXPECT_EQ(place[0].key, 0);
  EXPECT_EQ(place[1].key, 50);
  EXPECT_EQ(place[2].key, 50);
  EXPECT_TRUE(std::isnan(out.read()[1]));
}

TEST_F(Segments, BitsDependOnTheSegmentAlone) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  for (const std::size_t size : {5, 100, 2048, 4097, 100'001}) {
    SCOPED_TRACE(size);
    const std::size_t n = size < 10'000 ? 500 : 7;
    std::vector<float> segment(size), many(n * size + 1);
    for (float& item : segment) item = normal(engine);
    for (float& item : many) item = normal(engine);
    std::memcpy(&many[1 + (n - 1) * size], segment.data(), size * sizeof(float));
    const on_device<float> alone(segment), among(many), sum(1), sums(n);
    workspace kept;
    ASSERT_EQ(segmented::Sum(kept, alone.data, sum.data, 1, size), cudaSuccess);
    ASSERT_EQ(segmented::Sum(kept, among.data + 1, sums.data, n, size), cudaSuccess);
    const float a = sum.read()[0], b = sums.read()[n - 1];
    EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0) << a << " and " << b;
  }
}

}  // namespace
}  // namespace rungs::tests
