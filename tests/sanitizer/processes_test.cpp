#include "sanitizer/processes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>

#include "lines.hpp"

namespace rungs::tests::sanitizer {
namespace {

namespace fs = std::filesystem;

class processes : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rungs_processes_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  command shell(const std::string& script, const char* output = "out") const {
    return {{"sh", "-c", script}, folder_ / output};
  }
  std::string printed(const char* output = "out") const { return contents(folder_ / output); }
  fs::path folder_;
};

TEST_F(processes, leave_their_output_and_their_status) {
  EXPECT_EQ(run(shell("echo to stdout; echo to stderr >&2; exit 86")), 86);
  EXPECT_EQ(printed(), "to stdout\nto stderr\n");
  EXPECT_EQ(run(shell("kill -SEGV $$")), -SIGSEGV);
  EXPECT_EQ(run({{"/no/such/program"}, folder_ / "out"}), not_started);
  EXPECT_EQ(run(shell("cat")), 0);  // nothing comes in
}

TEST_F(processes, see_their_own_environment_over_ours) {
  setenv("RUNGS_PROCESSES_A", "a", 1);
  setenv("RUNGS_PROCESSES_B", "b", 1);
  command it =
      shell("env | grep -c '^RUNGS_PROCESSES_B='; echo $RUNGS_PROCESSES_A$RUNGS_PROCESSES_B$RUNGS_PROCESSES_C");
  it.environment = {"RUNGS_PROCESSES_B=2", "RUNGS_PROCESSES_C=3"};
  EXPECT_EQ(run(it), 0);
  EXPECT_EQ(printed(), "1\na23\n");
}

TEST_F(processes, run_side_by_side) {
  // The first waits for what the second writes.
  const std::string first = "until [ -s " + (folder_ / "second").string() + " ]; do sleep 0.01; done; exit 1";
  std::map<std::size_t, int> statuses;
  run_together({shell(first, "first"), shell("echo here", "second")}, 60,
               [&](std::size_t index, int status) { statuses[index] = status; });
  EXPECT_EQ(statuses, (std::map<std::size_t, int>{{0, 1}, {1, 0}}));
}

TEST_F(processes, are_killed_in_time_with_all_that_they_started) {
  const auto begun = std::chrono::steady_clock::now();
  std::map<std::size_t, int> statuses;
  run_together({shell("sh -c 'echo $$; sleep 600' & wait"), shell("exit 3", "other")}, 0.5,
               [&](std::size_t index, int status) { statuses[index] = status; });
  EXPECT_EQ(statuses, (std::map<std::size_t, int>{{0, timed_out}, {1, 3}}));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  const fs::path started = fs::path("/proc") / std::to_string(std::stoi(printed())) / "stat";
  for (int wait = 0; wait < 500 && contents(started).find(") Z ") == std::string::npos && fs::exists(started); ++wait)
    usleep(10000);
  EXPECT_TRUE(!fs::exists(started) || contents(started).find(") Z ") != std::string::npos);
}

TEST_F(processes, end_with_this_one) { EXPECT_THROW(run(shell("kill -TERM $PPID; sleep 600")), interrupted); }

}  // namespace
}  // namespace rungs::tests::sanitizer
