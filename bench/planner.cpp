#include "planner.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "check.hpp"
#include "rules.hpp"
#include "sizes.hpp"

namespace rungs::bench {
namespace {

using catalog::op;
using catalog::scalar;

// One line of the suite: what records compute that answer the same question, without sizes and bins.
struct line {
  problem about;
  std::vector<const catalog::record*> members;
};

problem line_of(const catalog::record& record) {
  problem about{.operation = record.operation,
                .op = record.op,
                .input_type = record.input_type,
                .accumulator_type = record.accumulator_type,
                .output_type = record.output_type,
                .on_host = record.executes_on == executor::host};
  if (record.num_channels > 1)
    about.shape = {{{"channels", static_cast<std::size_t>(record.num_channels)},
                    {"active", static_cast<std::size_t>(record.num_active_channels)}}};
  return about;
}

std::string plan_of(const selection& wanted) { return wanted.full ? "full" : std::string(name(wanted.grid)); }

bool is_hard(distribution from) {  // the four that every headline is measured with
  return from == distribution::uniform || from == distribution::constant || from == distribution::eight_hot ||
         from == distribution::zipf;
}

// One shape and distribution of a line, and its sizes.
struct setting {
  problem about;
  std::vector<std::size_t> sizes;
};

std::vector<distribution> distributions_of(const problem& line) {
  if (!catalog::is_histogram(line.operation)) return {distribution::uniform};
  std::vector<distribution> all(std::begin(all_distributions), std::end(all_distributions));
  if (!has_outside(line.input_type)) std::erase(all, distribution::out_of_range);
  return all;
}

std::vector<shape> shapes_of(const problem& line, const selection& wanted, const device_facts& target) {
  std::vector<shape> shapes;
  for (const std::size_t bins : wanted.bins) shapes.push_back({{{"bins", bins}}});
  if (shapes.empty()) shapes = rules::shapes(plan_of(wanted), line, static_cast<std::size_t>(target.multiprocessors));
  for (shape& one : shapes)
    one.dimensions.insert(one.dimensions.end(), line.shape.dimensions.begin(), line.shape.dimensions.end());
  return shapes;
}

// Whether what was asked for and has no sizes in the plan gets those of the ladder. Bins that were asked for and no
// distributions: with the hard ones. The other way round: with the bins that the default suite has.
bool gets_the_ladder(problem about, const selection& wanted) {
  if (wanted.grid != grid::none || (wanted.bins.empty() && wanted.distributions.empty())) return false;
  if (!wanted.bins.empty()) return !wanted.distributions.empty() || is_hard(about.distribution);
  return wanted.full || std::ranges::any_of(all_distributions, [&](distribution any) {
           about.distribution = any;
           return !rules::sizes("", about).empty();
         });
}

std::vector<setting> settings_of(const problem& line, const selection& wanted, const device_facts& target) {
  const bool histogram = catalog::is_histogram(line.operation);
  const bool flat = line.operation == catalog::operation::reduce || catalog::is_scan(line.operation);
  std::vector<setting> settings;
  if (!histogram && !wanted.bins.empty()) return settings;
  for (const shape& of : shapes_of(line, wanted, target)) {
    for (const distribution from : distributions_of(line)) {
      if (!wanted.distributions.empty() && std::ranges::count(wanted.distributions, from) == 0) continue;
      problem about = line;
      about.shape = of;
      about.distribution = from;
      auto sizes = rules::sizes(plan_of(wanted), about);
      if (catalog::has_rows(line.operation)) {
        const std::size_t size = of["rows"] * of["columns"];
        if (wanted.sizes.empty() || std::ranges::count(wanted.sizes, size) > 0) settings.push_back({about, {size}});
        continue;
      }
      if (sizes.empty() && histogram && gets_the_ladder(about, wanted)) sizes = rules::ladder();
      // Sizes that were asked for are those of every reduction and scan, and of what the plan has of the others.
      if (sizes.empty() && !flat) continue;
      if (!wanted.sizes.empty()) sizes = wanted.sizes;
      if (line.on_host && wanted.sizes.empty())
        std::erase_if(sizes, [](std::size_t size) { return size > largest_host_items; });
      settings.push_back({std::move(about), std::move(sizes)});
    }
  }
  return settings;
}

// The ladder's sizes first, then the others spread: 1/2, 1/4, 3/4, 1/8 … of the way. A run that ends early has seen
// small and large, and the limit of a slow rung is known before the largest sizes come.
std::vector<std::size_t> spread(std::vector<std::size_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::size_t> ordered, others;
  for (const std::size_t size : sizes)
    (std::ranges::count(rules::ladder(), size) > 0 ? ordered : others).push_back(size);
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

// Every size of every setting: sizes spread, and at each of them the settings in their order. Of a grid ascending: what
// is slow is known for it before the large sizes come, and there is little else that is left out.
std::vector<problem> visits(const std::vector<setting>& settings, bool ascending) {
  std::vector<std::size_t> sizes;
  for (const setting& one : settings) sizes.insert(sizes.end(), one.sizes.begin(), one.sizes.end());
  std::vector<problem> all;
  sizes = spread(sizes);
  if (ascending) std::sort(sizes.begin(), sizes.end());
  for (const std::size_t size : sizes) {
    for (const setting& one : settings) {
      if (std::ranges::count(one.sizes, size) == 0) continue;
      all.push_back(one.about);
      all.back().num_items = size;
    }
  }
  return all;
}

int priority(const problem& line) { return rules::order(line) + (line.on_host ? 100 : 0); }

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

// What a chain is made of differs from group to group: who does not take one is no contender there.
bool takes_part(const catalog::record& record, const shape& of) {
  return record.takes_group == nullptr || record.takes_group(std::max<std::size_t>(1, of["blocks"]), of["threads"]);
}

// Whom a grid compares: CUB, the rungs that a captured call may come to, and their choice.
bool enters_grids(const catalog::record& record) {
  const bool ours = record.family != catalog::family::library_baselines && record.ladder != "launch_sweep";
  return is_cub(record) || (ours && !record.waits_for_host);
}

// Of a grid's contenders those that a pilot finds fastest: so many that ask alike of their storage.
std::size_t most_rungs(grid of) { return of == grid::none ? 0 : of == grid::held_out ? 3 : 4; }

bool has(const std::vector<catalog::operation>& roofs, catalog::operation kind) {
  return std::count(roofs.begin(), roofs.end(), kind) > 0;
}

// Whether a mode that keeps its data in the L2 cache could not.
bool is_uncached(const problem& about, mode how, const device_facts& target) {
  return (how == mode::warm || how == mode::graph) && about.footprint() > largest_warm_bytes(target.l2_bytes);
}

}  // namespace

std::vector<catalog::operation> bounding_roofs(const problem& about) {
  using catalog::operation;
  if (about.reads_nothing()) return {};
  if (about.operation == operation::row_norm) return {operation::copy};
  if (about.operation == operation::select_if) return {operation::copy, operation::stream_read};
  if (!catalog::is_scan(about.operation)) return {operation::stream_read};
  const std::size_t in = catalog::size_of(about.input_type), out = catalog::size_of(about.output_type);
  if (in == out) return {operation::copy};
  if (in == 1 && out == 4) return {operation::widen_bytes};
  if (in == 2 && out == 4) return {operation::widen_halves};
  return {operation::copy, out > in ? operation::fill : operation::stream_read};
}

std::vector<catalog::operation> measured_roofs(const problem& about) {
  using catalog::operation;
  if (about.operation != operation::reduce) return bounding_roofs(about);
  return {operation::stream_read, operation::copy, operation::fill};
}

// What the roofs that are measured at a footprint take of a buffer: all of it for its own roof, half of it for a copy,
// and what the calls take for one that widens.
std::size_t bytes_for_roofs(const problem& about, catalog::operation whole) {
  const auto roofs = measured_roofs(about);
  if (has(roofs, whole)) return about.footprint();
  return has(roofs, catalog::operation::copy) ? about.footprint() / 2 : 0;
}

std::size_t problem::input_buffer_bytes() const {
  const std::size_t offset_bytes = shape["offset"] * catalog::size_of(input_type);
  // Where there is a second input, memory holds as many items of it, whatever the calls read.
  const std::size_t item_bytes = num_items * catalog::size_of(input_type);
  const std::size_t second_bytes = has_second() ? offset_bytes + input_alignment + item_bytes : 0;
  return std::max(offset_bytes + (reads_nothing() ? 0 : item_bytes) + second_bytes,
                  bytes_for_roofs(*this, catalog::operation::stream_read));
}

std::size_t problem::output_buffer_bytes() const {
  const std::size_t offset_bytes = shape["offset"] * catalog::size_of(output_type);
  // A selection has room for all items, however few are chosen.
  const std::size_t room = operation == catalog::operation::select_if ? input_bytes() + catalog::count_room_bytes : 0;
  return std::max({offset_bytes + output_bytes(), room, bytes_for_roofs(*this, catalog::operation::fill)});
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

bool is_front_door(const catalog::record& record) { return record.ladder.starts_with("front_door_of_"); }

std::string types_name(const catalog::record& record) {
  std::string text(name(record.input_type));
  if (catalog::is_histogram(record.operation)) return text;
  if (record.accumulator_type != scalar::none && record.accumulator_type != record.input_type)
    text += ":" + std::string(name(record.accumulator_type));
  return text;
}

std::string case_name(const problem& about, const catalog::record& record, mode how) {
  std::string text(name(about.operation));
  if (about.op != op::none) text += "/" + std::string(name(about.op));
  text += "/" + types_name(record);
  if (!about.shape.empty()) text += "/" + to_text(about.shape, '/') + "/" + std::string(name(about.distribution));
  return text + "/n=" + format_size(about.num_items) + "/" + std::string(name(record.family)) + "/" +
         std::string(record.rung) + "/" + std::string(name(how));
}

namespace {

// What is computed, by question: baselines and rungs that answer the same one; questions in the order in which they are
// visited.
std::vector<line> lines_of(std::span<const catalog::record> records, const selection& wanted) {
  std::map<decltype(problem().key()), line> lines;
  for (const auto& record : records) {
    if (!catalog::is_computation(record.operation) || !wants_type(wanted, record)) continue;
    const problem about = line_of(record);
    line& one = lines[about.key()];
    one.about = about;
    one.members.push_back(&record);
  }
  std::vector<line> ordered;
  for (auto& [key, one] : lines) ordered.push_back(std::move(one));
  std::ranges::stable_sort(ordered, {}, [](const line& one) { return priority(one.about); });
  return ordered;
}

std::vector<mode> modes_of(const problem& about, const selection& wanted) {
  auto modes = wanted.modes.empty() ? rules::modes(plan_of(wanted), about) : wanted.modes;
  if (wanted.dirty_flush && !std::count(modes.begin(), modes.end(), mode::dirty)) modes.push_back(mode::dirty);
  std::erase_if(modes, [&](mode how) { return (how == mode::host) != about.on_host; });
  return modes;
}

// The cases of a problem that the filter matches, and CUB beside them.
std::vector<bench_case> matching_cases(const problem& about, std::span<const catalog::record* const> members,
                                       const std::vector<mode>& modes, const selection& wanted,
                                       const std::regex& filter, const device_facts& target) {
  std::vector<bench_case> cases;
  for (const mode how : modes) {
    if (wanted.modes.empty() && is_uncached(about, how, target)) continue;
    std::vector<bench_case> cell;
    bool any = false;
    for (const auto* record : members) {
      if (!takes_part(*record, about.shape) || (wanted.grid != grid::none && !enters_grids(*record))) continue;
      const auto text = case_name(about, *record, how);
      const bool asked_for = std::regex_search(text, filter);
      if (!asked_for && !is_cub(*record)) continue;
      any = any || asked_for;
      cell.push_back({0, record, how, text, asked_for});
    }
    if (any) cases.insert(cases.end(), cell.begin(), cell.end());
  }
  return cases;
}

// Why this machine does not run a problem of so many items; nothing where it does.
std::string why_too_large(const problem& about, const device_facts& target) {
  if (about.on_host && about.num_items > largest_host_items)
    return "host baselines are measured up to " + format_size(largest_host_items) + " items";
  if (!about.on_host && !fits(about, target))
    return format_size(about.num_items) + " items do not fit the memory of " + target.name;
  return {};
}

// Why a record is left out of a problem; nothing where it is not.
std::string why_left_out(const catalog::record& record, const problem& about, mode how, const device_facts& target) {
  std::string reason;
  if (!about.on_host && record.min_cc > target.compute_capability)
    reason = "needs compute capability " + std::to_string(record.min_cc) + "; this GPU has " +
             std::to_string(target.compute_capability);
  if (about.shape["bins"] > static_cast<std::size_t>(record.max_bins))
    reason = "takes at most " + std::to_string(record.max_bins) + " bins";
  if (const std::size_t addresses = about.shape["addresses"]; addresses > record.max_addresses)
    reason = "takes at most " + std::to_string(record.max_addresses) + " addresses";
  else if (addresses != 0 && about.num_items / addresses > record.max_operations_per_address)
    reason = "more than " + std::to_string(record.max_operations_per_address) +
             " operations an address would take seconds or minutes";
  if (const std::size_t k = about.shape["k"]; k > record.max_k)
    reason = "takes k to " + std::to_string(record.max_k);
  else if (k != 0 && about.shape["columns"] > record.max_columns)
    reason = "takes at most " + std::to_string(record.max_columns) + " columns";
  if (is_uncached(about, how, target))
    reason = "reads and writes more than four times the L2 cache, which warm and graph are to show";
  if (about.num_items > record.max_items) reason = "takes at most " + std::to_string(record.max_items) + " items";
  if (how == mode::graph && record.waits_for_host) reason = "waits for the host, so it cannot be captured in a graph";
  return reason;
}

void add(run_plan& plan, problem about, std::vector<bench_case> cases) {
  for (auto& one : cases) {
    one.problem = plan.problems.size();
    if (!std::count(about.contenders.begin(), about.contenders.end(), one.record))
      about.contenders.push_back(one.record);
    if (!std::count(about.modes.begin(), about.modes.end(), one.mode)) about.modes.push_back(one.mode);
  }
  if (cases.empty()) return;
  plan.problems.push_back(std::move(about));
  plan.cases.insert(plan.cases.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
}

}  // namespace

run_plan make_plan(std::span<const catalog::record> records, const selection& wanted,
                   const std::optional<device_facts>& device, const std::string& why_no_device) {
  refuse_unknown_types(records, wanted);
  const auto is_wanted = [&](const catalog::record& one) { return one.rung == wanted.beside; };
  if (!wanted.beside.empty() && std::ranges::none_of(records, is_wanted))
    throw usage_error("--beside: no rung is called '" + wanted.beside + "'; --list shows their names");
  const std::regex filter = parse_filter(wanted.filter);
  const device_facts target = device.value_or(imaginary_device());

  run_plan plan;
  std::size_t num_matching = 0, visit = 0;
  std::set<const catalog::record*> without_device;
  for (const auto& [line, members] : lines_of(records, wanted)) {
    const bool answered = std::ranges::any_of(members, [](const auto* one) { return is_front_door(*one); });
    if (wanted.grid == grid::held_out && !answered) continue;
    const bool solved = std::ranges::any_of(members, [&](const auto* one) { return is_wanted(*one); });
    if (!wanted.beside.empty() && !solved) continue;
    for (problem& about : visits(settings_of(line, wanted, target), wanted.grid != grid::none)) {
      const std::size_t size = about.num_items;
      about.every_rung =
          wanted.grid == grid::none && (wanted.full || !wanted.sizes.empty() || rules::wants_every_rung(about));
      about.most_rungs = most_rungs(wanted.grid);
      about.beside = wanted.beside;
      auto cases = matching_cases(about, members, modes_of(about, wanted), wanted, filter, target);
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
      const auto omit = [&](const bench_case& one, const std::string& reason) {
        plan.omissions.push_back({one.record, size, one.mode, reason, about.shape, about.distribution});
      };
      if (const std::string reason = why_too_large(about, target); !reason.empty()) {
        if (!line.on_host && !wanted.sizes.empty()) throw usage_error("--sizes: " + reason + "; leave that size out");
        for (const auto& one : cases) omit(one, reason);
        continue;
      }
      if (static_cast<int>(visit++ % static_cast<std::size_t>(wanted.num_shards)) != wanted.shard - 1) continue;
      std::erase_if(cases, [&](const bench_case& one) {
        const std::string reason = why_left_out(*one.record, about, one.mode, target);
        if (!reason.empty()) omit(one, reason);
        return !reason.empty();
      });
      add(plan, std::move(about), std::move(cases));
    }
  }
  if (num_matching == 0) {
    throw usage_error(wanted.filter.empty()
                          ? "these --modes, --sizes, --types, --bins and --distributions leave nothing to measure"
                          : "--filter: no case matches '" + wanted.filter + "'; --list shows their names");
  }
  return plan;
}

}  // namespace rungs::bench
