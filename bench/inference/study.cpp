#include "inference/study.hpp"

#include <iostream>
#include <limits>
#include <optional>
#include <regex>

#include "called.hpp"

namespace rungs::bench::inference {
namespace {

json outcome(const result& one) {
  json told{{"role", name(one.role)}, {"name", one.name}, {"verified", one.defect.empty()}};
  if (!one.defect.empty()) told["defect"] = one.defect;
  told["storage_bytes"] = one.storage_bytes;
  if (!one.defect.empty()) return told;
  if (one.samples.empty())
    told["samples"] = 0;  // none at the full clock
  else
    told.update(times_of(one.samples));
  return told;
}

bool is_timed(const result& one) { return one.defect.empty() && !one.samples.empty(); }

// What rivals are compared with; null where it has no time.
const result* first_of_ours(const measured_cell& cell) {
  for (const result& one : cell.results)
    if (one.role == role::rungs) return is_timed(one) ? &one : nullptr;
  return nullptr;
}

json to_json(const measured_cell& cell, double floor) {
  const auto& about = cell.about;
  json told{{"work", about.work},
            {"input", about.input},
            {"rows", about.rows},
            {"columns", about.columns},
            {"parameter", about.parameter},
            {"data", about.data},
            {"read_bytes", about.read_bytes},
            {"written_bytes", about.written_bytes},
            {"roof", about.roof_copies ? "copy" : "read"},
            {"noise_floor", floor},
            {"results", json::array()}};
  const result* const ours = first_of_ours(cell);
  for (const result& one : cell.results) {
    told["results"].push_back(outcome(one));
    if (one.role != role::rival || !is_timed(one) || ours == nullptr) continue;
    told["results"].back()["speedup"] = speedup_of(one.samples, ours->samples, floor);
  }
  return told;
}

}  // namespace

std::string cell::name() const {
  std::string text = work + "/" + input + "/" + std::to_string(rows) + "x" + std::to_string(columns);
  for (const std::string& more : {parameter, data})
    if (!more.empty()) text += "/" + more;
  return text;
}

study::study(const device_facts& device, const std::string& filter) : filter_(filter), bench_(device) {}

bool study::wants(const cell& about) const { return std::regex_search(about.name(), std::regex(filter_)); }

void study::leave_out(const std::string& cell, const std::string& name, const std::string& reason) {
  std::cerr << cell << "/" << name << ": " << reason << '\n';
  omissions_.push_back({cell, name, reason});
}

void study::measure(const cell& about) {
  if (!wants(about)) return;
  std::cerr << about.name() << '\n';
  measured_cell found{about, {}, {}};
  found.about.ways.clear();

  // Once before the samples and once behind them: what was timed has left its storage in another state.
  const auto defect_of = [&](const way& one, const called& its) -> std::string {
    check(cudaMemsetAsync(about.d_out, 0xff, about.out_bytes, bench_.stream()));
    check(its.who.call(bench_.stream()));
    bench_.synchronize();
    return one.defect ? one.defect() : "";
  };
  std::vector<way> ways = about.ways;
  catalog::arguments moved;
  moved.d_in = about.roof_in;
  moved.num_items = about.roof_copies ? about.bytes() / 2 : about.read_bytes;
  const device_memory copied(about.roof_copies ? moved.num_items : 1);  // a call may write less than half of its bytes
  moved.d_out = about.roof_copies ? copied.get() : about.d_out;
  ways.push_back(
      {role::roof, about.roof_copies ? "copy" : "read", about.roof_copies ? plain_copy : plain_read, moved, {}});
  ways.push_back({role::roof, "empty", empty_kernel, moved, {}});

  std::vector<std::optional<called>> entries(ways.size());
  std::vector<const contender*> sampled;
  std::vector<std::size_t> result_of;
  std::vector<std::size_t> way_of;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    result one{ways[i].role, ways[i].name, {}, 0, {}};
    // An error of a call is that of its library, and the others go on.
    try {
      entries[i].emplace(catalog::record{.call = ways[i].call}, ways[i].arguments, bench_.stream());
      one.storage_bytes = entries[i]->who.workspace_bytes;
      one.defect = defect_of(ways[i], *entries[i]);
    } catch (const std::exception& error) {
      entries[i].reset();
      cudaGetLastError();
      if (cudaDeviceSynchronize() != cudaSuccess) throw;  // an error that stays would fail whatever comes next
      const auto* const of_cuda = dynamic_cast<const cuda_error*>(&error);
      leave_out(about.name(), one.name, of_cuda != nullptr ? cudaGetErrorString(of_cuda->code) : error.what());
      ours_failed_ = ours_failed_ || one.role == role::rungs;
      continue;
    }
    if (!one.defect.empty()) std::cerr << about.name() << "/" << one.name << ": " << one.defect << '\n';
    if (one.defect.empty()) {
      sampled.push_back(&entries[i]->who);
      result_of.push_back(found.results.size());
      way_of.push_back(i);
    }
    found.results.push_back(std::move(one));
  }
  const bool has_twin = !way_of.empty() && ways[way_of[0]].role == role::rungs;
  if (has_twin) sampled.push_back(sampled[0]);
  device_instrument clock(bench_, mode::cold, sampled);
  auto taken = sample(clock, static_cast<int>(sampled.size()), stop_rule{}, clocks_, seconds_now, [] { return false; });
  if (has_twin) found.twin = std::move(taken.back().accepted);
  for (std::size_t i = 0; i < way_of.size(); ++i) {
    result& one = found.results[result_of[i]];
    one.samples = std::move(taken[i].accepted);
    const std::string defect = defect_of(ways[way_of[i]], *entries[way_of[i]]);
    if (!defect.empty()) one.defect = "after the samples, " + defect;
  }
  for (const result& one : found.results)
    ours_failed_ = ours_failed_ || (one.role == role::rungs && !one.defect.empty());
  cells_.push_back(std::move(found));
}

int study::write(const std::string& path, const std::string& program, const environment& surroundings,
                 const device_facts& device, const json& before, const std::vector<std::string>& arguments) const {
  if (cells_.empty()) throw usage_error("no cell's name has a match of " + filter_);
  std::vector<twin_of_cell> twins;
  for (const measured_cell& cell : cells_) {
    const result* const ours = first_of_ours(cell);
    const bool has_twin = ours != nullptr && !cell.twin.empty();
    twins.push_back({cell.about.bytes(), has_twin ? ratio_of_medians(ours->samples, cell.twin, ratio_confidence).value
                                                  : std::numeric_limits<double>::quiet_NaN()});
  }
  const auto floors = noise_floors_of_twins(twins);
  json file = head_of_file("rungs.inference/1", surroundings, device, before, arguments, cccl_version());
  file["program"] = program;
  file["seconds"] = seconds_now() - start_;
  file["cells"] = json::array();
  for (std::size_t i = 0; i < cells_.size(); ++i) file["cells"].push_back(to_json(cells_[i], floors[i]));
  file["skipped"] = json::array();
  for (const omission& one : omissions_)
    file["skipped"].push_back({{"cell", one.cell}, {"name", one.name}, {"reason", one.reason}});
  write_result(path, file);
  return ours_failed_ ? exit_wrong : exit_ok;
}

}  // namespace rungs::bench::inference
