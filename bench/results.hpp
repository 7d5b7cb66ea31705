// What a run found, and the file it becomes (report/SCHEMA.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "contender.hpp"
#include "environment.hpp"
#include "planner.hpp"
#include "sampler.hpp"
#include "statistics.hpp"

namespace rungs::bench {

// One contender in one cell.
struct row {
  const catalog::record* record = nullptr;
  problem about;
  bench::mode mode{};
  bool twin = false, asked_for = true;
  bool verified = false;
  std::string defect;  // what was wrong, where not verified
  // "wrong" or "refused" where that is a library's own fault, which is told and does not fail the run; else empty.
  std::string fault;
  series samples;
  summary_of_samples summary{};
  std::optional<double> ceiling_us, percent_of_ceiling, percent_of_peak;
  std::optional<ratio> speedup;
  std::string verdict;
  double error_ulps = 0;  // as in judgement
  bool repeatable = false;
  std::optional<launched> launches;
  std::size_t workspace_bytes = 0;
  std::optional<double> energy_uj;  // of a call, of calls back to back
  bool implausible = false;

  bool timed() const { return verified && !samples.accepted.empty(); }
};

// One roof at one footprint in one mode; samples of all visits together.
struct ceiling {
  catalog::operation kind{};
  bench::mode mode{};
  std::size_t bytes = 0;
  std::vector<double> before, after;

  double median_us() const;
  double drift() const;  // as a fraction
};

// How the reason begins why a case was left out that --watchdog ended.
inline constexpr std::string_view did_not_end = "did not end";

inline constexpr double largest_drift = 0.02;

struct twin_pair {
  problem about;
  bench::mode mode{};
  bench::ratio ratio{};
  double floor = 0;
  // By the rule that every row is judged by.
  bool different() const { return verdict(ratio, floor) == "FASTER" || verdict(ratio, floor) == "SLOWER"; }
};

struct findings {
  std::vector<row> rows;
  std::vector<ceiling> ceilings;  // the empty kernel among them: the launch floor
  std::vector<twin_pair> twins;
  std::vector<twin_pair> earlier_twins;  // of cells that an earlier part of this run measured
  std::vector<omission> omissions;
};

// Whether two rows are of one cell.
bool same_cell(const row& a, const row& b);

// Ratios against the fastest CUB entry of each cell, twins, noise floors from other cells of like shape and footprint,
// verdicts, ceilings and plausibility, of the cells sampled so far.
void compare(findings& found, double peak_gb_per_s);

// The fastest of the roofs that bound this problem in this mode; null where none was measured.
const ceiling* ceiling_of(const findings& found, const problem& about, mode how);

// Faster than its ceiling by more than 3 % and by more than 0.5 us, at the fast end of both intervals.
bool beats_ceiling(double low_us, double ceiling_low_us);

struct run_facts {
  std::string run = {}, gpu = {}, commit = {};
  bool complete = true;
  double seconds = 0;
  std::vector<std::string> arguments = {};
  json context = {};
};

// What names a case in files, but for the ladder: who was called, to do what, on what, and how.
json identify(const catalog::record& record, const problem& about, mode how);
json identify(const problem& about, mode how);  // a cell

json to_json(const findings& found, const run_facts& about, const std::vector<const catalog::record*>& variants);
// An entry a line: rows can be compared with diff, and take a fifth less than indented.
std::string to_text(const json& file);
json samples_to_json(const findings& found, const run_facts& about);

// Write aside and rename: whoever reads the path sees the old file or the new one. Throw usage_error where that cannot
// be.
void write_atomically(const std::filesystem::path& path, const std::string& bytes);
void write_gzip_atomically(const std::filesystem::path& path, const std::string& bytes);

}  // namespace rungs::bench
