// The two ways to judge a scan, the host oracle and the parts of the checker, against each other and against outputs
// with planted errors.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "oracles/plain_scan.hpp"

namespace rungs::tests {
namespace {

using catalog::op;
using catalog::scalar;

// And everything that judges it.
template <class In, class Acc>
struct subject : plain_scan<In, Acc> {
  using plain_scan<In, Acc>::plain_scan;

  std::optional<std::string> oracle_says(const std::vector<Acc>& got, const tolerance& t) const {
    return disagreement(this->call, this->items.data(), got.data(), this->items.size(), t);
  }
  std::optional<std::string> checker_says(const std::vector<Acc>& got, const tolerance& t, std::size_t parts) const {
    auto task = task_of(this->call, this->made, this->items.size(), t);
    EXPECT_TRUE(task);
    task->outputs = got.data();
    const scan_report r = check_on_host(*task, parts);
    return r.num_wrong == 0 ? std::nullopt : std::optional(describe(*task, r));
  }

  // Both accept, or both refuse and name the same output.
  void expect_agreement(const std::vector<Acc>& got, bool right, const std::string& where) const {
    const tolerance t{.height = this->items.size() + 1};
    const auto oracle = oracle_says(got, t);
    const auto first_words = [](const std::optional<std::string>& s) {
      return s ? s->substr(0, s->find(':')) : std::string("right");
    };
    EXPECT_EQ(!oracle, right) << where << ", oracle: " << oracle.value_or("right");
    for (const std::size_t parts : {1, 7, 64}) {
      const auto checker = checker_says(got, t, parts);
      EXPECT_EQ(first_words(checker), first_words(oracle))
          << where << ", " << parts << " parts\n  oracle:  " << oracle.value_or("right")
          << "\n  checker: " << checker.value_or("right");
    }
  }
};

// Calls f(subject, what it is) for each type, operator, kind, distribution and init.
template <class In, class Acc, class F>
void for_scans_of(scalar input, scalar accumulator, std::initializer_list<std::size_t> sizes, F&& f) {
  for (const std::size_t n : sizes)
    for (int d = 0; d < num_distributions; ++d)
      for (std::uint64_t seed = 0; seed < (static_cast<distribution>(d) == distribution::special ? 12u : 2u); ++seed)
        for (const auto which : {op::plus, op::minimum, op::maximum, op::compose})
          for (const int kind : {0, 1, 2}) {  // inclusive, inclusive with an init, exclusive
            if ((which == op::compose) != std::is_same_v<In, affine>) continue;
            const sample s = make_sample(static_cast<distribution>(d), seed, n, sizeof(Acc) == 8 ? 53 : 24);
            std::optional<Acc> init;
            if constexpr (std::is_same_v<Acc, affine>) {
              if (kind != 0) init = affine{5, 41};
            } else {
              if (kind != 0) init = seed % 2 == 0 ? Acc(0) : static_cast<Acc>(-17);
            }
            const subject<In, Acc> it(which, kind != 2, input, accumulator, s, init);
            f(it, ::testing::PrintToString(std::string(catalog::name(input))) + ' ' + std::string(name(s.kind)) +
                      " seed " + std::to_string(seed) + " n " + std::to_string(n) + ' ' +
                      std::string(catalog::name(which)) + " kind " + std::to_string(kind));
          }
}
template <class F>
void for_all_scans(std::initializer_list<std::size_t> sizes, F&& f) {
  for_scans_of<std::int8_t, std::int32_t>(scalar::i8, scalar::i32, sizes, f);
  for_scans_of<std::uint8_t, std::uint32_t>(scalar::u8, scalar::u32, sizes, f);
  for_scans_of<std::int32_t, std::int32_t>(scalar::i32, scalar::i32, sizes, f);
  for_scans_of<std::int64_t, std::int64_t>(scalar::i64, scalar::i64, sizes, f);
  for_scans_of<std::uint64_t, std::uint64_t>(scalar::u64, scalar::u64, sizes, f);
  for_scans_of<f16, float>(scalar::f16, scalar::f32, sizes, f);
  for_scans_of<bf16, float>(scalar::bf16, scalar::f32, sizes, f);
  for_scans_of<float, float>(scalar::f32, scalar::f32, sizes, f);
  for_scans_of<double, double>(scalar::f64, scalar::f64, sizes, f);
  for_scans_of<affine, affine>(scalar::affine, scalar::affine, sizes, f);
}

TEST(scans, oracle_and_checker_accept_a_plain_scan_of_every_type_and_distribution) {
  for_all_scans({0, 1, 2, 33, 200},
                [](const auto& it, const std::string& where) { it.expect_agreement(it.outputs, true, where); });
}

TEST(scans, oracle_and_checker_refuse_any_one_output_that_is_off_and_name_it) {
  for_all_scans({77}, [](const auto& it, const std::string& where) {
    auto got = it.outputs;
    const std::size_t place = static_cast<std::size_t>(it.made.seed * 31 + 5) % got.size();
    using Acc = typename std::remove_cvref_t<decltype(got)>::value_type;
    if constexpr (std::is_same_v<Acc, affine>) {
      got[place].offset ^= 1u << 31;
    } else if constexpr (std::is_floating_point_v<Acc>) {
      if (std::isnan(got[place]))
        got[place] = 0;
      else if (std::isinf(got[place]))
        got[place] = -got[place];
      else
        got[place] = it.call.op == op::plus ? got[place] * Acc(1.5) + Acc(1e30) : std::nextafter(got[place], Acc(1e30));
    } else {
      got[place] = static_cast<Acc>(got[place] ^ 1);
    }
    it.expect_agreement(got, false, where);
  });
}

// What goes wrong in scans. Items whose every prefix matters: index-sensitive integers, exact floats, odd slopes. For
// maxima no items do: ascending ones show what is shifted, descending ones what precedes a tile.
template <class In, class Acc>
void expect_bugs_refused(op which, bool inclusive, scalar input, scalar accumulator, distribution kind,
                         std::optional<Acc> init, std::uint64_t seed = 1) {
  const sample s = make_sample(kind, seed, 500, sizeof(Acc) == 8 ? 53 : 24);
  const bool absorbs = which == op::maximum, shows_place = !absorbs || seed % 2 == 1,
             shows_prefix = !absorbs || seed % 2 == 0;
  const subject<In, Acc> it(which, inclusive, input, accumulator, s, init);
  const std::string where = std::string(catalog::name(input)) + ' ' + std::string(catalog::name(which)) +
                            (inclusive ? " inclusive" : " exclusive");
  it.expect_agreement(it.outputs, true, where);
  const auto refused = [&](std::vector<Acc> got, const std::string& bug) {
    got.resize(it.outputs.size());
    it.expect_agreement(got, false, where + ": " + bug);
  };
  const std::size_t n = s.num_items, tile = 128;

  auto got = it.outputs;
  for (std::size_t i = 1; i < n; ++i) got[i] = it.outputs[i - 1];
  if (shows_place) refused(got, "shifted by one");
  subject<In, Acc> other = it;
  other.call.inclusive = !inclusive;
  if (init && shows_place) refused(other.scanned(init, 0, n), "inclusive and exclusive exchanged");
  if (init && !absorbs) {
    Acc none{};
    if constexpr (std::is_same_v<Acc, affine>) none = {1, 0};
    refused(it.scanned(none, 0, n), "init missing");
  }
  got.clear();
  for (std::size_t first = 0; first < n; first += tile) {
    const auto of_tile = it.scanned(init, first, std::min(n, first + tile));
    got.insert(got.end(), of_tile.begin(), of_tile.end());
  }
  if (shows_prefix) refused(got, "each tile for itself");
  got = it.outputs;
  const auto second = it.scanned(init, tile, 2 * tile);
  std::copy(second.begin(), second.end(), got.begin() + static_cast<std::ptrdiff_t>(tile));
  if (shows_prefix) refused(got, "one tile without its prefix");
  if (init && !absorbs) {
    got = it.outputs;
    for (std::size_t i = tile; i < n; ++i) got[i] = combined(which, *init, got[i]);
    refused(got, "init once more from the second tile on");
  }
  got = it.outputs;
  got[n - 1] = Acc{};
  refused(got, "last output not written");
  if constexpr (std::is_same_v<Acc, affine>) {
    Acc all = *init;
    for (std::size_t i = 0; i < n; ++i) {
      const Acc next = combined(which, it.items[i], all);  // operands exchanged
      got[i] = inclusive ? next : all;
      all = next;
    }
    refused(got, "operands exchanged");
  }
}

TEST(scans, planted_bugs_are_refused_by_both) {
  for (const bool inclusive : {true, false}) {
    expect_bugs_refused<std::int32_t, std::int32_t>(op::plus, inclusive, scalar::i32, scalar::i32, distribution::exact,
                                                    41);
    expect_bugs_refused<std::uint8_t, std::uint32_t>(op::plus, inclusive, scalar::u8, scalar::u32,
                                                     distribution::uniform, 41u);
    expect_bugs_refused<float, float>(op::plus, inclusive, scalar::f32, scalar::f32, distribution::exact, -17.0f);
    expect_bugs_refused<double, double>(op::plus, inclusive, scalar::f64, scalar::f64, distribution::exact, -17.0);
    expect_bugs_refused<f16, float>(op::plus, inclusive, scalar::f16, scalar::f32, distribution::exact, -17.0f);
    for (const std::uint64_t seed : {0, 1}) {
      expect_bugs_refused<std::int64_t, std::int64_t>(op::maximum, inclusive, scalar::i64, scalar::i64,
                                                      distribution::sorted, std::numeric_limits<std::int64_t>::lowest(),
                                                      seed);
      expect_bugs_refused<float, float>(op::maximum, inclusive, scalar::f32, scalar::f32, distribution::sorted,
                                        -std::numeric_limits<float>::infinity(), seed);
    }
    expect_bugs_refused<affine, affine>(op::compose, inclusive, scalar::affine, scalar::affine, distribution::exact,
                                        affine{5, 41});
  }
  expect_bugs_refused<std::int32_t, std::int32_t>(op::plus, true, scalar::i32, scalar::i32, distribution::exact, {});
  expect_bugs_refused<float, float>(op::plus, true, scalar::f32, scalar::f32, distribution::exact, {});
}

TEST(scans, one_lost_item_in_a_long_exact_scan_is_noticed) {
  const sample s = make_sample(distribution::exact, 3, 300000);
  const subject<float, float> it(op::plus, true, scalar::f32, scalar::f32, s, {});
  const tolerance t{.height = s.num_items};
  EXPECT_FALSE(it.checker_says(it.outputs, t, 64));
  std::size_t lost = 123456;
  while (it.items[lost] == 0) ++lost;
  auto got = it.outputs;
  for (std::size_t i = lost; i < got.size(); ++i) got[i] -= it.items[lost];
  const auto wrong = it.checker_says(got, t, 64);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->substr(0, wrong->find(':')), "output " + std::to_string(lost) + " of 300000");
}

TEST(scans, a_general_scan_may_err_by_gamma_and_no_more) {
  const sample s = make_sample(distribution::uniform, 5, 20000);
  const subject<float, float> it(op::plus, true, scalar::f32, scalar::f32, s, {});
  EXPECT_FALSE(it.checker_says(it.outputs, {.height = s.num_items}, 16));
  std::vector<double> exact, magnitudes;
  double sum = 0, magnitude = 0;
  for (const float x : it.items) {
    exact.push_back(sum += static_cast<double>(x));
    magnitudes.push_back(magnitude += static_cast<double>(std::abs(x)));
  }
  const auto off_by = [&](double share) {
    auto got = it.outputs;
    for (std::size_t i = 0; i < got.size(); ++i)
      got[i] = static_cast<float>(exact[i] + (i < 5000 ? 0 : share * gamma(20, 0x1p-24) * magnitudes[i]));
    return got;
  };
  EXPECT_FALSE(it.checker_says(off_by(0), {}, 16));  // rounded once: right at any height
  EXPECT_FALSE(it.checker_says(off_by(0.9), {.height = 20}, 16));
  EXPECT_TRUE(it.checker_says(off_by(1.2), {.height = 20}, 16));
}

TEST(scans, zeros_and_nan_as_libraries_have_them) {
  const sample zeros = make_sample(distribution::special, 4, 50);  // all -0
  const subject<float, float> sum(op::plus, true, scalar::f32, scalar::f32, zeros, {});
  const std::vector<float> positive(50, 0.0f);
  EXPECT_FALSE(sum.checker_says(sum.outputs, {}, 3));
  EXPECT_TRUE(sum.checker_says(positive, {}, 3));
  EXPECT_FALSE(sum.checker_says(positive, {.keeps_zero_sign = false}, 3));
  const subject<float, float> most(op::maximum, true, scalar::f32, scalar::f32, zeros, {});
  EXPECT_TRUE(most.checker_says(positive, {}, 3));
  EXPECT_FALSE(most.checker_says(positive, {.propagates_nan = false}, 3));

  const sample one_nan = make_sample(distribution::special, special_nan, 50);
  const subject<float, float> with_nan(op::plus, true, scalar::f32, scalar::f32, one_nan, {});
  auto got = with_nan.outputs;
  ASSERT_TRUE(std::isnan(got.back()));
  EXPECT_FALSE(with_nan.checker_says(got, {.height = 50}, 3));
  got.back() = 1;
  EXPECT_TRUE(with_nan.checker_says(got, {.height = 50}, 3));
}

TEST(scans, the_checker_knows_what_it_cannot_say) {
  EXPECT_FALSE(task_of({op::plus, true, scalar::i32, scalar::f32}, {}, 1, {}));
  EXPECT_FALSE(task_of({op::maximum, true, scalar::i8, scalar::u32}, {}, 1, {}));
  EXPECT_FALSE(task_of({op::plus, true, scalar::f16, scalar::f16}, {}, 1, {}));
  EXPECT_FALSE(task_of({op::plus, true, scalar::affine, scalar::affine}, {}, 1, {}));
  EXPECT_FALSE(task_of({op::compose, true, scalar::u64, scalar::u64}, {}, 1, {}));
  EXPECT_TRUE(task_of({op::plus, true, scalar::i8, scalar::u32}, {}, 1, {}));
}

}  // namespace
}  // namespace rungs::tests
