// What rungs_by_key does without a GPU: its plan, its items, the right outputs, and what it says of samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "by_key/cells.hpp"
#include "by_key/items.hpp"
#include "by_key/oracle.hpp"
#include "by_key/plan.hpp"
#include "check.hpp"

namespace rungs::bench::by_key {
namespace {

using catalog::scalar;

TEST(by_key, plan_has_every_structure_of_all_types_at_every_size) {
  const std::vector<cell> all = plan_of({});
  std::set<std::string> names;
  std::map<operation, std::size_t> of_operation;
  std::size_t before = 0;
  for (const cell& each : all) {
    EXPECT_TRUE(names.insert(name_of(each)).second) << name_of(each);
    EXPECT_GE(each.items, before) << "the largest come last";
    before = each.items;
    ++of_operation[each.about.operation];
  }
  for (const auto& [what, count] : of_operation) {
    const std::size_t types = what == operation::reduce_by_key                                   ? 9
                              : what == operation::encode || what == operation::non_trivial_runs ? 2
                              : has_segments(what)                                               ? 2
                              : what == operation::unique || has_percent(what)                   ? 3
                                                                                                 : 4;
    EXPECT_EQ(count, std::size(all_items) * types * (has_percent(what) ? 4 : 5)) << name(what);
  }
  EXPECT_EQ(of_operation.size(), 12u);
  EXPECT_TRUE(names.contains("select_if/u8/chosen=1%/n=64Ki"));
  EXPECT_TRUE(names.contains("reduce_by_key/u8:f64/runs=one/n=256Mi"));
  EXPECT_TRUE(names.contains("inclusive_segmented_sum/f32/runs=mixed/n=1Mi"));
}

TEST(by_key, plan_is_limited_by_sizes_and_filter) {
  for (const cell& each : plan_of({1 << 20, 1 << 24, "^encode/i64/"})) {
    EXPECT_EQ(each.about.operation, operation::encode);
    EXPECT_EQ(each.about.keys, scalar::i64);
    EXPECT_TRUE(each.items == 1 << 20 || each.items == 1 << 24);
  }
  EXPECT_EQ(plan_of({1 << 20, 1 << 24, "^encode/i64/"}).size(), 10u);
  EXPECT_THROW(plan_of({1, 1 << 10, ""}), usage_error);
  EXPECT_THROW(plan_of({1, 1 << 20, "no such call"}), usage_error);
  EXPECT_THROW(plan_of({1, 1 << 20, "("}), usage_error);
}

TEST(by_key, room_holds_inputs_outputs_and_both_halves_of_a_copy) {
  for (const cell& each : plan_of({})) {
    const room has = room_of(each);
    const item_sizes bytes = sizes_of(each.about);
    EXPECT_GE(has.in, each.items * (bytes.first_in + bytes.second_in));
    EXPECT_GE(has.out, each.items * (bytes.first_out + bytes.second_out) + sizeof(int));
    EXPECT_GE(std::min(has.in, has.out), footprint(each, each.items) / 2);
  }
}

TEST(by_key, footprint_is_what_must_be_read_and_written) {
  const std::size_t n = 1000;
  EXPECT_EQ(footprint({{operation::select_flagged, scalar::i64, scalar::none, 50}, n}, 480), 9000u + 480 * 8 + 4);
  EXPECT_EQ(footprint({{operation::select_if, scalar::u8, scalar::none, 0}, n}, 0), 1004u);
  EXPECT_EQ(footprint({{operation::partition_if, scalar::i32, scalar::none, 1}, n}, n), 8004u);
  EXPECT_EQ(footprint({{operation::encode, scalar::i64, scalar::none, 4}, n}, 250), 8000u + 250 * 12 + 4);
  EXPECT_EQ(footprint({{operation::non_trivial_runs, scalar::i64, scalar::none, 4}, n}, 200), 8000u + 200 * 8 + 4);
  EXPECT_EQ(footprint({{operation::reduce_by_key, scalar::u8, scalar::f64, 4}, n}, 250), 9000u + 250 * 9 + 4);
  EXPECT_EQ(footprint({{operation::inclusive_sum_by_key, scalar::i32, scalar::f32, 4}, n}, n), 12'000u);
  EXPECT_EQ(footprint({{operation::inclusive_segmented_sum, scalar::f32, scalar::none, 0}, n}, n), 8008u);
}

TEST(by_key, runs_have_the_length_of_their_name_in_the_mean) {
  for (const std::size_t mean : {std::size_t{1}, std::size_t{4}, std::size_t{16}, std::size_t{256}}) {
    const std::size_t n = 512 * 64;
    std::set<std::size_t> lengths;
    std::size_t runs = 0, begin = 0;
    for (std::size_t i = 1; i <= n; ++i) {
      if (i < n && run_of(i, mean) == run_of(i - 1, mean)) continue;
      if (i < n) {
        EXPECT_EQ(run_of(i, mean), run_of(i - 1, mean) + 1);
        EXPECT_NE(key_of<std::uint8_t>(run_of(i, mean)), key_of<std::uint8_t>(run_of(i - 1, mean)));
      }
      lengths.insert(i - begin);
      begin = i;
      ++runs;
    }
    EXPECT_EQ(runs, n / mean);
    EXPECT_GE(*lengths.begin(), 1u);
    EXPECT_LE(*lengths.rbegin(), 2 * mean - 1);
    EXPECT_GE(lengths.size(), std::min<std::size_t>(2 * mean - 1, 50));
  }
  EXPECT_EQ(run_of(123'456'789, 0), 0u);
}

// A stretch is the difference of two prefixes.
TEST(by_key, sums_of_floats_are_exact_in_every_order) {
  long long sum = 0, least = 0, greatest = 0;
  for (std::size_t i = 0; i < std::size_t{1} << 22; ++i) {
    ASSERT_EQ(value_of<float>(i), static_cast<float>(value_of<int>(i)));
    sum += value_of<int>(i);
    least = std::min(least, sum);
    greatest = std::max(greatest, sum);
  }
  EXPECT_LT(greatest - least, 1 << 17);
  EXPECT_GT(greatest - least, 1 << 10) << "a lost tile is to be seen";
}

template <class T>
std::vector<T> as(const std::vector<unsigned char>& bytes) {
  std::vector<T> items(bytes.size() / sizeof(T));
  std::memcpy(items.data(), bytes.data(), bytes.size());
  return items;
}

TEST(by_key, chosen_items_are_as_many_as_asked_for) {
  const std::size_t n = 100'000;
  for (const std::size_t percent : percents)
    for (const operation what : {operation::select_flagged, operation::select_if}) {
      const auto right = right_outputs_of({{what, scalar::i32, scalar::none, percent}, n});
      EXPECT_NEAR(static_cast<double>(right.count), static_cast<double>(n * percent) / 100, 500);
      const auto items = as<int>(right.first);
      EXPECT_EQ(items.size(), right.count);
      EXPECT_TRUE(std::ranges::all_of(items, is_odd{}));
    }
}

TEST(by_key, partitions_reverse_what_is_not_chosen) {
  const std::size_t n = 1000;
  const auto right = right_outputs_of({{operation::partition_if, scalar::i64, scalar::none, 50}, n});
  const auto items = as<long long>(right.first);
  ASSERT_EQ(items.size(), n);
  std::size_t front = 0, back = n;
  for (std::size_t i = 0; i < n; ++i) {
    const auto item = item_of<long long>(i, 50);
    EXPECT_EQ(items[item % 2 != 0 ? front++ : --back], item);
  }
  EXPECT_EQ(front, right.count);
}

TEST(by_key, sums_of_runs_end_where_scans_do) {
  const std::size_t n = 5000;
  const auto with = [&](operation what) { return right_outputs_of({{what, scalar::i64, scalar::f32, 16}, n}); };
  const auto lengths = as<int>(right_outputs_of({{operation::encode, scalar::i64, scalar::none, 16}, n}).second);
  const auto sums = as<float>(with(operation::reduce_by_key).second);
  const auto inclusive = as<float>(with(operation::inclusive_sum_by_key).first);
  const auto exclusive = as<float>(with(operation::exclusive_sum_by_key).first);
  const auto firsts = as<float>(with(operation::unique_by_key).second);
  ASSERT_EQ(lengths.size(), sums.size());
  std::size_t i = 0;
  for (std::size_t run = 0; run < lengths.size(); ++run) {
    EXPECT_EQ(exclusive[i], 0);
    EXPECT_EQ(inclusive[i], firsts[run]);
    i += static_cast<std::size_t>(lengths[run]);
    EXPECT_EQ(inclusive[i - 1], sums[run]);
  }
  EXPECT_EQ(i, n);
}

TEST(by_key, sums_of_segments_begin_anew_in_each) {
  const std::size_t n = 1 << 14;
  for (const auto& [structure, segments] : {std::pair{std::size_t{16}, n / 16},
                                            {std::size_t{4096}, n / 4096},
                                            {std::size_t{0}, std::size_t{1}},
                                            {mixed, 1 + n / 8}}) {
    const cell about{{operation::inclusive_segmented_sum, scalar::i32, scalar::none, structure}, n};
    EXPECT_EQ(num_segments(about), segments);
    const auto sums = as<int>(right_outputs_of(about).first);
    ASSERT_EQ(sums.size(), n);
    std::size_t begins = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_first = i == 0 || segment_of(i, structure, n) != segment_of(i - 1, structure, n);
      begins += is_first;
      EXPECT_EQ(sums[i], (is_first ? 0 : sums[i - 1]) + value_of<int>(i));
    }
    EXPECT_EQ(begins, segments);
  }
}

TEST(by_key, runs_of_one_item_are_trivial) {
  const std::size_t n = 5000;
  const auto lengths = as<int>(right_outputs_of({{operation::encode, scalar::i32, scalar::none, 4}, n}).second);
  const auto longer = right_outputs_of({{operation::non_trivial_runs, scalar::i32, scalar::none, 4}, n});
  EXPECT_EQ(longer.count, lengths.size() - static_cast<std::size_t>(std::ranges::count(lengths, 1)));
  EXPECT_EQ(std::ranges::count(as<int>(longer.second), 1), 0);
  EXPECT_EQ(right_outputs_of({{operation::non_trivial_runs, scalar::i32, scalar::none, 1}, n}).count, 0u);
}

TEST(by_key, a_wrong_output_is_told) {
  const std::vector<unsigned char> right = {1, 0, 0, 0, 2, 0, 0, 0};
  EXPECT_EQ(difference("it", right, right, 4), "");
  EXPECT_EQ(difference("it", right, {1, 0, 0, 0, 2, 0, 0, 1}, 4), "it: item 1 of 2 is wrong");
  EXPECT_EQ(difference("it", right, {1, 0, 0, 0}, 4), "it has 4 bytes instead of 8");
}

measured_cell a_cell(std::size_t items, double rungs_us, double cub_us, double twin_us) {
  measured_cell one;
  one.about = {{operation::reduce_by_key, scalar::i32, scalar::f32, 16}, items};
  one.outputs = items / 16;
  one.rungs = {true, true, "", 100, std::vector<double>(30, rungs_us)};
  one.cub = {true, true, "", 200, std::vector<double>(30, cub_us)};
  one.twin.assign(30, twin_us);
  one.copy.assign(30, rungs_us / 2);
  return one;
}

TEST(by_key, verdicts_know_the_noise_of_other_cells) {
  const std::vector<measured_cell> cells = {a_cell(1 << 16, 10, 11, 11), a_cell(1 << 16, 10, 15, 18)};
  EXPECT_NEAR(noise_floors(cells)[0], 0.2, 0.03);
  EXPECT_EQ(noise_floors(cells)[1], 0);
  const json told = to_json(cells);
  EXPECT_EQ(told[0]["speedup"]["verdict"], "SAME") << "less than the noise";
  EXPECT_EQ(told[1]["speedup"]["verdict"], "FASTER");
  EXPECT_NEAR(told[1]["speedup"]["value"].get<double>(), 1.5, 1e-9);
  EXPECT_EQ(told[0]["results"][0]["percent_of_copy"], 50);
  EXPECT_EQ(told[0]["bytes"], (8 << 16) + (1 << 12) * 8 + 4);
  EXPECT_EQ(told[0]["mean_run"], 16);
}

TEST(by_key, what_is_wrong_has_no_time) {
  measured_cell one = a_cell(1 << 16, 10, 15, 15);
  one.rungs.verified = false;
  one.rungs.defect = "wrong";
  const json told = to_json(std::vector<measured_cell>{one})[0];
  EXPECT_FALSE(told.contains("speedup"));
  EXPECT_FALSE(told["results"][0].contains("median_us"));
  EXPECT_EQ(told["results"][0]["defect"], "wrong");
  EXPECT_EQ(told["results"][1]["median_us"], 15);
}

TEST(by_key, without_a_sample_at_the_full_clock_there_is_no_time) {
  measured_cell one = a_cell(1 << 16, 10, 15, 15);
  one.rungs.samples.clear();
  const json told = to_json(std::vector<measured_cell>{one})[0];
  EXPECT_FALSE(told.contains("speedup"));
  EXPECT_FALSE(told["results"][0].contains("median_us"));
  EXPECT_EQ(told["results"][0]["samples"], 0);
}

}  // namespace
}  // namespace rungs::bench::by_key
