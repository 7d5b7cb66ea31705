// rungs_across: all-reduce across the GPUs of this machine by every rung, by what users call and by NCCL, verified and
// timed. docs/across.md says what follows.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../results.hpp"
#include "across/study.hpp"
#include "build_info.hpp"
#include "check.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"
#include "program.hpp"
#include "progress.hpp"
#include "sizes.hpp"

namespace rungs::bench::across_gpus {
namespace {

constexpr int most_ranks = 8;
constexpr double patience = 120;  // seconds for one step of all ranks: a call that hangs ends the run

constexpr auto footer = R"(Names, for --filter
  all_reduce/f32/plus/n=16Ki/graph/one_shot      NCCL stays in each cell that the filter leaves something in.

On one GPU all ranks share it. That finds wrong results; its times are of no use for comparison, and report/run accept refuses them.
NCCL is loaded at run time. NCCL_NVLS_ENABLE=0 is set where the variable is not: NVLink's multicast stays off in all contenders.

Exit codes
  0 all was right (or the budget ended the run: "complete": false)   1 a wrong result, or an error of ours
  2 usage   3 no usable GPU, or GPUs that cannot reach each other's memory   4 internal, or a rank that does not answer)";

struct settings {
  std::string sizes_from = "4", sizes_to = "1Gi", filter, out, library = "libnccl.so.2";
  int ranks = 0;
  double budget = 0;
  bool list = false;
};

void say(const std::string& line) { std::cerr << "rungs_across: " << line << '\n'; }

void give_up(const std::string& why) {
  say(why);
  std::_Exit(exit_internal);
}

// Those of NCCL too, all of them.
json variables() {
  json found = variables_that_matter();
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    if (text.starts_with("NCCL_")) found[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  return found;
}

std::vector<contender_name> names_of(const std::vector<contender>& contenders) {
  std::vector<contender_name> names;
  for (const contender& each : contenders) names.push_back(each.about);
  return names;
}

std::vector<device_facts> facts_of(const std::set<int>& devices) {
  std::vector<device_facts> all;
  for (const int device : devices) {
    check(cudaSetDevice(device));
    std::string why_not;
    const auto facts = find_device(why_not);
    if (!facts) throw std::runtime_error("GPU " + std::to_string(device) + " has gone: " + why_not);
    all.push_back(*facts);
  }
  return all;
}

json to_json(const omission& one) {
  json told{{"name", one.name}, {"operation", name(one.about.about.operation)}};
  told["type"] = catalog::name(one.about.about.type);
  told["operator"] = catalog::name(one.about.about.op);
  told["items"] = one.about.items;
  told["mode"] = name(one.about.mode);
  told["reason"] = one.reason;
  return told;
}

// Once each, with the facts of its first problem.
json to_json(const std::vector<contender>& contenders) {
  json all = json::array();
  std::set<std::string> seen;
  for (const contender& each : contenders) {
    if (!seen.insert(each.about.name).second) continue;
    all.push_back({{"name", each.about.name},
                   {"kind", name(each.about.kind)},
                   {"idea", each.idea},
                   {"against", each.against},
                   {"gains", each.gains},
                   {"costs", each.costs}});
  }
  return all;
}

json to_json(const std::vector<device_facts>& gpus) {
  json all = json::array();
  for (const device_facts& each : gpus)
    all.push_back({{"name", each.name},
                   {"card", each.card},
                   {"compute_capability", each.compute_capability},
                   {"multiprocessors", each.multiprocessors}});
  return all;
}

struct found {
  std::vector<measured_cell> cells;
  std::vector<measured_count> counts;
  std::vector<omission> omissions;
  json link = nullptr;
  bool complete = true;
  double seconds = 0;
};

found measure(study& with, const plan& asked, bool measures_link, double budget) {
  found all;
  const double start = seconds_now();
  if (measures_link) {
    const link_rates rates = with.measure_link();
    all.link = {{"bytes", rates.bytes},
                {"one_way_gb_per_s", rates.one_way_gb_per_s},
                {"both_ways_gb_per_s", rates.both_ways_gb_per_s}};
  }
  progress_line line(asked.checks.size() + asked.cells.size());
  std::size_t done = 0;
  for (const checked_count& each : asked.checks) {
    line.show(done++, std::to_string(each.items) + " items", -1);
    all.counts.push_back(with.verify(each, all.omissions));
  }
  for (std::size_t i = 0; i < asked.cells.size() && all.complete; ++i) {
    const double left = budget > 0 ? start + budget - seconds_now() : std::numeric_limits<double>::infinity();
    line.show(done++, name_of(asked.cells[i], "*"), budget > 0 ? left : -1);
    all.complete = left > 0;
    if (!all.complete) break;
    measured_cell one = with.measure(asked.cells[i], left / static_cast<double>(asked.cells.size() - i), all.omissions);
    if (!one.results.empty()) all.cells.push_back(std::move(one));
  }
  all.seconds = seconds_now() - start;
  return all;
}

void tell_defects(const found& all) {
  for (const omission& one : all.omissions) say(name_of(one.about, one.name) + ": " + one.reason);
  for (const measured_cell& cell : all.cells) {
    for (const result& one : cell.results) {
      if (!one.defect.empty()) say(name_of(cell.about, one.name) + ": " + one.defect);
    }
  }
  for (const measured_count& count : all.counts) {
    for (const result& one : count.results) {
      if (!one.defect.empty()) say(one.name + " of " + std::to_string(count.about.items) + " items: " + one.defect);
    }
  }
}

int run(int argc, char** argv) {
  settings given;
  CLI::App app("All-reduce across the GPUs of this machine: every rung, what users call, and NCCL.", "rungs_across");
  app.footer(footer);
  app.add_option("--out", given.out, "the JSON file; default: standard output");
  app.add_option("--sizes-from", given.sizes_from, "the fewest bytes of a rank")->capture_default_str();
  app.add_option("--sizes-to", given.sizes_to, "the most bytes of a rank; sizes are powers of four")
      ->capture_default_str();
  app.add_option("--filter", given.filter, "only what matches this regular expression");
  app.add_option("--budget", given.budget, "seconds for everything; default: no limit")->check(CLI::PositiveNumber);
  app.add_option("--ranks", given.ranks, "how many; default: one a GPU, two where there is one GPU")
      ->check(CLI::Range(1, most_ranks));
  app.add_option("--nccl", given.library, "NCCL's library, a path or a name")->capture_default_str();
  app.add_flag("--list", given.list, "what would be measured, and nothing else");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  const question asked{parse_size(given.sizes_from, "bytes"), parse_size(given.sizes_to, "bytes"), given.filter};
  const plan everything = plan_of(asked, all_names());
  if (given.list) {
    for (const cell& each : everything.cells) {
      for (const std::string& who : each.contenders) std::cout << name_of(each, who) << '\n';
    }
    return exit_ok;
  }
  if (!given.out.empty()) write_atomically(given.out, "");

  const environment surroundings;
  if (!find_device_or_tell("rungs_across")) return exit_no_gpu;
  int num_gpus = 0;
  check(cudaGetDeviceCount(&num_gpus));
  const int num_ranks = given.ranks != 0 ? given.ranks : std::clamp(num_gpus, 2, most_ranks);
  const auto devices = devices_of(num_ranks, num_gpus);
  const auto gpus = facts_of(std::set<int>(devices.begin(), devices.end()));
  const bool has_one_each = gpus.size() == devices.size();
  const auto read_all = [&] {
    json all = json::array();
    for (const device_facts& each : gpus) all.push_back(surroundings.read(each));
    return all;
  };
  const json before = read_all();

  std::vector<std::string> notes;
  if (!has_one_each) notes.push_back("several ranks share a GPU: these times are of no use for comparison");
  std::unique_ptr<connected_ranks> ranks;
  try {
    ranks = std::make_unique<connected_ranks>(devices);
  } catch (const cuda_error& error) {
    if (error.code != cudaErrorPeerAccessUnsupported) throw;
    say(std::string("these GPUs cannot reach each other's memory: ") + error.what());
    return exit_no_gpu;
  }
  std::string why_no_nccl;
  const auto library = nccl::load(given.library, devices, why_no_nccl);
  if (library == nullptr) notes.push_back("NCCL is skipped: " + why_no_nccl);
  const json seen = variables();
  if (library != nullptr && seen.value("NCCL_NVLS_ENABLE", "") != "0")
    notes.push_back("NCCL_NVLS_ENABLE is not 0: NCCL may use NVLink's multicast, which the others do not");

  crew threads(num_ranks, patience, give_up);
  if (library != nullptr) {
    try {
      threads.each("NCCL's windows", [&](int rank) {
        check(cudaSetDevice(devices[static_cast<std::size_t>(rank)]));
        library->allocate_windows(rank, everything.largest_bytes());
      });
      library->conclude_windows("");
    } catch (const std::exception& error) {
      library->conclude_windows(error.what());
      notes.push_back(std::string("NCCL's symmetric windows are skipped: ") + error.what());
    }
  }
  for (const std::string& note : notes) say(note);
  const auto contenders = contenders_of(*ranks, library.get());
  const plan planned = plan_of(asked, names_of(contenders));
  found all;
  {
    study with(devices, contenders, library.get(), planned.largest_bytes(), threads);
    all = measure(with, planned, has_one_each && num_ranks > 1, given.budget);
  }
  const json after = read_all();

  json banners = notes;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (const std::string& said : bench::banners(before[gpu], after[gpu], seen, build::is_release())) {
      if (std::ranges::count(banners, json(said)) == 0) banners.push_back(said);
    }
  }
  json skipped = json::array();
  if (library == nullptr) skipped.push_back({{"name", "nccl"}, {"reason", why_no_nccl}});
  if (library == nullptr || !library->has_windows())
    skipped.push_back(
        {{"name", "nccl_symmetric"}, {"reason", library == nullptr ? why_no_nccl : library->why_no_windows()}});
  for (const omission& each : all.omissions) skipped.push_back(to_json(each));

  json file{{"schema", "rungs.across/1"}, {"gpu", slug(gpus[0].name)}};
  file["run"] = utc_now() + "-" + build::commit;
  file["commit"] = build::commit;
  file["complete"] = all.complete;
  file["seconds"] = all.seconds;
  file["arguments"] = std::vector<std::string>(argv + 1, argv + argc);
  file["ranks"] = num_ranks;
  file["devices"] = to_json(gpus);
  file["versions"] = {{"driver", surroundings.driver_version()},
                      {"cuda_runtime", runtime_version()},
                      {"nvcc", build::nvcc_version},
                      {"compiler", build::compiler_version}};
  file["nccl"] = {{"version", library == nullptr ? json(nullptr) : json(library->version())},
                  {"why_not", library == nullptr ? json(why_no_nccl) : json(nullptr)}};
  file["environment"] = {{"before", before}, {"after", after}};
  file["variables"] = seen;
  file["banners"] = banners;
  file["link"] = all.link;
  file["contenders"] = to_json(contenders);
  file["cells"] = to_json(all.cells);
  file["checks"] = to_json(all.counts);
  file["skipped"] = skipped;
  write_result(given.out, file);
  tell_defects(all);
  if (library != nullptr) threads.each("closing NCCL", [&](int rank) { library->close(rank); });
  // A library may refuse a call; ours take every one.
  const bool ours_failed =
      std::ranges::any_of(all.omissions, [](const omission& one) { return one.kind != kind::library; });
  return ours_failed || any_is_wrong(all.cells, all.counts) ? exit_wrong : exit_ok;
}

}  // namespace
}  // namespace rungs::bench::across_gpus

int main(int argc, char** argv) {
  // Ranks that share a GPU wait for each other there. A kernel loaded at its first call might wait for them.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  return rungs::bench::run_program("rungs_across", [&] { return rungs::bench::across_gpus::run(argc, argv); });
}
