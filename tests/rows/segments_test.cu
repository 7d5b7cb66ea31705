// rungs::DeviceSegmentedReduce against reductions on the host, for segments of one size and between offsets. Sizes lie
// on both sides of every change of mapping. Any type and operator that DeviceReduce takes is taken. The bits of a
// segment depend on the segment alone.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <rungs/device/device_segmented_reduce.cuh>
#include <type_traits>
#include <utility>
#include <vector>

#include "generic/support.cuh"
#include "gpu_test.hpp"
#include "made.cuh"

namespace rungs::tests {
namespace {

using segmented = DeviceSegmentedReduce;

template <class T>
device_vector<T> room(std::size_t n) {
  return device_vector<T>(std::vector<T>(n));
}

using Segments = OnAGpu;

constexpr auto sum_call = [](auto&&... all) { return segmented::Sum(all...); };
constexpr auto min_call = [](auto&&... all) { return segmented::Min(all...); };
constexpr auto max_call = [](auto&&... all) { return segmented::Max(all...); };
constexpr auto arg_min_call = [](auto&&... all) { return segmented::ArgMin(all...); };
constexpr auto arg_max_call = [](auto&&... all) { return segmented::ArgMax(all...); };
constexpr auto reduce_call = [](auto&&... all) { return segmented::Reduce(all...); };

// What a call finds for n segments. `more`: their size or their begins and ends, and what the call takes behind these.
template <class Output, class Call, class In, class N, class... More>
std::vector<Output> found_by(Call call, In in, N n, More... more) {
  const guarded<Output> out(static_cast<std::size_t>(n));
  EXPECT_EQ(in_two_phases([&](auto&&... storage) { return call(storage..., in, out.data(), n, more...); }),
            cudaSuccess);
  return out.read();
}

// Segments on the host, and their offsets on the device.
struct offsets {
  explicit offsets(std::vector<long long> begins, std::vector<long long> ends)
      : begins(begins), ends(ends), d_begins(begins), d_ends(ends) {}
  // One behind the other, from `first` on.
  static offsets of(const std::vector<std::size_t>& sizes, long long first = 0) {
    std::vector<long long> begins, ends;
    for (const std::size_t size : sizes) {
      begins.push_back(first);
      ends.push_back(first += static_cast<long long>(size));
    }
    return offsets(begins, ends);
  }
  std::size_t num_segments() const { return begins.size(); }
  std::vector<long long> begins, ends;
  device_vector<long long> d_begins, d_ends;
};

// Items with small magnitudes, so that sums of floats are exact.
template <class T>
std::vector<T> small_items(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> items(n);
  for (T& item : items) item = T(static_cast<int>(engine() % 7) - (std::is_unsigned_v<T> ? 0 : 3));
  return items;
}

// Sizes on both sides of where the mapping changes.
std::vector<std::size_t> sizes(std::size_t item_bytes) {
  std::vector<std::size_t> all = {1, 2, 3, 5, 31, 33, 1000, 70'001};
  const std::size_t piece = item_bytes > 16 || 16 % item_bytes != 0 ? 1 : 16 / item_bytes;
  for (std::size_t pieces = 1; pieces <= 1024; pieces *= 2)
    for (const std::size_t size : {pieces * piece - 1, pieces * piece, pieces * piece + 1})
      if (size > 0) all.push_back(size);
  return all;
}

template <class T>
struct SegmentsOf : Segments {
  using output = std::conditional_t<std::is_same_v<T, unsigned char> || std::is_same_v<T, short>, int, T>;

  // Sum, Min, Max and ArgMax of segments that `where` names to the calls and `offsets` to the host.
  template <class... Where>
  static void expect_right(const std::vector<T>& items, const offsets& offsets, std::size_t first, Where... where) {
    const std::size_t n = offsets.num_segments();
    const device_vector<T> in(items);
    const T* const d_in = in.items + first;
    const auto sum = found_by<output>(sum_call, d_in, n, where...);
    const auto lowest_found = found_by<T>(min_call, d_in, n, where...);
    const auto highest_found = found_by<T>(max_call, d_in, n, where...);
    const auto place = found_by<KeyValuePair<int, T>>(arg_max_call, d_in, n, where...);
    for (std::size_t s = 0; s < n; ++s) {
      SCOPED_TRACE(testing::Message() << "segment " << s << " of " << offsets.ends[s] - offsets.begins[s]);
      double expected = 0;
      long long at = 0;
      float lowest = 1000, highest = -1000;
      for (long long i = offsets.begins[s]; i < offsets.ends[s]; ++i) {
        const float item = static_cast<float>(items[first + i]);
        expected += item;
        lowest = std::fmin(lowest, item);
        if (item > highest) highest = item, at = i - offsets.begins[s];
      }
      // A half holds integers up to 2048.
      if (!std::is_same_v<T, __half> || std::fabs(expected) <= 2048)
        ASSERT_EQ(static_cast<double>(static_cast<float>(sum[s])), expected);
      if (offsets.ends[s] <= offsets.begins[s]) {
        ASSERT_EQ(place[s].key, 1);
        continue;
      }
      ASSERT_EQ(static_cast<float>(lowest_found[s]), lowest);
      ASSERT_EQ(static_cast<float>(highest_found[s]), highest);
      ASSERT_EQ(place[s].key, static_cast<int>(at));
      ASSERT_EQ(static_cast<float>(place[s].value), highest);
    }
  }
};
using Types = testing::Types<int, unsigned char, short, long long, float, double, __half>;
TYPED_TEST_SUITE(SegmentsOf, Types);

TYPED_TEST(SegmentsOf, OneSize) {
  for (const std::size_t size : sizes(sizeof(TypeParam)))
    for (const std::size_t first : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "segments of " << size << ", offset " << first);
      const std::size_t n = size < 2000 ? 203 : 5;
      this->expect_right(small_items<TypeParam>(n * size + first, static_cast<unsigned>(size)),
                         offsets::of(std::vector<std::size_t>(n, size)), first, size);
    }
}

// Sums and arg max of n segments have the bits of those of `few` of them alone, behind each number of `before`.
template <class Output, class Item>
void expect_bits_of_few(const Item* d_in, std::size_t n, std::size_t size, std::size_t few,
                        std::initializer_list<std::size_t> befores) {
  using place = KeyValuePair<int, Item>;
  const auto sums = found_by<Output>(sum_call, d_in, n, size);
  const auto places = found_by<place>(arg_max_call, d_in, n, size);
  for (const std::size_t before : befores) {
    const auto few_sums = found_by<Output>(sum_call, d_in + before * size, few, size);
    const auto few_places = found_by<place>(arg_max_call, d_in + before * size, few, size);
    ASSERT_EQ(std::memcmp(few_sums.data(), sums.data() + before, few * sizeof(Output)), 0);
    for (std::size_t s = 0; s < few; ++s) {
      ASSERT_EQ(few_places[s].key, places[before + s].key);
      ASSERT_EQ(std::memcmp(&few_places[s].value, &places[before + s].value, sizeof(Item)), 0);
    }
  }
}

// Threads take several short segments at once, where there are many: with the bits of few.
TYPED_TEST(SegmentsOf, ManyOfOneSizeHaveTheBitsOfFew) {
  using output = typename TestFixture::output;
  constexpr std::size_t few = production::few_short_parts, n = 2 * few + 7, piece = 16 / sizeof(TypeParam);
  std::mt19937 engine(20);
  std::normal_distribution<float> normal;
  std::vector<TypeParam> items(n * 16 * piece + 1);
  for (TypeParam& item : items) item = TypeParam(10 * std::fabs(normal(engine)));
  const device_vector<TypeParam> in(items);
  for (const std::size_t pieces : {1, 2, 3, 4, 6, 8, 11, 16})
    for (const std::size_t size : {pieces * piece - 1, pieces * piece})
      for (const std::size_t first : {0, 1}) {
        SCOPED_TRACE(testing::Message() << "segments of " << size << ", offset " << first);
        expect_bits_of_few<output>(in.items + first, n, size, few, {0, n - few});
      }
}

// Blocks take several segments that begin anywhere, if they are few and their items small: with the bits of many.
TYPED_TEST(SegmentsOf, ManyThatBeginAnywhereHaveTheBitsOfFew) {
  using output = typename TestFixture::output;
  constexpr std::size_t most_few = production::few_short_parts, n = most_few + 7, piece = 16 / sizeof(TypeParam);
  constexpr std::size_t most_pieces = production::short_tile_shape::most_bytes / 16;
  std::mt19937 engine(24);
  std::vector<TypeParam> items(n * most_pieces / 2 * piece + 1);
  for (TypeParam& item : items) item = TypeParam(0.7f * static_cast<float>(engine() % 180));
  const device_vector<TypeParam> in(items);
  for (const std::size_t pieces : {std::size_t{17}, most_pieces / 4, most_pieces / 2})
    for (const std::size_t size : {pieces * piece - 1, pieces * piece})
      for (const std::size_t few : {std::size_t{3}, most_few}) {
        SCOPED_TRACE(testing::Message() << few << " segments of " << size);
        expect_bits_of_few<output>(in.items + 1, n, size, few, {0, n - few});
      }
}

// A thread takes several short segments one after the other, where there are very many: with the bits of few.
TYPED_TEST(SegmentsOf, VeryManyOfOneSizeHaveTheBitsOfFew) {
  using output = typename TestFixture::output;
  constexpr std::size_t few = 1000, n = 2 * production::short_segments_a_round + 7, piece = 16 / sizeof(TypeParam);
  std::mt19937 engine(22);
  std::vector<TypeParam> items(n * (piece + 1) + 1);
  for (TypeParam& item : items) item = TypeParam(0.7f * static_cast<float>(engine() % 180));
  const device_vector<TypeParam> in(items);
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, piece, piece + 1})
    for (const std::size_t first : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "segments of " << size << ", offset " << first);
      expect_bits_of_few<output>(in.items + first, n, size, few, {0, n / 2, n - few});
    }
}

// Segments of a block each, where they are aligned or few, and of blocks that they share: with the same bits.
TYPED_TEST(SegmentsOf, BlocksHaveTheBitsOfBlocksThatSegmentsShare) {
  using output = typename TestFixture::output;
  constexpr std::size_t piece = 16 / sizeof(TypeParam), least = production::least_aligned_pieces * piece;
  constexpr std::size_t n = 2 * production::few_long_segments;
  std::mt19937 engine(25);
  std::vector<TypeParam> items(n * (8 * least + 1) + 1);
  for (TypeParam& item : items) item = TypeParam(0.7f * static_cast<float>(engine() % 180));
  const device_vector<TypeParam> in(items);
  for (const std::size_t size : {least, least + 1, 2 * least - 1, 4 * least, 8 * least, 8 * least + 1})
    for (const std::size_t first : {0, 1})
      for (const std::size_t few : {std::size_t{1}, production::few_long_segments}) {
        SCOPED_TRACE(testing::Message() << few << " segments of " << size << ", offset " << first);
        expect_bits_of_few<output>(in.items + first, n, size, few, {0, n - few});
      }
}

// The parts of few long segments meet in one launch, those of many in a second one; segments of one part have a large
// block or a small one: with the same bits.
TYPED_TEST(SegmentsOf, ManyLongOnesOfOneSizeHaveTheBitsOfFew) {
  using output = typename TestFixture::output;
  std::mt19937 engine(23);
  for (const std::size_t num_parts : {1, 5, 6, 16, 64, 65, 129}) {
    constexpr std::size_t more = 16 * production::least_other_pieces;
    const std::size_t size = ((num_parts - 1) * production::least_part_bytes + more) / sizeof(TypeParam) + 77;
    const std::size_t few = num_parts == 1 ? production::few_long_segments : production::few_long_parts;
    const std::size_t n = few / num_parts + 1;
    std::vector<TypeParam> items(n * size + 1);
    for (TypeParam& item : items) item = TypeParam(0.7f * static_cast<float>(engine() % 100));
    const device_vector<TypeParam> in(items);
    for (const std::size_t first : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "segments of " << size << ", offset " << first);
      const TypeParam* const d_in = in.items + first;
      const auto sums = found_by<output>(sum_call, d_in, n, size);
      for (const std::size_t s : {std::size_t{0}, n / 2, n - 1}) {
        const auto alone = found_by<output>(sum_call, d_in + s * size, 1, size);
        ASSERT_EQ(std::memcmp(alone.data(), &sums[s], sizeof(output)), 0) << s;
      }
    }
  }
}

// Parts of segments of this size make up a segment, and a block's threads have a piece of each part.
template <class Item>
void expect_whole_parts(std::size_t size) {
  using reduction =
      production::reduction_of<production::segment_items<const Item*>, plus, production::write_part<Item>>;
  constexpr unsigned most_parts = production::most_block_parts<Item>;
  constexpr std::size_t block_items = production::part_blocks_shape<true>::block_threads * 16 / sizeof(Item);
  const production::segment_parts parts = production::parts_of_segments<Item, reduction>(size);
  ASSERT_GT(parts.parts_per_segment, 1u) << size;
  const std::size_t last = size - std::size_t{parts.parts_per_segment - 1} * parts.part_items;
  EXPECT_LE(last, parts.part_items) << size;
  EXPECT_GE(last, block_items) << size;
  EXPECT_EQ(parts.part_items * sizeof(Item) % 16, 0u) << size;
  const std::size_t bytes = size * sizeof(Item);
  if (bytes <= most_parts * production::most_part_bytes) EXPECT_LE(parts.parts_per_segment, most_parts) << size;
  const production::undivided_parts undivided(parts);
  const auto divided = [&](unsigned part) {  // as on the device
    return static_cast<unsigned>((std::uint64_t{part} * undivided.inverse >> 32) >> undivided.shift);
  };
  for (const unsigned segment : {0u, 1u, 1000u, 0x7fffffffu / parts.parts_per_segment - 1})
    for (const unsigned of_segment : {0u, parts.parts_per_segment - 1})
      EXPECT_EQ(divided(segment * parts.parts_per_segment + of_segment), segment) << parts.parts_per_segment;
}

// Of 1,048,448,016 bytes, parts that are as even as possible would leave a last one of less than a block's pieces.
constexpr std::size_t bytes_with_a_short_part = (std::size_t{8000} * 8192 - 7999) * 16;

TEST(PartsOfSegments, OfAnySize) {
  std::mt19937_64 engine(31);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = production::most_part_bytes + 1 + engine() % (std::size_t{1} << (i % 18 + 17));
    expect_whole_parts<unsigned char>(size);
    expect_whole_parts<float>(size);
    expect_whole_parts<double>(size);
  }
  for (const std::size_t more : {0, 1, 15, 16, 4096}) expect_whole_parts<unsigned char>(bytes_with_a_short_part + more);
}

TEST_F(Segments, OfAGigabyte) {
  unsigned char* ones;
  if (cudaMalloc(&ones, bytes_with_a_short_part) != cudaSuccess) {
    cudaGetLastError();
    GTEST_SKIP() << "not enough memory for " << bytes_with_a_short_part << " bytes";
  }
  const std::unique_ptr<unsigned char, cudaError_t (*)(void*)> owner(ones, [](void* p) { return cudaFree(p); });
  ASSERT_EQ(cudaMemset(ones, 1, bytes_with_a_short_part), cudaSuccess);
  const auto sums = found_by<unsigned>(sum_call, static_cast<const unsigned char*>(ones), 1, bytes_with_a_short_part);
  EXPECT_EQ(sums[0], bytes_with_a_short_part);
}

// A page of so many bytes, of which only the number counts.
struct page {
  float number;
  unsigned char rest[59'996];
  __host__ __device__ operator float() const { return number; }
};
struct add_floats {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

// Parts are of whole items. Where few of these make a part, a segment has fewer parts than its bytes would fill.
TEST_F(Segments, LongOnesOfLargeItems) {
  for (const int n : {1, 3})
    for (const std::size_t size : {2, 5, 11, 36, 37, 49}) {
      SCOPED_TRACE(testing::Message() << n << " segments of " << size);
      std::vector<page> items(n * size);
      for (std::size_t i = 0; i < items.size(); ++i) items[i].number = static_cast<float>(i % 91);
      const device_vector<page> in(items);
      const auto sums = found_by<float>(reduce_call, static_cast<const page*>(in.items), n, size, add_floats{}, 1.0f);
      for (int s = 0; s < n; ++s) {
        float expected = 1;
        for (std::size_t i = 0; i < size; ++i) expected += items[s * size + i].number;
        EXPECT_EQ(sums[s], expected) << "segment " << s;
      }
    }
}

// The bits of a segment are those of one alone, wherever it lies.
TYPED_TEST(SegmentsOf, OneSizeHasTheBitsOfOneAlone) {
  using output = typename TestFixture::output;
  constexpr std::size_t n = 5;
  std::mt19937 engine(21);
  std::normal_distribution<float> normal;
  for (const std::size_t size : {40, 100, 1000, 5003, 50'001}) {
    std::vector<TypeParam> items(n * size + 1);
    for (TypeParam& item : items) item = TypeParam(10 * std::fabs(normal(engine)));
    const device_vector<TypeParam> in(items);
    const auto sums = found_by<output>(sum_call, in.items + 1, n, size);
    for (std::size_t s = 0; s < n; ++s) {
      SCOPED_TRACE(testing::Message() << "segment " << s << " of " << size);
      const device_vector<TypeParam> aligned(
          std::vector<TypeParam>(items.begin() + static_cast<std::ptrdiff_t>(1 + s * size),
                                 items.begin() + static_cast<std::ptrdiff_t>(1 + (s + 1) * size)));
      for (const TypeParam* const from : {in.items + 1 + s * size, aligned.items}) {
        const auto alone = found_by<output>(sum_call, from, 1, size);
        ASSERT_EQ(std::memcmp(alone.data(), &sums[s], sizeof(output)), 0);
      }
    }
  }
}

TYPED_TEST(SegmentsOf, AllSizesBetweenOffsets) {
  std::vector<std::size_t> all = {0};
  for (std::size_t size = 1; size <= 300; ++size) all.push_back(size);
  for (std::size_t items = 512; items <= 131'072; items *= 2)
    for (const std::size_t size : {items - 1, items, items + 1}) all.push_back(size);
  all.insert(all.end(), {70'001, 0, 0, 1'100'000, 0});
  std::shuffle(all.begin(), all.end(), std::mt19937(5));
  for (const std::size_t first : {0, 1}) {
    std::size_t n = 0;
    for (const std::size_t size : all) n += size;
    const offsets offsets = offsets::of(all);
    this->expect_right(small_items<TypeParam>(n + first, 4), offsets, first, offsets.d_begins.items,
                       offsets.d_ends.items);
  }
}

// So many segments that a warp has more than one, up to 32.
TYPED_TEST(SegmentsOf, ManyOfAnyLengthBetweenOffsets) {
  std::mt19937 engine(6);
  for (const std::size_t n : {13'000, 100'000, 500'000}) {
    std::vector<std::size_t> all(n);
    std::size_t num_items = 0;
    for (std::size_t& size : all) {
      const unsigned kind = engine() % 1000;
      size = kind < 500 ? 0 : kind < 900 ? engine() % 16 : kind < 999 ? engine() % 100 : engine() % 3000;
      num_items += size;
    }
    SCOPED_TRACE(n);
    const offsets offsets = offsets::of(all);
    this->expect_right(small_items<TypeParam>(num_items, 7), offsets, 0, offsets.d_begins.items, offsets.d_ends.items);
  }
}

// They may lie anywhere, and one in the other.
TYPED_TEST(SegmentsOf, AnywhereBetweenOffsets) {
  constexpr long long num_items = 100'000;
  std::mt19937 engine(8);
  for (const std::size_t n : {1000, 2000}) {
    SCOPED_TRACE(n);
    std::vector<long long> begins(n), ends(n);
    for (std::size_t s = 0; s < n; ++s) {
      begins[s] = engine() % num_items;
      ends[s] = s % 10 == 0 ? begins[s] - static_cast<long long>(engine() % 3)
                            : std::min<long long>(num_items, begins[s] + engine() % (s % 7 == 0 ? 90'000 : 200));
    }
    const offsets offsets(begins, ends);
    this->expect_right(small_items<TypeParam>(num_items, 9), offsets, 0, offsets.d_begins.items, offsets.d_ends.items);
  }
}

// Long segments, and operators that know no identity.
TEST_F(Segments, LongSegmentsAndOperatorsWithoutIdentity) {
  for (const std::size_t size : {1, 7, 100, 32'768, 32'769, 100'003, 1'000'003}) {
    SCOPED_TRACE(size);
    const std::size_t n = 3;
    std::vector<unsigned> items(n * size);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = static_cast<unsigned>(6 * (i / size + 1) * (1 + i % 5));
    const device_vector<unsigned> in(items);
    const offsets offsets = offsets::of(std::vector<std::size_t>(n, size));
    const auto of_size = found_by<unsigned>(reduce_call, in.items, n, size, greatest_common_divisor{}, 360360u);
    const auto between = found_by<unsigned>(reduce_call, in.items, n, offsets.d_begins.items, offsets.d_ends.items,
                                            greatest_common_divisor{}, 360360u);
    const auto sums = found_by<long long>(sum_call, in.items, n, size);
    for (std::size_t s = 0; s < n; ++s) {
      long long sum = 0;
      unsigned divisor = 360360;
      for (std::size_t i = 0; i < size; ++i) {
        sum += items[s * size + i];
        divisor = greatest_common_divisor{}(divisor, items[s * size + i]);
      }
      EXPECT_EQ(of_size[s], divisor);
      EXPECT_EQ(between[s], divisor);
      EXPECT_EQ(sums[s], sum);
    }
  }
}

// Items that come from nowhere, and where segments of one size begin.
struct up_to_999 {
  __host__ __device__ int operator()(long long i) const { return static_cast<int>(i % 1000); }
};
struct multiple_of {
  long long size;
  __host__ __device__ int operator()(long long i) const { return static_cast<int>(i * size); }
};
TEST_F(Segments, StructsAndIterators) {
  for (const std::size_t size : {1, 7, 100, 3000, 50'000, 120'000}) {
    SCOPED_TRACE(size);
    const std::size_t n = 11;
    const auto items = bundles<3>(n * size);
    const device_vector<bundle<3>> in(items);
    const bundle<3> init{{1, -2000, 3}};
    const multiple_of begin{static_cast<long long>(size)};
    const made<multiple_of> begins{begin, 0}, ends{begin, 1};
    const auto of_size = found_by<bundle<3>>(reduce_call, in.items, n, size, by_value{}, init);
    const auto between = found_by<bundle<3>>(reduce_call, in.items, n, begins, ends, by_value{}, init);
    const auto sums = found_by<long long>(sum_call, made<up_to_999>{}, n, size);
    const auto sums_between = found_by<long long>(sum_call, made<up_to_999>{}, n, begins, ends);
    for (std::size_t s = 0; s < n; ++s) {
      bundle<3> expected = init;
      long long sum = 0;
      for (std::size_t i = 0; i < size; ++i) {
        expected = by_value{}(expected, items[s * size + i]);
        sum += static_cast<long long>((s * size + i) % 1000);
      }
      EXPECT_EQ(of_size[s], expected);
      EXPECT_EQ(between[s], expected);
      EXPECT_EQ(sums[s], sum);
      EXPECT_EQ(sums_between[s], sum);
    }
  }
}

// Items of `sizeof` 2 that may begin at any byte, of 8 and 16 that begin at multiples of four: vectors cut the items.
template <class Word, int words>
struct packed_words {
  Word word[words];
  bool operator==(const packed_words&) const = default;
};
struct add_words {
  template <class Word, int words>
  __host__ __device__ packed_words<Word, words> operator()(const packed_words<Word, words>& a,
                                                           const packed_words<Word, words>& b) const {
    packed_words<Word, words> sum;
    for (int i = 0; i < words; ++i) sum.word[i] = static_cast<Word>(a.word[i] + b.word[i]);
    return sum;
  }
};

template <class Word, int words>
void expect_right_between_multiples_of_their_size(std::size_t n, std::size_t size) {
  using item = packed_words<Word, words>;
  for (const std::size_t first : {1, words - 1}) {
    SCOPED_TRACE(testing::Message() << n << " segments of " << size << " items of " << sizeof(item) << " bytes at word "
                                    << first);
    std::vector<Word> host(first + n * size * words);
    std::mt19937 engine(static_cast<unsigned>(size));
    for (Word& word : host) word = static_cast<Word>(engine());
    const device_vector<Word> in(host);
    const auto sums =
        found_by<item>(reduce_call, reinterpret_cast<const item*>(in.items + first), n, size, add_words{}, item{{1}});
    for (std::size_t s = 0; s < n; ++s) {
      item expected{{1}};
      for (std::size_t i = 0; i < size * words; ++i) {
        Word& sum = expected.word[i % words];
        sum = static_cast<Word>(sum + host[first + s * size * words + i]);
      }
      ASSERT_EQ(sums[s], expected) << "segment " << s;
    }
  }
}

TEST_F(Segments, ItemsBetweenMultiplesOfTheirSize) {
  for (const std::size_t size : {1, 2, 3, 5, 7, 9, 15}) {
    expect_right_between_multiples_of_their_size<unsigned, 2>(100, size);
    expect_right_between_multiples_of_their_size<unsigned, 2>(20'001, size);
    expect_right_between_multiples_of_their_size<unsigned, 4>(100, size);
    expect_right_between_multiples_of_their_size<unsigned, 4>(33'001, size);
  }
  for (const std::size_t size : {3, 31, 129, 300, 1001, 2047}) {
    expect_right_between_multiples_of_their_size<unsigned char, 2>(100, size);
    expect_right_between_multiples_of_their_size<unsigned short, 2>(100, size);
  }
  // Of a block each.
  for (const std::size_t bytes : {8208, 16'400, 16'416, 40'000, 140'000}) {
    expect_right_between_multiples_of_their_size<unsigned char, 2>(10, bytes / 2 + 1);
    expect_right_between_multiples_of_their_size<unsigned short, 2>(10, bytes / 4 + 1);
    expect_right_between_multiples_of_their_size<unsigned, 2>(10, bytes / 8 + 1);
    expect_right_between_multiples_of_their_size<unsigned, 4>(10, bytes / 16);
  }
}

// Segments of more chunks than one group has, and of so many that chunks grow.
TEST_F(Segments, GiantsBetweenOffsets) {
  const std::vector<std::size_t> all = {40'000'000, 3, 2048 * 128, 2048 * 128 + 1, 0, 2048 * 16'384, 150'000'001};
  const offsets offsets = offsets::of(all);
  const std::size_t n = all.size();
  const auto sums = found_by<long long>(sum_call, made<up_to_999>{}, n, offsets.d_begins.items, offsets.d_ends.items);
  for (std::size_t s = 0; s < n; ++s) {
    long long expected = 0;
    for (long long i = offsets.begins[s]; i < offsets.ends[s]; ++i) expected += i % 1000;
    EXPECT_EQ(sums[s], expected) << s;
  }
}

// More chunks than can be posted or listed: some segments are left to one block each, with the same bits.
TEST_F(Segments, MoreChunksThanThereIsRoomFor) {
  std::mt19937 engine(10);
  std::normal_distribution<float> normal;
  constexpr std::size_t size = 8192 * 75 + 77;
  std::vector<float> items(size);
  for (float& item : items) item = normal(engine);
  const device_vector<float> in(items);
  const offsets alone = offsets::of({size});
  const float expected = found_by<float>(sum_call, in.items, 1, alone.d_begins.items, alone.d_ends.items)[0];
  double exact = 0, magnitude = 0;
  for (const float item : items) exact += item, magnitude += std::fabs(item);
  EXPECT_NEAR(expected, exact, 50 * magnitude * std::ldexp(1.0, -24));
  constexpr std::size_t few = 900, many_segments = production::few_offset_segments + 1;
  static_assert(few * 76 > production::most_posted_chunks &&
                many_segments * 75 > production::segment_jobs<float>::most_chunks);
  for (const std::size_t n : {few, many_segments}) {
    SCOPED_TRACE(n);
    const offsets many(std::vector<long long>(n, 0), std::vector<long long>(n, size));
    const auto sums = found_by<float>(sum_call, in.items, n, many.d_begins.items, many.d_ends.items);
    for (const float found : sums) ASSERT_EQ(std::memcmp(&found, &expected, sizeof(float)), 0);
  }
}

// One launch and two, on both sides of where they change.
TEST_F(Segments, FewHaveTheBitsOfMany) {
  constexpr std::size_t most = production::few_offset_segments;
  std::mt19937 engine(14);
  std::normal_distribution<float> normal;
  std::vector<std::size_t> all(most + 1);
  std::size_t num_items = 0;
  for (std::size_t& size : all) {
    const unsigned kind = engine() % 100;
    size = engine() % (kind < 60 ? 40 : kind < 80 ? 3000 : kind < 98 ? 20'000 : 300'000);
    if (&size == &all[5]) size = 3'000'000;
    num_items += size;
  }
  std::vector<float> items(num_items + 1);
  for (float& item : items) item = normal(engine);
  const device_vector<float> in(items);
  const offsets offsets = offsets::of(all, 1);
  const auto found = [&](std::size_t n) {
    const auto sums = found_by<float>(sum_call, in.items, n, offsets.d_begins.items, offsets.d_ends.items);
    const auto places =
        found_by<KeyValuePair<int, float>>(arg_min_call, in.items, n, offsets.d_begins.items, offsets.d_ends.items);
    return std::pair(sums, places);
  };
  const auto [sums, places] = found(most + 1);
  for (const std::size_t n : {std::size_t{1}, std::size_t{6}, std::size_t{300}, most - 1, most}) {
    const auto [few_sums, few_places] = found(n);
    EXPECT_EQ(std::memcmp(few_sums.data(), sums.data(), n * sizeof(float)), 0) << n;
    EXPECT_EQ(std::memcmp(few_places.data(), places.data(), n * sizeof(places[0])), 0) << n;
  }
}

// Segments of up to nine chunks of 32 KB. Their bits are those of one alone, at any alignment.
template <class T>
struct SegmentsOfAFewChunks : Segments {
  static constexpr std::size_t chunk = 32'768 / sizeof(T), longest = 8 * chunk + 1, copies = 4;
  static constexpr std::size_t stride = longest + 16 - longest % 16 + 1;
  std::vector<std::size_t> sizes = {chunk / 4 + 1, chunk - 1,         chunk,         chunk + 1,     2 * chunk,
                                    2 * chunk + 1, 5 * chunk / 2 + 7, 3 * chunk + 1, 4 * chunk - 1, 4 * chunk,
                                    5 * chunk + 1, 7 * chunk + 3,     8 * chunk,     longest,       4 * chunk + 1};
  using place = KeyValuePair<int, T>;

  void SetUp() override {
    Segments::SetUp();
    if (IsSkipped()) return;
    std::mt19937 engine(16);
    std::normal_distribution<float> normal;
    std::vector<T> items(copies * stride);
    for (std::size_t i = 0; i < longest; ++i) {
      const T item = static_cast<T>(normal(engine));
      for (std::size_t copy = 0; copy < copies; ++copy) items[copy * stride + i] = item;
    }
    in = std::make_unique<device_vector<T>>(items);
    std::vector<std::size_t> all = {0, 10};
    all.insert(all.end(), sizes.begin(), sizes.end());
    for (const std::size_t size : all) {
      const auto [sums, places] = results_of({size});
      alone[size] = {sums[0], places[0]};
      double exact = 0, magnitude = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double item = static_cast<double>(static_cast<float>(items[i]));
        exact += item, magnitude += std::fabs(item);
      }
      const double precision = sizeof(T) == 8 ? std::ldexp(50.0, -53) : sizeof(T) == 4 ? std::ldexp(50.0, -24) : 0.01;
      EXPECT_NEAR(static_cast<double>(sums[0]), exact, magnitude * precision) << size;
    }
  }

  // Sums and least items of segments of these sizes.
  std::pair<std::vector<T>, std::vector<place>> results_of(const std::vector<std::size_t>& all) {
    const std::size_t n = all.size();
    std::vector<long long> begins(n), ends(n);
    for (std::size_t s = 0; s < n; ++s) {
      begins[s] = static_cast<long long>(s % copies * stride);
      ends[s] = begins[s] + static_cast<long long>(all[s]);
    }
    const offsets offsets(begins, ends);
    return {found_by<T>(sum_call, in->items, n, offsets.d_begins.items, offsets.d_ends.items),
            found_by<place>(arg_min_call, in->items, n, offsets.d_begins.items, offsets.d_ends.items)};
  }
  void expect_same(const std::vector<std::size_t>& all) {
    const auto [sums, places] = results_of(all);
    for (std::size_t s = 0; s < all.size(); ++s) {
      const auto& [sum, place] = alone.at(all[s]);
      ASSERT_EQ(std::memcmp(&sums[s], &sum, sizeof(T)), 0) << s << " of size " << all[s];
      ASSERT_EQ(places[s].key, place.key) << s << " of size " << all[s];
      ASSERT_EQ(std::memcmp(&places[s].value, &place.value, sizeof(T)), 0) << s << " of size " << all[s];
    }
  }

  std::unique_ptr<device_vector<T>> in;
  std::map<std::size_t, std::pair<T, place>> alone;  // by size
};
using TypesInChunks = testing::Types<float, double, __half>;
TYPED_TEST_SUITE(SegmentsOfAFewChunks, TypesInChunks);

// In all numbers that the calls tell apart: most of them, those of up to so many chunks among short ones, a few
// neighbours among many, and one in ten where the others are empty.
TYPED_TEST(SegmentsOfAFewChunks, HaveTheBitsOfOneAlone) {
  const auto& sizes = this->sizes;
  std::mt19937 engine(16);
  constexpr std::size_t most = production::few_offset_segments;
  for (const std::size_t n : {std::size_t{40}, std::size_t{99}, std::size_t{100}, std::size_t{500}, std::size_t{600},
                              std::size_t{2000}, most, most + 1, 5 * most, std::size_t{100'000}}) {
    SCOPED_TRACE(n);
    std::vector<std::size_t> mostly(n), neighbours(n, 10), sparse(n, 0);
    for (std::size_t s = 0; s < n; ++s) mostly[s] = sizes[engine() % sizes.size()];
    for (std::size_t s = 0; s < 8; ++s) neighbours[n / 2 + s] = sizes[sizes.size() - 3];
    for (std::size_t s = 0; s < n; ++s)
      if (engine() % 10 == 0) sparse[s] = sizes[engine() % sizes.size()];
    if (n <= 5 * most) this->expect_same(mostly);
    for (const std::size_t most_chunks : {4, 8})
      for (const unsigned one_of : {1, 3, 5}) {
        std::vector<std::size_t> up_to(n);
        for (std::size_t& size : up_to) {
          size = engine() % one_of == 0 ? sizes[engine() % sizes.size()] : engine() % 2 * 10;
          if (size > most_chunks * this->chunk) size = this->chunk / 4 + 1;
        }
        if (n <= most) this->expect_same(up_to);
      }
    this->expect_same(neighbours);
    this->expect_same(sparse);
  }
}

// Of many segments, 32 are looked at to learn whether others are long, too. These may have other sizes than the rest.
TYPED_TEST(SegmentsOfAFewChunks, AmongOthersThanThoseLookedAt) {
  const auto& sizes = this->sizes;
  std::mt19937 engine(19);
  constexpr std::size_t n = 6400, lanes = 32;
  for (const std::size_t num_long : {0, 19, 20, 32})
    for (const bool are_others_long : {false, true}) {
      SCOPED_TRACE(testing::Message() << num_long << " of those looked at are long, others " << are_others_long);
      std::vector<std::size_t> all(n);
      for (std::size_t s = 0; s < n; ++s) {
        const bool is_long = s % (n / lanes) == 0 ? s / (n / lanes) < num_long : are_others_long;
        all[s] = is_long ? sizes[engine() % sizes.size()] : engine() % 2 * 10;
      }
      this->expect_same(all);
    }
}

// Uneven lengths anywhere. Some blocks merge a segment of more than 32 chunks, and then one that lower blocks have
// begun. Warps share segments of middle size. Calls are repeated, because what could go wrong is a matter of time.
TEST_F(Segments, OfUnevenLengths) {
  constexpr std::size_t num_items = 8 << 20;
  std::mt19937 engine(17);
  const std::vector<int> items = small_items<int>(num_items, 18);
  std::vector<int> through(num_items + 1);
  for (std::size_t i = 0; i < num_items; ++i) through[i + 1] = through[i] + items[i];
  const device_vector<int> in(items);
  struct lengths {
    std::size_t num_segments, most;
    int repetitions;
  };
  for (const auto& [n, most, repetitions] :
       {lengths{1000, 524'288, 100}, lengths{700, 10'000, 20}, lengths{6000, 10'000, 20}, lengths{6000, 140'000, 20},
        lengths{20'000, 6000, 20}, lengths{70'000, 6000, 5}}) {
    SCOPED_TRACE(testing::Message() << n << " of up to " << most);
    std::vector<long long> begins(n), ends(n);
    for (std::size_t s = 0; s < n; ++s) {
      const std::size_t size = engine() % most;
      begins[s] = static_cast<long long>(engine() % (num_items - size));
      ends[s] = begins[s] + static_cast<long long>(size);
    }
    const offsets offsets(begins, ends);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const auto found = found_by<int>(sum_call, in.items, n, offsets.d_begins.items, offsets.d_ends.items);
      for (std::size_t s = 0; s < n; ++s)
        ASSERT_EQ(found[s], through[static_cast<std::size_t>(ends[s])] - through[static_cast<std::size_t>(begins[s])])
            << s << " in repetition " << repetition;
    }
  }
}

// More segments than jobs are listed of at once: long ones lie on both sides of where the list begins anew, and the
// storage is that of a full list.
TEST_F(Segments, MoreThanOneListBetweenOffsets) {
  constexpr std::size_t listed = production::segment_jobs<int>::most_segments, n = 2 * listed + 1001;
  constexpr int distance = 300'007, longest = 90'000;
  const auto items = small_items<int>(distance + longest, 20);
  std::vector<int> through(items.size() + 1);
  for (std::size_t i = 0; i < items.size(); ++i) through[i + 1] = through[i] + items[i];
  const device_vector<int> in(items);
  std::vector<int> begins(n), ends(n);
  for (std::size_t s = 0; s < n; ++s) {
    const std::size_t of_list = s % listed;
    const bool is_long = of_list < 3 || of_list > listed - 3 || s % 1'000'003 == 5;
    begins[s] = static_cast<int>(s % distance);
    ends[s] = begins[s] + static_cast<int>(is_long ? longest - s % 11'000 : s % 4);
  }
  const device_vector<int> d_begins(begins), d_ends(ends);
  const auto sums = found_by<int>(sum_call, in.items, n, d_begins.items, d_ends.items);
  for (std::size_t s = 0; s < n; ++s)
    ASSERT_EQ(sums[s], through[static_cast<std::size_t>(ends[s])] - through[static_cast<std::size_t>(begins[s])]) << s;
  const auto storage_for = [&](std::size_t num_segments) {
    std::size_t bytes = 0;
    int* const d_out = nullptr;
    EXPECT_EQ(segmented::Sum(nullptr, bytes, in.items, d_out, num_segments, d_begins.items, d_ends.items), cudaSuccess);
    return bytes;
  };
  EXPECT_EQ(storage_for(n), storage_for(listed));
  EXPECT_LE(storage_for(listed) - storage_for(listed / 2), 4 * listed / 2);
}

// Ties, zeros of both signs and NaN in segments of all mappings: the first extremum, and its own bits.
TEST_F(Segments, FirstExtremaOfTiesZerosAndNaN) {
  constexpr std::size_t few = production::few_offset_segments;
  std::mt19937 engine(15);
  std::vector<std::size_t> sizes;
  for (const std::size_t size : {3, 9, 40, 257, 2000, 2049, 8192, 8200, 16384, 32'768, 40'000, 300'001})
    sizes.insert(sizes.end(), 3, size);
  for (const bool with_nan : {false, true}) {
    for (const std::size_t n : {sizes.size(), few + 7}) {
      SCOPED_TRACE(n);
      std::vector<std::size_t> all = sizes;
      all.resize(n, 5);
      std::size_t num_items = 1;
      for (const std::size_t size : all) num_items += size;
      std::vector<float> items(num_items);
      for (float& item : items) {
        const unsigned kind = engine() % 8000;
        item = with_nan && kind == 0 ? NAN
               : kind % 3 == 0       ? 0.0f
               : kind % 3 == 1       ? -0.0f
               : kind % 5 == 0       ? 1.0f
                                     : -0.0f;
        if (kind % 4001 == 7) item = kind % 2 == 0 ? -1.0f : 2.0f;
      }
      const device_vector<float> in(items);
      const offsets offsets = offsets::of(all, 1);
      // begin_of(s) and size_of(s): where segment s lies.
      const auto expect_first = [&](bool least, const std::vector<KeyValuePair<int, float>>& found, auto begin_of,
                                    auto size_of) {
        for (std::size_t s = 0; s < found.size(); ++s) {
          const float* const own = &items[static_cast<std::size_t>(begin_of(s))];
          std::size_t first = 0;
          for (std::size_t i = 1; i < size_of(s); ++i)
            if (own[first] == own[first] && !(least ? own[i] >= own[first] : own[i] <= own[first])) first = i;
          ASSERT_EQ(found[s].key, static_cast<int>(first)) << s;
          ASSERT_EQ(std::memcmp(&found[s].value, own + first, sizeof(float)), 0) << s;
        }
      };
      const auto expect_first_of = [&](auto begin_of, auto size_of, std::size_t n, const float* d_in, auto... where) {
        expect_first(true, found_by<KeyValuePair<int, float>>(arg_min_call, d_in, n, where...), begin_of, size_of);
        expect_first(false, found_by<KeyValuePair<int, float>>(arg_max_call, d_in, n, where...), begin_of, size_of);
      };
      expect_first_of([&](std::size_t s) { return offsets.begins[s]; }, [&](std::size_t s) { return all[s]; }, n,
                      in.items, offsets.d_begins.items, offsets.d_ends.items);
      for (const std::size_t size : {1, 3, 9, 31, 300, 70'000})
        expect_first_of([=](std::size_t s) { return 1 + s * size; }, [=](std::size_t) { return size; },
                        (num_items - 1) / size, in.items + 1, size);
    }
  }
}

TEST_F(Segments, OfNothing) {
  const auto in = room<float>(1);
  const offsets empty({3, 5, 0, 1}, {3, 1, 0, 0});
  EXPECT_EQ(found_by<float>(reduce_call, in.items, 4, 0, plus{}, 5.0f), std::vector<float>(4, 5.0f));
  EXPECT_EQ(found_by<float>(reduce_call, in.items, 4, empty.d_begins.items, empty.d_ends.items, plus{}, 6.0f),
            std::vector<float>(4, 6.0f));
  for (const auto& place : found_by<KeyValuePair<int, float>>(arg_min_call, in.items, 4, 0)) {
    EXPECT_EQ(place.key, 1);
    EXPECT_EQ(place.value, std::numeric_limits<float>::infinity());
  }
  found_by<float>(sum_call, in.items, 0, 100);
  found_by<float>(sum_call, in.items, 0, empty.d_begins.items, empty.d_ends.items);
}

TEST_F(Segments, NanAndTies) {
  std::vector<float> items(300, 1);
  items[150] = NAN;
  items[250] = items[260] = -2;
  const device_vector<float> in(items);
  const offsets offsets = offsets::of({100, 100, 100});
  const auto expect_found = [&](auto... where) {
    const auto place = found_by<KeyValuePair<int, float>>(arg_min_call, in.items, 3, where...);
    EXPECT_EQ(place[0].key, 0);
    EXPECT_EQ(place[1].key, 50);
    EXPECT_EQ(place[2].key, 50);
    EXPECT_TRUE(std::isnan(found_by<float>(min_call, in.items, 3, where...)[1]));
  };
  expect_found(100);
  expect_found(offsets.d_begins.items, offsets.d_ends.items);
}

TEST_F(Segments, BitsDependOnTheSegmentAlone) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  for (const std::size_t size : {5, 100, 300, 2048, 4097, 16'387, 24'577, 32'768, 32'769, 100'001, 1'000'000}) {
    SCOPED_TRACE(size);
    const std::size_t n = size < 10'000 ? 20'000 : 7;
    std::vector<float> segment(size), many(n * size + 1);
    for (float& item : segment) item = normal(engine);
    for (float& item : many) item = static_cast<float>(engine() % 100);
    std::memcpy(&many[1 + (n - 1) * size], segment.data(), size * sizeof(float));
    const device_vector<float> alone(segment), among(many);
    const auto expect_same = [](const std::vector<float>& of_one, const std::vector<float>& of_all) {
      const float a = of_one[0], b = of_all.back();
      EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0) << a << " and " << b;
    };
    expect_same(found_by<float>(sum_call, alone.items, 1, size), found_by<float>(sum_call, among.items + 1, n, size));
    const offsets own = offsets::of({size}), all = offsets::of(std::vector<std::size_t>(n, size), 1);
    expect_same(found_by<float>(sum_call, alone.items, 1, own.d_begins.items, own.d_ends.items),
                found_by<float>(sum_call, among.items, n, all.d_begins.items, all.d_ends.items));
  }
}

// A workspace is handed from one kind of call to the other.
TEST_F(Segments, InAWorkspace) {
  const std::size_t size = 100'000, n = 5;
  const std::vector<int> items = small_items<int>(n * size, 11);
  const device_vector<int> in(items);
  const offsets offsets = offsets::of(std::vector<std::size_t>(n, size));
  const auto of_size = room<int>(n), between = room<int>(n);
  const auto places = room<KeyValuePair<int, int>>(n);
  workspace kept;
  for (int repetition = 0; repetition < 3; ++repetition) {
    ASSERT_EQ(segmented::Sum(kept, in.items, of_size.items, n, size), cudaSuccess);
    ASSERT_EQ(segmented::Sum(kept, in.items, between.items, n, offsets.d_begins.items, offsets.d_ends.items),
              cudaSuccess);
    ASSERT_EQ(segmented::ArgMin(kept, in.items, places.items, n, offsets.d_begins.items, offsets.d_ends.items),
              cudaSuccess);
  }
  for (std::size_t s = 0; s < n; ++s) {
    int expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += items[s * size + i];
    EXPECT_EQ(of_size.read(n)[s], expected);
    EXPECT_EQ(between.read(n)[s], expected);
    EXPECT_EQ(places.read(n)[s].value, -3);
  }
}

void expect_right_in_a_replayed_graph(std::size_t n) {
  std::mt19937 engine(12);
  std::vector<std::size_t> all(n);
  std::size_t num_items = 0;
  for (std::size_t& size : all)
    num_items += size = &size == &all[n / 2] ? 400'000 : engine() % (engine() % 50 == 0 ? 20'000 : 40);
  const offsets offsets = offsets::of(all);
  const device_vector<int> in(small_items<int>(num_items, 1));
  const auto out = room<int>(n);
  std::size_t bytes = 0;
  const auto call = [&](void* storage, cudaStream_t stream) {
    return segmented::Sum(storage, bytes, in.items, out.items, static_cast<int>(n), offsets.d_begins.items,
                          offsets.d_ends.items, stream);
  };
  ASSERT_EQ(call(nullptr, nullptr), cudaSuccess);
  const auto storage = room<char>(bytes);
  const own_stream stream;
  const captured graph(stream, [&] { return call(storage.items, stream); });
  for (unsigned replay = 2; replay < 5; ++replay) {
    const auto items = small_items<int>(num_items, replay);
    ASSERT_EQ(arrived(cudaMemcpy(in.items, items.data(), num_items * sizeof(int), cudaMemcpyHostToDevice)),
              cudaSuccess);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    const auto found = out.read(n);
    for (std::size_t s = 0; s < n; ++s) {
      int expected = 0;
      for (long long i = offsets.begins[s]; i < offsets.ends[s]; ++i) expected += items[i];
      ASSERT_EQ(found[s], expected) << s;
    }
  }
}
// Few long ones are two launches in a graph: with the bits of the one launch, which a later call with the same storage
// makes again.
TEST_F(Segments, LongOnesOfOneSizeInAReplayedGraph) {
  constexpr int n = 3, size = 100'001;
  std::vector<float> items(n * size);
  std::mt19937 engine(25);
  std::normal_distribution<float> normal;
  for (float& item : items) item = normal(engine);
  const device_vector<float> in(items);
  const auto out = room<float>(n);
  std::size_t bytes = 0;
  const auto call = [&](void* storage, cudaStream_t stream) {
    return segmented::Sum(storage, bytes, in.items, out.items, n, size, stream);
  };
  ASSERT_EQ(call(nullptr, nullptr), cudaSuccess);
  const auto storage = room<char>(bytes);
  const own_stream stream;
  const captured graph(stream, [&] { return call(storage.items, stream); });
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(graph.replay(), cudaSuccess);
    const auto replayed = out.read(n);
    ASSERT_EQ(arrived(cudaMemset(out.items, 0xff, n * sizeof(float))), cudaSuccess);
    ASSERT_EQ(call(storage.items, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const auto direct = out.read(n);
    if (first.empty()) first = direct;
    ASSERT_EQ(replayed, direct);
    ASSERT_EQ(direct, first);
  }
  double expected = 0;
  for (int i = 0; i < size; ++i) expected += items[static_cast<std::size_t>(i)];
  ASSERT_NEAR(first[0], expected, 0.01);
}
TEST_F(Segments, FewOffsetsInAReplayedGraph) { expect_right_in_a_replayed_graph(300); }
TEST_F(Segments, OffsetsInAReplayedGraph) { expect_right_in_a_replayed_graph(5000); }

}  // namespace
}  // namespace rungs::tests
