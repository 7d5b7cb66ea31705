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

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "catalog.hpp"
#include "gpu/entries.hpp"
#include "gpu/launches.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

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

void tell(const std::string& line) {
  if (current.pipe < 0) return;
  const std::string whole = line + '\n';
  if (write(current.pipe, whole.data(), whole.size()) < 0) std::_Exit(4);
}

std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n' || c == '\t') c = ' ';
  return s;
}

class entry_test : public testing::Test {
 public:
  entry_test(const entry& e, int index) : entry_(e), index_(index) {}

  void TestBody() override {
    tell(text("begin\t", index_, '\t', entry_.suite, '.', entry_.name));
    const auto start = std::chrono::steady_clock::now();
    examination how = current.how;
    how.on_case = [](const std::string& described) { tell(text("case\t", one_line(described))); };
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
    tell(text("end\t",
              !v.findings.empty() || unwanted_skip ? "failed"
              : skipped && v.known_fault           ? "known fault"
              : skipped                            ? "skipped"
                                                   : "passed",
              '\t', v.cases, '\t', seconds, '\t', one_line(skipped ? v.skipped : first), '\t', one_line(notes)));
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

struct outcome {
  std::string name, result, reason, notes;
  int cases = 0;
  double seconds = 0;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line)
    if (c == '\t')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Runs one child from entry `first` on. Returns the entry to go on with, or -1 when the child finished.
int supervise(int argc, char** argv, int first, std::vector<outcome>& outcomes, int& exit_status) {
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
      const auto parts = split(unread.substr(0, newline));
      if (parts[0] == "begin") {
        index = std::atoi(parts.at(1).c_str());
        name = parts.at(2);
        last_case.clear();
        in_test = true;
      } else if (parts[0] == "case") {
        last_case = parts.at(1);
      } else if (parts[0] == "end") {
        outcomes.push_back({name, parts.at(1), parts.at(4), parts.at(5), std::atoi(parts.at(2).c_str()),
                            std::atof(parts.at(3).c_str())});
        in_test = false;
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
    outcomes.push_back({name, "failed", text(how, " in case ", last_case), "", 0, 0});
    std::cout << "[  FAILED  ] " << name << ": " << how << " in case " << last_case << std::endl;
  } else if (index < first && !asked_for_another) {
    std::cerr << "rungs_gpu_tests: the test process ended before its first test\n";
    return -2;
  }
  std::cout << "[ RESTART  ] going on after " << name << std::endl;
  return index + 1;
}

std::string quoted(std::string_view s) {
  std::string q = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      q += ' ';
    else
      q += c;
  }
  return q + '"';
}

// The GPU, its driver and the toolkit, as JSON.
std::string this_machine() {
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
  return text("{\"gpu\": ", quoted(gpu), ", \"driver\": ", quoted(driver), ", \"toolkit\": ", quoted(toolkit), '}');
}

bool is_skip(const outcome& o) { return o.result == "skipped" || o.result == "known fault"; }

void write_summary(const std::string& file, const std::vector<outcome>& outcomes) {
  const auto count = [&](std::string_view result) {
    return std::count_if(outcomes.begin(), outcomes.end(), [&](const outcome& o) { return o.result == result; });
  };
  std::ofstream out(file + ".part");
  out << "{\"tests\": " << outcomes.size() << ", \"failures\": " << count("failed")
      << ", \"skipped\": " << count("skipped") + count("known fault") << ", \"seed\": " << current.how.seed
      << ", \"machine\": " << this_machine()
      << ", \"name\": \"rungs_gpu_tests\", \"testsuites\": [{\"name\": \"rungs_gpu_tests\", \"testsuite\": [\n";
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const outcome& o = outcomes[i];
    out << "{\"name\": " << quoted(o.name)
        << ", \"classname\": \"rungs_gpu_tests\", \"status\": \"RUN\", \"result\": \""
        << (is_skip(o) ? "SKIPPED" : "COMPLETED") << "\", \"cases\": " << o.cases << ", \"time\": \"" << o.seconds
        << "s\"";
    if (o.result == "failed") out << ", \"failures\": [{\"failure\": " << quoted(o.reason) << "}]";
    if (is_skip(o)) out << ", \"skipped\": [{\"message\": " << quoted(o.reason) << "}]";
    if (!o.notes.empty()) out << ", \"notes\": " << quoted(o.notes);
    out << '}' << (i + 1 < outcomes.size() ? "," : "") << '\n';
  }
  out << "]}]}\n";
  out.close();
  if (!out || std::rename((file + ".part").c_str(), file.c_str()) != 0) {
    std::cerr << "rungs_gpu_tests: cannot write " << file << '\n';
    std::exit(2);
  }
}

// The catalog as the GPU record sees it (tests/tools/record.py). Records that execute on the host are tested everywhere
// and have no entry there.
void list_records() {
  std::cout << "{\"compile_flags\": " << quoted(RUNGS_COMPILE_FLAGS) << ", \"records\": [";
  const char* comma = "\n";
  for (const catalog::record& r : catalog::all()) {
    if (r.executes_on == executor::host) continue;
    std::cout << comma << "{\"family\": " << quoted(name(r.family)) << ", \"ladder\": " << quoted(r.ladder)
              << ", \"rung\": " << quoted(r.rung) << ", \"operation\": " << quoted(name(r.operation))
              << ", \"operator\": " << quoted(name(r.op)) << ", \"input_type\": " << quoted(name(r.input_type))
              << ", \"accumulator_type\": " << quoted(name(r.accumulator_type)) << ", \"source\": " << quoted(r.source)
              << '}';
    comma = ",\n";
  }
  std::cout << "\n]}\n";
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
  std::vector<outcome> outcomes;
  int exit_status = 0, next = 0;
  while (next >= 0 && next < static_cast<int>(entries.size()))
    next = supervise(argc, argv, next, outcomes, exit_status);
  if (next == -2) exit_status = 4;
  // A known fault of a library is a skip that no GPU could avoid: it has a count of its own.
  int passed = 0, failed = 0, skipped = 0, known_faults = 0, cases = 0;
  for (const outcome& o : outcomes) {
    (o.result == "passed"    ? passed
     : o.result == "failed"  ? failed
     : o.result == "skipped" ? skipped
                             : known_faults) += 1;
    cases += o.cases;
  }
  if (outcomes.empty() && exit_status == 0) {
    std::cerr << "rungs_gpu_tests: no test matches '" << current.filter << "'\n";
    return 2;
  }
  for (const outcome& o : outcomes)
    if (o.result == "failed" || o.result == "known fault")
      std::cout << o.result << ": " << o.name << ": " << o.reason << '\n';
  if (!current.summary_file.empty()) write_summary(current.summary_file, outcomes);
  if (known_faults > 0) std::cout << known_faults << " known faults of libraries skipped\n";
  std::cout << cases << " cases, seed " << current.how.seed << '\n'
            << passed << " passed, " << failed << " failed, " << skipped << " skipped" << std::endl;
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
