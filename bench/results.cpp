#include "results.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include "check.hpp"

namespace rungs::bench {
namespace {

using catalog::operation;

// A number that JSON can hold, or null. Seven digits are as many as an event's time has.
json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.7g", value);
  return std::strtod(digits, nullptr);
}
json number(const std::optional<double>& value) { return value ? number(*value) : json(nullptr); }
json text(std::string_view value) { return std::string(value); }
json yes_no(bool value) { return value ? "yes" : "no"; }

std::vector<double> joined(const ceiling& one) {
  std::vector<double> all = one.before;
  all.insert(all.end(), one.after.begin(), one.after.end());
  return all;
}

auto cell_of(const row& one) { return std::tuple(one.about.key(), one.mode); }

// Cells of one mode and one shape are alike where their footprints are within a factor of four: the same caches hold
// them, and launches weigh as much. The shape counts because the bins, more than the bytes, say what a histogram does.
bool alike(const twin_pair& a, const twin_pair& b) {
  const double factor = static_cast<double>(a.about.bytes()) / static_cast<double>(b.about.bytes());
  return factor <= 4.01 && factor >= 1 / 4.01;
}

double floor_for(const std::vector<twin_pair>& twins, const twin_pair& cell) {
  std::vector<double> like_footprint, same_shape, same_mode;
  for (const auto& twin : twins) {
    if (&twin == &cell || twin.mode != cell.mode) continue;
    same_mode.push_back(twin.ratio.value);
    if (twin.about.shape != cell.about.shape) continue;
    same_shape.push_back(twin.ratio.value);
    if (alike(twin, cell)) like_footprint.push_back(twin.ratio.value);
  }
  if (like_footprint.size() >= 5) return noise_floor(like_footprint);
  if (!same_shape.empty()) return noise_floor(same_shape);
  if (!same_mode.empty()) return noise_floor(same_mode);
  // The only cell: its own twin, and no better than 1 %.
  return std::max(0.01, noise_floor(std::vector{cell.ratio.value}));
}

}  // namespace

bool same_cell(const row& a, const row& b) { return cell_of(a) == cell_of(b); }

double ceiling::median_us() const { return median(joined(*this)); }

double ceiling::drift() const {
  if (before.empty() || after.empty()) return 0;
  const double first = median(before);
  return std::abs(median(after) - first) / first;
}

const ceiling* ceiling_of(const findings& found, const problem& about, mode how) {
  const auto roofs = bounding_roofs(about);
  const ceiling* fastest = nullptr;
  for (const ceiling& one : found.ceilings) {
    if (one.mode != how || one.bytes != about.footprint() || joined(one).empty()) continue;
    if (!std::count(roofs.begin(), roofs.end(), one.kind)) continue;
    if (fastest == nullptr || one.median_us() < fastest->median_us()) fastest = &one;
  }
  return fastest;
}

bool beats_ceiling(double low_us, double ceiling_low_us) {
  return low_us < ceiling_low_us / 1.03 && low_us < ceiling_low_us - 0.5;
}

void compare(findings& found, double peak_gb_per_s) {
  using cell = decltype(cell_of(std::declval<row>()));
  std::map<cell, std::vector<row*>> cells;
  for (auto& one : found.rows) {
    if (!one.timed()) continue;
    one.summary = summarise(one.samples.accepted);
    cells[cell_of(one)].push_back(&one);
    const double gb_per_s = static_cast<double>(one.about.bytes()) / one.summary.median * 1e-3;
    if (one.mode == mode::host) continue;
    if (peak_gb_per_s > 0) one.percent_of_peak = 100 * gb_per_s / peak_gb_per_s;
    const ceiling* const roof = ceiling_of(found, one.about, one.mode);
    if (roof == nullptr) continue;
    const auto about = summarise(joined(*roof));
    one.ceiling_us = about.median;
    one.percent_of_ceiling = 100 * about.median / one.summary.median;
    one.implausible = beats_ceiling(one.summary.low, about.low);
  }

  found.twins.clear();
  std::map<cell, double> floors;
  std::vector<cell> cells_of_twins;
  for (const auto& [key, members] : cells) {
    const auto twin = std::find_if(members.begin(), members.end(), [](const row* one) { return one->twin; });
    if (twin == members.end()) continue;
    const auto original = std::find_if(members.begin(), members.end(),
                                       [&](const row* one) { return !one->twin && one->record == (*twin)->record; });
    if (original == members.end()) continue;
    found.twins.push_back({(*twin)->about, (*twin)->mode,
                           ratio_of_medians((*original)->samples.accepted, (*twin)->samples.accepted, ratio_confidence),
                           0});
    cells_of_twins.push_back(key);
  }
  found.twins.insert(found.twins.end(), found.earlier_twins.begin(), found.earlier_twins.end());
  for (auto& one : found.twins) one.floor = floor_for(found.twins, one);
  for (std::size_t i = 0; i < cells_of_twins.size(); ++i) floors[cells_of_twins[i]] = found.twins[i].floor;

  for (const auto& [key, members] : cells) {
    const row* fastest = nullptr;
    for (const row* one : members) {
      if (is_cub(*one->record) && !one->twin && (fastest == nullptr || one->summary.median < fastest->summary.median))
        fastest = one;
    }
    if (fastest == nullptr) continue;
    for (row* one : members) {
      if (one == fastest) {
        one->speedup = ratio{1, 1, 1};
        one->verdict = "SAME";
        continue;
      }
      one->speedup = ratio_of_medians(fastest->samples.accepted, one->samples.accepted, ratio_confidence);
      const auto floor = floors.find(key);
      one->verdict = verdict(*one->speedup, floor == floors.end() ? 0.01 : floor->second);
    }
  }
}

json identify(const problem& about, mode how) {
  json entry;
  entry["operation"] = text(name(about.operation));
  entry["operator"] = text(name(about.op));
  entry["input_type"] = text(name(about.input_type));
  entry["accumulator_type"] = text(name(about.accumulator_type));
  entry["output_type"] = text(name(about.output_type));
  entry["items"] = about.num_items;
  entry["shape"] = to_text(about.shape);
  entry["distribution"] = text(name(about.distribution));
  entry["mode"] = text(name(how));
  return entry;
}

json identify(const catalog::record& record, const problem& about, mode how) {
  json entry;
  entry["family"] = text(name(record.family));
  entry["rung"] = text(record.rung);
  entry.update(identify(about, how));
  return entry;
}

namespace {

json variant_to_json(const catalog::record& one) {
  json entry;
  entry["family"] = text(name(one.family));
  entry["ladder"] = text(one.ladder);
  entry["rung"] = text(one.rung);
  entry["number"] = one.number;
  entry["source"] = text(one.source);
  entry["idea"] = text(one.idea);
  entry["block_threads"] = one.block_threads;
  entry["blocks_per_multiprocessor"] = one.blocks_per_multiprocessor;
  entry["items_per_thread"] = one.items_per_thread;
  entry["deterministic"] = one.deterministic;
  entry["min_cc"] = one.min_cc;
  entry["workspace_contract"] = text(catalog::name(one.temp_storage));
  entry["waits_for_host"] = one.waits_for_host;
  entry["progress"] = one.forward_progress == progress::guaranteed ? "guaranteed" : "assumed";
  entry["executes_on"] = one.executes_on == executor::device ? "device" : "host";
  return entry;
}

json floor_to_json(const ceiling& one, const summary_of_samples& all) {
  json entry;
  entry["mode"] = text(name(one.mode));
  entry["kind"] = "empty";
  entry["median_us"] = number(all.median);
  entry["low_us"] = number(all.low);
  entry["high_us"] = number(all.high);
  return entry;
}

json ceiling_to_json(const ceiling& one, const summary_of_samples& all) {
  json entry;
  entry["kind"] = text(name(one.kind));
  entry["mode"] = text(name(one.mode));
  entry["bytes"] = one.bytes;
  entry["before_us"] = number(median(one.before));
  entry["after_us"] = number(median(one.after));
  entry["low_us"] = number(all.low);
  entry["high_us"] = number(all.high);
  entry["gb_per_s"] = number(static_cast<double>(one.bytes) / all.median * 1e-3);
  entry["drift_percent"] = number(100 * one.drift());
  entry["marked"] = one.drift() > largest_drift;
  return entry;
}

json twin_to_json(const twin_pair& one) {
  json entry = identify(one.about, one.mode);
  entry["ratio"] = number(one.ratio.value);
  entry["low"] = number(one.ratio.low);
  entry["high"] = number(one.ratio.high);
  entry["noise_floor"] = number(one.floor);
  entry["different"] = one.different();
  return entry;
}

void add_launch(json& entry, const launch_shape& largest) {
  entry["blocks"] = largest.blocks;
  entry["block_threads"] = largest.block_threads;
  entry["cluster_blocks"] = largest.cluster_blocks;
  entry["cooperative"] = largest.cooperative;
  if (!largest.needs) return;
  entry["registers"] = largest.needs->registers;
  entry["shared_bytes"] = largest.needs->shared_bytes;
  entry["occupancy"] = number(largest.needs->occupancy);
}

json row_to_json(const row& one, const run_facts& about) {
  const bool timed = one.timed();
  const auto time = [&](double value) { return timed ? number(value) : json(nullptr); };
  const auto speedup = [&](double ratio::*part) {
    return one.speedup && timed ? number((*one.speedup).*part) : json(nullptr);
  };
  json entry = identify(*one.record, one.about, one.mode);
  entry["median_us"] = time(one.summary.median);
  entry["low_us"] = time(one.summary.low);
  entry["high_us"] = time(one.summary.high);
  entry["samples"] = one.samples.accepted.size();
  entry["set_aside"] = one.samples.set_aside.size();
  entry["bytes"] = one.about.bytes();
  entry["gb_per_s"] = time(static_cast<double>(one.about.bytes()) / one.summary.median * 1e-3);
  entry["percent_of_ceiling"] = timed ? number(one.percent_of_ceiling) : json(nullptr);
  entry["percent_of_peak"] = timed ? number(one.percent_of_peak) : json(nullptr);
  entry["speedup_over_cub"] = speedup(&ratio::value);
  entry["speedup_low"] = speedup(&ratio::low);
  entry["speedup_high"] = speedup(&ratio::high);
  entry["verdict"] = timed ? one.verdict : "";
  entry["verified"] = yes_no(one.verified);
  entry["error"] = number(one.error_ulps);
  entry["repeatable"] = yes_no(one.repeatable);
  entry["kernels"] = one.launches ? json(one.launches->kernels) : json(nullptr);
  entry["workspace_bytes"] = one.workspace_bytes;
  entry["workspace_contract"] = text(catalog::name(one.record->temp_storage));
  entry["gpu"] = about.gpu;
  entry["commit"] = about.commit;
  entry["run"] = about.run;
  entry["ladder"] = text(one.record->ladder);
  entry["iqr_us"] = time(one.summary.iqr);
  entry["min_us"] = time(one.summary.min);
  entry["p95_us"] = time(one.summary.p95);
  if (one.launches && one.launches->largest) add_launch(entry, *one.launches->largest);
  if (timed && one.energy_uj) entry["energy_uj"] = number(one.energy_uj);
  entry["implausible"] = one.implausible;
  entry["twin"] = one.twin;
  if (!one.defect.empty()) entry["defect"] = one.defect;
  if (!one.fault.empty()) entry["fault"] = one.fault;
  return entry;
}

json omission_to_json(const omission& one) {
  json entry;
  entry["family"] = text(name(one.record->family));
  entry["ladder"] = text(one.record->ladder);
  entry["rung"] = text(one.record->rung);
  entry["operation"] = text(name(one.record->operation));
  entry["operator"] = text(name(one.record->op));
  entry["input_type"] = text(name(one.record->input_type));
  entry["accumulator_type"] = text(name(one.record->accumulator_type));
  entry["items"] = one.num_items ? json(*one.num_items) : json(nullptr);
  entry["shape"] = to_text(one.shape);
  entry["distribution"] = one.num_items ? text(name(one.distribution)) : json("");
  entry["mode"] = one.mode ? text(name(*one.mode)) : json("");
  entry["reason"] = one.reason;
  return entry;
}

}  // namespace

json to_json(const findings& found, const run_facts& about, const std::vector<const catalog::record*>& variants) {
  json file;
  file["schema"] = "rungs.results/1";
  file["run"] = about.run;
  file["complete"] = about.complete;
  file["seconds"] = number(about.seconds);
  file["arguments"] = about.arguments;
  file["gpu"] = about.gpu;
  file["commit"] = about.commit;
  file["context"] = about.context;
  for (const char* part : {"variants", "ceilings", "floors", "twins", "rows", "skipped"}) file[part] = json::array();
  for (const auto* one : variants) file["variants"].push_back(variant_to_json(*one));
  for (const auto& one : found.ceilings) {
    const auto all = summarise(joined(one));
    if (all.count == 0) continue;
    if (one.kind == operation::empty)
      file["floors"].push_back(floor_to_json(one, all));
    else
      file["ceilings"].push_back(ceiling_to_json(one, all));
  }
  for (const auto& one : found.twins) file["twins"].push_back(twin_to_json(one));
  for (const auto& one : found.rows) file["rows"].push_back(row_to_json(one, about));
  for (const auto& one : found.omissions) file["skipped"].push_back(omission_to_json(one));
  return file;
}

std::string to_text(const json& file) {
  std::string text = "{";
  const auto separate = [&](const char* indent) {
    text += (text.ends_with('{') || text.ends_with('[') ? "" : ",") + std::string(indent);
  };
  for (const auto& [key, value] : file.items()) {
    separate("\n ");
    text += json(key).dump() + ": ";
    const bool lines = value.is_object() || (value.is_array() && !value.empty() && value[0].is_object());
    if (!lines || value.empty()) {
      text += value.dump();
      continue;
    }
    text += value.is_object() ? '{' : '[';
    for (const auto& [name, entry] : value.items()) {
      separate("\n  ");
      if (value.is_object()) text += json(name).dump() + ": ";
      text += entry.dump();
    }
    text += value.is_object() ? "\n }" : "\n ]";
  }
  return text + "\n}\n";
}

json samples_to_json(const findings& found, const run_facts& about) {
  json file;
  file["schema"] = "rungs.samples/1";
  file["run"] = about.run;
  file["rows"] = json::array();
  const auto rounded = [](const std::vector<double>& samples) {
    json all = json::array();
    for (const double sample : samples) all.push_back(std::round(sample * 1e4) / 1e4);
    return all;
  };
  for (const auto& one : found.rows) {
    if (!one.timed()) continue;
    json entry;
    entry["case"] = case_name(one.about, *one.record, one.mode);
    entry["twin"] = one.twin;
    entry["samples_us"] = rounded(one.samples.accepted);
    entry["set_aside_us"] = rounded(one.samples.set_aside);
    file["rows"].push_back(entry);
  }
  return file;
}

void write_atomically(const std::filesystem::path& path, const std::string& bytes) {
  const auto fail = [&](const std::string& what) {
    return usage_error(path.string() + ": " + what + ": " + std::strerror(errno) + "; write elsewhere");
  };
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  auto aside = path;  // no other program's, should two write the same result
  aside += "." + std::to_string(getpid()) + ".part";
  const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw fail("cannot write");
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const bool stored = written == bytes.size() && fsync(file) == 0;
  const bool closed = close(file) == 0;
  if (!stored || !closed || std::rename(aside.c_str(), path.c_str()) != 0) {
    const auto error = fail("cannot write");
    unlink(aside.c_str());
    throw error;
  }
}

void write_gzip_atomically(const std::filesystem::path& path, const std::string& bytes) {
  z_stream deflate_state{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&deflate_state, 9, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib failed to start");
  std::string packed(deflateBound(&deflate_state, bytes.size()), '\0');
  deflate_state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  deflate_state.avail_in = static_cast<uInt>(bytes.size());
  deflate_state.next_out = reinterpret_cast<Bytef*>(packed.data());
  deflate_state.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&deflate_state, Z_FINISH);
  packed.resize(deflate_state.total_out);
  deflateEnd(&deflate_state);
  if (ended != Z_STREAM_END) throw std::runtime_error("zlib failed to compress the samples");
  write_atomically(path, packed);
}

}  // namespace rungs::bench
