#include "across/cells.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "called.hpp"

namespace rungs::bench::across_gpus {
namespace {

bool is_wrong(const result& one) { return !one.verified || (one.kind != kind::library && !one.same_bits); }

bool is_timed(const result& one) { return !is_wrong(one) && !one.samples.empty(); }

std::optional<ratio> twin_of(const measured_cell& cell) {
  if (cell.twin.empty() || !is_timed(cell.results[0])) return std::nullopt;
  return ratio_of_medians(cell.results[0].samples, cell.twin, ratio_confidence);
}

json outcome(const result& one) {
  json told{{"name", one.name}, {"verified", one.verified}, {"same_bits", one.same_bits}};
  if (!one.defect.empty()) told["defect"] = one.defect;
  return told;
}

// How many times faster than each library.
json over_libraries(const measured_cell& cell, const result& own, double floor) {
  json told = json::object();
  for (const result& library : cell.results) {
    if (library.kind != kind::library || !is_timed(library) || library.name == own.name) continue;
    told[library.name] = speedup_of(library.samples, own.samples, floor);
  }
  return told;
}

json named(const problem& about, std::size_t items) {
  return {{"operation", name(about.operation)},
          {"type", catalog::name(about.type)},
          {"operator", catalog::name(about.op)},
          {"items", items}};
}

}  // namespace

std::vector<double> noise_floors(const std::vector<measured_cell>& cells) {
  std::vector<twin_of_cell> twins;
  for (const measured_cell& cell : cells) {
    const auto twin = twin_of(cell);
    twins.push_back({cell.about.bytes(), twin ? twin->value : std::nan(""), static_cast<int>(cell.about.mode)});
  }
  return noise_floors_of_twins(twins);
}

json to_json(const std::vector<measured_cell>& cells) {
  const auto floors = noise_floors(cells);
  json all = json::array();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const measured_cell& cell = cells[i];
    json told = named(cell.about.about, cell.about.items);
    told["bytes"] = cell.about.bytes();
    told["mode"] = name(cell.about.mode);
    told["calls"] = cell.calls;
    told["noise_floor"] = floors[i];
    if (const auto twin = twin_of(cell))
      told["twin"] = {{"of", cell.results[0].name},
                      {"ratio", twin->value},
                      {"low", finite(twin->low)},
                      {"high", finite(twin->high)}};
    told["results"] = json::array();
    for (const result& one : cell.results) {
      json entry = outcome(one);
      if (is_timed(one)) {
        entry.update(times_of(one.samples));
        entry["over"] = over_libraries(cell, one, floors[i]);
      }
      told["results"].push_back(entry);
    }
    all.push_back(told);
  }
  return all;
}

json to_json(const std::vector<measured_count>& counts) {
  json all = json::array();
  for (const measured_count& count : counts) {
    json told = named(count.about.about, count.about.items);
    told["results"] = json::array();
    for (const result& one : count.results) told["results"].push_back(outcome(one));
    all.push_back(told);
  }
  return all;
}

bool any_is_wrong(const std::vector<measured_cell>& cells, const std::vector<measured_count>& counts) {
  const auto holds = [](const auto& each) { return std::ranges::any_of(each.results, is_wrong); };
  return std::ranges::any_of(cells, holds) || std::ranges::any_of(counts, holds);
}

}  // namespace rungs::bench::across_gpus
