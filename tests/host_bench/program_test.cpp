// The program itself: exit codes, messages, files. The GPU is hidden, so that the same happens everywhere.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "exit_codes.hpp"

namespace rungs::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct outcome {
  int code = -1;
  std::string out, err;
};

struct Program : ::testing::Test {
  fs::path folder = fs::temp_directory_path() / ("rungs_program_" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string read(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  pid_t start(const std::vector<std::string>& arguments) const {
    const pid_t child = fork();
    if (child == 0) {
      setenv("CUDA_VISIBLE_DEVICES", "", 1);
      if (freopen((folder / "out.txt").c_str(), "w", stdout) == nullptr ||
          freopen((folder / "err.txt").c_str(), "w", stderr) == nullptr)
        _exit(99);
      std::vector<char*> pointers{const_cast<char*>(RUNGS_BENCH_PROGRAM)};
      for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
      pointers.push_back(nullptr);
      execv(RUNGS_BENCH_PROGRAM, pointers.data());
      _exit(99);
    }
    return child;
  }

  outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(folder / "out.txt"), read(folder / "err.txt")};
  }

  outcome run(const std::vector<std::string>& arguments) const { return finish(start(arguments)); }
  std::string out_flag() const { return "--out=" + (folder / "result.json").string(); }
  json result() const { return json::parse(read(folder / "result.json")); }
};

TEST_F(Program, HelpHasExamplesAndVersionHasVersions) {
  const auto help = run({"--help"});
  EXPECT_EQ(help.code, exit_ok);
  for (const char* word : {"--filter", "--budget", "--shard", "--bins", "--grid", "--distributions", "Examples",
                           "Exit codes", "within 2x"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  const auto version = run({"--version"});
  EXPECT_EQ(version.code, exit_ok);
  for (const char* word : {"rungs ", "nvcc", "CCCL"}) EXPECT_NE(version.out.find(word), std::string::npos) << word;
}

// An argument, and a word of what is said about it.
struct mistake {
  const char *argument, *word;
};
struct ProgramRefuses : Program, ::testing::WithParamInterface<mistake> {};

TEST_P(ProgramRefuses, AMistakeAndNamesIt) {
  const auto got = run({GetParam().argument});
  EXPECT_EQ(got.code, exit_usage) << got.err;
  EXPECT_NE(got.err.find(GetParam().word), std::string::npos) << got.err;
}

const mistake mistakes[] = {{"--no-such-flag", "--no-such-flag"},
                            {"stray", "stray"},
                            {"--sizes=0", "'0'"},
                            {"--sizes=-5", "'-5'"},
                            {"--sizes=12Qi", "'12Qi'"},
                            {"--sizes=1Ki,,2Ki", "''"},
                            {"--sizes=200000Gi", "200000Gi"},
                            {"--sizes=8Ki:1Ki", "'8Ki:1Ki'"},
                            {"--bins=64:32Mi", "16Mi"},
                            {"--min-samples=0", "'0'"},
                            {"--max-samples=few", "'few'"},
                            {"--max-samples=1e9", "'1e9'"},
                            {"--max-noise=0%", "'0%'"},
                            {"--max-noise=1percent", "'1percent'"},
                            {"--max-noise=nan", "'nan'"},
                            {"--types=f12", "'f12'"},
                            {"--modes=lukewarm", "'lukewarm'"},
                            {"--bins=0", "number of bins"},
                            {"--bins=many", "'many'"},
                            {"--bins=17Mi", "16Mi"},
                            {"--distributions=normal", "eight_hot"},
                            {"--grid=everything", "held_out"},
                            {"--filter=(", "'('"},
                            {"--filter=no_such_case", "'no_such_case'"},
                            {"--beside=nobody", "'nobody'"},
                            {"--device=x", "'x'"},
                            {"--device=-1", "'-1'"},
                            {"--device=1.5", "'1.5'"},
                            {"--shard=0/2", "'0/2'"},
                            {"--shard=3/2", "'3/2'"},
                            {"--shard=x", "'x'"},
                            {"--budget=0", "--budget"},
                            {"--budget=-3", "--budget"},
                            {"--budget=soon", "soon"},
                            {"--budget=nan", "--budget"},
                            {"--md=/proc/nowhere/x", "/proc/nowhere/x"},
                            {"--csv=", "no value"},
                            {"--watchdog=-1", "--watchdog"},
                            {"--watchdog=nan", "--watchdog"},
                            {"--watchdog=soon", "soon"},
                            {"--out=/proc/nowhere/x", "/proc/nowhere/x"},
                            {"--resume=/nowhere.json", "/nowhere.json cannot be read"},
                            {"--profile", "--out=FILE.json"},
                            {"--out=", "no value"},
                            {"--filter=", "no value"},
                            {"--benchmark_repetitions=3", "--benchmark_repetitions"},
                            {"--benchmark_format=xml", "'xml'"},
                            {"--benchmark_nonsense=1", "--benchmark_nonsense"},
                            {"--benchmark_filter=no_such_case", "'no_such_case'"}};
INSTANTIATE_TEST_SUITE_P(All, ProgramRefuses, ::testing::ValuesIn(mistakes));

TEST_F(Program, AGridHasSizesAndBinsOfItsOwn) {
  for (const char* argument : {"--full", "--sizes=1Ki", "--bins=64"}) {
    const auto got = run({"--grid=held_out", argument});
    EXPECT_EQ(got.code, exit_usage) << argument;
    EXPECT_NE(got.err.find("of its own"), std::string::npos) << got.err;
  }
  for (const char* argument : {"--dirty-flush", "--modes=warm"}) {
    const auto got = run({"--grid=held_out", argument});
    EXPECT_EQ(got.code, exit_usage) << argument;
    EXPECT_NE(got.err.find("cold"), std::string::npos) << got.err;
  }
}

TEST_F(Program, BesideARungIsWhatItSolves) {
  const auto all = run({"--list"}), beside = run({"--list", "--beside=host_serial_scan"});
  ASSERT_EQ(beside.code, exit_ok) << beside.err;
  EXPECT_NE(beside.out.find("/host_serial_scan/"), std::string::npos);
  EXPECT_EQ(beside.out.find("reduce/"), std::string::npos);
  EXPECT_NE(all.out.find("reduce/"), std::string::npos);
}

TEST_F(Program, AnEmptyValueTakesNoFlagForIt) {
  const auto got = run({"--out=", "--list"});
  EXPECT_EQ(got.code, exit_usage);
  EXPECT_TRUE(got.out.empty());
  EXPECT_FALSE(fs::exists("--list"));
}

TEST_F(Program, AGpuCanBeRequired) {
  for (const auto& arguments : {std::vector<std::string>{"--require-gpu"}, {"--profile", out_flag()}}) {
    const auto got = run(arguments);
    EXPECT_EQ(got.code, exit_no_gpu);
    EXPECT_NE(got.err.find("no usable GPU"), std::string::npos);
  }
}

TEST_F(Program, WithoutAGpuTheHostBaselinesRunAndTheRestIsExplained) {
  const auto got = run({"--sizes=1Ki,1000", out_flag()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  const auto file = result();
  EXPECT_EQ(file["schema"], "rungs.results/1");
  EXPECT_EQ(file["complete"], true);
  EXPECT_TRUE(file["context"]["device"].is_null());
  ASSERT_FALSE(file["rows"].empty());
  for (const auto& row : file["rows"]) {
    EXPECT_EQ(row["mode"], "host");
    EXPECT_EQ(row["verified"], "yes");
    EXPECT_GT(row["median_us"].get<double>(), 0);
  }
  ASSERT_FALSE(file["skipped"].empty());
  EXPECT_NE(file["skipped"][0]["reason"].get<std::string>().find("no usable GPU"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder / "result.samples.json.gz"));
  EXPECT_EQ(got.err.find('\033'), std::string::npos) << "colour or cursor movement outside a terminal";
}

TEST_F(Program, ScansAreMeasuredAndNamedLikeTheRest) {
  const auto got = run({"--sizes=1000", "--types=affine,u8", "--filter=_scan/", out_flag()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  std::set<std::string> seen;
  const auto file = result();
  for (const auto& row : file["rows"]) {
    EXPECT_EQ(row["verified"], "yes");
    EXPECT_EQ(row["bytes"], row["input_type"] == "affine" ? 16'000 : 5'000);
    seen.insert(row["operation"].get<std::string>() + "/" + row["operator"].get<std::string>());
  }
  if (seen.empty()) GTEST_SKIP() << "the catalog has no scan on the host";
  for (const char* kind : {"inclusive_scan/plus", "exclusive_scan/plus", "inclusive_scan/compose"})
    EXPECT_TRUE(seen.contains(kind)) << kind;
}

TEST_F(Program, HistogramsAreMeasuredOnTheHost) {
  if (run({"--list", "--filter=host_serial_histogram"}).code == exit_usage)
    GTEST_SKIP() << "the catalog has no histogram on the host";
  const auto got = run({"--filter=host_serial_histogram", "--sizes=4000", "--types=u8,i32,f16", "--bins=64",
                        "--distributions=uniform,zipf,out_of_range", out_flag()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  std::set<std::string> seen;
  const auto file = result();
  for (const auto& row : file["rows"]) {
    EXPECT_EQ(row["verified"], "yes");
    EXPECT_EQ(row["shape"], "bins=64");
    EXPECT_EQ(row["error"], 0);
    seen.insert(row["operation"].get<std::string>() + "/" + row["input_type"].get<std::string>() + "/" +
                row["distribution"].get<std::string>());
  }
  for (const char* kind : {"histogram_even/u8/zipf", "histogram_range/i32/uniform", "histogram_even/f16/out_of_range"})
    EXPECT_TRUE(seen.contains(kind)) << kind;
  EXPECT_FALSE(seen.contains("histogram_even/u8/out_of_range"));
}

TEST_F(Program, ListAndFilterAgree) {
  const auto list = run({"--list", "--filter=host_serial/host$"});
  EXPECT_EQ(list.code, exit_ok);
  std::istringstream lines(list.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_NE(line.find("/host_serial/host"), std::string::npos) << line;
  EXPECT_GT(count, 0u);
  EXPECT_EQ(run({"--benchmark_list_tests", "--benchmark_filter=host_serial/host$"}).out, list.out);
}

TEST_F(Program, ShardsPartitionTheList) {
  const auto lines_of = [&](const std::vector<std::string>& arguments) {
    std::multiset<std::string> all;
    std::istringstream lines(run(arguments).out);
    for (std::string line; std::getline(lines, line);) all.insert(line);
    return all;
  };
  const auto whole = lines_of({"--list", "--full"});
  std::multiset<std::string> joined;
  for (const char* shard : {"--shard=1/3", "--shard=2/3", "--shard=3/3"})
    joined.merge(lines_of({"--list", "--full", shard}));
  EXPECT_EQ(joined, whole);
}

TEST_F(Program, ABudgetEndsTheRunWithSuccess) {
  const auto begin = std::chrono::steady_clock::now();
  const auto got = run({"--full", "--budget=1", out_flag()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  EXPECT_EQ(result()["complete"], false);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST_F(Program, AnInterruptedRunLeavesAWholeFile) {
  const pid_t child = start({"--full", out_flag()});
  // Its first rows tell that it listens to the signal.
  for (int tries = 0; tries < 600 && !std::filesystem::exists(folder / "result.json"); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGINT);
  EXPECT_EQ(finish(child).code, exit_interrupted);
  EXPECT_EQ(result()["complete"], false);
}

const std::vector<std::string> a_few{"--sizes=1Ki,1000,4Ki", "--types=f32,i32", "--filter=^reduce/plus/"};

// What names a case, and its time.
std::multiset<std::string> cases_of(const json& file, const std::string& column = "operator") {
  std::multiset<std::string> all;
  for (const auto& row : file["rows"])
    all.insert(row["rung"].get<std::string>() + "/" + row["input_type"].get<std::string>() + "/" + row["items"].dump() +
               "/" + row[column].dump());
  return all;
}

TEST_F(Program, AResumedRunMeasuresOnlyWhatTheFileLacks) {
  auto arguments = a_few;
  arguments.push_back(out_flag());
  ASSERT_EQ(run(arguments).code, exit_ok);
  const json whole = result();
  const auto all = cases_of(whole);
  // As if it had ended in the middle of what it planned.
  json cut = whole;
  cut["complete"] = false;
  cut["rows"] = json::array();
  for (auto row : whole["rows"]) {
    if (row["items"] != whole["rows"][0]["items"]) continue;
    row["median_us"] = 123456.0;
    cut["rows"].push_back(row);
  }
  ASSERT_LT(cut["rows"].size(), whole["rows"].size());
  std::ofstream(folder / "result.json") << cut;
  const auto resumed = run({"--resume=" + (folder / "result.json").string()});
  EXPECT_EQ(resumed.code, exit_ok) << resumed.err;
  const json file = result();
  EXPECT_EQ(cases_of(file), all);
  EXPECT_EQ(file["complete"], true);
  EXPECT_EQ(file["run"], whole["run"]);
  EXPECT_EQ(file["arguments"], whole["arguments"]);
  EXPECT_EQ(file["context"]["resumed"].size(), 1u);
  EXPECT_EQ(file["skipped"].size(), whole["skipped"].size());
  std::size_t kept = 0;
  for (const auto& row : file["rows"]) {
    kept += row["median_us"] == 123456.0;
    EXPECT_EQ(row["run"], whole["run"]);
  }
  EXPECT_EQ(kept, cut["rows"].size());

  const std::string before = read(folder / "result.json");
  const auto again = run({"--resume=" + (folder / "result.json").string()});
  EXPECT_EQ(again.code, exit_ok) << again.err;
  EXPECT_NE(again.err.find("lacks nothing"), std::string::npos) << again.err;
  EXPECT_EQ(read(folder / "result.json"), before);
}

TEST_F(Program, AKilledRunIsResumed) {
  const pid_t child = start({"--full", "--filter=^reduce/plus/(f32|i32)/", out_flag()});
  for (int i = 0; i < 200 && !fs::exists(folder / "result.json"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, SIGKILL);
  finish(child);
  const json cut = result();
  EXPECT_EQ(cut["complete"], false);
  ASSERT_FALSE(cut["rows"].empty());
  const auto resumed = run({"--resume=" + (folder / "result.json").string(), "--budget=1"});
  EXPECT_EQ(resumed.code, exit_ok) << resumed.err;
  const auto before = cases_of(cut, "median_us"), after = cases_of(result(), "median_us");
  EXPECT_TRUE(std::ranges::includes(after, before));
  EXPECT_GT(after.size(), before.size());
}

// Making 16 Mi items takes the host longer than that.
TEST_F(Program, AWatchdogEndsTheRunNamesTheCellAndKeepsTheResults) {
  const auto got = run({"--sizes=16Mi", "--types=f32", "--filter=^reduce/plus/", "--watchdog=0.002", out_flag()});
  EXPECT_EQ(got.code, exit_stuck) << got.err;
  EXPECT_NE(got.err.find("reduce/plus/f32/n=16Mi/"), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("did not end in 0.002 s (--watchdog)"), std::string::npos) << got.err;
  EXPECT_EQ(result()["complete"], false);
}

TEST_F(Program, WhatDidNotEndIsNotTriedAgain) {
  auto arguments = a_few;
  arguments.push_back(out_flag());
  ASSERT_EQ(run(arguments).code, exit_ok);
  json cut = result();
  const json all = cut["rows"];
  ASSERT_GT(all.size(), 1u);
  json stuck;
  for (const char* field : {"family", "ladder", "rung", "operation", "operator", "input_type", "accumulator_type",
                            "items", "shape", "distribution", "mode"})
    stuck[field] = all[0][field];
  stuck["reason"] = "did not end in 300 s";
  cut["skipped"].push_back(stuck);
  cut["rows"] = json::array();
  cut["complete"] = false;
  std::ofstream(folder / "result.json") << cut;
  const auto got = run({"--resume=" + (folder / "result.json").string()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  const json file = result();
  EXPECT_EQ(file["rows"].size(), all.size() - 1);
  EXPECT_EQ(std::ranges::count(file["skipped"], stuck), 1);
}

TEST_F(Program, OnlyTheSameBuildOnTheSameMachineResumes) {
  auto arguments = a_few;
  arguments.push_back(out_flag());
  ASSERT_EQ(run(arguments).code, exit_ok);
  const json whole = result();
  const auto refused = [&](const char* where, const json& value, const std::string& word) {
    json other = whole;
    other[json::json_pointer(where)] = value;
    std::ofstream(folder / "other.json") << other;
    const auto got = run({"--resume=" + (folder / "other.json").string()});
    EXPECT_EQ(got.code, exit_usage) << where;
    EXPECT_NE(got.err.find(word), std::string::npos) << got.err;
    EXPECT_EQ(std::ranges::count(got.err.substr(got.err.find("rungs_bench:")), '\n'), 1) << got.err;
  };
  refused("/gpu", "another-cpu", "the GPU another-cpu");
  refused("/commit", "0000000", "the commit 0000000");
  refused("/context/versions/driver", "1.2", "the driver 1.2");
  refused("/context/versions/program", "0123456789abcdef", "the build 0123456789abcdef");
  refused("/context/device", {{"name", "x"}, {"card", "1a2b3c4d"}}, "the card 1a2b3c4d");
  refused("/schema", "other/1", "no file of results");
  refused("/rows", 7, "no file of results");

  std::ofstream(folder / "other.json") << "{";
  EXPECT_NE(run({"--resume=" + (folder / "other.json").string()}).err.find("no JSON"), std::string::npos);
  const auto chosen = run({"--resume=" + (folder / "result.json").string(), "--sizes=1Ki"});
  EXPECT_EQ(chosen.code, exit_usage);
  EXPECT_NE(chosen.err.find("the file says what to measure"), std::string::npos) << chosen.err;
}

TEST_F(Program, RangesOfSizesAndLimitsOfSamplesHold) {
  const auto samples_of = [&](const std::vector<std::string>& limits) {
    std::vector<std::string> arguments{"--sizes=1Ki:4Ki", "--types=f32", "--filter=^reduce/plus/.*/host_serial/",
                                       out_flag()};
    arguments.insert(arguments.end(), limits.begin(), limits.end());
    const auto got = run(arguments);
    EXPECT_EQ(got.code, exit_ok) << got.err;
    std::vector<int> samples;
    const json file = result();
    for (const auto& row : file["rows"]) samples.push_back(row["samples"]);
    EXPECT_EQ(samples.size(), 3u);
    return samples;
  };
  EXPECT_EQ(samples_of({"--max-samples=8"}), (std::vector{8, 8, 8}));
  EXPECT_EQ(samples_of({"--min-samples=300", "--max-samples=300"}), (std::vector{300, 300, 300}));
  for (const int count : samples_of({"--min-samples=250"})) EXPECT_GE(count, 250);
  const auto got = run({"--min-samples=9", "--max-samples=8"});
  EXPECT_EQ(got.code, exit_usage);
  EXPECT_NE(got.err.find("--min-samples is more than --max-samples"), std::string::npos) << got.err;
}

TEST_F(Program, EnergyNeedsAGpuAndSaysSo) {
  const auto got = run({"--sizes=1Ki", "--filter=host_serial/", "--energy", out_flag()});
  EXPECT_EQ(got.code, exit_ok);
  EXPECT_NE(got.err.find("--energy: a GPU is not there"), std::string::npos) << got.err;
  const json file = result();
  ASSERT_FALSE(file["rows"].empty());
  for (const auto& row : file["rows"]) EXPECT_FALSE(row.contains("energy_uj"));
}

TEST_F(Program, AnOldFileSurvivesAMistake) {
  std::ofstream(folder / "result.json") << "old";
  EXPECT_EQ(run({"--sizes=0", out_flag()}).code, exit_usage);
  EXPECT_EQ(read(folder / "result.json"), "old");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

TEST_F(Program, OneRunAsJsonCsvAndMarkdown) {
  auto arguments = a_few;
  const auto flag = [&](const std::string& name, const char* file) {
    return "--" + name + "=" + (folder / "new" / file).string();
  };
  arguments.insert(arguments.end(), {out_flag(), flag("json", "a.json"), flag("csv", "a.csv"), flag("md", "a.md")});
  const auto got = run(arguments);
  ASSERT_EQ(got.code, exit_ok) << got.err;
  EXPECT_NE(got.out.find("median us"), std::string::npos) << "the console's lines as ever";
  EXPECT_EQ(read(folder / "new/a.json"), read(folder / "result.json"));
  const json file = result();
  EXPECT_EQ(file["arguments"].size(), a_few.size()) << "where files go is not the run's";

  const auto csv = lines_of(read(folder / "new/a.csv"));
  ASSERT_EQ(csv.size(), 1 + file["rows"].size());
  EXPECT_EQ(csv[0].substr(0, 31), "family,rung,operation,operator,");
  EXPECT_TRUE(csv[0].ends_with(",gpu,commit,run"));
  for (std::size_t i = 1; i < csv.size(); ++i) {
    EXPECT_EQ(std::ranges::count(csv[i], ','), std::ranges::count(csv[0], ','));
    EXPECT_NE(csv[i].find("," + file["rows"][i - 1]["median_us"].dump() + ","), std::string::npos) << csv[i];
  }
  const std::string tables = read(folder / "new/a.md");
  EXPECT_NE(tables.find("## reduce, plus, f32, host\n\n| n | variant | median us |"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| 1Ki | library_baselines/host_serial |"), std::string::npos) << tables;
  EXPECT_EQ(std::ranges::count_if(
                lines_of(tables),
                [](const std::string& line) { return line.starts_with("| ") && line[2] >= '0' && line[2] <= '9'; }),
            static_cast<std::ptrdiff_t>(file["rows"].size()));
}

TEST_F(Program, OneKindGoesToStandardOutputAlone) {
  auto arguments = a_few;
  arguments.insert(arguments.end(), {out_flag(), "--csv=-"});
  const auto csv = run(arguments);
  EXPECT_EQ(csv.code, exit_ok) << csv.err;
  EXPECT_EQ(lines_of(csv.out).size(), 1 + result()["rows"].size());
  arguments.back() = "--json=-";
  EXPECT_EQ(json::parse(run(arguments).out)["schema"], "rungs.results/1");
  arguments.push_back("--md=-");
  const auto both = run(arguments);
  EXPECT_EQ(both.code, exit_usage);
  EXPECT_NE(both.err.find("one of them"), std::string::npos) << both.err;
}

TEST_F(Program, GoogleBenchmarksOwnOutputWorks) {
  const auto got =
      run({"--sizes=1Ki", "--filter=host_serial", "--benchmark_out=" + (folder / "gb.json").string(), out_flag()});
  EXPECT_EQ(got.code, exit_ok) << got.err;
  EXPECT_FALSE(json::parse(read(folder / "gb.json"))["benchmarks"].empty());
  const auto as_json = run({"--sizes=1Ki", "--filter=host_serial", "--benchmark_format=json", out_flag()});
  EXPECT_FALSE(json::parse(as_json.out)["benchmarks"].empty());
}

}  // namespace
}  // namespace rungs::bench
