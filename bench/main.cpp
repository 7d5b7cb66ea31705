// rungs_bench: the command line around the suite. Google Benchmark registers and prints the cases; the suite measures
// them.
#include <benchmark/benchmark.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "build_info.hpp"
#include "check.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"
#include "options.hpp"
#include "profile.hpp"
#include "progress.hpp"
#include "results.hpp"
#include "resume.hpp"
#include "suite.hpp"
#include "tables.hpp"

namespace rungs::bench {
namespace {

namespace fs = std::filesystem;

// What the cases of a suite share where no budget is given; most need less.
constexpr double shared_seconds = 400;

volatile std::sig_atomic_t signalled = 0;

// The first Ctrl-C ends the run after the sample in flight and writes what there is; the second ends the program.
void listen_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { signalled = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

struct destination {
  fs::path results, samples;
};

// What a file's samples are called where the file has a name of its own.
fs::path of_its_own(fs::path results) { return results.replace_extension(".samples.json.gz"); }

// Where the samples of a file of results lie.
fs::path samples_beside(const fs::path& results) {
  const fs::path own = of_its_own(results), of_the_folder = results.parent_path() / "samples.json.gz";
  return fs::exists(own) || !fs::exists(of_the_folder) ? own : of_the_folder;
}

void prove_writable(const fs::path& path) {
  fs::path probe = path;
  probe += ".probe";
  write_atomically(probe, "");
  std::error_code error;
  fs::remove(probe, error);
}

bool writes_to_console(const options& given) { return given.json != "-" && given.csv != "-" && given.md != "-"; }

// Decided, and proved writable, before anything is measured. Only the newest samples are kept in a folder.
destination choose_destination(const options& given, const std::string& gpu, const std::string& run) {
  const fs::path out = given.out.empty() ? given.resume : given.out;
  fs::path folder = out.empty() ? fs::path(build::source_dir) / "report" / "data" / gpu : out;
  destination to{folder / (run + ".json"), folder / "samples.json.gz"};
  if (out.extension() == ".json" && !fs::is_directory(out)) {
    folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
    to = {out, out == given.resume ? samples_beside(out) : of_its_own(out)};
  }
  std::error_code error;
  fs::create_directories(folder, error);
  prove_writable(folder / run);
  for (const fs::path& also : {given.json, given.csv, given.md})
    if (!also.empty() && also != "-") prove_writable(also);
  return to;
}

// One line a case, as it comes; cases that were not measured are counted at the end instead.
class console : public benchmark::BenchmarkReporter {
 public:
  console(progress_line& line, bool colour, const options& given)
      : line_(line), colour_(colour), energy_(given.energy), silent_(!writes_to_console(given)) {}

  bool ReportContext(const Context& context) override {
    width_ = std::max<std::size_t>(context.name_field_width > 26 ? context.name_field_width - 26 : 10, 60);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    if (silent_) return;
    for (const Run& run : runs) {
      const std::string& name = run.run_name.function_name;
      if (run.counters.count("median_us") == 0) {
        if (run.report_label.empty()) continue;
        line_.clear();
        std::printf("%s%-*s  %s%s\n", colour_ ? "\033[31m" : "", static_cast<int>(width_), name.c_str(),
                    run.report_label.c_str(), colour_ ? "\033[0m" : "");
      } else {
        line_.clear();
        header();
        const auto value = [&](const char* counter) { return static_cast<double>(run.counters.at(counter)); };
        std::printf("%-*s %11.3f %6.2f %9.1f", static_cast<int>(width_), name.c_str(), value("median_us"),
                    value("spread_percent"), value("gb_per_s"));
        if (run.counters.count("percent_of_ceiling"))
          std::printf(" %8.1f", value("percent_of_ceiling"));
        else
          std::printf(" %8s", "");
        if (run.counters.count("speedup_over_cub"))
          std::printf(" %8.3f", value("speedup_over_cub"));
        else if (run.counters.count("energy_uj"))
          std::printf(" %8s", "");
        if (run.counters.count("energy_uj")) std::printf(" %9.1f", value("energy_uj"));
        std::printf("\n");
      }
      std::fflush(stdout);
    }
  }

 private:
  void header() {
    if (std::exchange(printed_, true)) return;
    std::printf("%-*s %11s %6s %9s %8s %8s%s\n", static_cast<int>(width_), "case", "median us", "+- %", "GB/s",
                "% roof", "CUB/this", energy_ ? " uJ a call" : "");
  }

  progress_line& line_;
  bool colour_, energy_, silent_, printed_ = false;
  std::size_t width_ = 60;
};

void print_case(benchmark::State& state, suite& all, const bench_case& one) {
  all.visit(one.problem);
  const row* result = all.find(one);
  if (result == nullptr) {
    state.SkipWithError(all.why_not(one).c_str());
    return;
  }
  if (!result->timed()) {
    state.SetLabel(result->fault.empty() ? "WRONG: " + result->defect
                                         : "the library's own fault (" + result->fault + "): " + result->defect);
    state.SkipWithError(result->defect.c_str());
    return;
  }
  const auto about = summarise(result->samples.accepted);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.SetIterationTime(about.median * 1e-6);
  }
  state.counters["median_us"] = about.median;
  state.counters["spread_percent"] = 50 * (about.high - about.low) / about.median;
  state.counters["gb_per_s"] = static_cast<double>(result->about.bytes()) / about.median * 1e-3;
  double cub_us = 0;
  for (const row& other : all.found.rows) {
    if (!other.timed() || other.twin || !is_cub(*other.record) || !same_cell(other, *result)) continue;
    const double other_us = median(other.samples.accepted);
    if (cub_us == 0 || other_us < cub_us) cub_us = other_us;
  }
  if (result->energy_uj) state.counters["energy_uj"] = *result->energy_uj;
  if (cub_us > 0) state.counters["speedup_over_cub"] = cub_us / about.median;
  if (const ceiling* const roof = ceiling_of(all.found, result->about, result->mode))
    state.counters["percent_of_ceiling"] = 100 * roof->median_us() / about.median;
}

// Prints through Google Benchmark, which also serves its own --benchmark_out.
void run_cases(const options& given, const run_plan& plan, suite& all, progress_line& line) {
  bool custom_console = true, colour = wants_colour(1), own_unit = false;
  std::vector<std::string> arguments{"rungs_bench"};
  for (const auto& flag : given.google) {
    arguments.push_back(flag);
    const auto value = flag.substr(flag.find('=') + 1);
    if (flag.starts_with("--benchmark_format=")) custom_console = value == "console";
    if (flag.starts_with("--benchmark_color=") && value != "auto")
      colour = value == "true" || value == "yes" || value == "1";
    if (flag.starts_with("--benchmark_time_unit=")) own_unit = true;
    if (flag.starts_with("--benchmark_out=")) write_atomically(value, "");
  }
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  for (const bench_case& one : plan.cases) {
    if (!one.asked_for) continue;
    auto* registered = benchmark::RegisterBenchmark(
        one.name.c_str(), [&all, &one](benchmark::State& state) { print_case(state, all, one); });
    registered->Iterations(1)->UseManualTime();
    if (!own_unit) registered->Unit(benchmark::kMicrosecond);
  }
  if (custom_console) {
    console printer(line, colour, given);
    benchmark::RunSpecifiedBenchmarks(&printer, "all");
  } else {
    benchmark::RunSpecifiedBenchmarks("all");
  }
  line.clear();
}

json device_json(const device_facts& device) {
  json facts;
  facts["name"] = device.name;
  facts["card"] = device.card;
  facts["compute_capability"] = device.compute_capability;
  facts["multiprocessors"] = device.multiprocessors;
  facts["l2_bytes"] = device.l2_bytes;
  facts["memory_bytes"] = device.memory_bytes;
  facts["memory_bus_bits"] = device.memory_bus_bits != 0 ? json(device.memory_bus_bits) : json(nullptr);
  facts["peak_gb_per_s"] = device.peak_gb_per_s() > 0 ? json(device.peak_gb_per_s()) : json(nullptr);
  return facts;
}

std::vector<const catalog::record*> distinct_variants(std::span<const catalog::record> records) {
  std::vector<const catalog::record*> variants;
  for (const auto& record : records) {
    const bool known = std::any_of(variants.begin(), variants.end(), [&](const catalog::record* one) {
      return one->family == record.family && one->ladder == record.ladder && one->rung == record.rung;
    });
    if (!known) variants.push_back(&record);
  }
  return variants;
}

// What a person should know at the end; the file holds the rest.
int summarise_run(const suite& all, const options& given, const destination& to,
                  const std::optional<unfinished_run>& earlier, const std::vector<std::string>& notices) {
  std::size_t timed = 0, wrong = 0, faults = 0, implausible = 0, marked = 0, different = 0, set_aside = 0;
  for (const row& one : all.found.rows) {
    timed += one.timed();
    faults += !one.fault.empty();
    wrong += !one.timed() && one.fault.empty();
    set_aside += one.samples.set_aside.size();
    if (one.implausible) {
      ++implausible;
      std::cerr << "implausible: " << case_name(one.about, *one.record, one.mode) << " took " << one.summary.median
                << " us, its ceiling " << one.ceiling_us.value_or(0) << " us; this is a defect of the measurement\n";
    }
  }
  for (const ceiling& one : all.found.ceilings) marked += one.drift() > largest_drift;
  for (const twin_pair& one : all.found.twins) different += one.different();
  for (const auto& notice : notices) std::cerr << "notice: " << notice << '\n';
  if (faults != 0) std::cerr << faults << " rows without a time: a library's histogram was wrong or refused\n";
  if (earlier) {
    std::cerr << earlier->num_rows() << " rows in " << earlier->num_cells() << " cells were in the file\n";
    wrong += earlier->any_wrong();
  }
  std::cerr << timed << " rows measured, " << wrong << " wrong, " << implausible << " implausible, "
            << all.found.omissions.size() << " left out (the file says why); " << set_aside << " samples set aside; "
            << marked << " of " << all.found.ceilings.size() << " ceilings drifted over 2 %; " << different << " of "
            << all.found.twins.size() << " CUB twins read different\n"
            << (all.complete() ? "complete"
                : signalled    ? "interrupted"
                               : "ended by the budget")
            << " after " << format_duration(all.seconds()) << "; written to " << to.results.string() << '\n';
  if (signalled) return exit_interrupted;
  if (all.failed() || wrong > 0 || implausible > 0) return exit_wrong;
  if (given.strict && !notices.empty()) return exit_environment;
  return exit_ok;
}

json versions_json(const environment& surroundings) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto dotted = [](int version) {
    return version == 0 ? json(nullptr)
                        : json(std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  };
  return {{"driver", surroundings.driver_version()}, {"driver_cuda", dotted(driver)},
          {"cuda_runtime", dotted(runtime)},         {"nvcc", build::nvcc_version},
          {"cccl", catalog::cccl_version()},         {"compiler", build::compiler_version},
          {"architectures", build::architectures},   {"build_type", build::type}};
}

// Writes the file of results: while it is measured, so that nothing but the last seconds of a run that is killed are
// lost, and at the end.
struct recorder {
  run_facts about;
  const destination& to;
  const std::optional<unfinished_run>& earlier;
  std::vector<const catalog::record*> variants;
  double peak_gb_per_s;
  double written = -1, took = 0;  // seconds of the run
  json file = {};

  // Answers what a reader must know of the run.
  std::vector<std::string> write(suite& all, const json& after, bool complete) {
    compare(all.found, peak_gb_per_s);
    json& context = about.context;
    auto notices = banners(context["environment"]["before"], after, context["variables"], build::is_release());
    std::size_t accepted = 0, set_aside = 0;
    for (const row& one : all.found.rows) {
      accepted += one.samples.accepted.size();
      set_aside += one.samples.set_aside.size();
    }
    if (20 * set_aside > accepted) notices.push_back("the SM clock dropped in over 5 % of the samples");
    about.complete = complete;
    about.seconds = all.seconds();
    context["environment"]["after"] = after;
    context["banners"] = notices;
    file = to_json(all.found, about, variants);
    if (earlier) file = earlier->united_with(file);
    write_atomically(to.results, to_text(file));
    return notices;
  }
  // What was written last, once more.
  void write_tables(const options& given) const {
    const auto put = [](const fs::path& path, const auto& text) {
      if (path == "-")
        std::cout << text() << std::flush;
      else if (!path.empty())
        write_atomically(path, text());
    };
    put(given.json, [&] { return to_text(file); });
    put(given.csv, [&] { return to_csv(file); });
    put(given.md, [&] { return to_markdown(file); });
  }
  // Unless that would take more than 2 % of the time.
  void write_so_far(suite& all) {
    const double now = all.seconds();
    if (written >= 0 && now - written < 50 * took) return;
    write(all, nullptr, false);
    written = all.seconds();
    took = written - now;
  }
  void write_samples(const suite& all) const {
    const json samples = samples_to_json(all.found, about);
    write_gzip_atomically(to.samples, (earlier ? earlier->samples_united_with(samples) : samples).dump());
  }
};

// For whoever looks on with a profiler: bench/counters starts it with one.
int run_profile(const options& given, const run_plan& plan, const device_facts& device, const environment& surroundings,
                run_facts about) {
  write_atomically(given.out, "");
  about.context = {{"device", device_json(device)}, {"versions", versions_json(surroundings)}};
  const auto all =
      profile(plan, device, suite_rules().seed, [](const std::string& name) { std::cerr << name << '\n'; });
  write_atomically(given.out, to_text(to_json(all, plan, about)));
  bool wrong = false;
  for (const profiled_case& one : all) {
    if (!one.why_not.empty()) std::cerr << one.which->name << ": " << one.why_not << '\n';
    wrong = wrong || one.wrong;
  }
  return wrong ? exit_wrong : exit_ok;
}

int run(int argc, char** argv) {
  auto [given, done] = parse_options(argc, argv);
  if (done) return *done;
  std::optional<unfinished_run> earlier;
  if (!given.resume.empty()) {
    earlier.emplace(given.resume, samples_beside(given.resume));
    take_up(earlier->arguments(), given);
  }
  const auto records = catalog::all();

  const environment surroundings;  // before the first CUDA call
  std::string why_no_device;
  const auto device = find_device(why_no_device, given.device.value_or(0));
  if (given.list) {
    for (const auto& one : make_plan(records, given.wanted, device ? device : imaginary_device(), "").cases) {
      if (one.asked_for) std::cout << one.name << '\n';
    }
    return exit_ok;
  }
  run_plan plan = make_plan(records, given.wanted, device, why_no_device);
  if (!device) {
    std::cerr << "no usable GPU: " << why_no_device << "; " << plan.omissions.size()
              << " device variants cannot run here"
              << (given.require_gpu || given.profile ? "\n" : ", only the host baselines do\n");
    if (given.require_gpu || given.profile) return exit_no_gpu;
  }

  run_facts about;
  about.commit = build::commit;
  about.run = utc_now() + "-" + about.commit.substr(0, about.commit.find('-'));
  about.gpu = slug(device ? device->name : cpu_name());
  // Where the files go is no property of the run.
  for (std::size_t i = 0; i < given.command_line.size(); ++i) {
    const std::string& argument = given.command_line[i];
    const auto is = [&](std::string_view flag) { return argument == flag; };
    const auto gives = [&](const std::string& flag) { return argument.starts_with(flag + "="); };
    if (const auto flags = {"--out", "--json", "--csv", "--md"}; std::ranges::any_of(flags, is))
      ++i;
    else if (std::ranges::none_of(flags, gives))
      about.arguments.push_back(argument);
  }
  if (given.profile) return run_profile(given, plan, *device, surroundings, about);
  const json facts = device ? device_json(*device) : json(nullptr);
  json versions = versions_json(surroundings);
  versions["program"] = program_fingerprint();
  std::vector<twin_pair> earlier_twins;
  json resumed = json::array();
  if (earlier) {
    earlier->must_be_of(about.gpu, about.commit, facts, versions);
    earlier_twins = earlier->take_from(plan);
    if (plan.cases.empty() && earlier->complete()) {
      std::cerr << given.resume.string() << " lacks nothing: all its " << earlier->num_cells()
                << " cells are measured\n";
      return exit_ok;
    }
    resumed.push_back(about.run.substr(0, about.run.find('Z') + 1));
    about.run = earlier->name();
    about.arguments = earlier->arguments();
  }
  const destination to = choose_destination(given, about.gpu, about.run);

  const auto read_environment = [&] { return device ? surroundings.read(*device) : json(nullptr); };
  const json before = read_environment(), variables = variables_that_matter();
  if (const auto refused = banners(before, nullptr, variables, build::is_release()); given.strict && !refused.empty()) {
    for (const auto& banner : refused) std::cerr << "refused under --strict: " << banner << '\n';
    return exit_environment;
  }

  about.context["device"] = facts;
  about.context["host"] = host_facts();
  about.context["versions"] = versions;
  about.context["environment"] = {{"before", before}};
  about.context["variables"] = variables;
  suite_rules rules;
  about.context["seed"] = rules.seed;
  if (given.wanted.grid != grid::none) about.context["grid"] = name(given.wanted.grid);
  if (!device) about.context["no_gpu"] = why_no_device;
  if (earlier) about.context["resumed"] = resumed;
  recorder record{about, to, earlier, distinct_variants(records), device ? device->peak_gb_per_s() : 0};

  listen_for_interrupts();
  rules.budget_seconds = given.budget_seconds;
  rules.limits = given.limits;
  if (!given.wanted.full && given.wanted.grid == grid::none) rules.aim_seconds = shared_seconds;
  if (given.wanted.full) rules.stop_us = 1e6;
  if (given.energy) {
    if (device && surroundings.joules(*device))
      rules.joules = [&] { return surroundings.joules(*device); };
    else
      std::cerr << "--energy: " << (device ? "NVML or its energy counter" : "a GPU")
                << " is not there; no row has it\n";
  }
  suite all(plan, records, device, rules, [] { return signalled != 0; });
  progress_line line(all.num_cells());
  all.on_progress = [&](const std::string& what) {
    line.show(all.cells_done(), what, all.seconds_left().value_or(-1));
  };
  all.on_problem = [&] { record.write_so_far(all); };
  all.found.earlier_twins = earlier_twins;
  watchdog guard(given.watchdog_seconds, [&](const std::string& step) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, " in %g s", given.watchdog_seconds);
    const std::string fate = std::string(did_not_end) + seconds;
    line.clear();
    std::cerr << "rungs_bench: " << step << ": " << fate << " (--watchdog)" << std::endl;
    try {
      all.give_up(fate);
      record.write(all, nullptr, false);
      record.write_samples(all);
      record.write_tables(given);
      std::cerr << "what was measured before stands in " << to.results.string() << "; --resume=" << to.results.string()
                << " goes on\n";
    } catch (const std::exception& error) {
      std::cerr << "rungs_bench: " << error.what() << '\n';
    }
    std::fflush(stdout);
    std::_Exit(exit_stuck);  // nothing that would wait for the device
  });
  all.guard = &guard;
  std::string broken;
  try {
    if (!plan.cases.empty()) run_cases(given, plan, all, line);
  } catch (const cuda_error& error) {
    // The context may be lost, but what was measured is not; rows that wait for their last verification go.
    broken = error.what();
    std::erase_if(all.found.rows, [](const row& one) { return !one.verified && one.defect.empty(); });
  }

  guard.rests();

  about.complete = all.complete() && broken.empty();
  const json after = broken.empty() ? read_environment() : json(nullptr);
  const auto notices = record.write(all, after, about.complete);
  record.write_samples(all);
  record.write_tables(given);
  const int code = summarise_run(all, given, to, earlier, notices);
  if (broken.empty()) return code;
  std::cerr << "the GPU failed: " << broken << "; what was measured before stands in the file\n";
  return exit_internal;
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  using namespace rungs::bench;
  try {
    return run(argc, argv);
  } catch (const usage_error& error) {
    std::cerr << "rungs_bench: " << error.what() << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << "rungs_bench: internal error: " << error.what() << '\n';
    return exit_internal;
  }
}
