// rungs_by_key: selections, partitions, run lengths and calls on runs of equal keys beside CUB's, verified and timed.
// Cold, as rungs_bench takes it; all contenders of a cell take turns.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "../results.hpp"
#include "by_key/calls.hpp"
#include "by_key/study.hpp"
#include "check.hpp"
#include "exit_codes.hpp"
#include "program.hpp"
#include "progress.hpp"
#include "sizes.hpp"

namespace rungs::bench::by_key {
namespace {

constexpr auto footer = R"(Names, for --filter
  select_if/i32/chosen=50%/n=16Mi      items of which so many are chosen
  reduce_by_key/i32:f32/runs=256/n=1Mi keys and values; runs have so many items in the mean, or runs=one
  inclusive_segmented_sum/f32/runs=mixed/n=1Mi  items; runs are segments, mixed: one of half of the items, then short ones

Each cell times the call of rungs, CUB's, CUB's again for the noise, and a copy of as many bytes as the call has to read
and write. Up to 1Mi items outputs are compared with the host's, above with CUB's, bit for bit: sums of floats are exact.

Exit codes
  0 all was right (or the budget ended the run: "complete": false)   1 a wrong result, or an error of ours
  2 usage   3 no usable GPU   4 internal)";

struct settings {
  std::string sizes_from = "64Ki", sizes_to = "256Mi", filter, out;
  double budget = 0;
  bool list = false;
};

void say(const std::string& line) { std::cerr << "rungs_by_key: " << line << '\n'; }

struct found {
  std::vector<measured_cell> cells;
  std::vector<omission> omissions;
  bool complete = true;
  double seconds = 0;
};

// What does not fit the GPU's memory is left out, and told.
std::vector<cell> that_fit(const std::vector<cell>& planned, std::size_t free_bytes, std::vector<omission>& omissions) {
  constexpr std::size_t reserve = std::size_t{1} << 30;  // storage, and what the caches are flushed with
  std::vector<cell> kept;
  for (const cell& each : planned) {
    const room needed = room_of(each);
    // CUB's storage grows with the items, too; a quarter of the outputs is more than it was seen to take.
    if (needed.in + needed.out + needed.out / 4 + reserve <= free_bytes)
      kept.push_back(each);
    else
      for (const char* who : {"rungs", "cub"}) omissions.push_back({each, who, "the GPU has too little memory"});
  }
  return kept;
}

room largest_of(const std::vector<cell>& cells) {
  room largest;
  for (const cell& each : cells) {
    const room needed = room_of(each);
    largest = {std::max(largest.in, needed.in), std::max(largest.out, needed.out)};
  }
  return largest;
}

void measure(study& with, const std::vector<cell>& planned, double budget, found& all) {
  const double start = seconds_now();
  progress_line line(planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const double left = budget > 0 ? start + budget - seconds_now() : std::numeric_limits<double>::infinity();
    line.show(i, name_of(planned[i]), budget > 0 ? left : -1);
    all.complete = left > 0;
    if (!all.complete) break;
    measured_cell one = with.measure(planned[i], left / static_cast<double>(planned.size() - i), all.omissions);
    if (one.rungs.ran || one.cub.ran) all.cells.push_back(std::move(one));
  }
  all.seconds = seconds_now() - start;
}

void tell_defects(const found& all) {
  for (const omission& one : all.omissions) say(name_of(one.about) + "/" + one.name + ": " + one.reason);
  for (const measured_cell& cell : all.cells) {
    if (!cell.rungs.defect.empty()) say(name_of(cell.about) + "/rungs: " + cell.rungs.defect);
    if (!cell.cub.defect.empty()) say(name_of(cell.about) + "/cub: " + cell.cub.defect);
  }
}

// A library's own error is told and fails nothing.
bool ours_failed(const found& all, std::size_t num_too_large) {
  const auto is_ours = [](const omission& one) { return one.name == "rungs"; };
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(all.omissions, is_ours));
  return failed > num_too_large ||
         std::ranges::any_of(all.cells, [](const measured_cell& one) { return one.rungs.ran && !one.rungs.verified; });
}

int run(int argc, char** argv) {
  settings given;
  CLI::App app("Selections, partitions, run lengths, scans of segments and calls on runs of equal keys, beside CUB's.",
               "rungs_by_key");
  app.footer(footer);
  app.add_option("--out", given.out, "the JSON file; default: standard output");
  app.add_option("--sizes-from", given.sizes_from, "the fewest items")->capture_default_str();
  app.add_option("--sizes-to", given.sizes_to, "the most items; sizes are 64Ki, 1Mi, 16Mi, 64Mi and 256Mi")
      ->capture_default_str();
  app.add_option("--filter", given.filter, "only cells whose name has a match of this regular expression");
  app.add_option("--budget", given.budget, "seconds for everything; default: no limit")->check(CLI::PositiveNumber);
  app.add_flag("--list", given.list, "the names of what would be measured, and nothing else");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  const auto planned = plan_of({parse_size(given.sizes_from), parse_size(given.sizes_to), given.filter});
  if (given.list) {
    for (const cell& each : planned) std::cout << name_of(each) << '\n';
    return exit_ok;
  }
  if (!given.out.empty()) write_atomically(given.out, "");

  const environment surroundings;
  const auto device = find_device_or_tell("rungs_by_key");
  if (!device) return exit_no_gpu;
  const json before = surroundings.read(*device);
  found all;
  const auto cells = that_fit(planned, device->free_bytes, all.omissions);
  const std::size_t num_too_large = planned.size() - cells.size();
  if (!cells.empty()) {
    study with(*device, largest_of(cells));
    measure(with, cells, given.budget, all);
  }

  json file = head_of_file("rungs.by_key/1", surroundings, *device, before, {argv + 1, argv + argc}, cccl_version());
  file["complete"] = all.complete;
  file["seconds"] = all.seconds;
  file["cells"] = to_json(all.cells);
  file["skipped"] = to_json(all.omissions);
  write_result(given.out, file);
  tell_defects(all);
  return ours_failed(all, num_too_large) ? exit_wrong : exit_ok;
}

}  // namespace
}  // namespace rungs::bench::by_key

int main(int argc, char** argv) {
  return rungs::bench::run_program("rungs_by_key", [&] { return rungs::bench::by_key::run(argc, argv); });
}
