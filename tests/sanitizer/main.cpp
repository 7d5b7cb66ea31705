// rungs_sanitize: what tests/sanitize runs, and where its options are described.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "lines.hpp"
#include "sanitizer/findings.hpp"
#include "sanitizer/processes.hpp"
#include "text.hpp"

namespace rungs::tests::sanitizer {
namespace {

namespace fs = std::filesystem;

struct tool {
  std::string name;
  std::vector<std::string> options{}, options_of_tests{};
};
// Racecheck hands every access to shared memory to threads of the host. One of them a process, as there are as many
// processes as cores; and the tests' own kernels, which are not what is examined, are left out.
const std::vector<tool> all_tools{
    {"memcheck"},
    {"racecheck",
     {"--racecheck-report", "analysis", "--racecheck-num-workers", "1", "--kernel-name-exclude", "kns=5rungs5tests"},
     {"--few-accesses"}},
    {"initcheck"},
    {"synccheck"}};

struct settings {
  fs::path build = "build", logs;
  std::vector<tool> tools = all_tools;
  std::string filter = "catalog.*";
  int shards = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 4);
  double limit_seconds = 3600;
};

[[noreturn]] void refuse(const std::string& why) {
  std::cerr << "tests/sanitize: " << why << '\n';
  std::exit(2);
}

double number(const std::string& value, const std::string& option) {
  char* end = nullptr;
  const double x = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(x > 0)) refuse(option + " takes a number above 0, not '" + value + "'");
  return x;
}

std::vector<tool> tools_named(const std::string& list) {
  std::vector<tool> chosen;
  std::string there_are;
  for (const tool& t : all_tools) there_are += (there_are.empty() ? "" : ", ") + t.name;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const auto known = std::ranges::find(all_tools, name, &tool::name);
    if (known == all_tools.end()) refuse("unknown tool " + name + "; there are " + there_are);
    chosen.push_back(*known);
    begin = end + 1;
  }
  return chosen;
}

settings parse(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i], value;
    if (const std::size_t at = option.find('='); at != option.npos) {
      value = option.substr(at + 1);
      option.resize(at);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      refuse("unknown option " + option + " or no value for it; --help lists them");
    }
    if (option == "--build")
      s.build = value;
    else if (option == "--tools")
      s.tools = tools_named(value);
    else if (option == "--shards")
      s.shards = static_cast<int>(std::ceil(number(value, option)));
    else if (option == "--filter")
      s.filter = value;
    else if (option == "--limit")
      s.limit_seconds = number(value, option);
    else if (option == "--logs")
      s.logs = value;
    else
      refuse("unknown option " + option + "; --help lists them");
  }
  return s;
}

std::optional<fs::path> find_sanitizer() {
  const char* path = std::getenv("PATH");
  std::string folders = text(path != nullptr ? path : "", ":/usr/local/cuda/bin:");
  for (std::size_t end; (end = folders.find(':')) != folders.npos; folders.erase(0, end + 1)) {
    const fs::path program = fs::path(folders.substr(0, end)) / "compute-sanitizer";
    if (fs::is_regular_file(program) && access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "rungs_sanitize_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  return name;
}

std::set<std::string> names_in(const fs::path& file) {
  const std::string text_of_it = contents(file);
  const auto names = lines(text_of_it);
  return {names.begin(), names.end()};
}

void print(const std::string& tool, const verdict& v) {
  std::cout << tool << ": " << (v.clean() ? "clean" : "NOT clean") << "; " << v.launched.size() << " kernels launched, "
            << v.ours.size() << " kinds of finding in ours, " << v.libraries.size() << " in the libraries'";
  for (std::size_t i = 0; i < v.broken.size(); ++i)
    std::cout << (i == 0 ? "; shards ended with [" : ", ") << v.broken[i];
  std::cout << (v.broken.empty() ? "\n" : "]\n");
  for (const auto& [kind, count] : v.ours)
    std::cout << "  ours, " << count << "x: " << kind.first << " in "
              << (kind.second.empty() ? "an unnamed place" : kind.second) << '\n';
  for (const auto& [kind, count] : v.libraries)
    std::cout << "  library, " << count << "x: " << kind.first << " in " << kind.second.substr(0, 160) << '\n';
}

int sanitize(const settings& s) {
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::llround(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  };
  const fs::path tests = s.build / "tests", program = tests / "rungs_gpu_tests";
  if (!fs::exists(program)) refuse(program.string() + " is not there: build it first");
  const auto sanitizer = find_sanitizer();
  const bool no_gpu = run({{program, "--require-gpu", "--gtest_filter=checker.u8"}, "/dev/null"}) == 3;
  if (!sanitizer || no_gpu) {
    std::cout << "skipped: " << (no_gpu ? "no usable GPU" : "compute-sanitizer is not installed") << '\n'
              << "0 passed, 0 failed, " << s.tools.size() + 1 << " skipped\n";
    return 0;
  }

  // Every shard of every tool at once.
  const fs::path folder = s.logs.empty() ? new_folder() : s.logs;
  fs::create_directories(folder);
  const auto file = [&](std::size_t t, int shard, const char* kind) {
    return folder / text(s.tools[t].name, '.', shard, kind);
  };
  std::vector<command> commands;
  for (std::size_t t = 0; t < s.tools.size(); ++t)
    for (int i = 0; i < s.shards; ++i) {
      fs::remove(file(t, i, ".kernels"));
      command it{
          {*sanitizer, "--tool", s.tools[t].name, "--print-limit", "1000", "--error-exitcode", text(found_something)},
          file(t, i, ".log"),
          {text("GTEST_TOTAL_SHARDS=", s.shards), text("GTEST_SHARD_INDEX=", i)}};
      it.words.insert(it.words.end(), s.tools[t].options.begin(), s.tools[t].options.end());
      it.words.insert(it.words.end(), {program, "--sanitizer", "--gtest_filter=" + s.filter,
                                       text("--kernels=", file(t, i, ".kernels").string())});
      it.words.insert(it.words.end(), s.tools[t].options_of_tests.begin(), s.tools[t].options_of_tests.end());
      commands.push_back(std::move(it));
    }
  std::vector<int> statuses(commands.size());
  run_together(commands, s.limit_seconds, [&](std::size_t index, int status) {
    statuses[index] = status;
    std::cout << s.tools[index / static_cast<std::size_t>(s.shards)].name << ": a shard ended with " << status
              << " after " << seconds() << " s" << std::endl;
  });

  int passed = 0, failed = 0;
  const auto count = [&](bool good) { ++(good ? passed : failed); };
  std::vector<verdict> verdicts;
  for (std::size_t t = 0; t < s.tools.size(); ++t) {
    std::vector<shard> shards;
    for (int i = 0; i < s.shards; ++i)
      shards.push_back({statuses[t * static_cast<std::size_t>(s.shards) + static_cast<std::size_t>(i)],
                        contents(file(t, i, ".log")), names_in(file(t, i, ".kernels"))});
    verdicts.push_back(judge(shards));
    print(s.tools[t].name, verdicts.back());
    count(verdicts.back().clean());
  }

  // The compiler's own list of kernels.
  const fs::path list = folder / "built.kernels";
  if (const int status =
          run({{tests / "rungs_resources", "--kernels", s.build / "CMakeFiles" / "rungs_catalog.dir"}, list});
      status != 0) {
    std::cout << "the kernels that are built could not be listed: rungs_resources ended with " << status << '\n'
              << contents(list);
    count(false);
  } else {
    const std::set<std::string> built = names_in(list);
    std::set<std::string> missing;
    std::map<std::string, int> excused;  // kernels by tool and reason
    for (const std::string& name : built)
      for (std::size_t t = 0; t < verdicts.size(); ++t) {
        if (verdicts[t].launched.contains(name)) continue;
        if (const std::string_view why = excuse(name, s.tools[t].name, verdicts[t].launched); !why.empty())
          ++excused[text(s.tools[t].name, ": ", why)];
        else
          missing.insert(name);
      }
    std::cout << built.size() << " kernels of ours are built, " << missing.size()
              << " of them were not launched under every tool\n";
    for (const std::string& name : missing) std::cout << "  never launched: " << name << '\n';
    for (const auto& [why, kernels] : excused)
      std::cout << "  another was launched instead of " << kernels << ", " << why << '\n';
    count(missing.empty());
  }
  std::cout << "logs: " << folder.string() << "; " << seconds() << " s\n"
            << passed << " passed, " << failed << " failed, 0 skipped\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rungs::tests::sanitizer

int main(int argc, char** argv) {
  namespace sanitizer = rungs::tests::sanitizer;
  try {
    return sanitizer::sanitize(sanitizer::parse(argc, argv));
  } catch (const sanitizer::interrupted&) {
    return 130;
  } catch (const std::exception& problem) {
    std::cerr << "tests/sanitize: " << problem.what() << '\n';
    return 1;
  }
}
