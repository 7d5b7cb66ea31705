// The command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner.hpp"

namespace rungs::bench {

struct options {
  selection wanted;
  sample_limits limits;
  bool list = false, profile = false, require_gpu = false, strict = false, energy = false;
  std::optional<int> device;  // none: the first
  std::optional<double> budget_seconds;
  double watchdog_seconds = 300;  // 0: none
  std::filesystem::path out;      // empty: report/data/<gpu>/ in the source tree
  // One more copy of the results, and their tables; empty: none; "-": to standard output, instead of a line a case.
  std::filesystem::path json, csv, md;
  std::filesystem::path resume;           // a file of results that is to be completed; empty: none
  std::vector<std::string> google;        // Google Benchmark's flags, validated, as --name=value
  std::vector<std::string> command_line;  // as given
};

struct parsed {
  options given;
  std::optional<int> exit_code;  // set where there is nothing to do: --help, --version
};

// Prints help or version. Throws usage_error.
parsed parse_options(int argc, const char* const* argv);

// What to measure, and on which GPU, as a run's own command line said. Throws usage_error where `given` says it, too.
void take_up(const std::vector<std::string>& command_line, options& given);

// Throws usage_error for an unknown flag of Google Benchmark, a bad value, or a flag that our own sampler makes
// meaningless. --benchmark_filter and --benchmark_list_tests become --filter and --list.
void take_google_flag(const std::string& flag, options& into);

}  // namespace rungs::bench
