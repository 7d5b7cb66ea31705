// rungs_others: what others published, measured on this GPU as they measured it: their sizes, types, data and flush.
// The front door, the fastest rungs and CUB take turns in a cell, verified as rungs_bench verifies them.
//
//   rungs_others [FILE]      JSON to FILE, or to standard output
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "build_info.hpp"
#include "environment.hpp"
#include "others/plan.hpp"
#include "program.hpp"
#include "suite.hpp"

namespace rungs::bench::others {
namespace {

json result_of(const row& one) {
  const catalog::record& record = *one.record;
  json told{{"family", name(record.family)},
            {"ladder", record.ladder},
            {"rung", record.rung},
            {"temp_storage", catalog::name(record.temp_storage)},
            {"verified", one.verified}};
  if (!one.defect.empty()) told["defect"] = one.defect;
  if (!one.timed()) return told;
  const auto& samples = one.samples.accepted;
  told["samples"] = one.summary.count;
  told["median_us"] = one.summary.median;
  told["low_us"] = one.summary.low;
  told["high_us"] = one.summary.high;
  told["mean_us"] = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  return told;
}

json cells_of(const run_plan& plan, const findings& found) {
  json cells = json::array();
  for (const problem& about : plan.problems) {
    const std::size_t contention = about.shape["contention"];
    json cell{{"operation", name(about.operation)},
              {"input_type", name(about.input_type)},
              {"output_type", name(about.output_type)},
              {"items", about.num_items},
              {"contention", contention == 0 ? json(nullptr) : json(contention)},
              {"mode", name(about.modes.front())},
              {"results", json::array()}};
    for (const row& one : found.rows)
      if (!one.twin && one.about.key() == about.key()) cell["results"].push_back(result_of(one));
    cells.push_back(std::move(cell));
  }
  return cells;
}

int run(const std::string& out) {
  const environment surroundings;
  const auto device = find_device_or_tell("rungs_others");
  if (!device) return exit_no_gpu;
  const json before = surroundings.read(*device), variables = variables_that_matter();
  std::vector<catalog::record> records = more_records();
  const auto listed = catalog::all();
  records.insert(records.end(), listed.begin(), listed.end());
  const run_plan plan = plan_of(records, *device);
  suite all(plan, records, device, suite_rules{}, [] { return false; });
  all.on_progress = [](const std::string& about) { std::cerr << about << '\n'; };
  for (std::size_t i = 0; i < plan.problems.size(); ++i) all.visit(i);
  compare(all.found, device->peak_gb_per_s());
  const json after = surroundings.read(*device);

  bool failed = all.failed();
  for (const row& one : all.found.rows) {
    if (one.implausible)
      std::cerr << "faster than its ceiling: " << case_name(one.about, *one.record, one.mode) << '\n';
    failed = failed || one.implausible;
  }
  const json file{
      {"schema", "rungs.others/1"},
      {"gpu", slug(device->name)},
      {"run", utc_now() + "-" + build::commit},
      {"commit", build::commit},
      {"device", {{"name", device->name}, {"card", device->card}, {"l2_bytes", device->l2_bytes}}},
      {"versions",
       {{"driver", surroundings.driver_version()}, {"nvcc", build::nvcc_version}, {"cccl", catalog::cccl_version()}}},
      {"banners", banners(before, after, variables, build::is_release())},
      {"cells", cells_of(plan, all.found)}};
  write_result(out, file);
  return failed ? exit_wrong : exit_ok;
}

}  // namespace
}  // namespace rungs::bench::others

int main(int argc, char** argv) {
  return rungs::bench::run_program("rungs_others", [&] { return rungs::bench::others::run(argc > 1 ? argv[1] : ""); });
}
