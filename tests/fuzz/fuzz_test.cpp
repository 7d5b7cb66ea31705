// The fuzzer itself, on the host: drawing, the line that replays a case, shrinking, and what must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "fuzz/check.hpp"
#include "fuzz/draw.hpp"
#include "fuzz/kind.hpp"

namespace rungs::fuzz {
namespace {

fuzz_case small_case(std::size_t kind, u64 seed) {
  fuzz_case one;
  one.seed = seed;
  one.kind = kind;
  one.n = 100 + seed % 300;
  one.bins = 1 + seed % 40;
  one.rows = 1 + seed % 3;
  one.gap = seed % 5;
  one.values = seed % (special_values + 1);
  one.levels = seed % 3;
  one.runs = seed % 7;
  return valid(one, all_traits());
}

TEST(Fuzz, DrawingIsAFunctionOfTheSeed) {
  for (u64 seed = 0; seed < 20'000; ++seed) {
    const fuzz_case once = draw(mixed(7, seed), all_traits()), again = draw(mixed(7, seed), all_traits());
    ASSERT_EQ(once, again);
    ASSERT_EQ(once, valid(once, all_traits())) << text_of(once, all_traits());
  }
}

TEST(Fuzz, DrawingReachesEveryKindAndEveryValueOfEveryMember) {
  std::set<u64> kinds_seen, forms, contents, streams, replays, values;
  u64 num_empty = 0, num_huge = 0, num_items = 0, num_before = 0, num_companions = 0, num_in_place = 0;
  u64 num_short_rows = 0, num_long_rows = 0, num_short_segments = 0, num_many_segments = 0;
  constexpr u64 num_cases = 200'000;
  for (u64 i = 0; i < num_cases; ++i) {
    const fuzz_case one = draw(mixed(3, i), all_traits());
    kinds_seen.insert(one.kind);
    forms.insert(one.form);
    contents.insert(one.contents);
    streams.insert(one.stream);
    replays.insert(one.replays);
    values.insert(one.values);
    num_empty += one.n == 0;
    num_huge += one.n >= 1 << 25;
    num_items += one.n * one.rows;
    num_before += one.before != 0;
    num_companions += one.companion != 0;
    num_in_place += one.in_place;
    const traits& of = all_traits()[one.kind];
    num_short_rows += of.has_rows && of.family == family::histogram && one.n <= 64 && one.rows > 300;
    num_long_rows += of.has_rows && of.family == family::histogram && one.n > 1000 && one.rows > 1;
    num_short_segments += of.family == family::segments && one.n >= 1 && one.n <= 64;
    num_many_segments += of.family == family::segments && one.rows > 1 << 14;
  }
  EXPECT_EQ(kinds_seen.size(), all_traits().size());
  EXPECT_EQ(forms.size(), 2u);
  EXPECT_EQ(contents.size(), 5u);
  EXPECT_EQ(streams.size(), 3u);
  EXPECT_EQ(replays.size(), 1 + most_replays);
  EXPECT_EQ(values.size(), 1u + special_values);
  EXPECT_GT(num_empty, 1000u);
  EXPECT_GT(num_huge, 0u);
  EXPECT_GT(num_before, num_cases / 10);
  EXPECT_GT(num_companions, num_cases / 40);
  EXPECT_GT(num_in_place, num_cases / 50);
  EXPECT_GT(num_short_rows, num_cases / 100);
  EXPECT_GT(num_long_rows, num_cases / 400);
  EXPECT_GT(num_short_segments, num_cases / 50);
  EXPECT_GT(num_many_segments, num_cases / 1000);
  EXPECT_LT(num_items / num_cases, 40'000u) << "a million cases would take too long";
}

TEST(Fuzz, NamesAreDifferent) {
  std::set<std::string> names;
  for (const traits& each : all_traits()) EXPECT_TRUE(names.insert(each.name).second) << each.name;
}

TEST(Fuzz, TheLineReadsBackAsTheSameCase) {
  for (u64 i = 0; i < 5000; ++i) {
    fuzz_case one = draw(mixed(11, i), all_traits());
    ASSERT_EQ(case_of(text_of(one, all_traits()), all_traits()), one);
    for (const field& each : fields())  // as shrinking changes it
      if (mixed(i, each.least + each.name.size()) % 3 == 0) one.*each.member /= 2;
    one.kind = mixed(i, 5) % all_traits().size();
    one = valid(one, all_traits());
    ASSERT_EQ(case_of(text_of(one, all_traits()), all_traits()), one) << text_of(one, all_traits());
  }
}

TEST(Fuzz, BadLinesAreRefused) {
  for (const char* text : {"", "x", "0x", "12,", "12,n", "12,n=", "12,n=x", "12,unknown=1", "12,kind=unknown",
                           "99999999999999999999", "12,n=-1"})
    EXPECT_THROW(case_of(text, all_traits()), std::invalid_argument) << text;
}

TEST(Fuzz, ShrinkingEndsAtTheSimplestCase) {
  for (u64 i = 0; i < 200; ++i) {
    const fuzz_case one = draw(mixed(13, i), all_traits());
    const fuzz_case simplest = shrunk(
        one, all_traits(), [](const fuzz_case&) { return true; }, 100'000);
    EXPECT_EQ(simplest.n, 0u);
    EXPECT_EQ(simplest.form + simplest.before + simplest.companion + simplest.replays + simplest.out_offset, 0u);
    EXPECT_EQ(shrunk(
                  one, all_traits(), [](const fuzz_case&) { return false; }, 100'000),
              one);
  }
}

TEST(Fuzz, ShrinkingKeepsWhatMakesItFail) {
  for (u64 i = 0; i < 200; ++i) {
    fuzz_case one = draw(mixed(17, i), all_traits());
    one.n = 20'000 + i;
    one.rows = 1;
    one.storage_offset = 5;
    one.form = two_phases;
    one = valid(one, all_traits());
    int num_calls = 0;
    const auto fails = [&](const fuzz_case& other) {
      ++num_calls;
      return other.n >= 4097 && other.storage_offset % 2 == 1;
    };
    const fuzz_case simplest = shrunk(one, all_traits(), fails, 400);
    EXPECT_LE(num_calls, 400);
    EXPECT_GE(simplest.n, 4097u);
    EXPECT_LT(simplest.n, 4400u);
    EXPECT_EQ(simplest.storage_offset, 1u);
    EXPECT_EQ(simplest.replays, 0u);
  }
}

// Of every kind: what is expected passes; a wrong bit of any output, and a byte around them, are refused.
TEST(Fuzz, PlantedErrorsAreRefused) {
  for (std::size_t k = 0; k < kinds().size(); ++k)
    for (u64 seed = 1; seed <= 12; ++seed) {
      const kind& of = *kinds()[k];
      const fuzz_case one = small_case(k, mixed(19, seed));
      const std::vector<unsigned char> expected = of.expected(one, 0, canary);
      ASSERT_EQ(expected.size(), of.out_bytes(one)) << text_of(one, all_traits());
      ASSERT_EQ(of.expected(one, 0, canary), expected);
      std::vector<unsigned char> found(red_zone_bytes + expected.size() + red_zone_bytes, canary);
      std::ranges::copy(expected, found.begin() + red_zone_bytes);
      ASSERT_EQ(complaint(of, one, 0, found, red_zone_bytes, expected), "") << text_of(one, all_traits());
      for (std::size_t at :
           {std::size_t{0}, red_zone_bytes - 1, red_zone_bytes, red_zone_bytes + expected.size() / 2,
            red_zone_bytes + expected.size() - 1, red_zone_bytes + expected.size(), found.size() - 1}) {
        const bool is_inside = at >= red_zone_bytes && at < red_zone_bytes + expected.size();
        std::vector<unsigned char> spoilt = found;
        spoilt[at] ^= 1;
        std::vector<unsigned char> settled(
            spoilt.begin() + red_zone_bytes,
            spoilt.begin() + red_zone_bytes + static_cast<std::ptrdiff_t>(expected.size())),
            settled_expected = expected;
        of.settle(settled.data(), settled.size());
        of.settle(settled_expected.data(), settled_expected.size());
        if (is_inside && settled == settled_expected) continue;  // one NaN for another
        ASSERT_NE(complaint(of, one, 0, spoilt, red_zone_bytes, expected), "")
            << text_of(one, all_traits()) << " " << at;
      }
    }
}

std::size_t kind_called(std::string_view name) {
  const auto all = all_traits();
  return static_cast<std::size_t>(std::ranges::find(all, name, &traits::name) - all.begin());
}
template <class T>
std::vector<T> as(const std::vector<unsigned char>& bytes) {
  std::vector<T> items(bytes.size() / sizeof(T));
  std::memcpy(items.data(), bytes.data(), bytes.size());
  return items;
}

// The oracle against itself: a sum is the last output of a scan, and replays differ.
TEST(Fuzz, ReductionsEndWhereScansDo) {
  for (u64 seed = 0; seed < 100; ++seed) {
    const fuzz_case reduce = small_case(kind_called("reduce.sum.i32"), seed);
    const fuzz_case scan = small_case(kind_called("scan.inclusive_sum.i32"), seed);
    const auto sum = as<int>(kinds()[reduce.kind]->expected(reduce, 0, canary));
    const auto sums = as<int>(kinds()[scan.kind]->expected(scan, 0, canary));
    ASSERT_EQ(sum.front(), sums.back());
  }
}

// Of 128 bits, too: the sum of all items but the last is the last output of an exclusive scan.
TEST(Fuzz, WideReductionsEndWhereScansDo) {
  u64 num_wide = 0;
  for (u64 seed = 0; seed < 100; ++seed) {
    fuzz_case scan = small_case(kind_called("scan.exclusive_sum.i128"), seed), reduce = scan;
    scan.values = reduce.values = random_values;
    reduce.kind = kind_called("reduce.sum.i128");
    --reduce.n;
    const auto sums = as<__int128>(kinds()[scan.kind]->expected(scan, 0, canary));
    const auto sum = as<__int128>(kinds()[reduce.kind]->expected(reduce, 0, canary)).front();
    ASSERT_TRUE(sums.front() == 0);
    ASSERT_TRUE(sums.back() == sum);
    num_wide += sum / (__int128{1} << 80) != 0;
  }
  EXPECT_GT(num_wide, 90u);
}

// All segments together have the sum of all items.
TEST(Fuzz, SegmentsAddUp) {
  for (u64 seed = 0; seed < 100; ++seed) {
    fuzz_case segments = small_case(kind_called("segments.sum.i32"), seed), reduce = segments;
    segments.n = mixed(seed, 1) % 65;
    segments.rows = 1 + mixed(seed, 2) % 40;
    reduce.kind = kind_called("reduce.sum.i32");
    reduce.n = segments.n * segments.rows;
    const auto sums = as<int>(kinds()[segments.kind]->expected(segments, 0, canary));
    ASSERT_EQ(sums.size(), segments.rows);
    ASSERT_EQ(std::accumulate(sums.begin(), sums.end(), 0),
              as<int>(kinds()[reduce.kind]->expected(reduce, 0, canary)).front());
  }
}

// Sums that saturate never fall. Some reach the greatest number early, some late, and some do not.
template <class T>
void expect_sums_that_saturate(const char* name) {
  constexpr T most = std::numeric_limits<T>::max();
  u64 num_early = 0, num_late = 0, num_below = 0;
  for (u64 seed = 0; seed < 1000; ++seed) {
    const fuzz_case one = small_case(kind_called(name), mixed(37, seed));
    const auto sums = as<T>(kinds()[one.kind]->expected(one, 0, canary));
    ASSERT_TRUE(std::ranges::is_sorted(sums)) << text_of(one, all_traits());
    ASSERT_GE(sums.front(), T{0});
    const auto first = static_cast<u64>(std::ranges::find(sums, most) - sums.begin());
    (first < one.n / 8 ? num_early : first < one.n ? num_late : num_below) += 1;
  }
  EXPECT_GT(num_early, 20u) << name;
  EXPECT_GT(num_late, 20u) << name;
  EXPECT_GT(num_below, 100u) << name;
}
TEST(Fuzz, SomeSumsSaturate) {
  expect_sums_that_saturate<unsigned char>("scan.exclusive_saturating.u8");
  expect_sums_that_saturate<signed char>("scan.inclusive_saturating_from_zero.i8");
}

// What the header promises of nothing.
TEST(Fuzz, OfNoItemsTheResultIsTheOneOfTheHeader) {
  const auto result = [](const char* name) {
    fuzz_case one = small_case(kind_called(name), 0);
    one.n = 0;
    return kinds()[one.kind]->expected(one, 0, canary);
  };
  EXPECT_EQ(as<int>(result("reduce.sum.i32")).front(), 0);
  EXPECT_EQ(as<float>(result("reduce.min.f32")).front(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(as<signed char>(result("reduce.min.i8")).front(), 127);
  EXPECT_EQ(as<long long>(result("reduce.max.i64")).front(), std::numeric_limits<long long>::min());
  const auto arg = result("reduce.arg_min.i32");
  EXPECT_EQ(as<int>(arg).front(), std::numeric_limits<int>::max());
  EXPECT_EQ(as<long long>(arg).back(), 1);
  EXPECT_TRUE(result("scan.inclusive_sum.i32").empty());
}

// Of the same keys and values: lengths add up, what is longer than one item is not trivial, and sums end where scans
// do.
TEST(Fuzz, CallsOnRunsAgree) {
  u64 num_longer = 0, num_runs = 0;
  for (u64 seed = 0; seed < 100; ++seed) {
    u64 n = 0;
    // Of a kind with outputs of 32 bits: the first ones, the second ones behind them, and their number.
    const auto outputs = [&](const char* name) {
      const fuzz_case one = small_case(kind_called(name), seed);
      n = one.n;
      return as<int>(kinds()[one.kind]->expected(one, 0, canary));
    };
    const auto encoded = outputs("encode.i32.i32"), longer = outputs("non_trivial_runs.i32.i32.i32");
    const auto sums = outputs("reduce_by_key.sum.i32.i32"), scan = outputs("scan_by_key.inclusive_sum.i32.i32");
    const auto unique = outputs("select.unique.i32");
    const auto count = static_cast<std::size_t>(encoded[2 * n]);
    ASSERT_EQ(static_cast<std::size_t>(sums[2 * n]), count);
    ASSERT_EQ(static_cast<std::size_t>(unique[n]), count);
    std::size_t end = 0, kept = 0;
    for (std::size_t run = 0; run < count; ++run) {
      const int length = encoded[n + run];
      ASSERT_GT(length, 0);
      ASSERT_EQ(encoded[run], sums[run]);
      ASSERT_EQ(encoded[run], unique[run]);
      if (length > 1) {
        ASSERT_EQ(static_cast<std::size_t>(longer[kept]), end);
        ASSERT_EQ(longer[n + kept], length);
        ++kept;
      }
      end += static_cast<std::size_t>(length);
      ASSERT_EQ(scan[end - 1], sums[n + run]);
    }
    ASSERT_EQ(end, n);
    ASSERT_EQ(static_cast<std::size_t>(longer[2 * n]), kept);
    num_longer += kept;
    num_runs += count;
  }
  EXPECT_GT(num_longer, 500u);
  EXPECT_GT(num_runs, num_longer + 500);
}

// Of every rate of flags and predicates some cases choose nothing, some everything, and some a part.
TEST(Fuzz, SelectionsChooseSomeAllAndNothing) {
  for (const char* name : {"select.flagged.i32", "select.if.i32", "partition.flagged.i32"}) {
    u64 num_none = 0, num_all = 0, num_some = 0;
    for (u64 seed = 0; seed < 200; ++seed) {
      const fuzz_case one = small_case(kind_called(name), mixed(31, seed));
      const auto outputs = as<int>(kinds()[one.kind]->expected(one, 0, canary));
      const auto count = static_cast<u64>(outputs[one.n]);
      (count == 0 ? num_none : count == one.n ? num_all : num_some) += 1;
    }
    EXPECT_GT(num_none, 10u) << name;
    EXPECT_GT(num_all, 10u) << name;
    EXPECT_GT(num_some, 10u) << name;
  }
}

// Samples within the levels are all counted, whatever these are; and nearly all drawn samples are.
TEST(Fuzz, HistogramsCountMostSamples) {
  for (std::size_t k = 0; k < kinds().size(); ++k) {
    if (kinds()[k]->about().family != family::histogram) continue;
    for (u64 seed = 0; seed < 60; ++seed) {
      fuzz_case one = small_case(k, mixed(23, seed));
      one.values = random_values;
      const auto bytes = kinds()[k]->expected(one, 0, canary);
      u64 total = 0;
      if (kinds()[k]->about().out_bytes == 8)
        for (const auto each : as<u64>(bytes)) total += each;
      else
        for (const auto each : as<unsigned>(bytes)) total += each;
      const u64 channels = kinds()[k]->about().channels, num_active = channels == 1 ? 1 : channels - 1;
      ASSERT_LE(total, one.n * one.rows * num_active) << text_of(one, all_traits());
      if (num_active == 1 && one.bins > 20) {
        ASSERT_GT(total, one.n * one.rows / 3) << text_of(one, all_traits());
      }
    }
  }
}

}  // namespace
}  // namespace rungs::fuzz
