#include "sanitizer/findings.hpp"

#include <gtest/gtest.h>

namespace rungs::tests::sanitizer {

void PrintTo(const finding& f, std::ostream* out) { *out << f.headline << " | " << f.kernel; }

namespace {

using all = std::vector<finding>;

const std::string opening =
                      "========= COMPUTE-SANITIZER\nseed 20261121\n[==========] Running 1 test from 1 test suite.\n",
                  closing = "========= Target application returned an error\n========= ERROR SUMMARY: 2 errors\n",
                  clean = opening + "[  PASSED  ] 1 test.\n========= ERROR SUMMARY: 0 errors\n";

// Two findings: one in a kernel of ours, one in a library's.
const std::string memcheck = opening +
                             R"(========= Invalid __global__ read of size 4 bytes
=========     at void rungs::v0::reductions::two_passes_kernel<int, rungs::v0::plus>(const T1 *, T1 *, long)+0x2d0 in two_passes.cuh:31
=========     by thread (3,0,0) in block (0,0,0)
=========     Access at 0x7f2a8dc0020c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a8dc00200 of size 12 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: rungs::v0::launch(void const*) [0x3f2c1] in rungs_gpu_tests
=========
========= Invalid __shared__ write of size 8 bytes
=========     at void cub::CUB_300001_SM_900::detail::DeviceReduceKernel<rungs::v0::plus>(T1)+0x40
=========     by thread (0,0,0) in block (7,0,0)
=========
)" + closing;
const std::string our_kernel = "rungs::v0::reductions::two_passes_kernel<int, rungs::v0::plus>(const T1 *, T1 *, long)",
                  cub_kernel = "cub::CUB_300001_SM_900::detail::DeviceReduceKernel<rungs::v0::plus>(T1)";

TEST(findings, are_none_in_a_clean_run) {
  EXPECT_EQ(findings(clean), all{});
  EXPECT_EQ(findings(""), all{});
  EXPECT_EQ(
      findings(
          "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n========= LEAK SUMMARY: 0 bytes\n"
          "========= 3 errors were not printed. Use --print-limit option to adjust\n=========\n"
          "========= No attachable process found.\n"),
      all{});
  EXPECT_EQ(findings("a line of the program: Invalid __global__ read\n========\n"), all{});
}

TEST(findings, have_a_headline_and_the_first_kernel_named) {
  EXPECT_EQ(findings(memcheck),
            (all{{"Invalid __global__ read of size 4 bytes", our_kernel + "+0x2d0 in two_passes.cuh:31"},
                 {"Invalid __shared__ write of size 8 bytes", cub_kernel + "+0x40"}}));
}

TEST(findings, may_name_their_kernel_within_a_line) {
  EXPECT_EQ(findings("========= Barrier error detected in void rungs::v0::k<int>(T1)\n"),
            (all{{"Barrier error detected in void rungs::v0::k<int>(T1)", "rungs::v0::k<int>(T1)"}}));
  EXPECT_EQ(findings("========= Uninitialized access\n=========     by thread (0,0,0) in kernel cub::k(int)\n"),
            (all{{"Uninitialized access", "cub::k(int)"}}));
}

TEST(findings, may_name_their_kernel_behind_an_access) {
  const std::string race =
      "========= Error: Race reported between Write access at void rungs::v0::k<int>(T1)+0xa70 in "
      "/tree/rungs/k.cuh:98\n"
      "=========     and Read access at void rungs::v0::k<int>(T1)+0xb20 in /tree/rungs/k.cuh:99 [508 hazards]\n";
  const all found = findings(race);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].kernel.starts_with("rungs::v0::k<int>(T1)+0xa70"));
  EXPECT_TRUE(ours(found[0]));
}

TEST(findings, name_no_kernel_where_only_a_file_is_named) {
  EXPECT_EQ(
      findings("========= Found\n=========     within ::name, cabin rungs::k, in ::k, in block (0,0,0)\n").at(0).kernel,
      "");
}

TEST(findings, of_the_runtime_are_ours) {
  const all found = findings(
      "========= Program hit cudaErrorIllegalAddress (error 700) due to \"an illegal memory access was "
      "encountered\" on CUDA API call to cudaStreamSynchronize.\n"
      "=========     Saved host backtrace up to driver entry point at error\n"
      "=========         Host Frame: [0x2d4a1] in libc.so.6\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(ours(found[0]));
}

TEST(findings, are_ours_in_our_kernels_and_in_unnamed_places) {
  EXPECT_TRUE(ours({"Found", our_kernel}));
  EXPECT_TRUE(ours({"Found", ""}));
  EXPECT_FALSE(ours({"Found", cub_kernel}));
  EXPECT_FALSE(ours({"Found", "thrust::rungs::k"}));
}

TEST(findings, of_races_in_a_wide_tile_of_cooperative_groups_are_the_librarys) {
  const std::string race = "Error: Race reported between Write access at void k",
                    pass = "rungs::v0::baselines::parts::shuffle_pass_kernel<rungs::v0::baselines::";
  for (const std::string& tile :
       {pass + "cg_block_reduce_shaped<(int)256>, const float *, float>(T2)", pass + "cg_store_async, const int *>(T2)",
        std::string("rungs::v0::baselines::cg_update_async_kernel<float, cuda::maximum<void>>(const T1 *)")}) {
    EXPECT_FALSE(ours({race, tile})) << tile;
    EXPECT_TRUE(ours({"Invalid __shared__ write of size 4 bytes", tile})) << tile;
  }
  EXPECT_TRUE(ours({race, our_kernel}));
}

TEST(verdict, of_a_clean_tool) {
  const verdict v = judge({{0, clean, {"_Za", "_Zb"}}, {0, clean, {"_Zb", "_Zc"}}});
  EXPECT_TRUE(v.clean());
  EXPECT_EQ(v.launched, (std::set<std::string>{"_Za", "_Zb", "_Zc"}));
}

TEST(verdict, counts_findings_by_kind_without_their_places) {
  std::string elsewhere = memcheck;
  elsewhere.replace(elsewhere.find("+0x2d0"), 6, "+0x310");
  const verdict v = judge({{found_something, memcheck, {}}, {found_something, elsewhere, {}}});
  EXPECT_FALSE(v.clean());
  EXPECT_EQ(v.ours, (verdict::kinds{{{"Invalid __global__ read of size 4 bytes", our_kernel}, 2}}));
  EXPECT_EQ(v.libraries, (verdict::kinds{{{"Invalid __shared__ write of size 8 bytes", cub_kernel}, 2}}));
  EXPECT_TRUE(v.broken.empty());
}

TEST(verdict, findings_in_the_libraries_alone_are_clean) {
  const verdict v = judge({{found_something, memcheck.substr(memcheck.find("========= Invalid __shared__")), {}}});
  EXPECT_TRUE(v.clean());
  EXPECT_EQ(v.libraries.size(), 1u);
}

TEST(verdict, a_shard_that_ended_otherwise_is_not_clean) {
  EXPECT_EQ(judge({{0, clean, {}}, {1, clean, {}}, {124, "", {}}, {-11, "", {}}}).broken,
            (std::vector<int>{1, 124, -11}));
  EXPECT_FALSE(judge({{found_something, clean, {}}}).clean());  // something was found, but what?
  const std::string cut =
      memcheck.substr(memcheck.find("========= Invalid __shared__")) +
      "========= ERROR SUMMARY: 1012 errors\n========= ERROR SUMMARY: 12 errors were not printed.\n";
  EXPECT_FALSE(judge({{found_something, cut, {}}}).clean());  // what was not printed might be ours
}

TEST(excuse, needs_another_kernel_that_was_launched) {
  const std::string many = "_ZN5rungs2v010histograms17split_bins_kernelINS0_5parts11sample_rowsILi1024ELi6EPKfEE",
                    few = "_ZN5rungs2v010histograms17split_bins_kernelINS0_5parts11sample_rowsILi1024ELi4EPKfEE";
  EXPECT_NE(excuse(many, "racecheck", {"_Z1a", few, "_Z1b"}), "");
  EXPECT_EQ(excuse(many, "racecheck", {"_Z1a", many, "_Z1b"}), "");
  EXPECT_EQ(excuse(many, "memcheck", {few}), "");
  EXPECT_EQ(excuse(few, "racecheck", {many}), "");
  std::string of_other_samples = few;
  of_other_samples.replace(of_other_samples.find("PKf"), 3, "PKd");
  EXPECT_EQ(excuse(many, "racecheck", {of_other_samples}), "");
  const std::string less = "_ZN5rungs2v010histograms19lane_private_kernelILi4ELi8ENS0_5partsE",
                    more = "_ZN5rungs2v010histograms19lane_private_kernelILi4ELi32ENS0_5partsE";
  EXPECT_NE(excuse(less, "memcheck", {more}), "");
  EXPECT_NE(excuse(more, "initcheck", {less}), "");
  EXPECT_EQ(excuse(less, "memcheck", {}), "");
}

}  // namespace
}  // namespace rungs::tests::sanitizer
