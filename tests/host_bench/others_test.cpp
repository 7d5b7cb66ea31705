// Who takes part in the cells of rungs_others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "others/plan.hpp"

namespace rungs::bench::others {
namespace {

using catalog::family, catalog::operation, catalog::scalar;

catalog::record counting(family of, const char* rung, scalar counters) {
  return {.family = of,
          .ladder = "histograms",
          .rung = rung,
          .operation = operation::histogram_even,
          .input_type = scalar::u8,
          .accumulator_type = counters,
          .output_type = counters};
}

TEST(Others, EachCellHasCubAndOursOfItsTypes) {
  std::vector<catalog::record> records;
  for (const scalar counters : {scalar::u32, scalar::u64}) {
    records.push_back(counting(family::library_baselines, "cub_device_histogram", counters));
    records.push_back(counting(family::library_baselines, "thrust_histogram", counters));
    records.push_back(counting(family::handwritten, "hot_bins", counters));
    records.push_back(counting(family::handwritten, "of_a_newer_gpu", counters));
    records.back().min_cc = 100;
    records.push_back(counting(family::handwritten, "of_the_host", counters));
    records.back().executes_on = executor::host;
  }
  device_facts gpu;
  gpu.compute_capability = 90;
  gpu.free_bytes = std::size_t{8} << 30;
  const run_plan plan = plan_of(records, gpu);
  std::vector<std::string> names;
  for (const problem& about : plan.problems) {
    ASSERT_EQ(about.contenders.size(), 2u);
    for (const catalog::record* one : about.contenders) EXPECT_EQ(one->output_type, about.output_type);
    EXPECT_EQ(about.contenders[1]->rung, "hot_bins");
  }
  for (const bench_case& each : plan.cases)
    if (is_cub(*each.record)) names.push_back(each.name);
  const std::vector<std::string> expected = {
      "histogram_even/u8/bins=256/contention=40/uniform/n=2560Ki/library_baselines/cub_device_histogram/dirty",
      "histogram_even/u8/bins=256/contention=90/uniform/n=2560Ki/library_baselines/cub_device_histogram/dirty",
      "histogram_even/u8/bins=256/contention=10/uniform/n=10Mi/library_baselines/cub_device_histogram/dirty",
      "histogram_even/u8/bins=256/uniform/n=1Gi/library_baselines/cub_device_histogram/warm"};
  EXPECT_EQ(names, expected);
  gpu.free_bytes = std::size_t{3} << 30;
  EXPECT_EQ(plan_of(records, gpu).problems.size(), 3u) << "a gibibyte and two buffers do not fit";
}

}  // namespace
}  // namespace rungs::bench::others
