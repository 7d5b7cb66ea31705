#include "planner.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <tuple>

#include "check.hpp"
#include "sizes.hpp"

namespace rungs::bench {
namespace {

using catalog::op;
using catalog::scalar;

constexpr std::size_t ladder_sizes[] = {std::size_t{1} << 20, std::size_t{16} << 20, std::size_t{256} << 20};
constexpr std::size_t odd_sizes[] = {1000, 100'000, 10'000'019, (std::size_t{1} << 24) + 1};

std::vector<std::size_t> powers_of_two(int step) {
  std::vector<std::size_t> sizes;
  for (int exponent = 10; exponent <= 30; exponent += step) sizes.push_back(std::size_t{1} << exponent);
  return sizes;
}

// One line of the suite: records that answer the same question.
struct question {
  catalog::operation operation;
  op combine;
  scalar input, accumulator, output;
  bool on_host;
  auto operator<=>(const question&) const = default;
};

question question_of(const catalog::record& record) {
  return {record.operation,        record.op,          record.input_type,
          record.accumulator_type, record.output_type, record.executes_on == executor::host};
}

bool is_basic(const question& line) {
  return line.input == line.accumulator && (line.input == scalar::f32 || line.input == scalar::i32);
}

bool is_sum(const question& line) { return line.combine == op::plus || line.combine == op::compose; }

bool is_ladder_size(std::size_t size) { return std::count(std::begin(ladder_sizes), std::end(ladder_sizes), size) > 0; }

bool is_swept(std::size_t size) {
  const auto sizes = powers_of_two(2);
  return is_ladder_size(size) || std::count(sizes.begin(), sizes.end(), size) > 0;
}

// The whole sweep for sums of floats, every second power of two for the other sums, and a few sizes for the rest.
std::vector<std::size_t> reduction_sizes(const question& line) {
  if (is_sum(line)) return powers_of_two(2);
  if (!is_basic(line)) return {ladder_sizes[0], ladder_sizes[1]};
  std::vector<std::size_t> sizes = {std::size_t{64} << 10, ladder_sizes[0], ladder_sizes[1], ladder_sizes[2]};
  if (!line.on_host) sizes.push_back(std::size_t{1} << 10);
  return sizes;
}

// Likewise. Exclusive scans of other types, or with other operators, are left to --full.
std::vector<std::size_t> scan_sizes(const question& line) {
  constexpr std::size_t Ki = 1024;
  const bool inclusive = line.operation == catalog::operation::inclusive_scan;
  if (line.combine == op::plus && is_basic(line)) {
    if (inclusive) return powers_of_two(2);
    return {64 * Ki, ladder_sizes[0], ladder_sizes[1], ladder_sizes[2]};
  }
  if (!inclusive) return {};
  if (is_sum(line)) return {4 * Ki, 64 * Ki, ladder_sizes[0], ladder_sizes[1], ladder_sizes[2]};
  return {ladder_sizes[0], ladder_sizes[1]};
}

std::vector<std::size_t> default_sizes(const question& line, bool full) {
  const bool scan = catalog::is_scan(line.operation), exclusive = line.operation == catalog::operation::exclusive_scan;
  const bool whole_sweep = line.input == scalar::f32 && line.combine == op::plus && !line.on_host && !exclusive;
  std::vector<std::size_t> sizes = scan ? scan_sizes(line) : reduction_sizes(line);
  if (full || whole_sweep) {
    sizes = powers_of_two(1);
    sizes.insert(sizes.end(), std::begin(odd_sizes), std::end(odd_sizes));
  }
  if (line.on_host) std::erase_if(sizes, [](std::size_t size) { return size > largest_host_items; });
  return sizes;
}

// Warm and graph for sums of floats at every second power of two, and for integers' reductions at the ladder's sizes.
std::vector<mode> default_modes(const question& line, std::size_t size, bool full) {
  if (line.on_host) return {mode::host};
  const bool reduction = line.operation == catalog::operation::reduce;
  const bool all = line.combine == op::plus && is_basic(line) && line.operation != catalog::operation::exclusive_scan &&
                   (line.input == scalar::f32 ? is_swept(size) : reduction && is_ladder_size(size));
  if (full || all) return {mode::cold, mode::warm, mode::graph};
  return {mode::cold};
}

// Where the ladder is shown: every rung, however slow.
bool shows_ladder(const question& line, std::size_t size) {
  if (!is_basic(line) || line.combine != op::plus || !is_ladder_size(size)) return false;
  if (line.operation == catalog::operation::inclusive_scan) return line.input == scalar::f32 || size == ladder_sizes[1];
  return line.operation == catalog::operation::reduce;
}

// The ladder's sizes first, then the others spread: 1/2, 1/4, 3/4, 1/8 … of the way. A run that ends early has seen
// small and large, and the limit of a slow rung is known before the largest sizes come.
std::vector<std::size_t> spread(std::vector<std::size_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::size_t> ordered, others;
  for (const std::size_t size : sizes) (is_ladder_size(size) ? ordered : others).push_back(size);
  std::vector<bool> taken(others.size());
  for (std::size_t denominator = 2; std::count(taken.begin(), taken.end(), false) > 0; denominator *= 2) {
    for (std::size_t numerator = 1; numerator < denominator; numerator += 2) {
      const std::size_t i = others.size() * numerator / denominator;
      if (taken[i]) continue;
      taken[i] = true;
      ordered.push_back(others[i]);
    }
  }
  return ordered;
}

int priority(const question& line) {
  return (line.on_host ? 100 : 0) + (is_sum(line) ? 0 : 10) +
         (is_basic(line) ? (line.input == scalar::f32 ? 0 : 1) : 2);
}

bool wants_type(const selection& wanted, const catalog::record& record) {
  return wanted.types.empty() || std::any_of(wanted.types.begin(), wanted.types.end(), [&](const std::string& type) {
           return type == name(record.input_type) || type == types_name(record);
         });
}

void refuse_unknown_types(std::span<const catalog::record> records, const selection& wanted) {
  for (const auto& type : wanted.types) {
    std::set<std::string> known;
    for (const auto& record : records) {
      known.insert(types_name(record));
      known.insert(std::string(name(record.input_type)));
    }
    if (known.contains(type)) continue;
    std::string list;
    for (const auto& one : known) list += (list.empty() ? "" : ", ") + one;
    throw usage_error("--types: the catalog has no type '" + type + "'; it has " + list);
  }
}

std::regex compile(const std::string& filter) {
  try {
    return std::regex(filter);
  } catch (const std::regex_error& error) {
    throw usage_error("--filter: '" + filter + "' is not a regular expression: " + error.what());
  }
}

std::size_t host_memory_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The flush buffer, and half of the rest for each of the two buffers, in nine tenths of what is free: problems that fit
// by themselves fit together.
bool fits(const problem& about, const device_facts& device) {
  const std::size_t reserve = event_bench::flush_bytes(device) + (std::size_t{256} << 20);
  const std::size_t usable = device.free_bytes / 10 * 9;
  const std::size_t larger = std::max(about.input_buffer_bytes(), about.output_buffer_bytes());
  return usable > reserve && larger <= (usable - reserve) / 2;
}

bool has(const std::vector<catalog::operation>& roofs, catalog::operation kind) {
  return std::count(roofs.begin(), roofs.end(), kind) > 0;
}

}  // namespace

std::vector<catalog::operation> bounding_roofs(const problem& about) {
  using catalog::operation;
  if (!catalog::is_scan(about.operation)) return {operation::stream_read};
  const std::size_t in = catalog::size_of(about.input_type), out = catalog::size_of(about.output_type);
  if (in == out) return {operation::copy};
  return {operation::copy, out > in ? operation::fill : operation::stream_read};
}

std::vector<catalog::operation> measured_roofs(const problem& about) {
  using catalog::operation;
  if (catalog::is_scan(about.operation)) return bounding_roofs(about);
  return {operation::stream_read, operation::copy, operation::fill};
}

std::size_t problem::input_buffer_bytes() const {
  const std::size_t by_roofs =
      has(measured_roofs(*this), catalog::operation::stream_read) ? footprint() : footprint() / 2;
  return std::max(input_bytes(), by_roofs);
}

std::size_t problem::output_buffer_bytes() const {
  const std::size_t by_roofs = has(measured_roofs(*this), catalog::operation::fill) ? footprint() : footprint() / 2;
  return std::max(output_bytes(), by_roofs);
}

device_facts imaginary_device() {
  device_facts device;
  device.name = "any";
  device.compute_capability = 1000;
  device.multiprocessors = 1;
  device.l2_bytes = std::size_t{60} << 20;
  device.memory_bytes = device.free_bytes = std::size_t{1} << 50;
  return device;
}

bool is_cub(const catalog::record& record) { return record.rung.starts_with("cub_device"); }

std::string types_name(const catalog::record& record) {
  std::string text(name(record.input_type));
  if (record.accumulator_type != scalar::none && record.accumulator_type != record.input_type)
    text += ":" + std::string(name(record.accumulator_type));
  return text;
}

std::string case_name(const problem& about, const catalog::record& record, mode how) {
  std::string text(name(about.operation));
  if (about.op != op::none) text += "/" + std::string(name(about.op));
  return text + "/" + types_name(record) + "/n=" + format_size(about.num_items) + "/" +
         std::string(name(record.family)) + "/" + std::string(record.rung) + "/" + std::string(name(how));
}

run_plan make_plan(std::span<const catalog::record> records, const selection& wanted,
                   const std::optional<device_facts>& device, const std::string& why_no_device) {
  refuse_unknown_types(records, wanted);
  const std::regex filter = compile(wanted.filter);
  const device_facts target = device.value_or(imaginary_device());

  std::map<question, std::vector<const catalog::record*>> lines;
  for (const auto& record : records) {
    const bool computes = record.operation == catalog::operation::reduce || catalog::is_scan(record.operation);
    if (computes && wants_type(wanted, record)) lines[question_of(record)].push_back(&record);
  }
  std::vector<question> order;
  for (const auto& [line, members] : lines) order.push_back(line);
  std::stable_sort(order.begin(), order.end(),
                   [](const question& a, const question& b) { return priority(a) < priority(b); });

  run_plan plan;
  std::size_t num_matching = 0, visit = 0;
  std::set<const catalog::record*> without_device;
  for (const question& line : order) {
    const auto sizes = spread(wanted.sizes.empty() ? default_sizes(line, wanted.full) : wanted.sizes);
    for (const std::size_t size : sizes) {
      auto modes = wanted.modes.empty() ? default_modes(line, size, wanted.full) : wanted.modes;
      if (wanted.dirty_flush && !std::count(modes.begin(), modes.end(), mode::dirty)) modes.push_back(mode::dirty);
      std::erase_if(modes, [&](mode how) { return (how == mode::host) != line.on_host; });
      problem about{.operation = line.operation,
                    .op = line.combine,
                    .input_type = line.input,
                    .accumulator_type = line.accumulator,
                    .output_type = line.output,
                    .num_items = size,
                    .on_host = line.on_host,
                    .every_rung = wanted.full || !wanted.sizes.empty() || shows_ladder(line, size),
                    .modes = {},
                    .contenders = {}};
      std::vector<bench_case> cases;
      const auto omit = [&](const catalog::record* record, std::optional<mode> how, std::string reason) {
        plan.omissions.push_back({record, size, how, std::move(reason)});
      };
      for (const mode how : modes) {
        const bool cached = how == mode::warm || how == mode::graph;
        if (cached && about.footprint() > largest_warm_bytes(target.l2_bytes)) continue;
        std::vector<bench_case> cell;
        bool any = false;
        for (const auto* record : lines[line]) {
          const auto text = case_name(about, *record, how);
          const bool asked_for = std::regex_search(text, filter);
          if (!asked_for && !is_cub(*record)) continue;
          any = any || asked_for;
          cell.push_back({0, record, how, text, asked_for});
        }
        if (any) cases.insert(cases.end(), cell.begin(), cell.end());
      }
      num_matching += cases.size();
      if (cases.empty()) continue;

      if (!wanted.sizes.empty() && !device && about.bytes() > host_memory_bytes())
        throw usage_error("--sizes: " + format_size(size) +
                          " items do not fit the memory of this machine; leave that size out");
      if (!line.on_host && !device) {
        for (const auto& one : cases) {
          if (one.asked_for && without_device.insert(one.record).second)
            plan.omissions.push_back({one.record, std::nullopt, std::nullopt, "no usable GPU: " + why_no_device});
        }
        continue;
      }
      if (line.on_host ? size > largest_host_items : !fits(about, target)) {
        const std::string reason =
            line.on_host ? "host baselines are measured up to " + format_size(largest_host_items) + " items"
                         : format_size(size) + " items do not fit the memory of " + target.name;
        if (!line.on_host && !wanted.sizes.empty()) throw usage_error("--sizes: " + reason + "; leave that size out");
        for (const auto& one : cases) omit(one.record, one.mode, reason);
        continue;
      }
      if (static_cast<int>(visit++ % static_cast<std::size_t>(wanted.num_shards)) != wanted.shard - 1) continue;
      std::erase_if(cases, [&](const bench_case& one) {
        std::string reason;
        if (!line.on_host && one.record->min_cc > target.compute_capability)
          reason = "needs compute capability " + std::to_string(one.record->min_cc) + "; this GPU has " +
                   std::to_string(target.compute_capability);
        if (size > one.record->max_items) reason = "takes at most " + std::to_string(one.record->max_items) + " items";
        if (one.mode == mode::graph && one.record->waits_for_host)
          reason = "waits for the host, so it cannot be captured in a graph";
        if (!reason.empty()) omit(one.record, one.mode, reason);
        return !reason.empty();
      });
      for (auto& one : cases) {
        one.problem = plan.problems.size();
        if (!std::count(about.contenders.begin(), about.contenders.end(), one.record))
          about.contenders.push_back(one.record);
        if (!std::count(about.modes.begin(), about.modes.end(), one.mode)) about.modes.push_back(one.mode);
      }
      if (cases.empty()) continue;
      plan.problems.push_back(std::move(about));
      plan.cases.insert(plan.cases.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
    }
  }
  if (num_matching == 0) {
    throw usage_error(wanted.filter.empty()
                          ? "these --modes, --sizes and --types leave nothing to measure"
                          : "--filter: no case matches '" + wanted.filter + "'; --list shows their names");
  }
  return plan;
}

}  // namespace rungs::bench
