// rungs::DeviceSegmentedScan against loops on the host, bit for bit: segments of all lengths, empty ones, gaps, any
// order, outputs elsewhere, in place. Numbers are whole, and so sums of floats are exact; that the bits of others
// repeat is a test of its own.
#include <algorithm>
#include <cmath>
#include <rungs/device/device_segmented_scan.cuh>

#include "by_key/support.cuh"

namespace rungs::tests {
namespace {

using segmented = DeviceSegmentedScan;

// Two maps of 8 bytes that are composed apart, 16 bytes together.
struct two_maps {
  affine first, second;
};
struct compose_both {
  __host__ __device__ two_maps operator()(const two_maps& a, const two_maps& b) const {
    return {compose{}(a.first, b.first), compose{}(a.second, b.second)};
  }
};
// Has constructors of its own, so it travels in a box.
struct counter {
  int count = 7;
  counter() = default;
  __host__ __device__ explicit counter(int count) : count(count) {}
  __host__ __device__ counter(const counter& other) : count(other.count) {}
  __host__ __device__ counter& operator=(const counter& other) {
    count = other.count;
    return *this;
  }
};
struct add_counters {
  __host__ __device__ counter operator()(const counter& a, const counter& b) const {
    return counter(a.count + b.count);
  }
};

template <class T>
T item_at(std::size_t i) {
  return static_cast<T>(static_cast<int>(i * 7919 % 13) - 6);
}
template <>
affine item_at(std::size_t i) {
  return numbered_map(i);
}
template <>
two_maps item_at(std::size_t i) {
  return {numbered_map(i), numbered_map(i + 3)};
}
template <>
bundle<6> item_at(std::size_t i) {
  const int at = static_cast<int>(i);
  return {{at, at * 7919 % 1001, 3, at % 17, -at, at * 31 % 977}};
}
template <>
three_bytes item_at(std::size_t i) {
  const auto at = static_cast<unsigned char>(i * 31);
  return {at, static_cast<unsigned char>(at / 2), static_cast<unsigned char>(i % 5 == 0 ? at : 0)};
}
template <class T>
std::vector<T> items_of(std::size_t n) {
  std::vector<T> items;
  for (std::size_t i = 0; i < n; ++i) items.push_back(item_at<T>(i));
  return items;
}

// Where segments lie.
enum class places { contiguous, with_gaps, in_any_order };
struct segments {
  std::vector<long long> begins, ends, out_begins;
  std::size_t num_items = 0, num_outputs = 0;

  segments(const std::vector<long long>& sizes, places how) : begins(sizes.size()), ends(begins), out_begins(begins) {
    std::mt19937 random(static_cast<unsigned>(sizes.size()) + 1);
    std::vector<std::size_t> order(sizes.size());
    for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
    const bool has_gaps = how != places::contiguous;
    long long at = has_gaps ? 3 : 0, out = 5;
    if (how == places::in_any_order) std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t s : order) {
      if (has_gaps) at += random() % 4;
      begins[s] = at;
      at += sizes[s];
      ends[s] = at;
      if (has_gaps && sizes[s] == 0) ends[s] -= random() % 3;  // an end before the beginning is none
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t s : order) {
      out_begins[s] = out;
      out += sizes[s] + random() % 3;
    }
    num_items = static_cast<std::size_t>(at);
    num_outputs = static_cast<std::size_t>(out);
  }
  // Of contiguous ones: where they begin, and the last one's end.
  std::vector<int> offsets() const {
    std::vector<int> all(begins.begin(), begins.end());
    all.push_back(static_cast<int>(ends.back()));
    return all;
  }
};

// Lengths of few segments and of one more (few_segments.cuh): on both sides of what a warp and a block scan by
// themselves, whole groups of one kind, and long ones at both ends.
std::vector<std::vector<long long>> few_lengths() {
  constexpr std::size_t few = production::few_segments;
  std::mt19937 random(4);
  std::vector<long long> mixed(few), groups(few, 3), one_more(few + 1);
  for (std::size_t s = 0; s < few; ++s)
    mixed[s] = s % 333 == 0 ? 3000 : s % 97 == 0 ? 600 : static_cast<long long>(random() % 60);
  mixed[0] = 20'000;
  mixed[1500] = mixed[few - 1] = 150'001;
  const auto fill = [&](std::size_t group, long long length) {
    std::fill_n(groups.begin() + static_cast<std::ptrdiff_t>(group * 8), 8, length);
  };
  fill(0, 4096);
  fill(7, 129);
  fill(100, 1000);
  fill(300, 8193);
  fill(301, 0);
  fill(511, 8192);
  for (long long& length : one_more) length = static_cast<long long>(random() % 32);
  one_more[few] = 30'000;
  // Teams of warps scan these: a block has one, or a pair of them.
  std::vector<long long> for_teams(256), for_pairs(1000), longer_than_teams;
  for (std::size_t s = 0; s < for_teams.size(); ++s) for_teams[s] = static_cast<long long>(s * 311 % 513);
  for (std::size_t s = 0; s < for_pairs.size(); ++s) for_pairs[s] = static_cast<long long>(s * 37 % 129);
  longer_than_teams = for_pairs;
  for (std::size_t s = 0; s < for_pairs.size(); s += 9) longer_than_teams[s] = static_cast<long long>(500 + s);
  std::vector<long long> middling(1100);
  for (std::size_t s = 0; s < middling.size(); ++s) middling[s] = static_cast<long long>(300 + s * 311 % 900);
  std::vector<long long> one_long(3000, 9);  // listed by the second scout of three
  one_long[1500] = 100'001;
  std::vector<long long> every_other_long(32, 100);  // blocks list them themselves
  for (std::size_t s = 1; s < every_other_long.size(); s += 2) every_other_long[s] = static_cast<long long>(30'000 + s);
  return {std::vector<long long>(few, 16),
          std::vector<long long>(few, 0),
          mixed,
          groups,
          one_more,
          for_teams,
          for_pairs,
          longer_than_teams,
          middling,
          one_long,
          every_other_long,
          {16'384, 16'385, 16'383, 0, 8192, 8193, 4096, 4097, 2048, 2049, 1024, 1025, 512, 513, 1, 100'000, 65'537}};
}

// Lengths of segments of which blocks take shares or whole groups where they adjoin (adjoining_segments.cuh): on both
// sides of the numbers and of the lengths at which that changes.
std::vector<std::vector<long long>> adjoining_lengths() {
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  std::vector<std::vector<long long>> kinds;
  for (const std::size_t num_segments : {production::most_by_shares, production::most_by_shares + 1})
    kinds.push_back(std::vector<long long>(num_segments, 3000));
  // Of one group for each helper, of which a multiprocessor has three or four.
  for (const int of_multiprocessor : {3 * 8, 4 * 8})
    for (const int more : {0, 1}) {
      std::vector<long long> lengths(static_cast<std::size_t>(multiprocessors * of_multiprocessor + more));
      for (std::size_t s = 0; s < lengths.size(); ++s) lengths[s] = static_cast<long long>(s * 37 % 23);
      lengths.back() = 200;
      kinds.push_back(lengths);
    }
  // Shares of one tile, and of more. Two or four tiles lie between offsets that a block looks at, and one item more.
  for (const long long length : {500, 6000})
    for (const long long long_one : {2048, 2049, 4096, 4097, 8192, 8193, 16'384, 16'385, 40'000}) {
      std::vector<long long> lengths(250, length);
      lengths[100] = long_one;
      kinds.push_back(lengths);
    }
  return kinds;
}

// Lengths on both sides of what lanes, warps and tiles hold; tiles have 256 to 4096 items.
std::vector<std::vector<long long>> kinds_of_lengths() {
  std::mt19937 random(3);
  std::vector<std::vector<long long>> kinds{{}, {0}, {0, 0, 0}, {40'000, 1, 0, 1, 30'000, 0}};
  for (const long long length : {1, 2, 31, 32, 33, 255, 256, 257, 511, 513, 1023, 1024, 1025, 2048, 4095, 4096, 4097})
    kinds.push_back({length});
  kinds.push_back(std::vector<long long>(300, 33));
  kinds.push_back(std::vector<long long>(9, 4096));
  kinds.push_back(std::vector<long long>(2050, 16));
  kinds.push_back({2'000'017});  // one giant
  for (std::vector<long long>& lengths : few_lengths()) kinds.push_back(std::move(lengths));
  for (std::vector<long long>& lengths : adjoining_lengths()) kinds.push_back(std::move(lengths));
  std::vector<long long> tiny_around_a_giant(200'000, 1), mostly_empty(100'000), power_law(5'000);
  tiny_around_a_giant[77'777] = 1'500'001;
  for (long long& length : mostly_empty) length = random() % 10 == 0 ? 1 + static_cast<long long>(random() % 80) : 0;
  for (long long& length : power_law) {
    const double share = (static_cast<double>(random() % 1'000'000) + 1) * 1e-6;
    length = std::min(200'000ll, static_cast<long long>(30 * std::pow(share, -0.9)));
  }
  kinds.push_back(tiny_around_a_giant);
  kinds.push_back(mostly_empty);
  kinds.push_back(power_law);
  return kinds;
}

enum class kind { inclusive, inclusive_from_init, exclusive };

class SegmentedScan : public Calls {
 protected:
  // What a call of a kind makes of `front`, which its outputs replace. T: what is accumulated.
  template <class T, class Item, class Op>
  static void scan_on_host(const segments& at, const std::vector<long long>& out_begins, const std::vector<Item>& items,
                           Op op, kind what, T init, std::vector<T>& front) {
    for (std::size_t s = 0; s < at.begins.size(); ++s) {
      T sum = init, before = init;
      for (long long i = at.begins[s]; i < at.ends[s]; ++i) {
        const T item = static_cast<T>(items[static_cast<std::size_t>(i)]);
        before = i == at.begins[s] ? init : what == kind::inclusive ? before : op(init, sum);
        sum = i == at.begins[s] ? item : op(sum, item);
        front[static_cast<std::size_t>(out_begins[s] + i - at.begins[s])] = what == kind::exclusive   ? before
                                                                            : what == kind::inclusive ? sum
                                                                                                      : op(init, sum);
      }
    }
  }
  template <class T>
  static std::vector<T> untouched(std::size_t n) {
    std::vector<T> items(n);
    std::memset(static_cast<void*>(items.data()), 0xa5, n * sizeof(T));
    return items;
  }

  // Calls of these kinds where outputs have the items' indices.
  template <class T, class Item, class Offset, class Op>
  void expect_right_by(std::initializer_list<kind> kinds, const segments& at, const std::vector<Item>& items,
                       const Item* in, const Offset* begins, const Offset* ends, std::size_t offset, Op op) {
    const std::size_t n = at.begins.size();
    const T init = item_at<T>(4711);
    outputs<T> out(at.num_items, offset);
    for (const kind what : kinds) {
      std::vector<T> expected = untouched<T>(at.num_items);
      scan_on_host<T>(at, at.begins, items, op, what, init, expected);
      run([&](auto&&... storage) {
        return what == kind::inclusive
                   ? segmented::InclusiveSegmentedScan(storage..., in, out.data(), begins, ends, n, op)
               : what == kind::exclusive
                   ? segmented::ExclusiveSegmentedScan(storage..., in, out.data(), begins, ends, n, op, init)
                   : segmented::InclusiveSegmentedScanInit(storage..., in, out.data(), begins, ends, n, op, init);
      });
      out.expect(expected);
    }
  }

  // Calls of all kinds; where one array has all offsets, too, and in place where types allow it.
  template <class T, class Item, class Op>
  void expect_right(const std::vector<long long>& sizes, places how, std::size_t offset, Op op) {
    SCOPED_TRACE(testing::Message() << sizes.size() << " segments, the first of " << (sizes.empty() ? 0 : sizes[0])
                                    << ", places " << static_cast<int>(how) << ", offset " << offset);
    const segments at(sizes, how);
    const std::vector<Item> items = items_of<Item>(at.num_items);
    const T init = item_at<T>(4711);
    const guarded<Item> d_items(items, offset);
    const guarded<long long> d_begins(at.begins, 0), d_ends(at.ends, 1), d_out_begins(at.out_begins, 0);
    const long long *const begins = d_begins.data(), *const ends = d_ends.data(),
                           *const out_begins = d_out_begins.data();
    const Item* const in = d_items.data();
    const std::size_t n = sizes.size();
    expect_right_by<T>({kind::inclusive, kind::exclusive}, at, items, in, begins, ends, offset, op);
    if (how == places::contiguous && n > 0) {
      SCOPED_TRACE("ends are begins");
      const guarded<int> d_offsets(at.offsets(), offset);
      expect_right_by<T>({kind::inclusive, kind::inclusive_from_init, kind::exclusive}, at, items, in, d_offsets.data(),
                         d_offsets.data() + 1, offset, op);
    }
    {
      outputs<T> out(at.num_outputs, offset);
      std::vector<T> expected = untouched<T>(at.num_outputs);
      scan_on_host<T>(at, at.out_begins, items, op, kind::inclusive_from_init, init, expected);
      run([&](auto&&... storage) {
        return segmented::InclusiveSegmentedScanInit(storage..., in, out.data(), begins, ends, out_begins, n, op, init);
      });
      out.expect(expected);
    }
    if constexpr (std::is_same_v<T, Item>) {
      std::vector<T> expected = items;
      scan_on_host<T>(at, at.begins, items, op, kind::exclusive, init, expected);
      run([&](auto&&... storage) {
        return segmented::ExclusiveSegmentedScan(storage..., in, d_items.data(), begins, ends, n, op, init);
      });
      expect_there(d_items, expected, "in place");
    }
  }

  template <class T, class Item, class Op>
  void expect_right_everywhere(Op op) {
    for (const auto& sizes : kinds_of_lengths())
      for (const places how : {places::contiguous, places::with_gaps, places::in_any_order})
        for (const std::size_t offset : {0, 1}) {
          const bool is_large = sizes.size() > 1'000 || (sizes.size() == 1 && sizes[0] > 10'000);
          if (is_large && (offset == 1) != (how == places::with_gaps)) continue;
          expect_right<T, Item>(sizes, how, offset, op);
          if (HasFatalFailure() || HasNonfatalFailure()) return;
        }
  }
};

TEST_F(SegmentedScan, ItemsOf1ByteInInts) { expect_right_everywhere<int, signed char>(plus{}); }
TEST_F(SegmentedScan, ItemsOf2BytesInInts) { expect_right_everywhere<int, short>(plus{}); }
TEST_F(SegmentedScan, ItemsOf3BytesThatDoNotCommute) {
  expect_right_everywhere<three_bytes, three_bytes>(sum_most_last{});
}
TEST_F(SegmentedScan, Floats) { expect_right_everywhere<float, float>(plus{}); }
TEST_F(SegmentedScan, MapsOf8BytesThatDoNotCommute) { expect_right_everywhere<affine, affine>(compose{}); }
TEST_F(SegmentedScan, MapsOf16BytesThatDoNotCommute) { expect_right_everywhere<two_maps, two_maps>(compose_both{}); }
TEST_F(SegmentedScan, BundlesOf24Bytes) { expect_right_everywhere<bundle<6>, bundle<6>>(by_value{}); }
TEST_F(SegmentedScan, ItemsWithConstructors) {
  const auto sizes = kinds_of_lengths();
  for (const std::size_t k : {std::size_t{3}, std::size_t{21}, sizes.size() - 1})
    expect_right<counter, counter>(sizes[k], places::with_gaps, 1, add_counters{});
}

// Sums, with all names and the other type of offsets.
TEST_F(SegmentedScan, Sums) {
  const segments at(kinds_of_lengths().back(), places::with_gaps);
  const std::vector<int> items = items_of<int>(at.num_items);
  const guarded<int> d_items(items, 0), d_begins(std::vector<int>(at.begins.begin(), at.begins.end()), 0),
      d_ends(std::vector<int>(at.ends.begin(), at.ends.end()), 0),
      d_out_begins(std::vector<int>(at.out_begins.begin(), at.out_begins.end()), 0);
  const int *const in = d_items.data(), *const begins = d_begins.data(), *const ends = d_ends.data();
  const int n = static_cast<int>(at.begins.size());
  for (const bool is_exclusive : {false, true}) {
    const kind what = is_exclusive ? kind::exclusive : kind::inclusive;
    outputs<int> out(at.num_items, 0), apart(at.num_outputs, 0);
    std::vector<int> expected = untouched<int>(at.num_items), expected_apart = untouched<int>(at.num_outputs);
    scan_on_host<int>(at, at.begins, items, plus{}, what, 0, expected);
    scan_on_host<int>(at, at.out_begins, items, plus{}, what, 0, expected_apart);
    run([&](auto&&... storage) {
      return is_exclusive ? segmented::ExclusiveSegmentedSum(storage..., in, out.data(), begins, ends, n)
                          : segmented::InclusiveSegmentedSum(storage..., in, out.data(), begins, ends, n);
    });
    out.expect(expected);
    run([&](auto&&... storage) {
      const int* const out_begins = d_out_begins.data();
      return is_exclusive ? segmented::ExclusiveSegmentedSum(storage..., in, apart.data(), begins, ends, out_begins, n)
                          : segmented::InclusiveSegmentedSum(storage..., in, apart.data(), begins, ends, out_begins, n);
    });
    apart.expect(expected_apart);
  }
}

// Windows of one array, a segment each, from offsets that are computed: more than 2^31 items, of which each is read by
// many segments.
struct window_begins {
  __host__ __device__ long long operator()(long long s) const { return s * 3; }
};
struct window_ends {
  __host__ __device__ long long operator()(long long s) const { return s * 3 + 50'000; }
};
struct window_outputs {
  __host__ __device__ long long operator()(long long s) const { return s * 50'000; }
};
struct small_number {
  __host__ __device__ unsigned char operator()(long long i) const { return static_cast<unsigned char>(i % 7); }
};
struct one_begin {
  __host__ __device__ long long operator()(long long) const { return 0; }
};
template <long long n>
struct one_end {
  __host__ __device__ long long operator()(long long) const { return n; }
};
TEST_F(SegmentedScan, WindowsThatOverlapOfMoreThan2To31Items) {
  constexpr long long most_segments = 43'000, size = 50'000, n = most_segments * size;
  static_assert(n > 1ll << 31);
  unsigned char* out = nullptr;
  if (cudaMalloc(&out, n) != cudaSuccess) {
    cudaGetLastError();
    GTEST_SKIP() << "no room for the outputs";
  }
  for (const long long num_segments : {most_segments, 4'000ll}) {
    ASSERT_EQ(cudaMemset(out, 0xa5, n), cudaSuccess);
    run([&](auto&&... storage) {
      return segmented::InclusiveSegmentedScan(storage..., made<small_number>{}, out, made<window_begins>{},
                                               made<window_ends>{}, made<window_outputs>{}, num_segments, plus{});
    });
    std::vector<unsigned char> got(size);
    for (const long long s : {0ll, 1ll, num_segments / 2, num_segments - 1}) {
      ASSERT_EQ(cudaMemcpy(got.data(), out + s * size, size, cudaMemcpyDeviceToHost), cudaSuccess);
      unsigned sum = 0;
      for (long long i = 0; i < size; ++i) {
        sum += static_cast<unsigned>((s * 3 + i) % 7);
        ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<unsigned char>(sum))
            << "segment " << s << " of " << num_segments << ", item " << i;
      }
    }
  }
  cudaFree(out);
}

// One segment of more than 2^31 items is a helper's business alone.
TEST_F(SegmentedScan, OneSegmentOfMoreThan2To31Items) {
  constexpr long long n = (1ll << 31) + 12'345;
  unsigned char* out = nullptr;
  if (cudaMalloc(&out, n) != cudaSuccess) {
    cudaGetLastError();
    GTEST_SKIP() << "no room for the outputs";
  }
  run([&](auto&&... storage) {
    return segmented::ExclusiveSegmentedSum(storage..., made<small_number>{}, out, made<one_begin>{},
                                            made<one_end<n>>{}, 1);
  });
  std::vector<unsigned char> got(100'000);
  for (const long long first : {0ll, n / 3, n - 100'000}) {
    ASSERT_EQ(cudaMemcpy(got.data(), out + first, got.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    long long sum = first / 7 * 21;
    for (long long i = first / 7 * 7; i < first; ++i) sum += i % 7;
    for (long long i = 0; i < 100'000; ++i) {
      ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<unsigned char>(sum)) << "item " << first + i;
      sum += (first + i) % 7;
    }
  }
  cudaFree(out);
}

TEST_F(SegmentedScan, RoundedSumsHaveTheSameBits) {
  for (const std::vector<long long>& sizes :
       {std::vector<long long>{6'000'007}, std::vector<long long>(900, 7'001), std::vector<long long>(300, 20'003),
        std::vector<long long>(200'000, 31), std::vector<long long>(300, 401), std::vector<long long>(900, 300)}) {
    const segments at(sizes, places::contiguous);
    const std::size_t n = at.num_items;
    std::vector<float> items(n), first;
    std::mt19937 random(5);
    for (float& item : items) item = static_cast<float>(random() % 2'000'001) * 1e-3f - 900.0f;
    std::vector<long long> offsets = at.begins;
    offsets.push_back(at.ends.back());
    const guarded<long long> d_offsets(offsets, 0), d_begins(at.begins, 0);
    for (const long long* const begins : {d_begins.data(), d_offsets.data()}) {
      first.clear();
      for (const std::size_t offset : {0, 1, 0, 3, 0}) {
        const guarded<float> d_items(items, offset);
        device_vector<float> out{std::vector<float>(n)};
        run([&](auto&&... storage) {
          return segmented::InclusiveSegmentedSum(storage..., d_items.data(), out.items, begins, d_offsets.data() + 1,
                                                  sizes.size());
        });
        const auto now = out.read(n);
        if (first.empty()) first = now;
        EXPECT_EQ(std::memcmp(now.data(), first.data(), n * sizeof(float)), 0) << "offset " << offset;
      }
      int multiprocessors = 0;
      ASSERT_EQ(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
      const double height = static_cast<double>(production::segmented_scan_height(n, multiprocessors));
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        double sum = 0, magnitudes = 0;
        for (auto i = static_cast<std::size_t>(at.begins[s]); i < static_cast<std::size_t>(at.ends[s]); ++i) {
          sum += static_cast<double>(items[i]);
          magnitudes += std::abs(static_cast<double>(items[i]));
          ASSERT_NEAR(first[i], sum, height * 6e-8 * magnitudes) << "item " << i;
        }
      }
    }
  }
}

// One graph, replayed with other segments of other lengths.
class SegmentedScanReplayed : public SegmentedScan, public testing::WithParamInterface<std::size_t> {};
TEST_P(SegmentedScanReplayed, WithNewSegments) {
  constexpr std::size_t most_items = 3'000'000;
  const std::size_t num_segments = GetParam();
  const own_stream stream;
  const std::vector<int> items = items_of<int>(most_items);
  const guarded<int> d_items(items, 0);
  const device_vector<long long> begins{std::vector<long long>(num_segments)},
      ends{std::vector<long long>(num_segments)};
  outputs<int> out(most_items, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto enqueue = [&] {
    return segmented::InclusiveSegmentedSum(workspace_, d_items.data(), out.data(), begins.in(), ends.in(),
                                            num_segments, stream);
  };
  ASSERT_EQ(enqueue(), cudaSuccess);  // of empty segments
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  out.expect({});
  const captured graph(stream, enqueue);
  std::mt19937 random(9);
  for (int time = 0; time < 12; ++time) {
    std::vector<long long> sizes(num_segments);
    for (long long& size : sizes) size = static_cast<long long>(random() % static_cast<unsigned>(1 + 15 * (time % 5)));
    if (time % 3 == 0) sizes[random() % num_segments] = 1'000'000;
    const segments at(sizes, time % 2 == 0 ? places::contiguous : places::in_any_order);
    std::vector<int> expected = untouched<int>(at.num_items);
    scan_on_host<int>(at, at.begins, items, plus{}, kind::inclusive, 0, expected);
    const std::size_t bytes = num_segments * sizeof(long long);
    ASSERT_EQ(cudaMemcpy(begins.items, at.begins.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(ends.items, at.ends.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    out.expect(expected);
  }
  EXPECT_EQ(workspace_.release(stream), cudaSuccess);
}
INSTANTIATE_TEST_SUITE_P(OfFewAndMany, SegmentedScanReplayed, testing::Values(7, 3'000, 30'000));

// Where one array has all offsets, blocks take whole segments in some replays of one graph, and shares in others.
TEST_F(SegmentedScan, ReplayedWithAndWithoutAGiant) {
  constexpr std::size_t num_segments = 3'000, giant = 700'000;
  const own_stream stream;
  const std::vector<int> items = items_of<int>(num_segments * 50 + giant);
  const guarded<int> d_items(items, 0);
  const device_vector<int> offsets{std::vector<int>(num_segments + 1)};
  outputs<int> out(items.size(), 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto enqueue = [&] {
    return segmented::InclusiveSegmentedSum(workspace_, d_items.data(), out.data(), offsets.in(), offsets.in() + 1,
                                            num_segments, stream);
  };
  ASSERT_EQ(enqueue(), cudaSuccess);  // all segments are empty; the workspace does not grow in a capture
  const captured graph(stream, enqueue);
  std::mt19937 random(9);
  for (int time = 0; time < 9; ++time) {
    std::vector<long long> sizes(num_segments);
    for (long long& size : sizes) size = static_cast<long long>(random() % 50);
    if (time % 3 != 1) sizes[random() % num_segments] = time % 2 == 0 ? giant : giant / 4;
    const segments at(sizes, places::contiguous);
    std::vector<int> expected = untouched<int>(at.num_items);
    scan_on_host<int>(at, at.begins, items, plus{}, kind::inclusive, 0, expected);
    const std::vector<int> all = at.offsets();
    ASSERT_EQ(cudaMemcpy(offsets.items, all.data(), all.size() * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    out.expect(expected);
  }
  EXPECT_EQ(workspace_.release(stream), cudaSuccess);
}

// One array has all offsets, but some are less than the one before: segments between these are empty.
TEST_F(SegmentedScan, OffsetsThatDoNotAscend) {
  std::vector<int> offsets{39'000, 90'000, 25'000, 39'000, 20'000, 25'000, 19'000, 19'020}, many;
  for (int begin = 1'500 * 9; begin >= 0; begin -= 9) many.insert(many.end(), {begin, begin + begin % 8});
  std::vector<int> unseen;  // by blocks that look at every twelfth offset, and so take whole segments
  for (int s = 0; s <= 3'000; ++s) unseen.push_back(s * 20);
  unseen[2'999] = 99'000;
  for (const std::vector<int>& all : {offsets, many, unseen}) {
    segments at({}, places::contiguous);
    at.begins.assign(all.begin(), all.end() - 1);
    at.ends.assign(all.begin() + 1, all.end());
    at.num_items = 100'000;
    const std::vector<int> items = items_of<int>(at.num_items);
    const guarded<int> d_items(items, 1), d_offsets(all, 1);
    std::vector<int> expected = untouched<int>(at.num_items);
    scan_on_host<int>(at, at.begins, items, plus{}, kind::inclusive, 0, expected);
    outputs<int> out(at.num_items, 1);
    run([&](auto&&... storage) {
      const int *const in = d_items.data(), *const begins = d_offsets.data();
      return segmented::InclusiveSegmentedSum(storage..., in, out.data(), begins, begins + 1, at.begins.size());
    });
    out.expect(expected);
  }
}

// Few segments, long ones among them, in two streams at once: helpers of one call run beside blocks of the other.
TEST_F(SegmentedScan, TwoStreamsAtOnce) {
  std::vector<long long> sizes(700, 900);
  for (const std::size_t s : {0, 5, 350, 699}) sizes[s] = 250'003;
  const segments at(sizes, places::in_any_order);
  const std::vector<affine> items = items_of<affine>(at.num_items);
  const guarded<affine> d_items(items, 0);
  const guarded<long long> d_begins(at.begins, 0), d_ends(at.ends, 0);
  std::vector<affine> expected = untouched<affine>(at.num_items);
  scan_on_host<affine>(at, at.begins, items, compose{}, kind::inclusive, affine{}, expected);
  workspace workspaces[2];
  outputs<affine> out[2]{{at.num_items, 0}, {at.num_items, 0}};
  const own_stream streams[2];
  for (int time = 0; time < 10; ++time) {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int call = 0; call < 20; ++call)
      ASSERT_EQ(
          segmented::InclusiveSegmentedScan(workspaces[call % 2], d_items.data(), out[call % 2].data(), d_begins.data(),
                                            d_ends.data(), sizes.size(), compose{}, streams[call % 2]),
          cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (outputs<affine>& of_stream : out) of_stream.expect(expected);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(workspaces[i].release(streams[i]), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
