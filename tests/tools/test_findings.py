import unittest
from collections import Counter

from findings import FOUND_SOMETHING, Finding, Shard, Verdict, excuse, findings, is_ours, without_abi

OPENING = "========= COMPUTE-SANITIZER\nseed 20261121\n[==========] Running 1 test from 1 test suite.\n"
CLOSING = "========= Target application returned an error\n========= ERROR SUMMARY: 2 errors\n"
CLEAN = OPENING + "[  PASSED  ] 1 test.\n========= ERROR SUMMARY: 0 errors\n"

OUR_KERNEL = "rungs::v0_sm_900::reductions::two_passes_kernel<int, rungs::v0::plus>(const T1 *, T1 *, long)"
CUB_KERNEL = "cub::CUB_300001_SM_900::detail::DeviceReduceKernel<rungs::v0::plus>(T1)"

# Two findings: one in a kernel of ours, one in a library's.
IN_A_LIBRARY = f"""========= Invalid __shared__ write of size 8 bytes
=========     at void {CUB_KERNEL}+0x40
=========     by thread (0,0,0) in block (7,0,0)
=========
"""
MEMCHECK = f"""{OPENING}========= Invalid __global__ read of size 4 bytes
=========     at void {OUR_KERNEL}+0x2d0 in two_passes.cuh:31
=========     by thread (3,0,0) in block (0,0,0)
=========     Access at 0x7f2a8dc0020c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2a8dc00200 of size 12 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: rungs::v0::launch(void const*) [0x3f2c1] in rungs_gpu_tests
=========
{IN_A_LIBRARY}{CLOSING}"""


class Findings(unittest.TestCase):
    def test_are_none_in_a_clean_run(self):
        summaries = (
            "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n========= LEAK SUMMARY: 0 bytes\n"
            "========= 3 errors were not printed. Use --print-limit option to adjust\n=========\n"
            "========= No attachable process found.\n"
        )
        for text in (CLEAN, "", summaries, "a line of the program: Invalid __global__ read\n========\n"):
            self.assertEqual(findings(text), [])

    def test_have_a_headline_and_the_first_kernel_named(self):
        self.assertEqual(
            findings(MEMCHECK),
            [
                Finding("Invalid __global__ read of size 4 bytes", OUR_KERNEL + "+0x2d0 in two_passes.cuh:31"),
                Finding("Invalid __shared__ write of size 8 bytes", CUB_KERNEL + "+0x40"),
            ],
        )

    def test_may_name_their_kernel_within_a_line(self):
        self.assertEqual(
            findings("========= Barrier error detected in void rungs::v0::k<int>(T1)\n"),
            [Finding("Barrier error detected in void rungs::v0::k<int>(T1)", "rungs::v0::k<int>(T1)")],
        )
        self.assertEqual(
            findings("========= Uninitialized access\n=========     by thread (0,0,0) in kernel cub::k(int)\n"),
            [Finding("Uninitialized access", "cub::k(int)")],
        )

    def test_may_name_their_kernel_behind_an_access(self):
        [found] = findings(
            "========= Error: Race reported between Write access at void rungs::v0::k<int>(T1)+0xa70 in /tree/rungs/k.cuh:98\n"
            "=========     and Read access at void rungs::v0::k<int>(T1)+0xb20 in /tree/rungs/k.cuh:99 [508 hazards]\n"
        )
        self.assertTrue(found.kernel.startswith("rungs::v0::k<int>(T1)+0xa70"))
        self.assertTrue(is_ours(found))

    def test_name_no_kernel_where_only_a_file_is_named(self):
        [found] = findings("========= Found\n=========     within ::name, cabin rungs::k, in ::k, in block (0,0,0)\n")
        self.assertEqual(found.kernel, "")

    def test_of_the_runtime_are_ours(self):
        [found] = findings(
            '========= Program hit cudaErrorIllegalAddress (error 700) due to "an illegal memory access was encountered" on CUDA '
            "API call to cudaStreamSynchronize.\n"
            "=========     Saved host backtrace up to driver entry point at error\n"
            "=========         Host Frame: [0x2d4a1] in libc.so.6\n"
        )
        self.assertTrue(is_ours(found))

    def test_of_copies_by_the_host_are_a_librarys_in_its_own_tests(self):
        copied = "========= Host API memory access error at host access to 0x7f9bdf1ae300 of size 16 bytes\n"
        begun = "[ RUN      ] catalog.{}/extrema/some/arg_extremum/both/f32\n"
        ended = "[       OK ] catalog.some (1 ms)\n"
        for family, ours in (("library_baselines", False), ("handwritten", True), ("cluster", True)):
            text = begun.format("library_baselines") + ended + begun.format(family) + copied
            [found] = findings(text)
            self.assertEqual(is_ours(found), ours, family)
        [found] = findings(copied)
        self.assertTrue(is_ours(found))
        [found] = findings(begun.format("library_baselines") + "========= Invalid __global__ read of size 4 bytes\n")
        self.assertTrue(is_ours(found))

    def test_are_ours_in_our_kernels_and_in_unnamed_places(self):
        for kernel, ours in ((OUR_KERNEL, True), ("", True), (CUB_KERNEL, False), ("thrust::rungs::k", False)):
            self.assertEqual(is_ours(Finding("Found", kernel)), ours, kernel)

    def test_of_races_in_a_wide_tile_of_cooperative_groups_are_the_librarys(self):
        race = "Error: Race reported between Write access at void k"
        a_pass = "rungs::v0_sm_900::baselines::parts::shuffle_pass_kernel<rungs::v0_sm_900::baselines::"
        for tile in (
            a_pass + "cg_block_reduce_shaped<(int)256>, const float *, float>(T2)",
            a_pass + "cg_store_async, const int *>(T2)",
            "rungs::v0_sm_900::baselines::cg_update_async_kernel<float, cuda::maximum<void>>(const T1 *)",
        ):
            self.assertFalse(is_ours(Finding(race, tile)), tile)
            self.assertTrue(is_ours(Finding("Invalid __shared__ write of size 4 bytes", tile)), tile)
        self.assertTrue(is_ours(Finding(race, OUR_KERNEL)))


class Verdicts(unittest.TestCase):
    def test_of_a_clean_tool(self):
        verdict = Verdict([Shard(0, CLEAN, {"_Za", "_Zb"}), Shard(0, CLEAN, {"_Zb", "_Zc"})])
        self.assertTrue(verdict.is_clean())
        self.assertEqual(verdict.launched, {"_Za", "_Zb", "_Zc"})

    def test_counts_findings_by_kind_without_their_places(self):
        elsewhere = MEMCHECK.replace("+0x2d0", "+0x310")
        verdict = Verdict([Shard(FOUND_SOMETHING, MEMCHECK, set()), Shard(FOUND_SOMETHING, elsewhere, set())])
        self.assertFalse(verdict.is_clean())
        self.assertEqual(verdict.ours, Counter({("Invalid __global__ read of size 4 bytes", OUR_KERNEL): 2}))
        self.assertEqual(verdict.libraries, Counter({("Invalid __shared__ write of size 8 bytes", CUB_KERNEL): 2}))
        self.assertEqual(verdict.broken, [])

    def test_findings_in_the_libraries_alone_are_clean(self):
        verdict = Verdict([Shard(FOUND_SOMETHING, IN_A_LIBRARY + CLOSING, set())])
        self.assertTrue(verdict.is_clean())
        self.assertEqual(len(verdict.libraries), 1)

    def test_a_shard_that_ended_otherwise_is_not_clean(self):
        ends = [Shard(status, output, set()) for status, output in ((0, CLEAN), (1, CLEAN), (124, ""), (-11, ""))]
        self.assertEqual(Verdict(ends).broken, [1, 124, -11])
        self.assertFalse(Verdict([Shard(FOUND_SOMETHING, CLEAN, set())]).is_clean())  # something was found, but what?
        cut = IN_A_LIBRARY + "========= ERROR SUMMARY: 1012 errors\n========= ERROR SUMMARY: 12 errors were not printed.\n"
        self.assertFalse(Verdict([Shard(FOUND_SOMETHING, cut, set())]).is_clean())  # what was not printed might be ours


# As nvcc mangles them for one architecture and for two, and as versions without architectures in their names did.
ABIS = ("9v0_sm_900", "12v0_sm_900900", "2v0")


class Excuses(unittest.TestCase):
    def test_names_are_compared_without_their_abi(self):
        for abi in ABIS:
            self.assertEqual(without_abi(f"_ZN5rungs{abi}10histograms1kEv"), "_ZN5rungs10histograms1kEv")
        for name in ("_ZN5rungs10histograms1kEv", "_ZN3cub9v0_sm_9001kEv", "kernel_2"):
            self.assertEqual(without_abi(name), name)

    def test_needs_another_kernel_that_was_launched(self):
        for abi in ABIS:
            histograms = f"_ZN5rungs{abi}10histograms"
            rows = "17split_bins_kernelINS0_5parts11sample_rowsILi1024E"
            rest = "EEjNS3_10edge_tableIffEEEEvNT_8iteratorEmPT0_T1_jjj"
            many, few, of_other_samples = (f"{histograms}{rows}{loads}{rest}" for loads in ("Li6EPKf", "Li4EPKf", "Li4EPKd"))
            self.assertRegex(excuse(many, "racecheck", {"_Z1a", few, "_Z1b"}), "more loads on their way")
            self.assertEqual(excuse(many, "racecheck", {"_Z1a", many, "_Z1b"}), "")
            self.assertEqual(excuse(many, "memcheck", {few}), "")
            self.assertEqual(excuse(few, "racecheck", {many}), "")
            self.assertEqual(excuse(many, "racecheck", {of_other_samples}), "")
            less, more = (f"{histograms}19lane_private_kernelILi4E{counters}NS0_5partsE" for counters in ("Li8E", "Li32E"))
            self.assertRegex(excuse(less, "memcheck", {more}), "^fewer counters")
            self.assertRegex(excuse(more, "initcheck", {less}), "^more counters")
            self.assertEqual(excuse(less, "memcheck", set()), "")


if __name__ == "__main__":
    unittest.main()
