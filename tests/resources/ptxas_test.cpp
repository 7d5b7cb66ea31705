#include "resources/ptxas.hpp"

#include <gtest/gtest.h>

namespace rungs::tests::resources {
namespace {

std::string report(const std::string& name, const std::string& numbers,
                   const std::string& used = "Used 56 registers, used 1 barriers, 32 bytes smem") {
  return "ptxas info    : Compiling entry function '" + name + "' for 'sm_90'\n" +
         "ptxas info    : Function properties for " + name + "\n    " + numbers + "\nptxas info    : " + used +
         "\nptxas info    : Compile time = 192.050 ms\n";
}
const std::string clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
const std::string our_kernel = "_ZN5rungs2v010reductions17two_passes_kernelEv",
                  cub_kernel = "_ZN3cub17CUB_300001_SM_9006detail11EmptyKernelIN5rungs2v04plusEEEvv";

TEST(ptxas, is_read) {
  const auto kernels = parse("ptxas info    : 0 bytes gmem\n" + report(our_kernel, clean) +
                             report(cub_kernel, "16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads",
                                    "Used 4 registers, used 0 barriers"));
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].mangled, our_kernel);
  EXPECT_EQ(kernels[0].architecture, "sm_90");
  EXPECT_EQ(kernels[0].registers, 56);
  EXPECT_EQ(kernels[0].shared_bytes, 32);
  EXPECT_EQ(kernels[1].stack_bytes, 16);
  EXPECT_EQ(kernels[1].spill_store_bytes, 4);
  EXPECT_EQ(kernels[1].spill_load_bytes, 8);
  EXPECT_TRUE(kernels[0].ours());
  EXPECT_FALSE(kernels[1].ours());  // a library's kernel, of our operator
}

TEST(ptxas, a_clean_report_is_good) { EXPECT_TRUE(judge(parse(report(our_kernel, clean))).good()); }

TEST(ptxas, spills_and_stack_frames_of_ours_are_not) {
  for (const char* numbers : {"8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                              "0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads",
                              "0 bytes stack frame, 0 bytes spill stores, 12 bytes spill loads",
                              "1040 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"}) {
    const judgement j = judge(parse(report(our_kernel, clean) + report(our_kernel, numbers)));
    EXPECT_FALSE(j.good());
    EXPECT_EQ(j.complaints.size(), 1u);
    EXPECT_TRUE(judge(parse(report(our_kernel, clean) + report(cub_kernel, numbers))).good());
  }
}

TEST(ptxas, nothing_found_is_not_good) {
  EXPECT_FALSE(judge(parse("")).good());
  EXPECT_FALSE(judge(parse("ptxas info    : 0 bytes gmem\n")).good());
  EXPECT_FALSE(judge(parse(report(cub_kernel, clean))).good());
}

TEST(ptxas, an_incomplete_report_is_not_good) {
  EXPECT_FALSE(judge(parse("ptxas info    : Compiling entry function '" + our_kernel + "' for 'sm_90'\n")).good());
  EXPECT_FALSE(
      judge(parse("ptxas info    : Compiling entry function '" + our_kernel +
                  "' for 'sm_90'\nptxas info    : Function properties for " + our_kernel + "\n    " + clean + "\n"))
          .good());
  EXPECT_THROW(parse("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"), std::runtime_error);
  EXPECT_THROW(
      parse("ptxas info    : Compiling entry function for 'sm_90'\nptxas info    : Compiling entry function '"),
      std::runtime_error);
}

TEST(ptxas, a_device_function_that_was_not_inlined_is_judged_too) {
  const std::string text = report(our_kernel, clean) +
                           "ptxas info    : Function properties for _ZN5rungs2v05parts6helperEv\n    24 bytes stack "
                           "frame, 0 bytes spill stores, 0 bytes spill loads\n";
  const judgement j = judge(parse(text));
  EXPECT_FALSE(j.good());
  EXPECT_EQ(j.ours, 2u);
}

}  // namespace
}  // namespace rungs::tests::resources
