#include "by_key/cells.hpp"

#include <cmath>

#include "called.hpp"

namespace rungs::bench::by_key {
namespace {

std::optional<ratio> twin_of(const measured_cell& cell) {
  if (!cell.cub.is_timed() || cell.twin.empty()) return std::nullopt;
  return ratio_of_medians(cell.cub.samples, cell.twin, ratio_confidence);
}

json named(const cell& about) {
  const problem& of = about.about;
  json told{{"operation", name(of.operation)}, {"keys", catalog::name(of.keys)}};
  told["values"] = of.values == catalog::scalar::none ? json(nullptr) : json(catalog::name(of.values));
  if (has_percent(of.operation))
    told["chosen_percent"] = of.structure;
  else if (of.structure == mixed)
    told["mean_run"] = about.items / num_segments(about);
  else
    told["mean_run"] = of.structure == 0 ? about.items : of.structure;
  if (of.structure == mixed) told["longest_run"] = about.items / 2;
  told["items"] = about.items;
  return told;
}

json outcome(const char* name, const result& one, double copy_us) {
  json told{{"name", name}, {"verified", one.verified}};
  if (!one.defect.empty()) told["defect"] = one.defect;
  told["storage_bytes"] = one.storage_bytes;
  if (one.verified && one.samples.empty()) told["samples"] = 0;  // none at the full clock
  if (!one.is_timed()) return told;
  told.update(times_of(one.samples));
  told["percent_of_copy"] = finite(100 * copy_us / median(one.samples));
  return told;
}

}  // namespace

std::vector<double> noise_floors(const std::vector<measured_cell>& cells) {
  std::vector<twin_of_cell> twins;
  for (const measured_cell& cell : cells) {
    const auto twin = twin_of(cell);
    twins.push_back({cell.bytes(), twin ? twin->value : std::nan("")});
  }
  return noise_floors_of_twins(twins);
}

json to_json(const std::vector<measured_cell>& cells) {
  const auto floors = noise_floors(cells);
  json all = json::array();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const measured_cell& cell = cells[i];
    json told = named(cell.about);
    told["outputs"] = cell.outputs;
    told["bytes"] = cell.bytes();
    told["compared_with"] = cell.by_host ? "host" : "cub";
    told["noise_floor"] = floors[i];
    const double copy_us = cell.copy.empty() ? std::nan("") : median(cell.copy);
    told["copy_us"] = finite(copy_us);
    if (const auto twin = twin_of(cell))
      told["twin"] = {{"ratio", twin->value}, {"low", finite(twin->low)}, {"high", finite(twin->high)}};
    told["results"] = json::array();
    if (cell.rungs.ran) told["results"].push_back(outcome("rungs", cell.rungs, copy_us));
    if (cell.cub.ran) told["results"].push_back(outcome("cub", cell.cub, copy_us));
    if (cell.rungs.is_timed() && cell.cub.is_timed())
      told["speedup"] = speedup_of(cell.cub.samples, cell.rungs.samples, floors[i]);
    all.push_back(told);
  }
  return all;
}

json to_json(const std::vector<omission>& omissions) {
  json all = json::array();
  for (const omission& each : omissions) {
    json told = named(each.about);
    told["name"] = each.name;
    told["reason"] = each.reason;
    all.push_back(told);
  }
  return all;
}

}  // namespace rungs::bench::by_key
