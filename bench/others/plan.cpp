#include "others/plan.hpp"

#include <algorithm>

namespace rungs::bench::others {
namespace {

constexpr std::size_t most_rungs = 3;  // of those whose storage asks alike

problem problem_of(const cell& about) {
  const bool counts = catalog::is_histogram(about.operation);
  problem made{.operation = about.operation,
               .op = counts ? catalog::op::none : catalog::op::plus,
               .input_type = about.input_type,
               .accumulator_type = about.output_type,
               .output_type = about.output_type,
               .num_items = about.num_items,
               .most_rungs = most_rungs,
               .modes = {about.mode}};
  if (counts) made.shape.dimensions.push_back({"bins", num_bins});
  if (about.contention != 0) made.shape.dimensions.push_back({"contention", about.contention});
  return made;
}

bool takes_part(const catalog::record& record, const problem& about, const device_facts& device) {
  const bool ours = record.family != catalog::family::library_baselines && record.ladder != "launch_sweep";
  return record.operation == about.operation && record.op == about.op && record.input_type == about.input_type &&
         record.accumulator_type == about.accumulator_type && record.output_type == about.output_type &&
         record.executes_on == executor::device && !record.waits_for_host && (ours || is_cub(record)) &&
         record.min_cc <= device.compute_capability && about.num_items <= record.max_items;
}

bool fits(const problem& about, const device_facts& device) {
  const std::size_t reserve = std::size_t{2} << 30;  // storage, and what the caches are flushed with
  const std::size_t larger = std::max(about.input_buffer_bytes(), about.output_buffer_bytes());
  return 2 * larger + reserve <= device.free_bytes;
}

}  // namespace

run_plan plan_of(std::span<const catalog::record> records, const device_facts& device) {
  run_plan plan;
  for (const cell& each : all_cells) {
    problem about = problem_of(each);
    if (!fits(about, device)) continue;
    for (const catalog::record& record : records) {
      if (!takes_part(record, about, device)) continue;
      plan.cases.push_back({plan.problems.size(), &record, each.mode, case_name(about, record, each.mode)});
      about.contenders.push_back(&record);
    }
    if (!about.contenders.empty()) plan.problems.push_back(std::move(about));
  }
  return plan;
}

}  // namespace rungs::bench::others
