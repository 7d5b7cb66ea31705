// rungs_gpu_tests: every record of the catalog over the cases of examination.cpp, one GoogleTest entry a record.
//
// The process that is started supervises: the tests run in a child of it, which reports on a pipe. A child that hangs
// or loses its device fails the test it was in, and the next child goes on after it.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "catalog.hpp"
#include "gpu/entries.hpp"
#include "gpu/launches.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using nlohmann::json;

struct settings {
  examination how;
  std::string filter = "*", records_file, summary_file, kernels_file;
  bool require_gpu = false, list = false, list_records = false, in_process = false;
  double watchdog_seconds = 0;  // without a sign of life; 0: 30, or 120 with --full
  int first = 0;                // children only: where to begin
  int pipe = -1;
  std::vector<char*> for_gtest;
};

// Does not return where the command line is wrong or asks for help.
settings parse(int argc, char** argv) {
  settings s;
  s.how.seed = 20261121;
  bool full = false, sanitizer = false;
  CLI::App app("rungs_gpu_tests: the correctness of every record in the catalog, on this machine's GPU.");
  app.footer(
      "--gtest_filter=PATTERN, --gtest_list_tests and GoogleTest's other options are passed on. tests/record keeps the "
      "GPU\n"
      "record.\n"
      "Exit codes: 0 passed or skipped, 1 something failed, 2 usage, 3 no usable GPU where one was required.");
  app.allow_extras();
  app.add_flag("--full", full, "everything: exhaustive small sizes, 2^32 items for every type, more threads");
  auto* const small =
      app.add_flag("--sanitizer", sanitizer, "the small subset to run under compute-sanitizer (implies --in-process)");
  app.add_flag("--few-accesses", s.how.few_accesses,
               "without what takes racecheck minutes, millions of accesses to shared memory")
      ->needs(small);
  app.add_option("--filled", s.how.filled, "fill the workspace of these sources' records before their calls")
      ->delimiter(',')
      ->needs(small);
  app.add_option("--seed", s.how.seed, "the seed of all data; printed, and in every replay command");
  app.add_option("--case", s.how.only_case, "with --gtest_filter: that case alone");
  app.add_option("--records", s.records_file, "only the records that this file names, one a line");
  app.add_flag("--require-gpu", s.require_gpu, "fail, not skip, where there is no usable GPU");
  app.add_option("--seconds", s.how.seconds, "time for the large inputs of one record (0.8)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--watchdog", s.watchdog_seconds, "seconds without a sign of life after which a test is ended")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--in-process", s.in_process, "no supervisor: for debuggers");
  app.add_option("--summary", s.summary_file, "outcome of every test as JSON, in the form of --gtest_output=json");
  app.add_option("--kernels", s.kernels_file,
                 "with --in-process or --sanitizer: the mangled names of all kernels that were launched");
  app.add_flag("--list-records", s.list_records,
               "the catalog's records that need a GPU, and their sources, as JSON; runs nothing");
  app.add_option("--child-first", s.first)->group("");
  app.add_option("--child-pipe", s.pipe)->group("");
  std::set<std::string> for_gtest;
  try {
    app.parse(argc, argv);
    for (const std::string& extra : app.remaining()) {
      if (!extra.starts_with("--gtest_")) throw CLI::ExtrasError({extra});
      for_gtest.insert(extra);
    }
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  s.for_gtest.push_back(argv[0]);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!for_gtest.contains(argument)) continue;
    s.for_gtest.push_back(argv[i]);
    s.list = s.list || argument == "--gtest_list_tests";
    if (constexpr std::string_view key = "--gtest_filter="; argument.starts_with(key))
      s.filter = argument.substr(key.size());
  }
  if (full) s.how.how_much = extent::full;
  if (sanitizer) s.how.how_much = extent::sanitizer;
  s.in_process = s.in_process || sanitizer;
  if (s.watchdog_seconds == 0) s.watchdog_seconds = full ? 120 : 30;
  return s;
}

// --- the child: GoogleTest over the entries

settings current;

void tell(const json& message) {
  if (current.pipe < 0) return;
  const std::string line = message.dump() + '\n';
  if (write(current.pipe, line.data(), line.size()) < 0) std::_Exit(4);
}

class entry_test : public testing::Test {
 public:
  entry_test(const entry& e, int index) : entry_(e), index_(index) {}

  void TestBody() override {
    const std::string name = text(entry_.suite, '.', entry_.name);
    tell({{"begin", index_}, {"name", name}});
    const auto start = std::chrono::steady_clock::now();
    examination how = current.how;
    how.on_case = [](const std::string& described) { tell({{"case", described}}); };
    const verdict v = entry_.run(how);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::string notes;
    for (const std::string& note : v.notes) {
      std::cout << "  note: " << note << '\n';
      notes += (notes.empty() ? "" : "; ") + note;
    }
    std::string first;
    for (const finding& f : v.findings) {
      ADD_FAILURE() << f.case_name << ": " << f.what << "\n  replay: rungs_gpu_tests --gtest_filter='" << entry_.suite
                    << '.' << entry_.name << "' --seed=" << how.seed << " --case='" << f.case_name << "'";
      if (first.empty()) first = text(f.case_name, ": ", f.what);
    }
    const bool skipped = v.findings.empty() && !v.skipped.empty();
    const bool unwanted_skip = skipped && current.require_gpu && !no_gpu_reason().empty();
    if (unwanted_skip) ADD_FAILURE() << v.skipped;
    const char* const result = !v.findings.empty() || unwanted_skip ? "failed"
                               : skipped && v.known_fault           ? "known fault"
                               : skipped                            ? "skipped"
                                                                    : "passed";
    tell({{"end", result},
          {"name", name},
          {"cases", v.cases},
          {"seconds", seconds},
          {"reason", skipped ? v.skipped : first},
          {"notes", notes}});
    if (v.device_lost) std::_Exit(42);
    if (skipped && !unwanted_skip) GTEST_SKIP() << v.skipped;
  }

 private:
  const entry& entry_;
  int index_;
};

int run_tests(const std::vector<entry>& entries) {
  int argc = static_cast<int>(current.for_gtest.size());
  current.for_gtest.push_back(nullptr);
  testing::InitGoogleTest(&argc, current.for_gtest.data());
  for (int i = current.first; i < static_cast<int>(entries.size()); ++i) {
    const entry& e = entries[static_cast<std::size_t>(i)];
    testing::RegisterTest(e.suite.c_str(), e.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&e, i]() -> testing::Test* { return new entry_test(e, i); });
  }
  if (!current.list) std::cout << "seed " << current.how.seed << std::endl;
  const int status = RUN_ALL_TESTS();
  if (!current.kernels_file.empty()) {
    std::ofstream out(current.kernels_file);
    for (const std::string& name : launched_kernels()) out << name << '\n';
  }
  return status;
}

// --- the supervisor

// Runs one child from entry `first` on. Returns the entry to go on with, or -1 when the child finished.
int supervise(int argc, char** argv, int first, std::vector<json>& outcomes, int& exit_status) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(4);
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.push_back(text("--child-first=", first));
  arguments.push_back(text("--child-pipe=", ends[1]));
  std::vector<char*> raw;
  for (std::string& a : arguments) raw.push_back(a.data());
  raw.push_back(nullptr);
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    execv("/proc/self/exe", raw.data());
    std::_Exit(127);
  }
  close(ends[1]);

  int index = -1;
  std::string name, last_case, unread;
  bool in_test = false, hung = false;
  for (;;) {
    pollfd waiting{ends[0], POLLIN, 0};
    // The first sign of life may take as long as loading the driver and all kernels does.
    const double patience = in_test ? current.watchdog_seconds : std::max(60.0, current.watchdog_seconds);
    const int ready = poll(&waiting, 1, static_cast<int>(patience * 1000));
    if (ready == 0) {
      hung = true;
      kill(child, SIGKILL);
      break;
    }
    if (ready < 0) continue;
    char block[4096];
    const ssize_t got = read(ends[0], block, sizeof block);
    if (got <= 0) break;
    unread.append(block, static_cast<std::size_t>(got));
    for (std::size_t newline; (newline = unread.find('\n')) != std::string::npos; unread.erase(0, newline + 1)) {
      const json message = json::parse(unread.substr(0, newline));
      in_test = !message.contains("end");
      if (message.contains("begin")) {
        index = message["begin"];
        name = message["name"];
        last_case.clear();
      } else if (message.contains("case")) {
        last_case = message["case"];
      } else {
        outcomes.push_back(message);
      }
    }
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool finished =
      !hung && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 1) && !in_test;
  if (finished) {
    exit_status = std::max(exit_status, WEXITSTATUS(status));
    return -1;
  }
  // After a test that has lost the device, the child ends with this, and the next one goes on.
  const bool asked_for_another = WIFEXITED(status) && WEXITSTATUS(status) == 42 && !in_test;
  if (!asked_for_another) exit_status = 1;
  if (in_test) {
    const std::string how = hung ? text("no sign of life for ", current.watchdog_seconds, " s: ended by the watchdog")
                            : WIFSIGNALED(status) ? text("died of signal ", WTERMSIG(status))
                                                  : text("ended with exit code ", WEXITSTATUS(status));
    const std::string reason = text(how, " in case ", last_case);
    outcomes.push_back(
        {{"end", "failed"}, {"name", name}, {"cases", 0}, {"seconds", 0.0}, {"reason", reason}, {"notes", ""}});
    std::cout << "[  FAILED  ] " << name << ": " << reason << std::endl;
  } else if (index < first && !asked_for_another) {
    std::cerr << "rungs_gpu_tests: the test process ended before its first test\n";
    return -2;
  }
  std::cout << "[ RESTART  ] going on after " << name << std::endl;
  return index + 1;
}

// The GPU, its driver and the toolkit.
json this_machine() {
  const auto version = [](int packed) { return text(packed / 1000, '.', packed % 1000 / 10); };
  std::string gpu, driver, toolkit;
  int device = 0, number = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess)
    gpu = properties.name;
  // The driver's own number where the kernel tells it, else the newest CUDA it supports.
  std::ifstream proc("/proc/driver/nvidia/version");
  for (std::string word; driver.empty() && proc >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != word.npos) driver = word;
  if (driver.empty() && cudaDriverGetVersion(&number) == cudaSuccess) driver = version(number);
  if (cudaRuntimeGetVersion(&number) == cudaSuccess) toolkit = version(number);
  return {{"gpu", gpu}, {"driver", driver}, {"toolkit", toolkit}};
}

std::ptrdiff_t count(const std::vector<json>& outcomes, std::string_view result) {
  return std::ranges::count_if(outcomes, [&](const json& o) { return o["end"] == result; });
}

void write_summary(const std::string& file, const std::vector<json>& outcomes) {
  json tests = json::array();
  for (const json& o : outcomes) {
    const bool is_skip = o["end"] == "skipped" || o["end"] == "known fault";
    json test{{"name", o["name"]},   {"classname", "rungs_gpu_tests"},
              {"status", "RUN"},     {"result", is_skip ? "SKIPPED" : "COMPLETED"},
              {"cases", o["cases"]}, {"time", text(o["seconds"].get<double>(), 's')}};
    if (o["end"] == "failed") test["failures"] = json::array({json{{"failure", o["reason"]}}});
    if (is_skip) test["skipped"] = json::array({json{{"message", o["reason"]}}});
    if (o["notes"] != "") test["notes"] = o["notes"];
    tests.push_back(test);
  }
  const json suite{{"name", "rungs_gpu_tests"}, {"testsuite", tests}};
  const json summary{{"tests", outcomes.size()},
                     {"failures", count(outcomes, "failed")},
                     {"skipped", count(outcomes, "skipped") + count(outcomes, "known fault")},
                     {"seed", current.how.seed},
                     {"machine", this_machine()},
                     {"name", "rungs_gpu_tests"},
                     {"testsuites", json::array({suite})}};
  std::ofstream out(file + ".part");
  out << summary.dump(1) << '\n';
  out.close();
  if (!out || std::rename((file + ".part").c_str(), file.c_str()) != 0) {
    std::cerr << "rungs_gpu_tests: cannot write " << file << '\n';
    std::exit(2);
  }
}

// The catalog as the GPU record sees it (tests/tools/record.py). Records that execute on the host are tested everywhere
// and have no entry there.
void list_records() {
  json records = json::array();
  for (const catalog::record& r : catalog::all())
    if (r.executes_on != executor::host)
      records.push_back({{"family", name(r.family)},
                         {"ladder", r.ladder},
                         {"rung", r.rung},
                         {"operation", name(r.operation)},
                         {"operator", name(r.op)},
                         {"input_type", name(r.input_type)},
                         {"accumulator_type", name(r.accumulator_type)},
                         {"source", r.source}});
  std::cout << json{{"compile_flags", RUNGS_COMPILE_FLAGS}, {"records", records}}.dump(1) << '\n';
}

// Which records of the catalog to run: all, or those that the file names.
std::function<bool(const std::string&)> wanted_records() {
  if (current.records_file.empty()) return [](const std::string&) { return true; };
  std::ifstream in(current.records_file);
  if (!in) throw std::runtime_error("cannot read " + current.records_file);
  std::set<std::string> names;
  for (std::string name; std::getline(in, name);) names.insert(name);
  return [names](const std::string& name) { return names.contains(name); };
}

int run_supervised(int argc, char** argv, const std::vector<entry>& entries) {
  std::vector<json> outcomes;
  int exit_status = 0, next = 0;
  while (next >= 0 && next < static_cast<int>(entries.size()))
    next = supervise(argc, argv, next, outcomes, exit_status);
  if (next == -2) exit_status = 4;
  std::ptrdiff_t cases = 0;
  for (const json& o : outcomes) cases += o["cases"].get<int>();
  if (outcomes.empty() && exit_status == 0) {
    std::cerr << "rungs_gpu_tests: no test matches '" << current.filter << "'\n";
    return 2;
  }
  for (const json& o : outcomes)
    if (const std::string end = o["end"]; end == "failed" || end == "known fault")
      std::cout << end << ": " << o["name"].get<std::string>() << ": " << o["reason"].get<std::string>() << '\n';
  if (!current.summary_file.empty()) write_summary(current.summary_file, outcomes);
  // A known fault of a library is a skip that no GPU could avoid: it has a count of its own.
  if (const auto known_faults = count(outcomes, "known fault"); known_faults > 0)
    std::cout << known_faults << " known faults of libraries skipped\n";
  const auto failed = count(outcomes, "failed");
  std::cout << cases << " cases, seed " << current.how.seed << '\n'
            << count(outcomes, "passed") << " passed, " << failed << " failed, " << count(outcomes, "skipped")
            << " skipped" << std::endl;
  return failed > 0 ? 1 : exit_status;
}

}  // namespace
}  // namespace rungs::tests

int main(int argc, char** argv) try {
  using namespace rungs::tests;
  current = parse(argc, argv);
  if (current.list_records) {
    list_records();
    return 0;
  }
  const bool child = current.pipe >= 0;
  // Asking for the GPU initialises the driver, which does not survive a fork: the supervisor asks in a process of its
  // own.
  const auto gpu_missing = [] {
    const pid_t asker = fork();
    if (asker == 0) std::_Exit(no_gpu_reason().empty() ? 0 : 1);
    int status = 0;
    waitpid(asker, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  };
  if (!child && !current.list && current.require_gpu && gpu_missing()) {
    std::cerr << "rungs_gpu_tests: no usable GPU, and one is required\n";
    return 3;
  }
  const std::vector<entry> entries = all_entries(wanted_records());
  if (child || current.list || current.in_process) return run_tests(entries);
  return run_supervised(argc, argv, entries);
} catch (const std::exception& error) {
  std::cerr << "rungs_gpu_tests: " << error.what() << '\n';
  return 4;
}
