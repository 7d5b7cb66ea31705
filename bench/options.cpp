#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <set>
#include <span>

#include "build_info.hpp"
#include "check.hpp"
#include "exit_codes.hpp"
#include "rules.hpp"
#include "sizes.hpp"

namespace rungs::bench {
namespace {

constexpr auto description =
    "rungs_bench: measures every variant in the catalog beside CUB on this machine's GPU and writes one result file.\n"
    "Each case is verified before it is timed, after its last timed sample, and once more on changed input.";

constexpr auto footer = R"(What is measured
  bench/suite.json says which sizes, shapes and modes the default suite, --full and each --grid have. The library baselines and the
  fast rungs are sampled: those that a pilot call finds within 2x of the best at that size (histograms: within 1.5x, other baselines
  than CUB's device-wide calls too). Every rung is, where the ladder is shown, at sizes given by --sizes, and under --full. A rung
  stops where one sample passes 10 ms (30 ms where a histogram's ladder is shown and on the host, CUB's histograms 100 ms; --full:
  1 s), host baselines at 16Mi items, and the modes warm and graph where what is read and written passes four times the L2 cache.
  What was left out stands in the result file with its reason. CUB is always sampled along with what a filter matches, since the
  others are compared with it. A library's histogram that is wrong or refused is told as such, without a time. Without --budget the
  cases share 400 s: where they are many, or the GPU is slow, they take fewer samples, six at least, and none is left out for that;
  --full and the grids take what they want.

  --grid=held_out: what the front door answers, at sizes, bins and alignments (offset=1: one item behind) that its tables were not
  made from; report/run says from it how far the front door is from the best, and makes no table of it. --grid=histograms: every
  kind of samples with every number of bins and distribution, from which tables are made. Both cold: CUB, the front door, and the
  three (histograms: four) rungs that a pilot call finds fastest there, of those that want their storage zeroed as many again.

Modes
  cold   caches flushed by reading before each sample (the headline)     warm   same buffers again, no flush
  graph  20 calls in a CUDA graph, time / 20                             host   on the CPU
  dirty  as cold, flushed by a memset, as nvbench does (--dirty-flush)

Names, for --filter
  reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/cold     inclusive_scan/compose/affine/n=1Mi/handwritten/one_block/cold
  histogram_even/i32/bins=256/zipf/n=16Mi/handwritten/global_atomics/cold
  row_reduce/plus/f32/rows=65536/columns=2048/uniform/n=128Mi/handwritten/warp_a_row/cold
  dot/plus/f32/n=64Mi/handwritten/tagged_sums/cold
  arg_extremum/minimum/f32/n=64Mi/handwritten/tile_found_last/cold
  select_if/f32/percent=50/uniform/n=64Mi/handwritten/staged/cold
  atomics/plus/u32/addresses=1024/uniform/n=1Mi/handwritten/warp_aggregated/cold
  collective_reduce/plus/f32/threads=32/uniform/n=1Ki/handwritten/shuffle_down/cold
  barrier/u32/blocks=2/threads=256/uniform/n=16/handwritten/kernels/graph

Examples
  rungs_bench                                             the default suite
  rungs_bench --budget=60                                 the same in a minute, with wider intervals
  rungs_bench --filter='reduce/plus/f32/n=16Mi/.*/cold'   the ladder of sums at 16 Mi floats
  rungs_bench --filter='row_reduce/plus/f32/rows=65536/'  sums of the rows of a matrix
  rungs_bench --types=f16,u8 --sizes=1Mi,100000 --modes=cold,graph
  rungs_bench --types=i32 --bins=256,4096 --distributions=uniform,zipf
  rungs_bench --grid=held_out --budget=150                how far the front door is from the best
  rungs_bench --sizes=1Ki:1Gi:4 --types=i32 --max-noise=1%  every fourth power of two, within 1 % each
  rungs_bench --energy --modes=warm --sizes=1Mi --types=f32   microjoules a call
  rungs_bench --types=f32 --md=sums.md --csv=sums.csv     its tables, beside the result file
  rungs_bench --full --shard=1/4 --out=/tmp/results       a quarter of everything
  rungs_bench --resume=run.json                           what an interrupted run did not reach, by its own command line

Google Benchmark's flags --benchmark_{filter,list_tests,format,out,out_format,color,counters_tabular,time_unit,context} work too.

Exit codes
  0 all cases ran and verified (or the budget ended the run: "complete": false)   1 a wrong result or an implausible time
  2 usage   3 no usable GPU under --require-gpu   4 internal   5 the environment was refused under --strict
  6 something did not end (--watchdog)   130 interrupted)";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (;;) {
    const auto comma = text.find(',', from);
    parts.push_back(text.substr(from, comma - from));
    if (parts.back().empty()) throw usage_error("'" + text + "' has an empty entry");
    if (comma == text.npos) return parts;
    from = comma + 1;
  }
}

template <class Named>
std::string names_of(std::span<const Named> all) {
  std::string names;
  for (const Named each : all) names += (names.empty() ? "" : ", ") + std::string(name(each));
  return names;
}

// The one of these that has this name.
template <class Named>
Named parse_name(const std::string& flag, const std::string& what, const std::string& text,
                 std::span<const Named> all) {
  for (const Named each : all)
    if (name(each) == text) return each;
  throw usage_error(flag + ": there is no " + what + " '" + text + "'; there are " + names_of(all));
}

template <class Named>
std::vector<Named> parse_names(const std::string& flag, const std::string& what, const std::string& text,
                               std::span<const Named> all) {
  std::vector<Named> named;
  for (const auto& part : split(text)) {
    const Named one = parse_name(flag, what, part, all);
    if (std::ranges::count(named, one) == 0) named.push_back(one);
  }
  return named;
}

std::vector<std::size_t> parse_bins(const std::string& text) {
  auto bins = parse_sizes(text, "bins");
  for (const std::size_t number : bins) {
    if (number > rules::most_bins)
      throw usage_error("--bins: " + format_size(number) + " is more than " + format_size(rules::most_bins) +
                        ", the most");
  }
  std::sort(bins.begin(), bins.end());
  bins.erase(std::unique(bins.begin(), bins.end()), bins.end());
  return bins;
}

std::pair<int, int> parse_shard(const std::string& text) {
  int shard = 0, num_shards = 0;
  const char* const end = text.data() + text.size();
  const auto [slash, first_error] = std::from_chars(text.data(), end, shard);
  if (first_error == std::errc{} && slash != end && *slash == '/') {
    const auto [rest, second_error] = std::from_chars(slash + 1, end, num_shards);
    if (second_error == std::errc{} && rest == end && shard >= 1 && shard <= num_shards) return {shard, num_shards};
  }
  throw usage_error("--shard: '" + text + "' is not i/n with 1 <= i <= n");
}

int parse_device(const std::string& text) {
  int device = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, device);
  if (error != std::errc{} || rest != end || device < 0)
    throw usage_error("--device: '" + text + "' is not the number of a GPU: 0, 1 ...");
  return device;
}

int parse_count(const std::string& flag, const std::string& text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{} || rest != end || count < 1 || count > 1'000'000)
    throw usage_error(flag + ": '" + text + "' is not a number of samples from 1 to 1000000");
  return count;
}

double parse_percent(const std::string& flag, const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc{} || (rest != end && std::string_view(rest, end) != "%") || !(percent > 0 && percent <= 100))
    throw usage_error(flag + ": '" + text + "' is not a percentage such as 1%");
  return percent / 100;
}

bool is_true(const std::string& value) { return value.empty() || value == "true" || value == "1" || value == "yes"; }

}  // namespace

void take_google_flag(const std::string& flag, options& into) {
  using values = std::set<std::string>;
  // What each flag may be; with none of them it takes any value. Of the last group none has a meaning.
  static const std::map<std::string, values> passed_on = {
      {"format", {"console", "json", "csv"}},
      {"out_format", {"console", "json", "csv"}},
      {"color", {"auto", "true", "false", "yes", "no", "1", "0"}},
      {"counters_tabular", {"", "true", "false", "yes", "no", "1", "0"}},
      {"time_unit", {"ns", "us", "ms", "s"}},
      {"out", {}},
      {"context", {}}};
  static const values about_samples = {
      "min_time",      "min_warmup_time",         "repetitions", "report_aggregates_only",
      "perf_counters", "display_aggregates_only", "dry_run",     "enable_random_interleaving"};
  const std::string prefix = "--benchmark_";
  const auto equals = flag.find('=');
  const std::string name = flag.substr(0, equals), value = equals == flag.npos ? "" : flag.substr(equals + 1);
  const std::string known = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
  if (known == "filter") {
    into.wanted.filter = value;
  } else if (known == "list_tests") {
    into.list = is_true(value);
  } else if (const auto found = passed_on.find(known); found != passed_on.end()) {
    const values& allowed = found->second;
    if (allowed.empty() && value.empty()) throw usage_error(name + " needs a value");
    if (!allowed.empty() && !allowed.contains(value))
      throw usage_error(name + ": '" + value + "' is not a value it takes");
    into.google.push_back(flag);
  } else if (about_samples.contains(known)) {
    throw usage_error(name +
                      " has no meaning here: our own sampler decides how many samples to take; use --min-samples, " +
                      "--max-samples, --max-noise or --budget");
  } else {
    throw usage_error("unknown flag " + name + "; --help lists the flags");
  }
}

parsed parse_options(int argc, const char* const* argv) {
  parsed result;
  options& given = result.given;
  given.command_line.assign(argv + std::min(argc, 1), argv + argc);

  CLI::App app{description, "rungs_bench"};
  app.footer(footer);
  app.allow_extras();
  selection& wanted = given.wanted;
  const auto option = [&](const char* name, const char* type, const std::string& about, auto take) {
    app.add_option_function<std::string>(name, take, about)->type_name(type);
  };
  option("--filter", "REGEX", "Only cases whose name contains a match of this regular expression",
         [&](const std::string& text) { wanted.filter = text; });
  option("--beside", "RUNG", "Only what a rung of this name solves, and the rung however slow it is",
         [&](const std::string& text) { wanted.beside = text; });
  option("--device", "N", "Which GPU, as CUDA counts them; default 0",
         [&](const std::string& text) { given.device = parse_device(text); });
  app.add_flag("--list", given.list, "Print the names of the cases and exit");
  app.add_option("--budget", given.budget_seconds,
                 "Wall time of the whole run; every case gets its share, and what none is left for is left out")
      ->type_name("SECONDS");
  app.add_option("--watchdog", given.watchdog_seconds,
                 "End the run with 6, its results kept, when a step such as a call takes longer; default 300, 0: never")
      ->type_name("SECONDS");
  option("--min-samples", "N", "Of each contender at least so many samples; they come in pairs",
         [&](const std::string& text) { given.limits.fewest = parse_count("--min-samples", text); });
  option("--max-samples", "N", "Of each contender at most so many samples",
         [&](const std::string& text) { given.limits.most = parse_count("--max-samples", text); });
  option("--max-noise", "PERCENT",
         "Sample each cell, however long it takes, until the column +- % of all its contenders is below this, or "
         "--max-samples are taken (" +
             std::to_string(sample_limits::most_for_noise) + " where not given)",
         [&](const std::string& text) { given.limits.noise = parse_percent("--max-noise", text); });
  option("--modes", "MODES", "Comma-separated: " + names_of<mode>(all_modes),
         [&](const std::string& text) { wanted.modes = parse_names<mode>("--modes", "mode", text, all_modes); });
  option("--sizes", "SIZES",
         "Comma-separated numbers of items and ranges: 1048576, 16Mi, 1Ki:1Gi (doubling), 1Ki:1Gi:4",
         [&](const std::string& text) { wanted.sizes = parse_sizes(text); });
  option("--types", "TYPES", "Comma-separated: f32, i32, u8:u32 (input:accumulator), affine ...",
         [&](const std::string& text) { wanted.types = split(text); });
  option("--bins", "BINS", "Comma-separated numbers of bins and ranges: 256, 4096, 64:1Mi:4; only histograms",
         [&](const std::string& text) { wanted.bins = parse_bins(text); });
  option("--distributions", "NAMES", "Comma-separated: " + names_of<distribution>(all_distributions),
         [&](const std::string& text) {
           wanted.distributions = parse_names<distribution>("--distributions", "distribution", text, all_distributions);
         });
  option("--out", "PATH", "Result file (*.json) or folder; default report/data/<gpu>/ in the source tree",
         [&](const std::string& text) { given.out = text; });
  option("--resume", "FILE",
         "Measure what this result file of an unfinished run lacks, and write both parts into it (or to --out)",
         [&](const std::string& text) { given.resume = text; });
  option("--json", "FILE", "The result file also here; -: on standard output, instead of a line a case",
         [&](const std::string& text) { given.json = text; });
  option("--csv", "FILE", "The rows as CSV, with the columns of report/SCHEMA.md; -: likewise",
         [&](const std::string& text) { given.csv = text; });
  option("--md", "FILE", "The rows as Markdown tables; -: likewise", [&](const std::string& text) { given.md = text; });
  app.add_flag("--full", wanted.full, "Everything: every rung, size, type, operator and mode");
  option("--grid", "held_out|histograms", "Other cells than the suite's: held_out, or the whole grid of histograms",
         [&](const std::string& text) { wanted.grid = parse_name<grid>("--grid", "grid", text, all_grids); });
  option("--shard", "I/N", "Only the i-th of n parts of the run",
         [&](const std::string& text) { std::tie(wanted.shard, wanted.num_shards) = parse_shard(text); });
  app.add_flag("--dirty-flush", wanted.dirty_flush, "Also the mode dirty");
  app.add_flag(
      "--energy", given.energy,
      "Also the energy of a call, by NVML's counter: half a second of calls back to back for each warm or graph "
      "case, and each cold one beyond the caches");
  app.add_flag(
      "--profile", given.profile,
      "Measure nothing: show each cold case once to a profiler; --out=FILE then says which case ran in which range");
  app.add_flag("--require-gpu", given.require_gpu, "Fail with 3 where there is no usable GPU");
  app.add_flag("--strict", given.strict, "Fail with 5 where the environment would put a banner on the report");
  app.set_version_flag(
      "--version", [] { return build::version_text(); }, "Print versions and exit");
  // CLI11 would take the next argument for the value.
  for (const std::string& argument : given.command_line)
    if (argument.starts_with("--") && argument.ends_with('='))
      throw usage_error(argument + " has no value behind it; leave it out or give one");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    result.exit_code = exit_ok;
    return result;
  } catch (const CLI::CallForVersion&) {
    std::cout << build::version_text() << '\n';
    result.exit_code = exit_ok;
    return result;
  } catch (const CLI::ParseError& error) {
    throw usage_error(std::string(error.what()) + "; --help lists the flags");
  }
  for (const auto& extra : app.remaining()) {
    if (extra.starts_with("--benchmark_"))
      take_google_flag(extra, given);
    else
      throw usage_error("unknown argument " + extra + "; --help lists the flags");
  }
  if (given.budget_seconds && !(*given.budget_seconds > 0 && *given.budget_seconds < 1e9))
    throw usage_error("--budget: write a positive number of seconds");
  if (!(given.watchdog_seconds >= 0 && given.watchdog_seconds < 1e6))
    throw usage_error("--watchdog: write a number of seconds, or 0 for none");
  if ((given.json == "-") + (given.csv == "-") + (given.md == "-") > 1)
    throw usage_error("--json, --csv and --md: one of them can go to standard output");
  if (given.profile && !(given.json.empty() && given.csv.empty() && given.md.empty()))
    throw usage_error("--profile measures nothing; leave out --json, --csv and --md");
  const bool in_grid = wanted.grid != grid::none;
  if (in_grid && (wanted.full || !wanted.sizes.empty() || !wanted.bins.empty()))
    throw usage_error("--grid: a grid has sizes and bins of its own; leave out --full, --sizes and --bins");
  if (in_grid && (wanted.dirty_flush || std::ranges::any_of(wanted.modes, [](mode how) { return how != mode::cold; })))
    throw usage_error("--grid: a grid is measured cold; leave out --modes and --dirty-flush");
  if (given.profile && !given.resume.empty()) throw usage_error("--resume: a profile is not resumed");
  if (given.limits.fewest && given.limits.most && *given.limits.fewest > *given.limits.most)
    throw usage_error("--min-samples is more than --max-samples");
  if (given.profile && given.out.extension() != ".json")
    throw usage_error("--profile needs --out=FILE.json, where it writes which case is which");
  return result;
}

void take_up(const std::vector<std::string>& command_line, options& given) {
  if (given.wanted != selection{} || given.limits != sample_limits{})
    throw usage_error("--resume: the file says what to measure; leave out --filter, --sizes and whatever else chooses");
  std::vector<const char*> arguments{"rungs_bench"};
  for (const std::string& one : command_line) arguments.push_back(one.c_str());
  const options before = parse_options(static_cast<int>(arguments.size()), arguments.data()).given;
  given.wanted = before.wanted;
  given.limits = before.limits;
  given.energy = given.energy || before.energy;
  if (!given.device) given.device = before.device;
}

}  // namespace rungs::bench
