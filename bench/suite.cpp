#include "suite.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "check.hpp"
#include "sizes.hpp"

namespace rungs::bench {
namespace {

constexpr int changed_init = 3;  // of the second verification

std::string in_words(double microseconds) {
  constexpr std::pair<double, const char*> units[] = {{1e6, "s"}, {1e3, "ms"}, {0, "us"}};
  const auto unit = std::ranges::find_if(units, [&](const auto& one) { return microseconds >= one.first; });
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", microseconds / std::max(1.0, unit->first), unit->second);
  return text;
}

// Histograms are where libraries are known to fail. What runs on the host is our own code.
bool may_fail(const catalog::record& record) {
  return catalog::is_histogram(record.operation) && record.family == catalog::family::library_baselines &&
         record.executes_on == executor::device;
}

workload general_input(const problem& about, std::uint64_t seed) {
  return {about.input_type, about.num_items, seed, false};
}
workload changed_input(const problem& about, std::uint64_t seed) {
  return {about.input_type, about.num_items, ~seed, true};
}

}  // namespace

// A contender in a visit.
struct suite::entrant {
  contender bound;
  std::vector<mode> modes;
  std::vector<mode> asked_for;
  std::string defect;
  double error_ulps = 0, pilot_us = 0;
  bool repeatable = false, out = false;
  bool refused = false;  // the defect is an error that the call answered
  std::optional<launched> launches;
  std::vector<std::size_t> rows;  // in findings
};

suite::suite(const run_plan& plan, std::span<const catalog::record> records, const std::optional<device_facts>& device,
             suite_rules rules, std::function<bool()> interrupted)
    : plan_(plan),
      records_(records),
      rules_(rules),
      interrupted_(std::move(interrupted)),
      start_(seconds_now()),
      visited_(plan.problems.size()) {
  found.omissions = plan.omissions;
  bool on_device = false;
  for (const auto& about : plan.problems) {
    num_cells_ += about.modes.size();
    on_device = on_device || !about.on_host;
  }
  host_ = std::make_unique<host_place>();
  if (device && on_device) {
    l2_bytes_ = device->l2_bytes;
    device_ = std::make_unique<device_place>(*device, plan.problems);
    device_->warm_up(rules_.warm_up_seconds);
  }
}

double suite::seconds() const { return seconds_now() - start_; }

std::optional<double> suite::seconds_left() const {
  if (!rules_.budget_seconds) return std::nullopt;
  return std::max(0.0, *rules_.budget_seconds - seconds());
}

bool suite::out_of_time() const { return rules_.budget_seconds && seconds() >= *rules_.budget_seconds; }

bool suite::complete() const {
  return !unfinished_ && std::all_of(visited_.begin(), visited_.end(), [](bool seen) { return seen; });
}

const row* suite::find(const bench_case& one) const {
  const auto at = rows_by_name_.find(one.name);
  return at == rows_by_name_.end() ? nullptr : &found.rows[at->second];
}

std::string suite::why_not(const bench_case& one) const {
  const auto at = reasons_by_name_.find(one.name);
  return at == reasons_by_name_.end() ? "not reached" : at->second;
}

void suite::visit(std::size_t index) {
  if (visited_[index] || interrupted_()) return;
  if (out_of_time()) {
    unfinished_ = true;
    return;
  }
  visited_[index] = true;
  measure(plan_.problems[index], index);
  if (guard != nullptr) guard->rests();
  on_problem();
}

void suite::begins(const std::string& what, const problem& about, const entrant* one, std::optional<mode> how) {
  if (guard == nullptr) return;
  const catalog::record& named = one != nullptr ? *one->bound.record : *about.contenders.front();
  std::string text = case_name(about, named, how.value_or(about.modes.front()));
  if (one == nullptr) {  // the cell has no contender in its name
    const std::string contender = std::string(name(named.family)) + "/" + std::string(named.rung) + "/";
    text.erase(text.find(contender), contender.size());
  }
  guard->begins(text + ", " + what);
  at_work_on_ = &about;
  at_work_ = one;
}

void suite::goes_on() const {
  if (guard != nullptr) guard->goes_on();
}

std::function<bool()> suite::stop() const {
  return [this] {
    goes_on();
    return interrupted_();
  };
}

void suite::give_up(const std::string& reason) {
  unfinished_ = true;
  std::erase_if(found.rows, [](const row& one) { return !one.verified && one.defect.empty(); });
  if (at_work_ == nullptr) return;
  for (const mode how : at_work_->modes)
    found.omissions.push_back(
        {at_work_->bound.record, at_work_on_->num_items, how, reason, at_work_on_->shape, at_work_on_->distribution});
}

void suite::omit(const problem& about, const entrant& one, mode how, const std::string& reason) {
  if (one.bound.twin) return;
  goes_on();
  found.omissions.push_back({one.bound.record, about.num_items, how, reason, about.shape, about.distribution});
  reasons_by_name_[case_name(about, *one.bound.record, how)] = reason;
}

void suite::omit(const problem& about, const entrant& one, const std::string& reason) {
  for (const mode how : one.modes) omit(about, one, how, reason);
}

double suite::predicted_us(const problem& about, const catalog::record& record) const {
  // Below this, launching may cost more than the items do, and nothing can be said about more of them.
  constexpr double dominated_by_items_us = 200;
  const auto known = pilots_.find({&record, about.shape, about.distribution});
  if (known == pilots_.end()) return 0;
  double predicted = 0;
  for (const auto& [size, microseconds] : known->second) {
    if (size <= about.num_items && microseconds >= dominated_by_items_us)
      predicted = microseconds * static_cast<double>(about.num_items) / static_cast<double>(size);
  }
  return predicted;
}

double suite::stop_us(const problem& about, const catalog::record& record) const {
  if (!catalog::is_histogram(about.operation)) return rules_.stop_us;
  if (is_cub(record)) return std::max(rules_.stop_us, rules_.stop_cub_us);
  return about.every_rung || about.on_host ? std::max(rules_.stop_us, rules_.stop_ladder_us) : rules_.stop_us;
}

stop_rule suite::rule_for(const problem& about) const {
  stop_rule rule;
  rule.enough = about.bytes() > rules_.large_bytes ? rules_.enough_large : rules_.enough;
  rule.most = std::max(rules_.most, rule.enough);
  rule.patience = rules_.cell_seconds;
  if (const auto to_share = rules_.budget_seconds ? rules_.budget_seconds : rules_.aim_seconds) {
    const double cells_left = static_cast<double>(std::max<std::size_t>(1, num_cells_ - cells_done_));
    rule.share = 0.8 * std::max(0.0, *to_share - seconds()) / cells_left;
  }
  return rules_.limits.applied_to(rule);
}

// Who may be sampled: what answers rightly, in time, and (where not every rung is measured) fast enough.
void suite::admit(place& where, const problem& about, std::vector<entrant>& entrants) {
  const auto limit = [&](double microseconds, double most) {
    return "one sample takes " + in_words(microseconds) + " at " + format_size(about.num_items) +
           " items, over the limit of " + in_words(most);
  };
  const auto leave_out = [&](entrant& one, const std::string& reason) {
    one.out = true;
    omit(about, one, reason);
  };
  double best_us = std::numeric_limits<double>::infinity();
  for (entrant& one : entrants) {
    if (one.out || !one.defect.empty()) continue;
    const double most_us = stop_us(about, *one.bound.record);
    if (const double predicted = predicted_us(about, *one.bound.record); predicted > 1.2 * most_us) {
      leave_out(one, limit(predicted, most_us) + " (extrapolated from a smaller size)");
      continue;
    }
    begins("its first calls", about, &one);
    where.poison_output(one.bound);
    if (const cudaError_t error = where.call(one.bound); cannot_run_here(error)) {
      leave_out(one, "refused by the variant: " + std::string(cudaGetErrorString(error)));
      continue;
    } else if (error != cudaSuccess) {
      one.defect = std::string("the call failed: ") + cudaGetErrorString(error);
      one.refused = true;
      continue;
    }
    const judgement verdict = where.verify(one.bound);
    one.error_ulps = verdict.error_ulps;
    if (!verdict.right) {
      one.defect = "wrong before timing: " + verdict.why;
      continue;
    }
    const int twice[] = {0, 0};
    const auto readings = where.clock(about.on_host ? mode::host : mode::cold, {&one.bound})->run(twice);
    one.pilot_us = std::min(readings[0].microseconds, readings[1].microseconds);
    if (!one.bound.twin) pilots_[{one.bound.record, about.shape, about.distribution}][about.num_items] = one.pilot_us;
    if (one.pilot_us > most_us)
      leave_out(one, limit(one.pilot_us, most_us));
    else
      best_us = std::min(best_us, one.pilot_us);
  }
  const bool histogram = catalog::is_histogram(about.operation);
  const double fast_factor = histogram ? rules_.fast_factor_histograms : rules_.fast_factor;
  std::vector<entrant*> rungs;  // whose pilot decides, the fastest first
  for (entrant& one : entrants) {
    const bool baseline = histogram && !about.on_host ? is_cub(*one.bound.record)
                                                      : one.bound.record->family == catalog::family::library_baselines;
    const bool always = baseline || about.every_rung || one.bound.record->rung == about.beside ||
                        (about.most_rungs > 0 && is_front_door(*one.bound.record));
    if (!one.out && one.defect.empty() && !always) rungs.push_back(&one);
  }
  std::stable_sort(rungs.begin(), rungs.end(),
                   [](const entrant* a, const entrant* b) { return a->pilot_us < b->pilot_us; });
  std::map<bool, std::size_t> num_admitted;  // by whether the storage has to be zeroed
  for (entrant* const one : rungs) {
    char factor[32];
    std::snprintf(factor, sizeof factor, "%.1f", one->pilot_us / best_us);
    std::size_t& num_alike = num_admitted[one->bound.record->temp_storage == contents::zeroed_once];
    if (one->pilot_us > fast_factor * best_us)
      leave_out(*one, std::string(factor) + "x slower than the fastest here in a pilot call" +
                          (about.most_rungs > 0 ? "" : "; --full measures it"));
    else if (about.most_rungs > 0 && num_alike == about.most_rungs)
      leave_out(*one, "not among the " + std::to_string(about.most_rungs) + " fastest here in a pilot call");
    else
      ++num_alike;
  }
}

// Facts that need no clock.
void suite::look_at(place& where, const problem& about, entrant& one) {
  begins("the same call again and again", about, &one);
  if (device_ && one.bound.record->executes_on == executor::device)
    one.launches = launches_of(one.bound, device_->stream());
  const bool large = (catalog::is_scan(about.operation) && about.bytes() > rules_.large_scan_bytes) ||
                     (!catalog::is_scan(about.operation) && about.operation != catalog::operation::reduce &&
                      one.pilot_us > rules_.slow_us);
  const auto outputs = where.repeat(one.bound, large ? rules_.repeats_large : rules_.repeats);
  one.repeatable = !outputs.empty() && std::all_of(outputs.begin(), outputs.end(),
                                                   [&](const value_bytes& bytes) { return bytes == outputs[0]; });
}

// Each roof by itself: in the warm modes a fill would push the next one's input out of the caches.
void suite::measure_ceilings(const problem& about, mode how, bool before) {
  if (about.on_host) return;
  stop_rule rule{.enough = 10, .fewest = 6, .most = 16};
  rule.patience = 0.03;
  rule.share = rule_for(about).share / 16;
  auto kinds = measured_roofs(about);
  if (!has_ceiling(how, about.footprint(), l2_bytes_)) kinds.clear();
  kinds.insert(kinds.begin(), catalog::operation::empty);
  begins("its ceilings", about, nullptr, how);
  for (const catalog::operation kind : kinds) {
    const auto record = std::find_if(records_.begin(), records_.end(), [&](const catalog::record& one) {
      return one.operation == kind && one.executes_on == executor::device;
    });
    if (record == records_.end()) continue;
    contender roof = device_->roof(*record, about.footprint());
    roof.workspace = device_->scratch();
    roof.workspace_bytes = device_place::scratch_bytes;
    check(roof.call(device_->stream()));
    const auto clock = device_->clock(how, {&roof});
    const auto samples = sample(*clock, 1, rule, clocks_, seconds_now, stop())[0].accepted;
    const std::size_t bytes = kind == catalog::operation::empty ? 0 : about.footprint();
    auto at = std::find_if(found.ceilings.begin(), found.ceilings.end(), [&](const ceiling& one) {
      return one.kind == kind && one.mode == how && one.bytes == bytes;
    });
    if (at == found.ceilings.end()) at = found.ceilings.insert(at, ceiling{kind, how, bytes, {}, {}});
    auto& into = before ? at->before : at->after;
    into.insert(into.end(), samples.begin(), samples.end());
  }
}

row& suite::add_row(const problem& about, entrant& one, mode how) {
  goes_on();
  row& result = found.rows.emplace_back();
  result.record = one.bound.record;
  result.about = about;
  result.mode = how;
  result.twin = one.bound.twin;
  result.asked_for = std::ranges::count(one.asked_for, how) > 0;
  result.error_ulps = one.error_ulps;
  result.workspace_bytes = one.bound.workspace_bytes;
  const std::size_t index = found.rows.size() - 1;
  one.rows.push_back(index);
  if (!one.bound.twin) rows_by_name_[case_name(about, *one.bound.record, how)] = index;
  return result;
}

void suite::measure_cell(place& where, const problem& about, mode how, std::vector<entrant>& entrants) {
  std::vector<entrant*> in_cell;
  for (entrant& one : entrants) {
    if (one.out || !one.defect.empty() || !std::count(one.modes.begin(), one.modes.end(), how)) continue;
    if (how == mode::graph && !one.launches) {
      omit(about, one, how, "the call cannot be captured in a graph");
    } else if (how == mode::graph && calls_per_graph * one.pilot_us > rules_.stop_us) {
      omit(about, one, how, "a graph of 20 calls takes over " + in_words(rules_.stop_us));
    } else {
      in_cell.push_back(&one);
    }
  }
  if (in_cell.empty()) return;

  measure_ceilings(about, how, true);
  std::vector<const contender*> contenders;
  for (const entrant* one : in_cell) contenders.push_back(&one->bound);
  begins("samples of its " + std::to_string(contenders.size()) + " contenders", about, nullptr, how);
  const auto clock = where.clock(how, contenders);
  const auto all = sample(*clock, static_cast<int>(contenders.size()), rule_for(about), clocks_, seconds_now, stop());
  if (interrupted_()) {
    unfinished_ = true;
    return;
  }
  for (std::size_t i = 0; i < in_cell.size(); ++i) {
    entrant& one = *in_cell[i];
    // What the last sample left in the output that all share is one contender's. So each takes one more, for its own.
    begins("the call after its samples", about, &one, how);
    where.poison_output(one.bound);
    const int once_more[] = {static_cast<int>(i)};
    clock->run(once_more);
    const judgement last = where.verify(one.bound);
    if (!last.right) one.defect = "wrong after the last sample: " + last.why;
    if (last.right && all[i].accepted.empty()) {
      omit(about, one, how, "no accepted samples: the SM clock stayed under 96 % of its maximum");
      failed_ = true;
      continue;
    }
    row& result = add_row(about, one, how);
    result.samples = all[i];
    result.repeatable = one.repeatable;
    result.launches = one.launches;
    if (!rules_.joules || about.on_host || one.bound.twin || !last.right) continue;
    if (!is_back_to_back(how, about.footprint(), l2_bytes_)) continue;
    begins("calls back to back, for their energy", about, &one, how);
    const int calls = how == mode::graph ? calls_per_graph : 1;
    const auto joules = energy_of_call(*clock, static_cast<int>(i), calls * median(all[i].accepted), rules_.joules,
                                       rules_.energy_seconds, seconds_now, stop());
    if (joules) result.energy_uj = *joules * 1e6 / calls;
  }
  measure_ceilings(about, how, false);
}

void suite::measure(const problem& about, std::size_t index) {
  place& where = about.on_host ? static_cast<place&>(*host_) : static_cast<place&>(*device_);
  const value_bytes init = init_of(about.op, about.accumulator_type, 0),
                    other_init = init_of(about.op, about.accumulator_type, changed_init);

  std::vector<entrant> entrants;
  for (const auto* record : about.contenders) {
    entrant one;
    one.bound.record = record;
    one.bound.arguments.num_items = about.num_items;
    one.bound.arguments.init = init.data();
    for (const auto& planned : plan_.cases) {
      if (planned.problem != index || planned.record != record) continue;
      one.modes.push_back(planned.mode);
      if (planned.asked_for) one.asked_for.push_back(planned.mode);
    }
    entrants.push_back(std::move(one));
  }
  // CUB enters twice: the second entry is the A/A control.
  const auto cub =
      std::find_if(entrants.begin(), entrants.end(), [](const entrant& one) { return is_cub(*one.bound.record); });
  if (cub != entrants.end()) {
    entrant twin = *cub;
    twin.bound.twin = true;
    entrants.push_back(std::move(twin));
  }

  on_progress(case_name(about, *about.contenders.front(), about.modes.front()));
  begins("its data", about);
  where.fill(about, general_input(about, rules_.seed), 0);
  std::vector<contender> bound;
  for (const auto& one : entrants) bound.push_back(one.bound);
  const auto errors = where.bind(bound);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    entrants[i].bound = bound[i];
    if (errors[i] == cudaSuccess) continue;
    if (cannot_run_here(errors[i])) {
      entrants[i].out = true;
      omit(about, entrants[i], "refused by the variant: " + std::string(cudaGetErrorString(errors[i])));
    } else {
      entrants[i].defect = std::string("the size query failed: ") + cudaGetErrorString(errors[i]);
      entrants[i].refused = true;
    }
  }
  admit(where, about, entrants);
  for (entrant& one : entrants) {
    if (!one.out && one.defect.empty()) look_at(where, about, one);
  }
  for (const mode how : about.modes) {
    if (interrupted_()) {
      unfinished_ = true;
      break;
    }
    on_progress(case_name(about, *about.contenders.front(), how));
    measure_cell(where, about, how, entrants);
    ++cells_done_;
  }

  begins("its changed data", about);
  where.fill(about, changed_input(about, rules_.seed), changed_init);
  for (entrant& one : entrants) {
    if (one.out) continue;
    if (one.defect.empty()) {
      begins("its call on changed input", about, &one);
      contender changed = one.bound;
      changed.arguments.init = other_init.data();
      where.give_shape(changed);
      where.poison_output(changed);
      if (const cudaError_t error = where.call(changed); error != cudaSuccess) {
        one.defect = std::string("the call failed on changed input: ") + cudaGetErrorString(error);
        one.refused = true;
      } else if (const judgement verdict = where.verify(changed); !verdict.right) {
        one.defect = "wrong on changed input: " + verdict.why;
      }
    }
    goes_on();
    if (one.defect.empty()) {
      for (const std::size_t i : one.rows) found.rows[i].verified = true;
      continue;
    }
    // Every case of a wrong contender becomes a row without a time.
    const bool excused = may_fail(*one.bound.record);
    const std::string fault = !excused ? "" : one.refused ? "refused" : "wrong";
    failed_ = failed_ || !excused;
    for (const mode how : one.modes) {
      if (std::any_of(one.rows.begin(), one.rows.end(), [&](std::size_t i) { return found.rows[i].mode == how; }))
        continue;
      add_row(about, one, how);
    }
    for (const std::size_t i : one.rows) {
      found.rows[i].defect = one.defect;
      found.rows[i].fault = fault;
    }
  }
}

}  // namespace rungs::bench
