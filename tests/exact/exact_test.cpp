// rungs::DeviceReduce::ExactSum and ExactDot against an oracle that is checked by rational arithmetic
// (oracles/exact_sum.hpp): every bit of every result. Each test prints a hash of the bits that it found, the same on
// every GPU. The program is built twice, the calls with and without -use_fast_math.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <ostream>
#include <set>
#include <string>

#include "exact/calls.hpp"
#include "exact/items.hpp"
#include "gpu_test.hpp"
#include "text.hpp"

namespace rungs::tests::exact {
namespace {

constexpr number numbers[] = {number::f16, number::bf16, number::f32, number::f64};
constexpr const char* names[] = {"F16", "Bf16", "F32", "F64"};
const char* name(number type) { return names[static_cast<int>(type)]; }

// ---- memory

using device_bytes = guarded<unsigned char>;

std::vector<unsigned char> packed(number type, const items& from) {
  const std::size_t each = bytes_of(type);
  std::vector<unsigned char> to(from.size() * each);
  for (std::size_t i = 0; i < from.size(); ++i) std::memcpy(to.data() + i * each, &from[i], each);
  return to;
}
items unpacked(number type, const std::vector<unsigned char>& from) {
  const std::size_t each = bytes_of(type);
  items to(from.size() / each);
  for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(&to[i], from.data() + i * each, each);
  return to;
}

// Temporary storage at an odd address, which holds anything at first and then what the call before left there.
class storage {
 public:
  template <class Call>
  cudaError_t operator()(Call call) {
    std::size_t bytes = 0;
    if (const cudaError_t error = call(nullptr, bytes)) return error;
    EXPECT_GT(bytes, 0u);
    if (bytes > capacity_) {
      capacity_ = 2 * bytes;
      memory_ = std::make_unique<device_bytes>(capacity_ + 1);  // waits for what used the old one
      memory_->fill(0xa5);
      // The filling may still run when the host goes on, and the tests' stream does not wait for it.
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    return call(memory_->data() + 1, bytes);
  }

 private:
  std::size_t capacity_ = 0;
  std::unique_ptr<device_bytes> memory_;
};

// ---- what is right

// Totals of ranges of two inputs. Of ranges that begin alike each goes on where the one before has ended.
class oracle {
 public:
  oracle(operation what, number of, const inputs& from) : what_(what), of_(of), from_(from) {}

  const exact_total& total(const range& r) {
    if (r.first_a != last_.first_a || r.first_b != last_.first_b || r.num_items < last_.num_items) {
      total_ = {};
      last_ = {r.first_a, r.first_b, 0};
    }
    const float_format format = format_of(of_);
    for (std::size_t i = last_.num_items; i < r.num_items; ++i) {
      if (what_ == operation::sum)
        total_.add(format, from_.a[r.first_a + i]);
      else
        total_.add_product(format, from_.a[r.first_a + i], from_.b[r.first_b + i]);
    }
    last_ = r;
    return total_;
  }

 private:
  operation what_;
  number of_;
  const inputs& from_;
  exact_total total_;
  range last_{};
};

bool is_right(number result, bits found, bits expected) {
  const float_format format = format_of(result);
  return format.is_nan(expected) ? format.is_nan(found) : found == expected;
}

// A hash of all bits that a test has found.
class fingerprint {
 public:
  void add(bits found) {
    hash_ = (hash_ ^ found) * 0x100000001b3ull;
    hash_ ^= hash_ >> 29;
    ++count_;
  }
  void print() const {
    if (count_ == 0) return;
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash_));
    std::printf("bits of %zu results: %s\n", count_, hex);
    ::testing::Test::RecordProperty("bits", hex);
  }

 private:
  bits hash_ = 0xcbf29ce484222325ull;
  std::size_t count_ = 0;
};

// ---- the calls

struct target {
  operation what;
  number of;
};
void PrintTo(const target& of, std::ostream* out) {
  *out << (of.what == operation::sum ? "Sum" : "Dot") << "Of" << name(of.of);
}

class Exact : public ::testing::TestWithParam<target> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    found_.print();
  }

  const operation what_ = GetParam().what;
  const number of_ = GetParam().of;
  const std::size_t item_bytes_ = bytes_of(of_);
  const records record_{what_, of_};
  cudaStream_t stream_ = nullptr;
  storage storage_;
  fingerprint found_;

  inputs make(kind a, kind b, std::uint64_t seed, std::size_t num_items) const {
    return {make_items(of_, a, seed, num_items),
            what_ == operation::sum ? items() : make_items(of_, b, seed + 1000, num_items)};
  }

  // Inputs on the device.
  struct placed {
    placed(number of, const inputs& from) : a(packed(of, from.a)), b(packed(of, from.b)) {}
    device_bytes a, b;
  };
  call of_range(const placed& in, const range& r) const {
    return {what_,       of_,    in.a.data() + r.first_a * item_bytes_, in.b.data() + r.first_b * item_bytes_,
            r.num_items, stream_};
  }

  // Calls one behind the other, with one copy back.
  template <class Enqueue>
  std::vector<unsigned char> results(std::size_t count, std::size_t bytes_each, Enqueue enqueue) {
    const device_bytes out(count * bytes_each);
    out.fill(0xa5);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t i = 0; i < count; ++i) {
      const cudaError_t error = enqueue(i, out.data() + i * bytes_each);
      if (error == cudaSuccess) continue;
      ADD_FAILURE() << "call " << i << ": " << cudaGetErrorName(error);
      break;
    }
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return out.read();
  }
  items numbers_of(const placed& in, const std::vector<range>& ranges, number result) {
    const auto found = results(ranges.size(), bytes_of(result), [&](std::size_t i, void* d_out) {
      return storage_([&](void* d_temp_storage, std::size_t& bytes) {
        return enqueue(of_range(in, ranges[i]), result, d_out, d_temp_storage, bytes);
      });
    });
    return unpacked(result, found);
  }
  std::vector<unsigned char> records_of(const placed& in, const std::vector<range>& ranges) {
    return results(ranges.size(), record_.bytes(), [&](std::size_t i, void* d_out) {
      return storage_([&](void* d_temp_storage, std::size_t& bytes) {
        return record_.enqueue(of_range(in, ranges[i]), d_out, d_temp_storage, bytes);
      });
    });
  }

  // Ends at the first that is wrong.
  void expect_right(number result, bits found, bits expected, const std::string& what) {
    found_.add(found);
    if (is_right(result, found, expected)) return;
    ADD_FAILURE() << what << ": as " << name(result) << std::hex << " 0x" << found << ", not 0x" << expected;
  }
  void expect_right(const inputs& from, const std::vector<range>& ranges, const std::vector<number>& results,
                    const std::string& what) {
    const placed in(of_, from);
    std::vector<std::array<bits, num_numbers>> expected;
    oracle right(what_, of_, from);
    for (const range& r : ranges) {
      const exact_total& total = right.total(r);
      expected.emplace_back();
      for (const number each : results)
        expected.back()[static_cast<std::size_t>(each)] = total.rounded(format_of(each));
    }
    for (const number each : results) {
      const items found = numbers_of(in, ranges, each);
      for (std::size_t i = 0; i < ranges.size() && !HasFailure(); ++i)
        expect_right(each, found[i], expected[i][static_cast<std::size_t>(each)], described(what, ranges[i]));
    }
  }
  static std::string described(const std::string& what, const range& r) {
    return text(what, ", ", r.num_items, " items from ", r.first_a, " and ", r.first_b);
  }
  // The numbers that a record is rounded to on the host.
  void expect_right(const unsigned char* record, const exact_total& expected, const std::string& what) {
    for (const number each : numbers)
      expect_right(each, record_.rounded(record, each), expected.rounded(format_of(each)), what + ", of a record");
  }
};

const std::vector<number> all_numbers(std::begin(numbers), std::end(numbers));
constexpr std::size_t most_items = (std::size_t{1} << 20) + 1;
// On both sides of each power of two to 4096, and larger ones.
const std::set<std::size_t> sizes = [] {
  std::set<std::size_t> all = {0,      1000,   8191,    8193,           10'007,         16'384,    16'385,
                               32'769, 65'537, 270'337, most_items - 2, most_items - 1, most_items};
  for (std::size_t power = 2; power <= 4096; power *= 2) all.insert({power - 1, power, power + 1});
  return all;
}();

TEST_P(Exact, EveryKindSizeAndAlignment) {
  const std::size_t vector_items = 16 / item_bytes_;
  for (const kind each : kinds) {
    const kind others = each == kind::uniform || each == kind::normal ? each : kind::spread;
    const inputs from = make(each, others, 1, most_items + vector_items);
    std::vector<range> ranges, aligned;
    for (std::size_t first = 0; first < vector_items; ++first)
      for (const std::size_t n : sizes)
        if (n < 100'000 || first < 2) ranges.push_back({first, first, n});
    if (what_ == operation::dot)
      for (std::size_t first = 0; first < vector_items; ++first)
        for (const std::size_t n : sizes)
          if (n < 100'000 || first == 0) ranges.push_back({first, (first + 1) % vector_items, n});
    for (const std::size_t n : sizes) aligned.push_back({0, 0, n});
    expect_right(from, ranges, {of_}, name(each));
    expect_right(from, aligned, all_numbers, name(each));
    if (HasFailure()) return;
  }
}

// Products of any two kinds; their exponents lie twice as far from each other.
TEST_P(Exact, EveryPairOfKinds) {
  if (what_ == operation::sum) return;
  for (const kind a : kinds)
    for (const kind b : kinds) {
      const inputs from = make(a, b, 2, 20'000);
      std::vector<range> ranges;
      for (const std::size_t n : {1, 10, 100, 3000, 20'000}) ranges.push_back({0, 0, n});
      expect_right(from, ranges, {of_, number::f64}, text(name(a), " and ", name(b)));
      if (HasFailure()) return;
    }
}

// Blocks of ever more threads have ever more shared memory: the first with more than 48 KB has to be allowed it, also
// where only what a block has beside its counters makes it more.
TEST_P(Exact, BlocksOfEveryNumberOfThreads) {
  constexpr std::size_t n = 5'000'000, step = 100'000;
  std::vector<range> ranges;
  for (std::size_t items = step; items <= n; items += step) ranges.push_back({0, 0, items});
  expect_right(make(kind::normal, kind::uniform, 14, n), ranges, {of_}, "normal");
}

TEST_P(Exact, MillionsOfItems) {
  constexpr std::size_t n = (1 << 24) - 1, few = 132 * 8192;  // as many as are cut into levels on an H100
  for (const kind each : {kind::normal, kind::log_uniform, kind::outliers}) {
    expect_right(make(each, kind::spread, 3, n), {{0, 0, few}, {0, 0, few + 1}, {0, 0, n}, {1, 1, few}, {1, 1, n - 1}},
                 {of_}, name(each));
    if (HasFailure()) return;
  }
}

TEST_P(Exact, BesideTheMiddleOfTwoNumbers) {
  for (const number result : numbers) {
    const list_of_inputs list = halfway_cases(what_, of_, result);
    std::printf("%zu cases as %s\n", list.ranges.size(), name(result));
    expect_right(list.all, list.ranges, {result}, "halfway");
  }
}

TEST_P(Exact, NotFiniteAndSignedZeros) {
  const list_of_inputs list = special_cases(of_);
  expect_right(list.all, list.ranges, all_numbers, "special");
}

TEST_P(Exact, EqualTermsOfEveryExponent) {
  const list_of_inputs list = equal_cases(of_);
  expect_right(list.all, list.ranges, {of_, number::f64}, "equal");
}

TEST_P(Exact, TenThousandRandomInputs) {
  std::mt19937_64 random(11);
  // Of items that are made once for each pair of kinds, from any place on.
  constexpr std::size_t num_made = 1 << 14;
  list_of_inputs list;
  for (const kind a : kinds) {
    const inputs from = make(a, kinds[random() % std::size(kinds)], 4, num_made);
    list.all.a.insert(list.all.a.end(), from.a.begin(), from.a.end());
    list.all.b.insert(list.all.b.end(), from.b.begin(), from.b.end());
  }
  for (int trial = 0; trial < 10'000; ++trial) {
    const std::size_t most = random() % 4 == 0 ? 3000 : random() % 2 == 0 ? 300 : 20, n = 1 + random() % most;
    // Now and then over the border of two kinds, and with inputs that are aligned in other ways.
    const std::size_t first = random() % (list.all.a.size() - n - 16);
    list.ranges.push_back({first, first + (random() % 4 == 0 ? random() % 16 : 0), n});
  }
  expect_right(list.all, list.ranges, {of_}, "random");
}

TEST_P(Exact, OfItemsInAnyOrder) {
  std::mt19937_64 random(12);
  for (const kind each : kinds)
    for (const std::size_t n : {1000, 100'003}) {
      const inputs from = make(each, kind::normal, 5, n);
      list_of_inputs list;
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (int permutation = 0; permutation < 6; ++permutation) {
        inputs permuted;
        for (const std::size_t i : order) {
          permuted.a.push_back(from.a[i]);
          if (what_ == operation::dot) permuted.b.push_back(from.b[i]);
        }
        if (what_ == operation::sum) permuted.b.resize(n);
        list.append(permuted.a, permuted.b);
        if (permutation == 0)
          std::reverse(order.begin(), order.end());
        else if (permutation == 1)  // by bits: of one sign, then of the other, each by magnitude
          std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return from.a[i] < from.a[j]; });
        else
          std::shuffle(order.begin(), order.end(), random);
      }
      expect_right(list.all, list.ranges, {of_}, name(each));
      const auto found = records_of({of_, list.all}, list.ranges);
      const std::size_t bytes = record_.bytes();
      for (std::size_t i = 1; i < list.ranges.size(); ++i)
        ASSERT_EQ(std::memcmp(found.data(), found.data() + i * bytes, bytes), 0) << name(each) << ", order " << i;
    }
}

// A record is that of the whole, however its items were split, and in whatever order the parts are merged.
TEST_P(Exact, RecordsOfPartsMakeTheWhole) {
  std::mt19937_64 random(13);
  const std::size_t bytes = record_.bytes();
  for (const kind each : kinds) {
    constexpr std::size_t n = 50'000;
    const inputs from = make(each, kind::uniform, 6, n);
    const placed in(of_, from);
    std::vector<std::size_t> num_parts = {1, 2, 3, 8, 100};
    std::vector<range> ranges;
    for (const std::size_t parts : num_parts) {
      std::vector<std::size_t> borders = {0, n};
      while (borders.size() <= parts) borders.push_back(random() % (n + 1));
      std::sort(borders.begin(), borders.end());
      for (std::size_t i = 0; i < parts; ++i) ranges.push_back({borders[i], borders[i], borders[i + 1] - borders[i]});
    }
    const auto found = records_of(in, ranges);
    oracle right(what_, of_, from);
    const exact_total& expected = right.total({0, 0, n});
    std::size_t first = 0;
    for (const std::size_t parts : num_parts) {
      std::vector<std::size_t> order(parts);
      std::iota(order.begin(), order.end(), first);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<unsigned char> merged(bytes);
      record_.make_zero(merged.data());
      for (const std::size_t i : order) record_.merge(merged.data(), found.data() + i * bytes);
      ASSERT_EQ(std::memcmp(merged.data(), found.data(), bytes), 0) << name(each) << " in " << parts << " parts";
      expect_right(merged.data(), expected, text(name(each), " in ", parts, " parts"));
      first += parts;
    }
    if (HasFailure()) return;
  }
}

// Two parts make the whole, byte by byte, also where a NaN or an infinity is among the terms of one or of both.
TEST_P(Exact, RecordsOfWhatIsNotFinite) {
  list_of_inputs list = special_cases(of_);
  const std::vector<range> wholes = list.ranges;
  list.ranges.clear();
  for (const range& whole : wholes) {
    const std::size_t n = whole.num_items, border = 2 * n / 3;  // between the places of special items
    list.ranges.push_back(whole);
    list.ranges.push_back({whole.first_a, whole.first_b, border});
    list.ranges.push_back({whole.first_a + border, whole.first_b + border, n - border});
  }
  const auto found = records_of({of_, list.all}, list.ranges);
  oracle right(what_, of_, list.all);
  const std::size_t bytes = record_.bytes();
  std::vector<unsigned char> merged(bytes);
  for (std::size_t i = 0; i < wholes.size() && !HasFailure(); ++i) {
    const unsigned char* const whole = found.data() + 3 * i * bytes;
    expect_right(whole, right.total(wholes[i]), described("special", wholes[i]));
    record_.make_zero(merged.data());
    record_.merge(merged.data(), whole + 2 * bytes);
    record_.merge(merged.data(), whole + bytes);
    EXPECT_EQ(std::memcmp(merged.data(), whole, bytes), 0) << described("special, of parts", wholes[i]);
    if (i == 0) continue;
    exact_total both = right.total(wholes[i - 1]);
    both.add(right.total(wholes[i]));
    record_.make_zero(merged.data());
    record_.merge(merged.data(), whole);
    record_.merge(merged.data(), whole - 3 * bytes);
    expect_right(merged.data(), both, described("special, merged with the one before", wholes[i]));
  }
}

// Storage may hold anything and is not to be exceeded; nothing but the result is written.
TEST_P(Exact, StorageAndMemoryAround) {
  constexpr std::size_t around = 256;
  for (const std::size_t n : {0, 1, 1000, 200'003}) {
    const inputs from = make(kind::outliers, kind::normal, 7, n);
    const placed in(of_, from);
    oracle right(what_, of_, from);
    const bits expected = right.total({0, 0, n}).rounded(format_of(of_));
    const call call = of_range(in, {0, 0, n});
    std::size_t bytes = 0;
    const device_bytes out(2 * around + item_bytes_);
    ASSERT_EQ(enqueue(call, of_, out.data(), nullptr, bytes), cudaSuccess);
    const device_bytes storage(bytes + 2 * around);
    for (const int contents : {0x00, 0x01, 0xa5, 0xff}) {
      std::size_t too_few = bytes - 1;
      EXPECT_EQ(enqueue(call, of_, out.data() + around, storage.data() + around, too_few), cudaErrorInvalidValue);
      for (const std::size_t odd : {0, 1, 5}) {
        std::size_t exactly = bytes;
        storage.fill(contents);
        out.fill(contents);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(enqueue(call, of_, out.data() + around, storage.data() + around - odd, exactly), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
        auto written = out.read();
        bits found = 0;
        std::memcpy(&found, written.data() + around, item_bytes_);
        expect_right(of_, found, expected, text("storage of ", contents, ", ", n, " items"));
        std::memset(written.data() + around, contents, item_bytes_);
        EXPECT_EQ(written, std::vector<unsigned char>(written.size(), static_cast<unsigned char>(contents)));
        const auto left = storage.read();
        for (std::size_t i = 0; i < around - odd; ++i) ASSERT_EQ(left[i], contents);
        for (std::size_t i = around - odd + bytes; i < left.size(); ++i) ASSERT_EQ(left[i], contents);
      }
    }
    EXPECT_EQ(in.a.read(), packed(of_, from.a));
    EXPECT_EQ(in.b.read(), packed(of_, from.b));
  }
}

// Calls of growing and falling sizes, of numbers and records, in one workspace, on new inputs each.
TEST_P(Exact, InOneWorkspace) {
  workspace workspace;
  for (const kind each : {kind::uniform, kind::any_finite}) {
    const inputs from = make(each, kind::uniform, 8, most_items);
    const placed in(of_, from);
    std::vector<range> ranges;
    for (const std::size_t n : {1000, 3, 1'000'000, 0, 5000, 70'000, 1'000'001, 1}) ranges.push_back({0, 0, n});
    const auto as_numbers = results(ranges.size(), item_bytes_, [&](std::size_t i, void* d_out) {
      return enqueue(of_range(in, ranges[i]), of_, d_out, workspace);
    });
    const auto as_records = results(ranges.size(), record_.bytes(), [&](std::size_t i, void* d_out) {
      return record_.enqueue(of_range(in, ranges[i]), d_out, workspace);
    });
    oracle right(what_, of_, from);
    const items found = unpacked(of_, as_numbers);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const exact_total& total = right.total(ranges[i]);
      expect_right(of_, found[i], total.rounded(format_of(of_)), described(name(each), ranges[i]));
      expect_right(as_records.data() + i * record_.bytes(), total, described(name(each), ranges[i]));
    }
  }
  EXPECT_EQ(workspace.release(stream_), cudaSuccess);
}

// Captured once, replayed on other inputs, in both forms. The graph has a number and a record.
TEST_P(Exact, CapturedAndReplayed) {
  for (const bool has_workspace : {false, true})
    for (const std::size_t n : {1000, 500'001}) {
      workspace workspace;
      const placed in(of_, make(kind::equal, kind::equal, 9, n));
      const call call = of_range(in, {0, 0, n});
      const device_bytes out(item_bytes_), record_out(record_.bytes());
      std::size_t bytes = 0, bytes_of_record = 0;
      ASSERT_EQ(enqueue(call, of_, out.data(), nullptr, bytes), cudaSuccess);
      ASSERT_EQ(record_.enqueue(call, record_out.data(), nullptr, bytes_of_record), cudaSuccess);
      const device_bytes storage(bytes), storage_of_record(bytes_of_record);
      const auto work = [&] {
        if (has_workspace) {
          const cudaError_t error = enqueue(call, of_, out.data(), workspace);
          return error != cudaSuccess ? error : record_.enqueue(call, record_out.data(), workspace);
        }
        const cudaError_t error = enqueue(call, of_, out.data(), storage.data(), bytes);
        return error != cudaSuccess
                   ? error
                   : record_.enqueue(call, record_out.data(), storage_of_record.data(), bytes_of_record);
      };
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      if (has_workspace) {
        ASSERT_EQ(work(), cudaSuccess);  // it may not grow in a capture
      }
      const captured graph(stream_, work);
      for (const kind each : {kind::normal, kind::any_finite, kind::cancelling, kind::normal}) {
        const inputs from = make(each, kind::spread, 10, n);
        ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
        in.a.write(packed(of_, from.a));
        in.b.write(packed(of_, from.b));
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        // Twice, one behind the other.
        ASSERT_EQ(graph.enqueue(), cudaSuccess);
        ASSERT_EQ(graph.replay(), cudaSuccess);
        oracle right(what_, of_, from);
        const exact_total& total = right.total({0, 0, n});
        const std::string what = text(name(each), ", ", n, " items, replayed");
        expect_right(of_, unpacked(of_, out.read())[0], total.rounded(format_of(of_)), what);
        expect_right(record_out.read().data(), total, what);
      }
      EXPECT_EQ(workspace.release(stream_), cudaSuccess);
    }
}

TEST_P(Exact, OnTwoStreamsAtOnce) {
  constexpr std::size_t n = 3'000'001;
  constexpr int num_rounds = 50;
  const own_stream other;
  const kind kinds_of[2] = {kind::normal, kind::outliers};
  const cudaStream_t streams[2] = {stream_, other};
  const device_bytes out(2 * num_rounds * item_bytes_);
  storage storages[2];
  std::vector<std::unique_ptr<placed>> in;
  bits expected[2];
  for (int i = 0; i < 2; ++i) {
    const inputs from = make(kinds_of[i], kind::uniform, 11, n);
    in.push_back(std::make_unique<placed>(of_, from));
    expected[i] = oracle(what_, of_, from).total({0, 0, n}).rounded(format_of(of_));
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (std::size_t round = 0; round < num_rounds; ++round)
    for (std::size_t i = 0; i < 2; ++i) {
      call call = of_range(*in[i], {0, 0, n});
      call.stream = streams[i];
      ASSERT_EQ(storages[i]([&](void* d_temp_storage, std::size_t& bytes) {
                  return enqueue(call, of_, out.data() + (2 * round + i) * item_bytes_, d_temp_storage, bytes);
                }),
                cudaSuccess);
    }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const items found = unpacked(of_, out.read());
  for (std::size_t i = 0; i < found.size() && !HasFailure(); ++i)
    expect_right(of_, found[i], expected[i % 2], text("round ", i / 2, " on stream ", i % 2));
}

// Bytes of one value make items of one value, as many as memory holds: sums that are kept in registers get full.
TEST_P(Exact, BillionsOfEqualItems) {
  std::size_t free_bytes = 0, all_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &all_bytes), cudaSuccess);
  std::size_t n = (std::size_t{1} << 32) + 5;
  while (n * item_bytes_ > free_bytes / 2) n = n / 2 + 1;
  const device_bytes in(n * item_bytes_);
  workspace workspace;
  for (const int byte : {0x3f, 0xbf, 0x7a, 0x01, 0x7f}) {
    in.fill(byte);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    bits item = 0;
    std::memset(&item, byte, item_bytes_);
    for (const std::size_t first : {0, 1}) {
      const std::size_t num_items = n - first;
      const unsigned char* from = in.data() + first * item_bytes_;
      const call call{what_, of_, from, from, num_items, stream_};
      const auto found = results(1, record_.bytes(),
                                 [&](std::size_t, void* d_out) { return record_.enqueue(call, d_out, workspace); });
      exact_total expected;
      if (what_ == operation::sum)
        expected.add(format_of(of_), item, num_items);
      else
        expected.add_product(format_of(of_), item, item, num_items);
      expect_right(found.data(), expected, text(num_items, " items of bytes ", byte));
    }
  }
  EXPECT_EQ(workspace.release(stream_), cudaSuccess);
}

std::vector<target> all_targets() {
  std::vector<target> all;
  for (const operation what : {operation::sum, operation::dot})
    for (const number of : numbers) all.push_back({what, of});
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Exact, ::testing::ValuesIn(all_targets()),
                         [](const auto& info) { return ::testing::PrintToString(info.param); });

}  // namespace
}  // namespace rungs::tests::exact
