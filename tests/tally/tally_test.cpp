#include "tally/tally.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tally/junit.hpp"

namespace rungs::tests::tally {

void PrintTo(const counts& c, std::ostream* out) { *out << c.passed << '/' << c.failed << '/' << c.skipped; }

namespace {

namespace fs = std::filesystem;
using some = std::optional<counts>;

TEST(summary, of_ours_is_a_whole_line_and_the_last_one_counts) {
  EXPECT_EQ(read_summary("memcheck: clean\n4 passed, 1 failed, 0 skipped\n"), some({4, 1, 0}));
  EXPECT_EQ(read_summary("1 passed, 0 failed, 0 skipped\n2 passed, 0 failed, 3 skipped"), some({2, 0, 3}));
  EXPECT_EQ(read_summary("50%\r2 passed, 0 failed, 3 skipped\r\n"), some({2, 0, 3}));
  EXPECT_EQ(read_summary("so 4 passed, 1 failed, 0 skipped\n"), std::nullopt);
  EXPECT_EQ(read_summary("4 passed, 1 failed, 0 skipped.\n"), std::nullopt);
  EXPECT_EQ(read_summary("-4 passed, 1 failed, 0 skipped\n"), std::nullopt);
}

const std::string mixed_googletest = R"([==========] Running 6 tests from 2 test suites.
[----------] 6 tests from a
[       OK ] a.passes (0 ms)
[  SKIPPED ] a.is_skipped (0 ms)
[  FAILED  ] a.fails (0 ms)
[==========] 6 tests from 2 test suites ran. (3 ms total)
[  PASSED  ] 3 tests.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] a.is_skipped
[  SKIPPED ] a.is_skipped_too
[  FAILED  ] 1 test, listed below:
[  FAILED  ] a.fails

 1 FAILED TEST
)";

TEST(summary, of_googletest) {
  EXPECT_EQ(read_summary(mixed_googletest), some({3, 1, 2}));
  EXPECT_EQ(read_summary("[==========] 1 test from 1 test case ran. (0 ms total)\n[  PASSED  ] 1 test.\n"),
            some({1, 0, 0}));
  EXPECT_EQ(read_summary("[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n"),
            some({0, 0, 0}));
  EXPECT_EQ(read_summary("[==========] Running 6 tests from 2 test suites.\n"), std::nullopt);  // it died
  EXPECT_EQ(read_summary(mixed_googletest + "7 passed, 0 failed, 0 skipped\n"), some({7, 0, 0}));
}

TEST(summary, of_pytest) {
  EXPECT_EQ(read_summary("............ [100%]\n41 passed in 8.15s\n"), some({41, 0, 0}));
  EXPECT_EQ(
      read_summary("==== 1 failed, 41 passed, 2 skipped, 1 deselected, 3 warnings, 1 error in 68.15s (0:01:08) ===="),
      some({41, 2, 2}));
  EXPECT_EQ(read_summary("1 passed, 1 xfailed, 1 xpassed, 2 errors in 0.1s"), some({1, 3, 1}));
  EXPECT_EQ(read_summary("no tests ran in 0.01s\n"), std::nullopt);
  EXPECT_EQ(read_summary("41 passed\n"), std::nullopt);
  EXPECT_EQ(read_summary("3 houses in 5s\n"), std::nullopt);
}

TEST(judgement, a_program_without_a_summary_is_one_test) {
  EXPECT_EQ(judge("fine\n", ending::passed), (counts{1, 0, 0}));
  EXPECT_EQ(judge("", ending::failed), (counts{0, 1, 0}));
  EXPECT_EQ(judge("", ending::skipped), (counts{0, 0, 1}));
}

TEST(judgement, the_exit_status_is_not_forgotten) {
  EXPECT_EQ(judge("3 passed, 0 failed, 0 skipped", ending::failed), (counts{3, 1, 0}));
  EXPECT_EQ(judge("3 passed, 2 failed, 0 skipped", ending::failed), (counts{3, 2, 0}));
  EXPECT_EQ(judge("0 passed, 0 failed, 0 skipped", ending::skipped), (counts{0, 0, 1}));
}

const std::string junit = R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- by hand, in CTest's form -->
<testsuite name="Linux-c++"
	tests="4" timestamp="2026-11-21T07:55:05">
	<testcase name="examination" classname="examination" time="0.1" status="run">
		<properties/>
		<system-out>a &lt; b &amp;&amp; c
2 passed, 0 failed, 0 skipped
</system-out>
	</testcase>
	<testcase name="con&quot;sumer" time="0.1" status="fail">
		<failure message="5 > 4"/>
		<system-out><![CDATA[[  PASSED  ] <1>]]></system-out>
	</testcase>
	<testcase name='gone' time="0" status="notrun"><skipped message=""/><system-out>Disabled</system-out></testcase>
	<testcase name="empty" status="run" />
</testsuite>
)";

TEST(junit_file, is_read) {
  const auto cases = read_junit(junit);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].name, "examination");
  EXPECT_EQ(cases[0].status, "run");
  EXPECT_EQ(cases[0].output, "a < b && c\n2 passed, 0 failed, 0 skipped\n");
  EXPECT_FALSE(cases[0].skipped);
  EXPECT_EQ(cases[1].name, "con\"sumer");
  EXPECT_EQ(cases[1].output, "[  PASSED  ] <1>");
  EXPECT_TRUE(cases[2].skipped);
  EXPECT_EQ(cases[3].name, "empty");
  EXPECT_EQ(read_junit("<a b='&#65;&#x42;'><testcase name='&#65;&#x42;&#8364;'/></a>").at(0).name, "AB?");
}

TEST(junit_file, that_was_cut_off_anywhere_is_refused) {
  const std::size_t end = junit.find("</testsuite>") + std::string("</testsuite>").size();
  for (std::size_t size = 0; size < end; ++size)
    EXPECT_THROW(read_junit(std::string_view(junit).substr(0, size)), std::runtime_error) << size;
}

TEST(junit_file, that_is_none_is_refused) {
  for (const char* bad : {"", "plain text", "<a></b>", "<a b></a>", "<a b=c></a>", "<a>&nbsp;</a>", "<a>&#xyz;</a>",
                          "<a></a></a>", "< a/>"})
    EXPECT_THROW(read_junit(bad), std::runtime_error) << bad;
}

class tallied_folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rungs_tally_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const char* name, std::string_view content) const { std::ofstream(folder_ / name) << content; }
  fs::path folder_;
};

TEST_F(tallied_folder, sums_up_its_programs) {
  write("host.xml", junit);
  write("host.report.log", "12 passed in 3.00s\n");
  write("host.report.status", "0\n");
  write("gpu.catalog.log", mixed_googletest);
  write("gpu.catalog.status", "1\n");
  write("gpu.unheard.log", "");
  write("gpu.unheard.status", "77\n");
  const total t = tally(folder_, false);
  EXPECT_EQ(t.sum, (counts{2 + 1 + 12 + 3, 1 + 1, 1 + 2 + 1}));
  EXPECT_EQ(t.remarks, (std::vector<std::string>{"con\"sumer: 1 failed", "gpu.catalog: 1 failed"}));
}

TEST_F(tallied_folder, where_a_gpu_is_required_what_was_skipped_on_it_failed) {
  write("gpu.xml", "<testsuite><testcase name=\"instrument\" status=\"notrun\"/></testsuite>");
  write("host.xml", "<testsuite><testcase name=\"consumer\" status=\"notrun\"/></testsuite>");
  write("gpu.catalog.log", "no usable GPU: none found\n" + std::string(mixed_googletest));
  write("gpu.catalog.status", "1\n");
  EXPECT_EQ(tally(folder_, false).sum, (counts{3, 1, 4}));
  const total t = tally(folder_, true);
  EXPECT_EQ(t.sum, (counts{3, 4, 1}));
  EXPECT_EQ(t.remarks, (std::vector<std::string>{"instrument: 1 skipped, but a GPU is required",
                                                 "gpu.catalog: 2 skipped, but a GPU is required"}));
}

TEST_F(tallied_folder, where_a_gpu_is_required_other_reasons_to_skip_remain) {
  write("gpu.catalog.log", "needs compute capability 9.0\n" + std::string(mixed_googletest));
  write("gpu.catalog.status", "1\n");
  EXPECT_EQ(tally(folder_, true).sum, tally(folder_, false).sum);
}

TEST_F(tallied_folder, with_nothing_in_it_is_a_failure) {
  EXPECT_EQ(tally(folder_, false).sum, (counts{0, 1, 0}));
  EXPECT_EQ(tally(folder_ / "missing", false).sum, (counts{0, 1, 0}));
  write("gpu.xml", "<testsuite name=\"(empty)\" tests=\"0\"/>");
  EXPECT_EQ(tally(folder_, false).remarks, std::vector<std::string>{"no test was run"});
}

TEST_F(tallied_folder, with_an_unreadable_file_is_a_failure) {
  write("host.xml", "<testsuite><testcase name=\"a\" status=\"run\"/>");
  write("gpu.catalog.log", "5 passed, 0 failed, 0 skipped\n");
  const total t = tally(folder_, false);
  EXPECT_EQ(t.sum, (counts{0, 2, 0}));
  EXPECT_EQ(t.remarks, (std::vector<std::string>{"host.xml: cut off within <testsuite>",
                                                 "gpu.catalog.log: its exit status is not beside it"}));
}

}  // namespace
}  // namespace rungs::tests::tally
