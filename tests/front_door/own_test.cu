// Results that differ from CUB's on purpose, or are exact where that is hard. Skipped without a GPU. Workspaces, graphs
// and storage that is too small are the fuzzer's (tests/fuzz).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <thrust/iterator/transform_iterator.h>

#include <rungs/rungs.cuh>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

class FrontDoor : public GpuTest {
 protected:
  // The last of those that equal host[index], or of NaN.
  template <class T>
  static long long last_equal(const std::vector<T>& host, long long index) {
    const T& one = host[static_cast<std::size_t>(index)];
    for (std::size_t i = host.size(); i-- > 0;)
      if (host[i] == one || (host[i] != host[i] && one != one)) return static_cast<long long>(i);
    return index;
  }

  // ArgMinMax and ArgMinLastMax of `host` answer these indices, and the items there, bit for bit.
  template <class T>
  void expect_both(const std::vector<T>& host, long long least, long long greatest) {
    const device_array<T> d_in(host), d_items(std::size_t{2});
    const device_array<long long> d_indices(std::size_t{2});
    const auto n = static_cast<long long>(host.size());
    for (const bool is_last : {false, true}) {
      T* const d_item = d_items.get();
      long long* const d_index = d_indices.get();
      ASSERT_EQ(is_last ? DeviceReduce::ArgMinLastMax(workspace_, d_in.read(), d_item, d_index, d_item + 1, d_index + 1,
                                                      n, stream_)
                        : DeviceReduce::ArgMinMax(workspace_, d_in.read(), d_item, d_index, d_item + 1, d_index + 1, n,
                                                  stream_),
                cudaSuccess);
      const long long expected[] = {least, is_last ? last_equal(host, greatest) : greatest};
      for (const int i : {0, 1}) {
        EXPECT_EQ(read(d_indices, 2)[i], expected[i]) << (i == 0 ? "least" : is_last ? "last greatest" : "greatest");
        EXPECT_EQ(std::memcmp(&read(d_items, 2)[i], &host[static_cast<std::size_t>(expected[i])], sizeof(T)), 0);
      }
    }
  }

  // In halves, 2048 and 1 are 2048.
  template <class Half>
  void expect_to_be_rounded_once() {
    constexpr std::size_t num_items = 300'000, few = 60'000;
    const device_array<Half> d_ones(std::vector<Half>(num_items, Half(1.0f))), d_out(num_items), d_sum(std::size_t{1});
    ASSERT_EQ(DeviceReduce::Sum(workspace_, d_ones.read(), d_sum.get(), few, stream_), cudaSuccess);
    ASSERT_EQ(DeviceScan::InclusiveSum(workspace_, d_ones.read(), d_out.get(), num_items, stream_), cudaSuccess);
    EXPECT_EQ(static_cast<float>(read(d_sum, 1)[0]), static_cast<float>(Half(static_cast<float>(few))));
    const std::vector<Half> sums = read(d_out, num_items);
    for (std::size_t i = 0; i < num_items; ++i)
      ASSERT_EQ(static_cast<float>(sums[i]), static_cast<float>(Half(static_cast<float>(i + 1)))) << "item " << i;
  }
};

TEST_F(FrontDoor, MinimumPropagatesNaNAndInfinity) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const device_array<float> d_out(std::size_t{1});
  const device_array<long long> d_index(std::size_t{1});
  std::vector<float> host(5000, 1.0f);
  host[4321] = std::numeric_limits<float>::quiet_NaN();
  const device_array<float> d_with_nan(host), d_infinite(std::vector<float>(5000, infinity));
  ASSERT_EQ(DeviceReduce::Min(workspace_, d_with_nan.read(), d_out.get(), 5000, stream_), cudaSuccess);
  EXPECT_TRUE(std::isnan(read(d_out, 1)[0]));
  ASSERT_EQ(DeviceReduce::ArgMax(workspace_, d_with_nan.read(), d_out.get(), d_index.get(), 5000, stream_),
            cudaSuccess);
  EXPECT_TRUE(std::isnan(read(d_out, 1)[0]));
  EXPECT_EQ(read(d_index, 1)[0], 4321);
  ASSERT_EQ(DeviceReduce::Min(workspace_, d_infinite.read(), d_out.get(), 5000, stream_), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], infinity);
  ASSERT_EQ(DeviceReduce::Max(workspace_, d_infinite.read(), d_out.get(), 0, stream_), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], -infinity);
  ASSERT_EQ(DeviceReduce::ArgMin(workspace_, d_infinite.read(), d_out.get(), d_index.get(), 0, stream_), cudaSuccess);
  EXPECT_EQ(read(d_out, 1)[0], infinity);
  EXPECT_EQ(read(d_index, 1)[0], 1);
}

struct of_three {
  int a, b, c;
  bool operator==(const of_three& other) const { return a == other.a && b == other.b && c == other.c; }
};
struct add_members {
  __host__ __device__ of_three operator()(const of_three& x, const of_three& y) const {
    return {x.a + y.a, x.b + y.b, x.c + y.c};
  }
};
struct first_map_then_second {
  __host__ __device__ uint2 operator()(const uint2& f, const uint2& g) const { return {f.x * g.x, f.y * g.x + g.y}; }
};

// One block takes them, an item a thread, to 1,024 of them. The maps of uint2 are composed in their order.
TEST_F(FrontDoor, FewItemsOfAnyType) {
  const device_array<of_three> d_sum(std::size_t{1});
  const device_array<uint2> d_composed(std::size_t{1});
  const device_array<signed char> d_most(std::size_t{1});
  const device_array<long long> d_index(std::size_t{1});
  for (const std::size_t num_items : {0, 1, 2, 31, 32, 33, 100, 257, 512, 513, 1000, 1024, 1025, 3000}) {
    std::vector<of_three> threes;
    std::vector<uint2> maps;
    std::vector<signed char> bytes;
    of_three sum{1, 2, 3};
    uint2 composed{3, 5};
    for (unsigned i = 0; i < num_items; ++i) {
      threes.push_back({static_cast<int>(i), static_cast<int>(i * i), -static_cast<int>(i % 7)});
      maps.push_back({2 * i + 1, i * 2654435761u});
      bytes.push_back(static_cast<signed char>(i * 97 % 251 - 125));
      sum = add_members{}(sum, threes.back());
      composed = first_map_then_second{}(composed, maps.back());
    }
    const device_array<of_three> d_threes(threes);
    const device_array<uint2> d_maps(maps);
    const device_array<signed char> d_bytes(bytes);
    ASSERT_EQ(DeviceReduce::Reduce(workspace_, d_threes.read(), d_sum.get(), num_items, add_members{},
                                   of_three{1, 2, 3}, stream_),
              cudaSuccess);
    EXPECT_EQ(read(d_sum, 1)[0], sum) << num_items;
    if (num_items <= 1024) {
      ASSERT_EQ(DeviceReduce::Reduce(workspace_, d_maps.read(), d_composed.get(), num_items, first_map_then_second{},
                                     uint2{3, 5}, stream_),
                cudaSuccess);
      EXPECT_EQ(read(d_composed, 1)[0].x, composed.x) << num_items;
      EXPECT_EQ(read(d_composed, 1)[0].y, composed.y) << num_items;
    }
    if (num_items == 0) continue;
    ASSERT_EQ(DeviceReduce::ArgMax(workspace_, d_bytes.read(), d_most.get(), d_index.get(),
                                   static_cast<long long>(num_items), stream_),
              cudaSuccess);
    EXPECT_EQ(read(d_index, 1)[0], std::max_element(bytes.begin(), bytes.end()) - bytes.begin()) << num_items;
  }
}

// Aligned ones are one_block's, the others few_items'.
template <class Float>
class FewFloats : public FrontDoor {};
using few_floats = testing::Types<float, double, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(FewFloats, few_floats);

TYPED_TEST(FewFloats, HaveTheSameBitsAtAnyAddress) {
  std::vector<TypeParam> host;
  for (std::size_t i = 0; i < 1030; ++i) host.push_back(TypeParam(1.0f / static_cast<float>(3 * i + 1)));
  const device_array<TypeParam> d_in(host), d_out(std::size_t{1});
  for (const std::size_t first : {1, 3}) {
    std::vector<TypeParam> moved(first);
    moved.insert(moved.end(), host.begin(), host.end());
    const device_array<TypeParam> d_moved(moved);
    for (const std::size_t num_items :
         {0, 1, 2, 3, 5, 31, 100, 127, 254, 255, 256, 257, 300, 511, 512, 513, 700, 1000, 1023, 1024, 1025}) {
      ASSERT_EQ(DeviceReduce::Sum(this->workspace_, d_in.read(), d_out.get(), num_items, this->stream_), cudaSuccess);
      const auto aligned = static_cast<double>(this->read(d_out, 1)[0]);
      ASSERT_EQ(DeviceReduce::Sum(this->workspace_, d_moved.read() + first, d_out.get(), num_items, this->stream_),
                cudaSuccess);
      EXPECT_EQ(static_cast<double>(this->read(d_out, 1)[0]), aligned) << num_items << " items from " << first;
    }
  }
}

struct weighed {
  __host__ __device__ int operator()(short item) const { return item * item - 3 * item; }
};

// Narrow integers are transformed as they are read by vectors, at any address.
TEST_F(FrontDoor, NarrowIntegersTransformed) {
  std::vector<signed char> host(3'000'017);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<signed char>(i * 2654435761u >> 13);
  std::vector<long long> sums(1, 0);
  for (const signed char item : host) sums.push_back(sums.back() + weighed{}(item));
  const device_array<signed char> d_in(host);
  const device_array<long long> d_out(std::size_t{1});
  for (const std::size_t first : {0, 1, 7, 15})
    for (const std::size_t num_items :
         {0, 1, 14, 33, 1000, 1025, 5003, 8193, 16'385, 20'011, 65'537, 300'007, 1'052'671, 1'052'673, 3'000'001}) {
      const long long expected = sums[first + num_items] - sums[first];
      ASSERT_EQ(DeviceReduce::TransformReduce(workspace_, d_in.read() + first, d_out.get(), num_items, plus{},
                                              weighed{}, 11LL, stream_),
                cudaSuccess);
      EXPECT_EQ(read(d_out, 1)[0], expected + 11) << num_items << " items from " << first;
      ASSERT_EQ(DeviceReduce::Sum(workspace_, thrust::make_transform_iterator(d_in.read() + first, weighed{}),
                                  d_out.get(), num_items, stream_),
                cudaSuccess);
      EXPECT_EQ(read(d_out, 1)[0], expected) << num_items << " items from " << first;
    }
}

// Found by CUB's tests: members narrower than a word, compared by an operator that returns early, were too much for
// ptxas where they were scanned (parts/called.cuh).
struct place {
  std::size_t key{}, value{};
  char kind = 0;

  friend __host__ __device__ bool operator<(const place& a, const place& b) {
    return a.key == b.key ? a.value < b.value : a.key < b.key;
  }
  bool operator==(const place& other) const { return key == other.key && value == other.value && kind == other.kind; }
};
struct entry {
  std::size_t key;
  short day;
  char name[6];

  friend __host__ __device__ bool operator<(const entry& a, const entry& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.day != b.day) return a.day < b.day;
    for (int i = 0; i < 6; ++i)
      if (a.name[i] != b.name[i]) return a.name[i] < b.name[i];
    return false;
  }
  bool operator==(const entry& other) const { return !(*this < other) && !(other < *this); }
};
struct tagged_base {
  std::size_t key{}, value{};
};
struct tagged : tagged_base {
  char a = 0, b = 0, c = 0, d = 0;

  friend __host__ __device__ bool operator<(const tagged& a, const tagged& b) {
    return a.key == b.key ? a.value < b.value : a.key < b.key;
  }
  bool operator==(const tagged& other) const { return key == other.key && value == other.value && a == other.a; }
};
struct three_numbers {
  double x, y, z;
};
static_assert(!parts::is_made_of_words<place> && !parts::is_made_of_words<entry> && !parts::is_made_of_words<tagged>);
static_assert(parts::is_made_of_words<three_numbers> && parts::is_made_of_words<device::boxed<three_numbers>>);
static_assert(!parts::is_made_of_words<device::boxed<place>> && parts::is_made_of_words<device::boxed<__int128>>);
static_assert(parts::is_made_of_words<std::pair<double, int>> && !parts::is_made_of_words<std::pair<double, char>>);

struct lesser {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

// Items whose bytes are 2 or 3, after many that are 2: they meet as equals in some of their members, seldom in all.
template <class Item>
std::vector<Item> items_to_compare(std::size_t num_items) {
  std::vector<Item> items(num_items);
  std::mt19937_64 bits(num_items);
  for (Item& item : items) {
    unsigned char bytes[sizeof(Item)];
    const std::size_t equal = bits() % 16;
    for (std::size_t i = 0; i < sizeof(Item); ++i)
      bytes[i] = static_cast<unsigned char>(i < equal ? 2 : 2 + bits() % 2);
    memcpy(static_cast<void*>(&item), bytes, sizeof(Item));
  }
  return items;
}

template <class Item>
class LargeItems : public FrontDoor {};
using large_items = testing::Types<place, entry, tagged>;
TYPED_TEST_SUITE(LargeItems, large_items);

TYPED_TEST(LargeItems, MeetInAnOperatorThatReturnsEarly) {
  constexpr std::size_t most = 400'000;
  const std::vector<TypeParam> items = items_to_compare<TypeParam>(most);
  std::vector<TypeParam> expected = items;
  for (std::size_t i = 1; i < most; ++i) expected[i] = lesser{}(expected[i - 1], expected[i]);
  const device_array<TypeParam> d_in(items), d_out(most);
  workspace& workspace = this->workspace_;
  for (const std::size_t num_items : {1ul, 1'000ul, 5'462ul, 40'000ul, 67'584ul, 67'585ul, 84'000ul, 135'168ul,
                                      135'169ul, 200'000ul, 349'526ul, most}) {
    ASSERT_EQ(cudaMemsetAsync(d_out.get(), 0x55, most * sizeof(TypeParam), this->stream_), cudaSuccess);
    ASSERT_EQ(DeviceScan::InclusiveScan(workspace, d_in.read(), d_out.get(), lesser{}, num_items, this->stream_),
              cudaSuccess);
    const std::vector<TypeParam> scanned = this->read(d_out, num_items);
    for (std::size_t i = 0; i < num_items; ++i)
      ASSERT_TRUE(scanned[i] == expected[i]) << "item " << i << " of " << num_items;
    ASSERT_EQ(DeviceReduce::Reduce(workspace, d_in.read(), d_out.get(), num_items, lesser{}, items[0], this->stream_),
              cudaSuccess);
    const TypeParam least = this->read(d_out, 1)[0];  // or its equal: a reduction may swap items
    ASSERT_FALSE(least < expected[num_items - 1] || expected[num_items - 1] < least) << num_items << " items";
  }
}

TEST_F(FrontDoor, SumsOfHalvesAreRoundedOnce) {
  expect_to_be_rounded_once<__half>();
  expect_to_be_rounded_once<__nv_bfloat16>();
}

// The extremes of each type, equal zeros, and infinities beside NaN.
TEST_F(FrontDoor, WhereTheExtremumStandsIsExact) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const device_array<long long> d_index(std::size_t{1});
  const auto expect = [&](auto item, std::vector<std::pair<std::size_t, decltype(item)>> others, long long least,
                          long long greatest) {
    using T = decltype(item);
    std::vector<T> host(70'001, item);
    for (const auto& [at, other] : others) host[at] = other;
    const device_array<T> d_in(host), d_out(std::size_t{1});
    for (const bool is_least : {true, false}) {
      ASSERT_EQ(is_least ? DeviceReduce::ArgMin(workspace_, d_in.read(), d_out.get(), d_index.get(),
                                                static_cast<long long>(host.size()), stream_)
                         : DeviceReduce::ArgMax(workspace_, d_in.read(), d_out.get(), d_index.get(),
                                                static_cast<long long>(host.size()), stream_),
                cudaSuccess);
      const long long index = is_least ? least : greatest;
      EXPECT_EQ(read(d_index, 1)[0], index);
      EXPECT_EQ(std::memcmp(read(d_out, 1).data(), &host[static_cast<std::size_t>(index)], sizeof(T)), 0);
    }
    expect_both(host, least, greatest);
  };
  expect(0, {{70'000, std::numeric_limits<int>::min()}, {5, std::numeric_limits<int>::max()}}, 70'000, 5);
  expect(7u, {{1, 0u}, {69'999, 0xffffffffu}, {70'000, 0xffffffffu}}, 1, 69'999);
  expect(static_cast<signed char>(-1), {{40'000, -128}, {40'001, 127}}, 40'000, 40'001);
  expect(1.0f, {{2, infinity}, {70'000, -infinity}}, 70'000, 2);
  expect(0.0f, {{3, -0.0f}}, 0, 0);
  expect(-0.0f, {{3, 0.0f}, {9, -1e-45f}, {8, 1e-45f}}, 9, 8);
  expect(1.0f, {{2, infinity}, {4, -infinity}, {70'000, std::numeric_limits<float>::quiet_NaN()}}, 70'000, 70'000);
  expect(-1ll, {{9, std::numeric_limits<long long>::min()}, {8, std::numeric_limits<long long>::max()}}, 9, 8);
  expect(1ull, {{69'000, 0ull}, {68'000, ~0ull}, {70'000, ~0ull}}, 69'000, 68'000);
  expect(-0.0, {{3, 0.0}, {9, -5e-324}, {8, 5e-324}}, 9, 8);
  expect(1.0, {{3, std::numeric_limits<double>::quiet_NaN()}, {2, -std::numeric_limits<double>::infinity()}}, 3, 3);
}

// Few distinct values, so that both ends of the equals are wanted, at sizes around every change of rung.
TEST_F(FrontDoor, BothExtremaOfOneRead) {
  std::mt19937 random(1);
  for (const std::size_t num_items : {1ul, 2ul, 33ul, 1'000ul, 16'384ul, 16'385ul, 100'003ul, 1'000'000ul}) {
    std::vector<float> floats(num_items);
    std::vector<double> doubles(num_items);
    std::vector<unsigned> words(num_items);
    std::vector<__half> halves(num_items);
    for (std::size_t i = 0; i < num_items; ++i) {
      const unsigned drawn = random() % 5;
      floats[i] = static_cast<float>(drawn) - 2;
      doubles[i] = floats[i];
      words[i] = drawn == 0 ? 0 : ~0u - drawn;
      halves[i] = __half(floats[i]);
    }
    const auto expect = [&](const auto& host) {
      const auto less = [](const auto& a, const auto& b) { return a < b; };
      const auto least = std::min_element(host.begin(), host.end(), less);
      const auto greatest = std::max_element(host.begin(), host.end(), less);
      expect_both(host, least - host.begin(), greatest - host.begin());
    };
    SCOPED_TRACE(num_items);
    expect(floats);
    expect(doubles);
    expect(words);
    expect(halves);
  }
  const device_array<float> d_nothing(std::size_t{1}), d_items(std::size_t{2});
  const device_array<long long> d_indices(std::size_t{2});
  ASSERT_EQ(DeviceReduce::ArgMinMax(workspace_, d_nothing.read(), d_items.get(), d_indices.get(), d_items.get() + 1,
                                    d_indices.get() + 1, 0, stream_),
            cudaSuccess);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(read(d_items, 2), (std::vector<float>{infinity, -infinity}));
  EXPECT_EQ(read(d_indices, 2), (std::vector<long long>{1, 1}));
}

// By an order of the caller's, in which many items are equivalent: their squares count.
struct lesser_square {
  __host__ __device__ bool operator()(int a, int b) const { return a * a < b * b; }
};
TEST_F(FrontDoor, ExtremaByAnOrder) {
  std::mt19937 random(2);
  for (const std::size_t num_items : {1ul, 33ul, 1'000ul, 16'385ul, 100'003ul, 1'000'000ul}) {
    SCOPED_TRACE(num_items);
    std::vector<int> host(num_items);
    for (int& item : host) item = static_cast<int>(random() % 41) - 20;
    long long least = 0, greatest = 0, last_greatest = 0;
    for (std::size_t i = 0; i < num_items; ++i) {
      const auto square = [&](long long at) {
        return host[static_cast<std::size_t>(at)] * host[static_cast<std::size_t>(at)];
      };
      const auto at = static_cast<long long>(i);
      if (square(at) < square(least)) least = at;
      if (square(at) > square(greatest)) greatest = at;
      if (square(at) >= square(last_greatest)) last_greatest = at;
    }
    const device_array<int> d_in(host), d_items(std::size_t{2});
    const device_array<long long> d_indices(std::size_t{2});
    int *const d_min = d_items.get(), *const d_max = d_min + 1;
    long long *const d_min_at = d_indices.get(), *const d_max_at = d_min_at + 1;
    const auto n = static_cast<long long>(num_items);
    const auto expect = [&](cudaError_t error, long long expected_max) {
      ASSERT_EQ(error, cudaSuccess);
      EXPECT_EQ(read(d_indices, 2), (std::vector<long long>{least, expected_max}));
      EXPECT_EQ(read(d_items, 2), (std::vector<int>{host[static_cast<std::size_t>(least)],
                                                    host[static_cast<std::size_t>(expected_max)]}));
      ASSERT_EQ(cudaMemset(d_indices.get(), 0, 2 * sizeof(long long)), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    };
    expect(
        DeviceReduce::ArgMinMax(workspace_, d_in.read(), d_min, d_min_at, d_max, d_max_at, n, lesser_square{}, stream_),
        greatest);
    expect(DeviceReduce::ArgMinLastMax(workspace_, d_in.read(), d_min, d_min_at, d_max, d_max_at, n, lesser_square{},
                                       stream_),
           last_greatest);
    expect(DeviceReduce::ArgMinMax(d_in.read(), d_min, d_min_at, d_max, d_max_at, n, lesser_square{}, stream_),
           greatest);
    ASSERT_EQ(DeviceReduce::ArgMin(workspace_, d_in.read(), d_min, d_min_at, n, lesser_square{}, stream_), cudaSuccess);
    expect(DeviceReduce::ArgMax(workspace_, d_in.read(), d_max, d_max_at, n, lesser_square{}, stream_), greatest);
  }
}

TEST_F(FrontDoor, ExtremaOfHalvesPropagateNaN) {
  std::vector<__half> host(5000, __half(1.0f));
  host[321] = __half(std::numeric_limits<float>::quiet_NaN());
  const device_array<__half> d_in(host), d_out(std::size_t{1}), d_most(std::size_t{5000});
  const device_array<long long> d_index(std::size_t{1});
  ASSERT_EQ(DeviceReduce::Max(workspace_, d_in.read(), d_out.get(), 5000, stream_), cudaSuccess);
  EXPECT_TRUE(std::isnan(static_cast<float>(read(d_out, 1)[0])));
  ASSERT_EQ(DeviceReduce::ArgMin(workspace_, d_in.read(), d_out.get(), d_index.get(), 5000, stream_), cudaSuccess);
  EXPECT_TRUE(std::isnan(static_cast<float>(read(d_out, 1)[0])));
  EXPECT_EQ(read(d_index, 1)[0], 321);
  ASSERT_EQ(DeviceScan::InclusiveScan(workspace_, d_in.read(), d_most.get(), maximum{}, 5000, stream_), cudaSuccess);
  const std::vector<__half> most = read(d_most, 5000);
  EXPECT_EQ(static_cast<float>(most[320]), 1.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(most[4999])));
}

}  // namespace
}  // namespace rungs::tests
