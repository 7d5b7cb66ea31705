// Visits problems: makes the data, verifies every contender, finds what is worth sampling, samples each cell between
// two measurements of its ceilings, and verifies again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "energy.hpp"
#include "places.hpp"
#include "planner.hpp"
#include "results.hpp"
#include "sampler.hpp"
#include "watchdog.hpp"

namespace rungs::bench {

struct suite_rules {
  std::uint64_t seed = 0x72756e6773;  // written into the result file
  double stop_us = 10'000;            // a rung ends at the size where one sample takes longer
  // Where a histogram's ladder is shown, a rung may take this long, and on the host; CUB longer, since what it loses is
  // what is told.
  double stop_ladder_us = 30'000, stop_cub_us = 100'000;
  double fast_factor = 2, fast_factor_histograms = 1.5;  // what is sampled where not every rung is
  int repeats = 20, repeats_large = 5;
  double slow_us = 5'000;                                 // fewer repeats of calls that take longer
  std::size_t large_scan_bytes = std::size_t{256} << 20;  // fewer repeats: each is written and read once more
  double cell_seconds = 1;
  std::optional<double> budget_seconds;  // ends the run
  std::optional<double> aim_seconds;     // without one: what cases share as they would a budget, and it ends nothing
  std::size_t large_bytes = std::size_t{1} << 30;
  int enough = 60, enough_large = 20, most = 200;
  sample_limits limits = {};
  energy_counter joules = {};   // with one, each row has the energy of a call, where calls back to back are its mode
  double energy_seconds = 0.5;  // of calls
  double warm_up_seconds = 0.5;
};

class suite {
 public:
  suite(const run_plan& plan, std::span<const catalog::record> records, const std::optional<device_facts>& device,
        suite_rules rules, std::function<bool()> interrupted);

  // Measures a problem, unless it was visited before, the budget is spent, or the run was interrupted.
  void visit(std::size_t problem);

  // The row of a case; null where it was not measured, with the reason in why_not().
  const row* find(const bench_case& one) const;
  std::string why_not(const bench_case& one) const;

  double seconds() const;
  std::optional<double> seconds_left() const;
  std::size_t cells_done() const { return cells_done_; }
  std::size_t num_cells() const { return num_cells_; }

  bool complete() const;  // every planned cell was sampled
  // A wrong result of ours, or a case without accepted samples. A library's histogram that is wrong or refused is a
  // finding (row::fault), not a failure.
  bool failed() const { return failed_; }

  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  std::function<void()> on_problem = [] {};  // after each that was measured
  watchdog* guard = nullptr;                 // learns of each step
  // For whoever the guard tells of a step that does not end: leaves what is to be believed, and notes the case whose
  // step it is, if it is one case's.
  void give_up(const std::string& reason);
  findings found;

 private:
  struct entrant;

  void measure(const problem& about, std::size_t index);
  void admit(place& where, const problem& about, std::vector<entrant>& entrants);
  void look_at(place& where, const problem& about, entrant& one);
  void measure_cell(place& where, const problem& about, mode how, std::vector<entrant>& entrants);
  row& add_row(const problem& about, entrant& one, mode how);
  void measure_ceilings(const problem& about, mode how, bool before);
  void omit(const problem& about, const entrant& one, mode how, const std::string& reason);
  void omit(const problem& about, const entrant& one, const std::string& reason);  // in all its modes
  stop_rule rule_for(const problem& about) const;
  bool out_of_time() const;
  // What follows may hang: `what`, in a cell, and where one contender is at work, it.
  void begins(const std::string& what, const problem& about, const entrant* one = nullptr,
              std::optional<mode> how = {});
  void goes_on() const;
  std::function<bool()> stop() const;  // of sampling: whether the run was interrupted, and it goes on
  double predicted_us(const problem& about, const catalog::record& record) const;
  double stop_us(const problem& about, const catalog::record& record) const;

  const run_plan& plan_;
  std::span<const catalog::record> records_;
  suite_rules rules_;
  std::function<bool()> interrupted_;
  std::unique_ptr<device_place> device_;
  std::unique_ptr<host_place> host_;
  clock_guard clocks_;
  double start_;
  std::size_t l2_bytes_ = 0;
  std::vector<bool> visited_;
  std::size_t num_cells_ = 0, cells_done_ = 0;
  bool failed_ = false, unfinished_ = false;
  const problem* at_work_on_ = nullptr;
  const entrant* at_work_ = nullptr;
  // By items, for each record, shape and distribution.
  std::map<std::tuple<const catalog::record*, shape, distribution>, std::map<std::size_t, double>> pilots_;
  std::map<std::string, std::size_t> rows_by_name_;
  std::map<std::string, std::string> reasons_by_name_;
};

}  // namespace rungs::bench
