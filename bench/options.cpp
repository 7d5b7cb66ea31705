#include "options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>

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
  The default suite: every rung at 1Mi, 16Mi and 256Mi items (sums and running sums of f32, sums of i32; running sums of i32 at
  16Mi) and histograms' at 16Mi (256 bins; u8, i32, f32; uniform and constant); from 1Ki to 1Gi the library baselines and the fast
  rungs, which are those that a pilot call finds within 2x of the best at that size (histograms: within 1.5x, other baselines than
  CUB's device-wide calls too); other types, operators and numbers of bins at fewer sizes. Sizes given by --sizes, and --full,
  measure every rung. A rung stops where one sample passes 10 ms (30 ms where a histogram's ladder is shown and on the host, CUB's
  histograms 100 ms; --full: 1 s), host baselines at 16Mi items, and the modes warm and graph where what is read and written passes
  four times the L2 cache. What was left out stands in the result file with its reason. CUB is always sampled along with what a
  filter matches, since the others are compared with it. A library's histogram that is wrong or refused is told as such, without a
  time. Without --budget the cases share 400 s: where they are many, or the GPU is slow, they take fewer samples, six at least, and
  none is left out for that; --full and the grids take what they want.
  Atomics: 1Mi operations on 1 to 1Mi addresses (u32 additions: every power of two, from 64 on every other one also 16Mi operations).
  Chains of collectives and of barriers: two lengths each, whose difference is what one costs; a rung where it takes the group.

  --grid=held_out: what the front door answers, at sizes, bins and alignments (offset=1: one item behind) that its tables were not
  made from; report/run says from it how far the front door is from the best, and makes no table of it. --grid=histograms: every
  kind of samples with every number of bins and distribution at 64Ki, 1Mi and 16Mi, from which tables are made. Both cold: CUB,
  the front door, and the three (histograms: four) rungs that a pilot call finds fastest there, of those that want their storage
  zeroed as many again.

Modes
  cold   caches flushed by reading before each sample (the headline)     warm   same buffers again, no flush
  graph  20 calls in a CUDA graph, time / 20                             host   on the CPU
  dirty  as cold, flushed by a memset, as nvbench does (--dirty-flush)

Names, for --filter
  reduce/plus/f32/n=16Mi/handwritten/warp_shuffle/cold     inclusive_scan/compose/affine/n=1Mi/handwritten/one_block/cold
  histogram_even/i32/bins=256/zipf/n=16Mi/handwritten/global_atomics/cold
  atomics/plus/u32/addresses=1024/uniform/n=1Mi/handwritten/warp_aggregated/cold
  collective_reduce/plus/f32/threads=32/uniform/n=1Ki/handwritten/shuffle_down/cold
  barrier/u32/blocks=2/threads=256/uniform/n=16/handwritten/kernels/graph

Examples
  rungs_bench                                             the default suite
  rungs_bench --budget=60                                 the same in a minute, with wider intervals
  rungs_bench --filter='reduce/plus/f32/n=16Mi/.*/cold'   the ladder of sums at 16 Mi floats
  rungs_bench --types=f16,u8 --sizes=1Mi,100000 --modes=cold,graph
  rungs_bench --types=i32 --bins=256,4096 --distributions=uniform,zipf
  rungs_bench --grid=held_out --budget=150                how far the front door is from the best
  rungs_bench --full --shard=1/4 --out=/tmp/results       a quarter of everything

Google Benchmark's flags --benchmark_{filter,list_tests,format,out,out_format,color,counters_tabular,time_unit,context} work too.

Exit codes
  0 all cases ran and verified (or the budget ended the run: "complete": false)   1 a wrong result or an implausible time
  2 usage   3 no usable GPU under --require-gpu   4 internal   5 the environment was refused under --strict   130 interrupted)";

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

std::vector<mode> parse_modes(const std::string& text) {
  std::vector<mode> modes;
  for (const auto& part : split(text)) {
    const mode all[] = {mode::cold, mode::warm, mode::graph, mode::dirty, mode::host};
    const auto found = std::find_if(std::begin(all), std::end(all), [&](mode how) { return name(how) == part; });
    if (found == std::end(all))
      throw usage_error("--modes: there is no mode '" + part + "'; there are cold, warm, graph, dirty and host");
    if (!std::count(modes.begin(), modes.end(), *found)) modes.push_back(*found);
  }
  return modes;
}

std::vector<std::size_t> parse_bins(const std::string& text) {
  auto bins = parse_sizes(text, "bins");
  for (const std::size_t number : bins) {
    if (number > rules::most_bins)
      throw usage_error("--bins: " + format_size(number) + " is more than " + format_size(rules::most_bins) + ", the most");
  }
  std::sort(bins.begin(), bins.end());
  bins.erase(std::unique(bins.begin(), bins.end()), bins.end());
  return bins;
}

std::vector<distribution> parse_distributions(const std::string& text) {
  std::vector<distribution> distributions;
  for (const auto& part : split(text)) {
    const auto found = std::find_if(std::begin(all_distributions), std::end(all_distributions),
                                    [&](distribution from) { return name(from) == part; });
    if (found == std::end(all_distributions)) {
      std::string known;
      for (const distribution from : all_distributions) known += (known.empty() ? "" : ", ") + std::string(name(from));
      throw usage_error("--distributions: there is no distribution '" + part + "'; there are " + known);
    }
    distributions.push_back(*found);
  }
  return distributions;
}

grid parse_grid(const std::string& text) {
  for (const grid one : {grid::held_out, grid::histograms})
    if (name(one) == text) return one;
  throw usage_error("--grid: there is no grid '" + text + "'; there are held_out and histograms");
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

bool is_true(const std::string& value) { return value.empty() || value == "true" || value == "1" || value == "yes"; }

}  // namespace

void take_google_flag(const std::string& flag, options& into) {
  const auto equals = flag.find('=');
  const std::string name = flag.substr(0, equals), value = equals == flag.npos ? "" : flag.substr(equals + 1);
  const auto one_of = [&](std::initializer_list<const char*> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      throw usage_error(name + ": '" + value + "' is not a value it takes");
    into.google.push_back(flag);
  };
  if (name == "--benchmark_filter") {
    into.wanted.filter = value;
  } else if (name == "--benchmark_list_tests") {
    into.list = is_true(value);
  } else if (name == "--benchmark_format" || name == "--benchmark_out_format") {
    one_of({"console", "json", "csv"});
  } else if (name == "--benchmark_color") {
    one_of({"auto", "true", "false", "yes", "no", "1", "0"});
  } else if (name == "--benchmark_counters_tabular") {
    one_of({"", "true", "false", "yes", "no", "1", "0"});
  } else if (name == "--benchmark_time_unit") {
    one_of({"ns", "us", "ms", "s"});
  } else if (name == "--benchmark_out" || name == "--benchmark_context") {
    if (value.empty()) throw usage_error(name + " needs a value");
    into.google.push_back(flag);
  } else if (name == "--benchmark_min_time" || name == "--benchmark_min_warmup_time" ||
             name == "--benchmark_repetitions" || name == "--benchmark_report_aggregates_only" ||
             name == "--benchmark_display_aggregates_only" || name == "--benchmark_enable_random_interleaving" ||
             name == "--benchmark_perf_counters" || name == "--benchmark_dry_run") {
    throw usage_error(name + " has no meaning here: our own sampler decides how many samples to take; use --budget");
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
  std::string modes, sizes, types, bins, distributions, grid, shard, out;
  double budget = 0;
  app.add_option("--filter", given.wanted.filter, "Only cases whose name contains a match of this regular expression")
      ->type_name("REGEX");
  app.add_flag("--list", given.list, "Print the names of the cases and exit");
  auto* budget_option =
      app.add_option("--budget", budget,
                     "Wall time of the whole run; every case gets its share, and what none is left for is left out")
          ->type_name("SECONDS");
  app.add_option("--modes", modes, "Comma-separated: cold, warm, graph, dirty, host")->type_name("MODES");
  app.add_option("--sizes", sizes, "Comma-separated numbers of items: 1048576, 1Ki, 16Mi")->type_name("SIZES");
  app.add_option("--types", types, "Comma-separated: f32, i32, u8:u32 (input:accumulator), affine ...")
      ->type_name("TYPES");
  app.add_option("--bins", bins, "Comma-separated numbers of bins: 256, 4096, 1Mi; only histograms")->type_name("BINS");
  app.add_option("--distributions", distributions,
                 "Comma-separated: uniform, constant, eight_hot, zipf, sorted, runs, out_of_range")
      ->type_name("NAMES");
  app.add_option("--out", out, "Result file (*.json) or folder; default report/data/<gpu>/ in the source tree")
      ->type_name("PATH");
  app.add_flag("--full", given.wanted.full, "Everything: every rung, size, type, operator and mode");
  app.add_option("--grid", grid, "Other cells than the suite's: held_out, or the whole grid of histograms")
      ->type_name("held_out|histograms");
  app.add_option("--shard", shard, "Only the i-th of n parts of the run")->type_name("I/N");
  app.add_flag("--dirty-flush", given.wanted.dirty_flush, "Also the mode dirty");
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
  if (budget_option->count() > 0) {
    if (!(budget > 0 && budget < 1e9)) throw usage_error("--budget: write a positive number of seconds");
    given.budget_seconds = budget;
  }
  if (!modes.empty()) given.wanted.modes = parse_modes(modes);
  if (!sizes.empty()) given.wanted.sizes = parse_sizes(sizes);
  if (!types.empty()) given.wanted.types = split(types);
  if (!bins.empty()) given.wanted.bins = parse_bins(bins);
  if (!distributions.empty()) given.wanted.distributions = parse_distributions(distributions);
  if (!grid.empty()) given.wanted.grid = parse_grid(grid);
  if (!grid.empty() && (given.wanted.full || !sizes.empty() || !bins.empty()))
    throw usage_error("--grid: a grid has sizes and bins of its own; leave out --full, --sizes and --bins");
  if (!grid.empty() && (given.wanted.dirty_flush || (!modes.empty() && modes != "cold")))
    throw usage_error("--grid: a grid is measured cold; leave out --modes and --dirty-flush");
  if (!shard.empty()) std::tie(given.wanted.shard, given.wanted.num_shards) = parse_shard(shard);
  given.out = out;
  if (given.profile && given.out.extension() != ".json")
    throw usage_error("--profile needs --out=FILE.json, where it writes which case is which");
  return result;
}

}  // namespace rungs::bench
