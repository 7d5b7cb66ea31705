#include "gpu/checkers.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "gpu/histogram_question.hpp"
#include "oracles/histogram_reference.hpp"
#include "oracles/plain_scan.hpp"
#include "oracles/reference.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::op, catalog::scalar;

template <class F>
void one_case(verdict& v, const examination& how, const std::string& case_name, F&& body) {
  if (!how.only_case.empty() && how.only_case != case_name) return;
  how.on_case(case_name);
  ++v.cases;
  body([&](const std::string& what) { v.findings.push_back({case_name, what}); });
}

std::vector<unsigned char> read(site& where, const void* from, std::size_t bytes) {
  std::vector<unsigned char> all(bytes);
  where.read(all.data(), from, bytes, nullptr);
  return all;
}

// A value that is wrong by any rule.
template <class T>
T spoiled(op which, T right) {
  if constexpr (is_float<T>) {
    const double x = to_double(right);
    if (x != x) return from_double<T>(0);
    if (x - x != 0) return from_double<T>(-x);
    return from_double<T>(which == op::plus ? x * 1.5 + 1e30 : x + (x < 0 ? -x : x) + 1);
  } else {
    return static_cast<T>(right ^ 1);
  }
}

// Each type, distribution and kind of special data, in some sizes: what the oracle of reductions expects is accepted,
// and what it refuses is not.
void reductions(scalar type, scalar accumulator, site& where, const examination& how, verdict& v) {
  guarded_buffer memory(where);
  const std::size_t size = catalog::size_of(type);
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{257}, std::size_t{4096}, std::size_t{99991}})
    for (int d = 0; d < num_distributions; ++d)
      for (std::uint64_t seed = 0; seed < (n < 5000 ? 10u : 1u); ++seed) {
        const sample s = make_sample(static_cast<distribution>(d), how.seed + n + seed, n);
        one_case(v, how, text("n=", n, " distribution=", name(s.kind), " seed+", seed), [&](const auto& report) {
          zones guards;
          void* const d_items = memory.place(n * size, size, guards);
          where.paint(guards, 1, nullptr);
          where.generate(type, d_items, s, nullptr);
          if (where.inspect(guards, 1, nullptr)) report("the generator wrote outside");
          const auto items = read(where, d_items, n * size);
          std::vector<unsigned char> made(items.size());
          host_site().generate(type, made.data(), s, nullptr);
          if (items != made) report("made other items than the host");
          if (where.checksum(type, d_items, n, nullptr) != host_site().checksum(type, made.data(), n, nullptr))
            report("has another checksum than the host");
          for (const auto which : {op::plus, op::minimum, op::maximum})
            for (const double start : {-0.0, 3.0})
              with_type(accumulator, [&]<class T>(type_tag<T>) {
                const value init = make_value(from_double<T>(start));
                const tolerance allowed{.height = n + 1};
                auto task = task_of({which, true, type, accumulator, init}, s, n, allowed);
                if (!task) return report("there is no checker for these types");
                const auto oracle = expect(which, type, accumulator, items.data(), n, init);
                value right = oracle.exact;
                if (oracle.is_nan) right = make_value(from_double<T>(std::numeric_limits<double>::quiet_NaN()));
                for (const value& got : {right, make_value(spoiled(which, as<T>(right)))}) {
                  task->outputs = &got.bits;
                  const scan_report found = where.check_reduction(*task, nullptr);
                  const auto wrong = disagreement(oracle, got, allowed);
                  if ((found.num_wrong != 0) != wrong.has_value() || wrong.has_value() == (got == right))
                    report(text(catalog::name(which), ": the checker says ", describe_first(*task, found),
                                ", the oracle ", wrong.value_or("right")));
                }
              });
        });
      }
}

// Outputs that the oracle accepts, and the same with one of them off.
template <class T>
void scans(op which, scalar type, T init, site& where, const examination& how, verdict& v) {
  guarded_buffer memory(where);
  for (const bool inclusive : {true, false})
    for (const std::size_t n : {std::size_t{1}, std::size_t{257}, std::size_t{4097}, std::size_t{1300001}}) {
      const std::string kind = inclusive ? " inclusive" : " exclusive";
      one_case(v, how, text(catalog::name(which), " of ", catalog::name(type), " n=", n, kind),
               [&](const auto& report) {
                 const sample s = make_sample(distribution::exact, how.seed + n, n, sizeof(T) == 8 ? 53 : 24);
                 plain_scan<T, T> right(which, inclusive, type, type, s, init);
                 auto& outputs = right.outputs;
                 if (n < 1000)
                   if (const auto wrong = disagreement(right.call, right.items.data(), outputs.data(), n, {}))
                     report(text("the oracle does not accept a plain scan: ", *wrong));
                 auto task = task_of(right.call, s, n, {});
                 zones ignored;
                 void* const d_outputs = memory.place(n * sizeof(T), sizeof(T), ignored);
                 task->outputs = d_outputs;
                 const auto checked = [&] {
                   where.write(d_outputs, outputs.data(), n * sizeof(T));
                   return where.check_scan(*task, nullptr);
                 };
                 if (const scan_report found = checked(); found.num_wrong != 0)
                   report(text("refused a plain scan: ", describe(*task, found)));
                 for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
                   const T before = outputs[place];
                   auto* const bytes = reinterpret_cast<unsigned char*>(&outputs[place]);
                   bytes[sizeof(T) - 1] = static_cast<unsigned char>(bytes[sizeof(T) - 1] ^ 0x40);
                   const scan_report found = checked();
                   outputs[place] = before;
                   if (found.num_wrong != 1 || found.first != place)
                     report(text("output ", place, " is off, but: ", describe(*task, found)));
                 }
               });
    }
}

// One output a row: what the oracle expects is accepted, and one that is off is found.
void rows(scalar type, scalar accumulator, site& where, const examination& how, verdict& v) {
  guarded_buffer memory(where);
  for (const auto& [num_rows, num_columns] : {std::pair{1, 1}, {1, 20011}, {1000, 7}, {67, 257}, {300, 33}, {20011, 1}})
    one_case(v, how, text(catalog::name(type), " rows=", num_rows, " columns=", num_columns), [&](const auto& report) {
      const auto n = static_cast<std::size_t>(num_rows * num_columns), size = catalog::size_of(type);
      const sample s = make_sample(distribution::uniform, how.seed + n, n);
      std::vector<unsigned char> items(n * size);
      host_site().generate(type, items.data(), s, nullptr);
      with_type(accumulator, [&]<class T>(type_tag<T>) {
        const value init = make_value(from_double<T>(3));
        auto task = task_of({op::plus, true, type, accumulator, init}, s, n, {});
        std::vector<T> outputs;
        for (int row = 0; row < num_rows; ++row)
          outputs.push_back(as<T>(expect(op::plus, type, accumulator,
                                         items.data() + static_cast<std::size_t>(row * num_columns) * size,
                                         static_cast<std::size_t>(num_columns), init)
                                      .exact));
        zones ignored;
        void* const d_outputs = memory.place(outputs.size() * sizeof(T), sizeof(T), ignored);
        task->outputs = d_outputs;
        const auto checked = [&] {
          where.write(d_outputs, outputs.data(), outputs.size() * sizeof(T));
          return where.check_rows(*task, static_cast<std::size_t>(num_columns), nullptr);
        };
        if (const scan_report found = checked(); found.num_wrong != 0)
          report(text("refused what is right: ", describe(*task, found)));
        for (const std::size_t place : {std::size_t{0}, outputs.size() / 2, outputs.size() - 1}) {
          const T before = std::exchange(outputs[place], spoiled(op::plus, outputs[place]));
          const scan_report found = checked();
          outputs[place] = before;
          if (found.num_wrong != 1 || found.first != place)
            report(text("row ", place, " is off, but: ", describe(*task, found)));
        }
      });
    });
}

// What the oracle expects of a dot product is accepted, and what is off is not.
void dots(scalar type, scalar accumulator, site& where, const examination& how, verdict& v) {
  const std::size_t size = catalog::size_of(type);
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{257}, std::size_t{4096}, std::size_t{99991}})
    for (const distribution kind :
         {distribution::exact, distribution::uniform, distribution::sorted, distribution::special})
      for (std::uint64_t seed = 0; seed < (n < 5000 && kind == distribution::special ? 6u : 1u); ++seed) {
        if (kind == distribution::special && type == scalar::f64) continue;  // no task holds its denormals
        const sample x = make_sample(kind, how.seed + seed, n), y = make_second(x);
        one_case(v, how, text(catalog::name(type), " n=", n, " distribution=", name(kind), " seed+", seed),
                 [&](const auto& report) {
                   std::vector<unsigned char> xs(n * size), ys(n * size);
                   host_site().generate(type, xs.data(), x, nullptr);
                   host_site().generate(type, ys.data(), y, nullptr);
                   const tolerance allowed{.height = n + 2, .keeps_zero_sign = false};
                   auto task = task_of_dot(type, accumulator, x, y, n, allowed);
                   if (!task) return report("there is no checker for these types");
                   const auto oracle = expect_dot(type, accumulator, xs.data(), ys.data(), n);
                   with_type(accumulator, [&]<class T>(type_tag<T>) {
                     value right = oracle.exact;
                     if (oracle.is_nan) right = make_value(from_double<T>(std::numeric_limits<double>::quiet_NaN()));
                     for (const value& got : {right, make_value(spoiled(op::plus, as<T>(right)))}) {
                       task->outputs = &got.bits;
                       const scan_report found = where.check_reduction(*task, nullptr);
                       const auto wrong = disagreement(oracle, got, allowed);
                       if ((found.num_wrong != 0) != wrong.has_value() || wrong.has_value() == (got == right))
                         report(text("the checker says ", describe_first(*task, found), ", the oracle ",
                                     wrong.value_or("right")));
                     }
                   });
                 });
      }
}

void histograms(const histogram_call& call, levels_kind kind, distribution drawn, site& where, const examination& how,
                verdict& v) {
  const std::string case_name = text(catalog::name(call.sample), call.even ? " even " : " any edges ", name(kind), ' ',
                                     call.num_bins, " bins ", name(drawn));
  one_case(v, how, case_name, [&](const auto& report) {
    const std::size_t size = catalog::size_of(call.sample);
    const auto table = make_table(call, table_of(drawn));
    const auto keys = boundaries(call);
    if (keys.size() != static_cast<std::size_t>(call.num_bins) + 1 || !std::ranges::is_sorted(keys))
      report("the boundaries do not ascend");
    zones ignored;
    guarded_buffer of_table(where), of_keys(where), samples(where), counts(where);
    sample made = make_sample(drawn, how.seed, table.size() / size + 501);
    const std::size_t num_bytes = made.num_items * size;
    void* const d_table = of_table.place(table.size(), 0, ignored);
    void* const d_keys = of_keys.place(keys.size() * sizeof keys[0], 0, ignored);
    void* const d_samples = samples.place(num_bytes, size, ignored);
    where.write(d_table, table.data(), table.size());
    where.write(d_keys, keys.data(), keys.size() * sizeof keys[0]);
    made.table = d_table;
    made.table_items = static_cast<std::uint32_t>(table.size() / size);
    made.group = static_cast<std::uint32_t>(call.num_channels);
    histogram_task task{.sample = call.sample, .samples = d_samples, .num_items = made.num_items};
    task.num_channels = call.num_channels;
    task.num_active_channels = call.num_active_channels;
    task.num_bins = call.num_bins;
    task.boundaries = static_cast<const std::uint64_t*>(d_keys);
    task.counts = static_cast<unsigned long long*>(counts.place(task.num_counts() * 8, 0, ignored));
    where.generate(call.sample, d_samples, made, nullptr);
    where.count(task, nullptr);
    const counted expected = tests::count(call, read(where, d_samples, num_bytes).data(), made.num_items);
    std::vector<unsigned long long> got(task.num_counts()), all(expected.bins.begin(), expected.bins.end());
    where.read(got.data(), task.counts, got.size() * sizeof got[0], nullptr);
    all.insert(all.end(), {expected.below, expected.above, expected.nans});
    if (got != all) report("the checker counts otherwise than the oracle");
    std::vector<std::uint32_t> counters(expected.bins.begin(), expected.bins.end());
    if (disagreement(call, expected, counters.data())) report("refused what the oracle counted");
    for (const std::size_t place : {std::size_t{0}, counters.size() / 2, counters.size() - 1}) {
      counters[place] += 5;
      const auto wrong = disagreement(call, expected, counters.data());
      if (!wrong || !wrong->ends_with(text("; 1 bins are wrong, their sum is ", expected.inside + 5, " with ",
                                           expected.inside, " samples in range")))
        report(text("counter ", place, " is off, but: ", wrong.value_or("right")));
      counters[place] -= 5;
    }
  });
}

void all_histograms(site& where, const examination& how, verdict& v) {
  for (const scalar type : {scalar::u8, scalar::i8, scalar::u16, scalar::i16, scalar::i32, scalar::u32, scalar::f32,
                            scalar::f64, scalar::f16}) {
    const scalar level = type == scalar::f16 ? scalar::f32 : catalog::size_of(type) < 4 ? scalar::i32 : type;
    for (const bool even : {true, false})
      for (int kind = 0; kind < (even ? num_even_levels : num_range_levels); ++kind)
        for (const int bins : {1, 2, 255, 256, 4096, 65536}) {
          if (bins == 65536 && kind % 3 != 0) continue;
          histogram_call call = make_levels(static_cast<levels_kind>(kind), even, type, level, bins);
          if (bins == 255) call.num_channels = 4, call.num_active_channels = 3;
          for (const distribution drawn : {distribution::edges, distribution::any_bits})
            histograms(call, static_cast<levels_kind>(kind), drawn, where, how, v);
        }
  }
}

void all_scans(site& where, const examination& how, verdict& v) {
  scans<std::int32_t>(op::plus, scalar::i32, -3, where, how, v);
  scans<std::int64_t>(op::maximum, scalar::i64, -3, where, how, v);
  scans<float>(op::plus, scalar::f32, -3, where, how, v);
  scans<double>(op::plus, scalar::f64, -3, where, how, v);
  scans<affine>(op::compose, scalar::affine, {5, 41}, where, how, v);
}

void all_rows(site& where, const examination& how, verdict& v) {
  for (const auto& [type, accumulator] : {std::pair{scalar::i8, scalar::i32},
                                          {scalar::u8, scalar::u32},
                                          {scalar::i32, scalar::i32},
                                          {scalar::i64, scalar::i64},
                                          {scalar::f16, scalar::f32},
                                          {scalar::f32, scalar::f32},
                                          {scalar::f64, scalar::f64}})
    rows(type, accumulator, where, how, v);
}

void all_dots(site& where, const examination& how, verdict& v) {
  for (const auto& [type, accumulator] : {std::pair{scalar::i8, scalar::i32},
                                          {scalar::i32, scalar::i32},
                                          {scalar::f16, scalar::f32},
                                          {scalar::bf16, scalar::f32},
                                          {scalar::f32, scalar::f32},
                                          {scalar::f64, scalar::f64}})
    dots(type, accumulator, where, how, v);
}

}  // namespace

std::vector<checker_test> checker_tests() {
  std::vector<checker_test> tests;
  for (const auto& [type, accumulator] :
       {std::pair{scalar::i8, scalar::i32}, std::pair{scalar::u8, scalar::u32}, std::pair{scalar::i16, scalar::i16},
        std::pair{scalar::u16, scalar::u32}, std::pair{scalar::i32, scalar::i32}, std::pair{scalar::u32, scalar::u32},
        std::pair{scalar::i64, scalar::i64}, std::pair{scalar::u64, scalar::u64}, std::pair{scalar::f16, scalar::f32},
        std::pair{scalar::bf16, scalar::f32}, std::pair{scalar::f32, scalar::f32}, std::pair{scalar::f64, scalar::f64}})
    tests.push_back({std::string(catalog::name(type)), [=](site& where, const examination& how, verdict& v) {
                       reductions(type, accumulator, where, how, v);
                     }});
  tests.push_back({"scans", all_scans});
  tests.push_back({"rows", all_rows});
  tests.push_back({"dots", all_dots});
  tests.push_back({"histograms", all_histograms});
  return tests;
}

verdict run(const checker_test& test, site& where, const examination& how) {
  verdict v;
  if (&where == &device_site() && !no_gpu_reason().empty()) {
    v.skipped = no_gpu_reason();
    return v;
  }
  try {
    test.run(where, how, v);
  } catch (const std::exception& error) {
    v.findings.push_back({"device", error.what()});
    v.device_lost = true;
  }
  return v;
}

}  // namespace rungs::tests
