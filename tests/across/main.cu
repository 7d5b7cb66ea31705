// rungs_across_tests: every rung across GPUs over the cases of examination.cu, one GoogleTest entry a record, and what
// windows_test.cu says. One GPU is enough: several ranks share it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "across/crew.cuh"
#include "across/examination.hpp"
#include "across/processes.hpp"
#include "across_catalog.hpp"
#include "on_a_gpu.hpp"
#include "text.hpp"

namespace rungs::tests::across {
namespace {

using nlohmann::json;

struct settings {
  std::string records_file, summary_file;
  bool require_gpu = false, list_records = false;
} current;

std::string name_of(const bench::across_record& record) {
  return text("handwritten/across/", record.rung, "/all_reduce/", name(record.op), '/', name(record.type));
}

class record_test : public testing::Test {
 public:
  record_test(bool all_reduce, std::size_t index) : all_reduce_(all_reduce), index_(index) {}
  void TestBody() override {
    if (!has_gpu()) {
      if (current.require_gpu) FAIL() << "no usable GPU";
      GTEST_SKIP() << "no usable GPU";
    }
    const verdict found = all_reduce_ ? examine_all_reduce(index_) : examine_reduce(index_);
    for (const std::string& wrong : found.findings) ADD_FAILURE() << wrong;
    RecordProperty("cases", found.cases);
    std::cout << "  " << found.cases << " cases\n";
  }

 private:
  bool all_reduce_;
  std::size_t index_;
};

// What the tests of windows find in memory is theirs.
struct in_between : testing::EmptyTestEventListener {
  void OnTestSuiteEnd(const testing::TestSuite&) override { clear_examinations(); }
};

void list_records() {
  json records = json::array();
  for (const auto* all : {&bench::across_records(), &bench::across_reductions()})
    for (const bench::across_record& r : *all)
      records.push_back({{"family", "handwritten"},
                         {"ladder", "across"},
                         {"rung", r.rung},
                         {"operation", "all_reduce"},
                         {"operator", name(r.op)},
                         {"input_type", name(r.type)},
                         {"accumulator_type", name(r.type)},
                         {"source", r.source}});
  std::cout << json{{"compile_flags", RUNGS_COMPILE_FLAGS}, {"records", records}}.dump(1) << '\n';
}

// As rungs_gpu_tests names it.
json this_machine() {
  cudaDeviceProp properties{};
  int toolkit = 0, driver = 0;
  std::string driver_name;
  cudaGetDeviceProperties(&properties, 0);
  cudaRuntimeGetVersion(&toolkit);
  cudaDriverGetVersion(&driver);
  std::ifstream proc("/proc/driver/nvidia/version");
  for (std::string word; driver_name.empty() && proc >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != word.npos) driver_name = word;
  const auto version = [](int packed) { return text(packed / 1000, '.', packed % 1000 / 10); };
  return {{"gpu", properties.name},
          {"driver", driver_name.empty() ? version(driver) : driver_name},
          {"toolkit", version(toolkit)}};
}

// Every test, in the form of rungs_gpu_tests --summary.
void write_summary(const std::string& file) {
  json tests = json::array();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& info = *suite.GetTestInfo(t);
      if (!info.should_run()) continue;
      const testing::TestResult& result = *info.result();
      json test{{"name", text(suite.name(), '.', info.name())}, {"cases", 0}};
      for (int p = 0; p < result.test_property_count(); ++p)
        if (std::string(result.GetTestProperty(p).key()) == "cases")
          test["cases"] = std::stoi(result.GetTestProperty(p).value());
      if (result.Failed()) test["failures"] = json::array({json{{"failure", "see the output"}}});
      if (result.Skipped()) test["skipped"] = json::array({json{{"message", "see the output"}}});
      tests.push_back(test);
    }
  }
  const json summary{{"tests", all.test_to_run_count()},
                     {"failures", all.failed_test_count()},
                     {"skipped", all.skipped_test_count()},
                     {"machine", this_machine()},
                     {"name", "rungs_across_tests"},
                     {"testsuites", json::array({json{{"name", "rungs_across_tests"}, {"testsuite", tests}}})}};
  std::ofstream(file) << summary.dump(1) << '\n';
}

// Exit code 2 where an argument is not known; GoogleTest has taken its own.
void parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value_of = [&](std::string_view key, std::string& value) {
      if (!argument.starts_with(key)) return false;
      value = argument.substr(key.size());
      return true;
    };
    if (argument == "--require-gpu") {
      current.require_gpu = true;
    } else if (argument == "--list-records") {
      current.list_records = true;
    } else if (!value_of("--records=", current.records_file) && !value_of("--summary=", current.summary_file)) {
      std::cerr << "rungs_across_tests: unknown argument " << argument
                << "\nusage: rungs_across_tests [--require-gpu] [--records=FILE] [--summary=FILE] [--list-records] "
                   "[--gtest_OPTION]...\n";
      std::exit(2);
    }
  }
}

int run(int argc, char** argv) {
  // Streams of all ranks must run at once, and no kernel may be loaded while another one waits.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  if (const int status = run_as_rank(argc, argv); status >= 0) return status;
  testing::InitGoogleTest(&argc, argv);
  parse(argc, argv);
  if (current.list_records) {
    list_records();
    return 0;
  }
  std::set<std::string> wanted;
  if (!current.records_file.empty()) {
    std::ifstream file(current.records_file);
    for (std::string line; std::getline(file, line);) wanted.insert(line);
  }
  for (const bool all_reduce : {true, false}) {
    const auto& records = all_reduce ? bench::across_records() : bench::across_reductions();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string name = name_of(records[i]);
      if (!current.records_file.empty() && !wanted.contains(name)) continue;
      testing::RegisterTest("catalog", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [=]() -> testing::Test* { return new record_test(all_reduce, i); });
    }
  }
  if (current.require_gpu && !has_gpu()) {
    std::cerr << "rungs_across_tests: no usable GPU\n";
    return 3;
  }
  testing::UnitTest::GetInstance()->listeners().Append(new in_between);
  watchdog dog(30);
  dog.watch_over(pulse);
  const int status = RUN_ALL_TESTS();
  if (!current.summary_file.empty()) write_summary(current.summary_file);
  return status;
}

}  // namespace
}  // namespace rungs::tests::across

int main(int argc, char** argv) { return rungs::tests::across::run(argc, argv); }
