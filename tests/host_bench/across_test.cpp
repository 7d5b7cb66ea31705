// What rungs_across does without a GPU: its plan, its items, its threads, and what it says of samples.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "across/cells.hpp"
#include "across/crew.hpp"
#include "across/items.hpp"
#include "across/nccl.hpp"
#include "across/plan.hpp"
#include "check.hpp"

namespace rungs::bench::across_gpus {
namespace {

constexpr problem floats = problems[0], halves = problems[1];
constexpr std::size_t gigabyte = std::size_t{1} << 30;

std::vector<contender_name> names() {
  std::vector<contender_name> all;
  for (const problem about : problems) {
    all.push_back({"nccl", kind::library, about});
    all.push_back({"planned", kind::planned, about});
  }
  all.push_back({"ring", kind::rung, floats});
  return all;
}

std::vector<std::string> listed(const plan& of) {
  std::vector<std::string> lines;
  for (const cell& each : of.cells) {
    for (const std::string& who : each.contenders) lines.push_back(name_of(each, who));
  }
  return lines;
}

TEST(plan, has_every_size_of_every_problem_in_both_modes) {
  const plan all = plan_of({}, names());
  ASSERT_EQ(all.cells.size(), 15u * 4 * 2);
  EXPECT_EQ(all.cells.front().bytes(), 4u);
  EXPECT_EQ(all.cells.back().bytes(), gigabyte);
  EXPECT_EQ(all.largest_bytes(), gigabyte);
  std::set<std::string> seen;
  std::size_t before = 0;
  for (const cell& each : all.cells) {
    EXPECT_GE(each.bytes(), before) << "the largest come last";
    before = each.bytes();
    EXPECT_EQ(each.contenders.size(), each.about == floats ? 3u : 2u);
    EXPECT_TRUE(seen.insert(name_of(each, "")).second);
  }
  EXPECT_EQ(all.cells[2].about, halves);
  EXPECT_EQ(all.cells[2].items, 2u) << "as many bytes, not as many items";
}

TEST(plan, verifies_odd_counts_of_all_that_it_times) {
  const plan all = plan_of({}, names());
  std::set<std::size_t> counts;
  for (const checked_count& each : all.checks) {
    counts.insert(each.items);
    EXPECT_EQ(each.contenders.size(), each.about == floats ? 3u : 2u);
  }
  EXPECT_EQ(counts.size(), std::size(checked_items));
  EXPECT_TRUE(counts.contains(1));
  EXPECT_TRUE(counts.contains(1'000'003));
  EXPECT_EQ(all.checks.size(), 4 * std::size(checked_items));
}

TEST(plan, keeps_the_library_beside_what_a_filter_matches) {
  const plan few = plan_of({4, 64, "^all_reduce/f32/plus/n=4/graph/(ring|planned)$"}, names());
  EXPECT_EQ(listed(few),
            (std::vector<std::string>{"all_reduce/f32/plus/n=4/graph/nccl", "all_reduce/f32/plus/n=4/graph/planned",
                                      "all_reduce/f32/plus/n=4/graph/ring"}));
  for (const checked_count& each : few.checks) EXPECT_EQ(each.about, floats);
  EXPECT_EQ(few.largest_bytes(), 4 * checked_items[std::size(checked_items) - 1]) << "the checks' buffers, too";
}

TEST(plan, refuses_what_leaves_nothing) {
  EXPECT_THROW(plan_of({4, 64, "no such rung"}, names()), usage_error);
  EXPECT_THROW(plan_of({4, 64, "("}, names()), usage_error);
  EXPECT_THROW(plan_of({64, 4, ""}, names()), usage_error);
  EXPECT_THROW(plan_of({5, 15, ""}, names()), usage_error);
}

TEST(plan, times_many_short_calls_and_few_long_ones) {
  EXPECT_EQ(calls_of(4), 99);
  EXPECT_EQ(calls_of(gigabyte), 2);
  for (std::size_t bytes = 4; bytes < gigabyte; bytes *= 4) EXPECT_GE(calls_of(bytes), calls_of(4 * bytes));
}

TEST(devices, are_one_a_rank_where_there_are_enough) {
  EXPECT_EQ(devices_of(2, 8), (std::vector<int>{0, 1}));
  EXPECT_EQ(devices_of(3, 1), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(devices_of(3, 2), (std::vector<int>{0, 1, 0}));
}

template <class T>
void expect_exact_sums(double limit) {
  double largest = 0;
  std::set<int> values;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    double sum = 0;
    for (int rank = 0; rank < 8; ++rank) {
      const int item = whole_item<T>(operation::all_reduce, 1, rank, i);
      EXPECT_EQ(static_cast<float>(static_cast<T>(static_cast<float>(item))), static_cast<float>(item));
      values.insert(item);
      sum += item;
      largest = std::max(largest, std::abs(sum));
      ASSERT_EQ(static_cast<double>(static_cast<float>(expected_item<T>(1, rank + 1, true, i))), sum);
    }
  }
  EXPECT_LE(largest, limit);
  EXPECT_GT(values.size(), 30u);
}

TEST(items, have_sums_that_no_order_rounds) {
  expect_exact_sums<float>(0x1p24);
  expect_exact_sums<__nv_bfloat16>(0x1p8);
}

TEST(items, that_become_one_add_up_far_below_the_limit_of_floats) {
  long long sum = 0, furthest = 0, zeros = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      const int item = whole_item<float>(operation::reduce, 1, rank, i);
      ASSERT_LE(std::abs(item), 16);
      zeros += item == 0;
      sum += item;
      furthest = std::max(furthest, std::abs(sum));
    }
  }
  // A walk of 400,000 steps of deviation 9.5: 6,000. A bias of 0.1 would have led to 40,000.
  EXPECT_LT(furthest, 30'000);
  EXPECT_LT(zeros, 400'000 / 20);
}

TEST(items, differ_between_places_ranks_and_seeds) {
  std::set<std::uint64_t> words;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (int rank = 0; rank < 8; ++rank) {
      for (std::uint64_t i = 0; i < 1000; ++i) words.insert(word_of(seed, rank, i));
    }
  }
  EXPECT_EQ(words.size(), 3u * 8 * 1000);
}

TEST(items, have_a_greatest_of_all_ranks) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    int greatest = whole_item<int>(operation::all_reduce, 7, 0, i);
    for (int rank = 1; rank < 5; ++rank)
      greatest = std::max(greatest, whole_item<int>(operation::all_reduce, 7, rank, i));
    EXPECT_EQ(expected_item<int>(7, 5, false, i), greatest);
  }
}

TEST(items, that_are_rough_round) {
  int rounded = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const float a = rough_item<float>(3, 0, i), b = rough_item<float>(3, 1, i), c = rough_item<float>(3, 2, i);
    ASSERT_TRUE(std::isfinite(a));
    ASSERT_LT(std::abs(a), 256.0f);
    rounded += (a + b) + c != a + (b + c);
  }
  EXPECT_GT(rounded, 100) << "the order of addition must be seen in the bits";
}

TEST(digest, sees_bits_and_places) {
  EXPECT_NE(digest_of(0, 1) + digest_of(1, 2), digest_of(0, 2) + digest_of(1, 1));
  EXPECT_NE(digest_of(0, 0), digest_of(0, 0x80000000u));
}

void never(const std::string& why) { FAIL() << why; }

TEST(crew, does_a_piece_of_work_on_every_rank_at_once) {
  crew threads(4, 20, never);
  std::atomic<int> ranks = 0;
  std::set<std::thread::id> seen;
  std::mutex mutex;
  for (int piece = 0; piece < 50; ++piece) {
    threads.each("piece", [&](int rank) {
      threads.meet();  // ends only if all are here
      ranks += 1 << (8 * rank);
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(ranks, 50 * 0x01010101);
  EXPECT_EQ(seen.size(), 4u) << "the same threads each time";
}

TEST(crew, throws_what_a_rank_threw_and_goes_on) {
  crew threads(3, 20, never);
  try {
    threads.each("piece", [](int rank) {
      if (rank == 1) throw std::runtime_error("of rank 1");
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "of rank 1");
  }
  int done = 0;
  threads.each("another", [&](int rank) {
    if (rank == 0) ++done;
  });
  EXPECT_EQ(done, 1);
}

// What a real give_up does not do: it returns by an exception, once the late rank has come.
struct given_up : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(crew, gives_up_on_a_rank_that_does_not_come_back) {
  std::atomic<bool> late = true;
  crew threads(2, 0.05, [&](const std::string& why) {
    late = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw given_up(why);
  });
  try {
    threads.each("a call", [&](int rank) {
      while (rank == 1 && late) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    FAIL();
  } catch (const given_up& why) {
    EXPECT_STREQ(why.what(), "a call: no answer from rank 1");
  }
}

measured_cell sampled(std::size_t items, mode how, double nccl, double planned, double twin) {
  const auto around = [](double time) {
    std::vector<double> samples;
    for (int i = -10; i <= 10; ++i) samples.push_back(time * (1 + i * 1e-4));
    return samples;
  };
  measured_cell made{{floats, items, how, {}}, 20, {}, around(twin)};
  made.results.push_back({"nccl", kind::library, true, true, {}, around(nccl)});
  made.results.push_back({"planned", kind::planned, true, true, {}, around(planned)});
  return made;
}

TEST(cells, compare_with_the_library_beyond_the_noise_of_others) {
  std::vector<measured_cell> cells{sampled(1, mode::graph, 8, 4, 8), sampled(1024, mode::graph, 8, 7.9, 8.4),
                                   sampled(2048, mode::graph, 8, 7.9, 8), sampled(2048, mode::stream, 8, 7.9, 8)};
  const auto floors = noise_floors(cells);
  EXPECT_NEAR(floors[0], 0.05, 1e-6);
  EXPECT_NEAR(floors[1], 0.0, 1e-6) << "its own twin does not count";
  EXPECT_NEAR(floors[2], 0.05, 1e-6);
  EXPECT_NEAR(floors[3], 0.0, 1e-6) << "nor that of another mode";
  const json told = to_json(cells);
  EXPECT_EQ(told[0]["results"][1]["over"]["nccl"]["verdict"], "FASTER");
  EXPECT_NEAR(told[0]["results"][1]["over"]["nccl"]["value"], 2.0, 1e-9);
  EXPECT_EQ(told[2]["results"][1]["over"]["nccl"]["verdict"], "SAME") << "1 % is below the noise";
  EXPECT_EQ(told[1]["results"][1]["over"]["nccl"]["verdict"], "FASTER");
  EXPECT_EQ(told[0]["results"][0]["over"], json::object());
  EXPECT_EQ(told[0]["bytes"], 4);
  EXPECT_EQ(told[0]["results"][1]["samples"], 21);
  EXPECT_NEAR(told[0]["results"][1]["median_us"], 4.0, 1e-9);
  EXPECT_FALSE(any_is_wrong(cells, {}));
}

TEST(cells, give_no_time_to_a_wrong_result) {
  std::vector<measured_cell> cells{sampled(1, mode::graph, 8, 4, 8)};
  cells[0].results[1].verified = false;
  cells[0].results[1].defect = "1 of 1 items are wrong on rank 0";
  json told = to_json(cells)[0]["results"][1];
  EXPECT_FALSE(told.contains("median_us"));
  EXPECT_FALSE(told.contains("over"));
  EXPECT_EQ(told["defect"], "1 of 1 items are wrong on rank 0");
  EXPECT_TRUE(any_is_wrong(cells, {}));

  cells = {sampled(1, mode::graph, 8, 4, 8)};
  cells[0].results[1].same_bits = false;
  EXPECT_FALSE(to_json(cells)[0]["results"][1].contains("median_us")) << "right, but not the same on all ranks";
  EXPECT_TRUE(any_is_wrong(cells, {}));

  cells = {sampled(1, mode::graph, 8, 4, 8)};
  cells[0].results[0].same_bits = false;
  EXPECT_TRUE(to_json(cells)[0]["results"][0].contains("median_us")) << "NCCL does not promise it";
  EXPECT_FALSE(any_is_wrong(cells, {}));

  cells[0].results[0].verified = false;
  EXPECT_EQ(to_json(cells)[0]["results"][1]["over"], json::object()) << "nothing is faster than a wrong result";
  EXPECT_FALSE(to_json(cells)[0].contains("twin"));
  EXPECT_TRUE(any_is_wrong(cells, {}));

  const measured_count count{{floats, 3, {}}, {{"planned", kind::planned, false, true}}};
  EXPECT_TRUE(any_is_wrong({}, {count}));
  EXPECT_EQ(to_json({count})[0]["results"][0]["verified"], false);
}

TEST(nccl, that_is_not_there_is_told) {
  std::string why_not;
  EXPECT_EQ(nccl::load("libno_such_library.so", {0, 1}, why_not), nullptr);
  EXPECT_NE(why_not.find("libno_such_library.so"), std::string::npos);
  EXPECT_EQ(nccl::load("libm.so.6", {0, 1}, why_not), nullptr);
  EXPECT_EQ(why_not, "libm.so.6 lacks a function of NCCL");
  EXPECT_EQ(nccl::load("libm.so.6", {0, 0}, why_not), nullptr);
  EXPECT_NE(why_not.find("one rank a GPU"), std::string::npos);
}

}  // namespace
}  // namespace rungs::bench::across_gpus
