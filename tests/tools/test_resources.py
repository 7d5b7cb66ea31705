import unittest
from pathlib import Path

from resources import is_ours, judge, parse
from scratch import InScratch

CLEAN = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
OUR_KERNEL = "_ZN5rungs9v0_sm_90010reductions17two_passes_kernelEv"
CUB_KERNEL = "_ZN3cub17CUB_300001_SM_9006detail11EmptyKernelIN5rungs2v04plusEEEvv"


def report(name, numbers, used="Used 56 registers, used 1 barriers, 32 bytes smem"):
    return (
        f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\nptxas info    : Function properties for {name}\n"
        f"    {numbers}\nptxas info    : {used}\nptxas info    : Compile time = 192.050 ms\n"
    )


class Ptxas(unittest.TestCase):
    def test_is_read(self):
        spills = "16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads"
        kernels = parse(
            "ptxas info    : 0 bytes gmem\n" + report(OUR_KERNEL, CLEAN) + report(CUB_KERNEL, spills, "Used 4 registers, used 0 barriers")
        )
        self.assertEqual([kernel.mangled for kernel in kernels], [OUR_KERNEL, CUB_KERNEL])
        ours, cubs = kernels
        self.assertEqual((ours.architecture, ours.registers, ours.shared_bytes), ("sm_90", 56, 32))
        self.assertEqual((cubs.stack_bytes, cubs.spill_store_bytes, cubs.spill_load_bytes), (16, 4, 8))
        self.assertEqual((cubs.registers, cubs.shared_bytes), (4, 0))
        self.assertTrue(is_ours(ours))
        self.assertFalse(is_ours(cubs))  # a library's kernel, of our operator

    def test_that_is_clean_is_good(self):
        self.assertTrue(judge(parse(report(OUR_KERNEL, CLEAN))).is_good())

    def test_spills_and_stack_frames_of_ours_are_not_good(self):
        for numbers in (
            "8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            "0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads",
            "0 bytes stack frame, 0 bytes spill stores, 12 bytes spill loads",
            "1040 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        ):
            with self.subTest(numbers):
                judgement = judge(parse(report(OUR_KERNEL, CLEAN) + report(OUR_KERNEL, numbers)))
                self.assertFalse(judgement.is_good())
                self.assertEqual(judgement.complaints, [f"{OUR_KERNEL} (sm_90): {numbers}"])
                self.assertTrue(judge(parse(report(OUR_KERNEL, CLEAN) + report(CUB_KERNEL, numbers))).is_good())

    def test_nothing_found_is_not_good(self):
        for text in ("", "ptxas info    : 0 bytes gmem\n", report(CUB_KERNEL, CLEAN)):
            self.assertFalse(judge(parse(text)).is_good())

    def test_that_is_incomplete_is_not_good(self):
        entry = f"ptxas info    : Compiling entry function '{OUR_KERNEL}' for 'sm_90'\n"
        self.assertFalse(judge(parse(entry)).is_good())
        self.assertFalse(judge(parse(f"{entry}ptxas info    : Function properties for {OUR_KERNEL}\n    {CLEAN}\n")).is_good())
        for bad in (
            f"    {CLEAN}\n",
            "ptxas info    : Compiling entry function for 'sm_90'\nptxas info    : Compiling entry function '",
            "ptxas info    : Used 56 registers\n",
            report(OUR_KERNEL, "many bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"),
        ):
            with self.subTest(bad), self.assertRaises(ValueError):
                parse(bad)

    def test_a_device_function_that_was_not_inlined_is_judged_too(self):
        helper = (
            "ptxas info    : Function properties for _ZN5rungs9v0_sm_9005parts6helperEv\n"
            "    24 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        )
        judgement = judge(parse(report(OUR_KERNEL, CLEAN) + helper))
        self.assertFalse(judgement.is_good())
        self.assertEqual(judgement.ours, 2)


class Command(InScratch):
    def expect(self, status, text):
        self.put("a.cu.o")
        self.assertEqual(self.printed(status, Path(__file__).with_name("resources.py"), self.scratch), text)

    def test_judges_the_reports_beside_the_objects(self):
        self.put("a.cu.o.ptxas", report(OUR_KERNEL, CLEAN))
        self.expect(0, "1 objects, 1 kernels of ours (at most 56 registers), 0 of libraries, 0 complaints\n")

    def test_what_has_no_machine_code_is_listed(self):
        program, empty = Path(__file__).with_name("resources.py"), "ptxas info    : 0 bytes gmem\n"
        listed = self.put("listed", "handwritten_b.cu\n")
        for name, text in (("handwritten_a", report(OUR_KERNEL, CLEAN)), ("handwritten_b", empty), ("library_c", empty)):
            self.put(f"{name}.cu.o")
            self.put(f"{name}.cu.o.ptxas", text)
        self.assertIn("1 sources were checked", self.printed(0, program, self.scratch, f"--syntax-only={listed}"))
        self.assertIn("handwritten_b.cu.o.ptxas: has no kernel", self.printed(1, program, self.scratch))
        self.put("listed", "handwritten_a.cu\nhandwritten_b.cu\n")
        self.assertIn("handwritten_a.cu.o.ptxas: has kernels", self.printed(1, program, self.scratch, f"--syntax-only={listed}"))

    def test_front_doors_leave_kernels_to_rungs(self):
        program, clear = Path(__file__).with_name("resources.py"), "_ZN5rungs9v0_sm_9005parts12clear_kernelEv"
        rung, front_door = "handwritten_reductions_two_passes_0.cu.o", "handwritten_front_door_of_reductions_front_door_0.cu.o"
        self.put(rung), self.put(front_door)
        self.put(f"{rung}.ptxas", report(OUR_KERNEL, CLEAN) + report(clear, CLEAN))
        self.put(f"{front_door}.ptxas", report(clear, CLEAN) + report(CUB_KERNEL, CLEAN))
        self.printed(0, program, self.scratch)
        self.put(f"{front_door}.ptxas", report(clear, CLEAN) + report(OUR_KERNEL, CLEAN))
        self.assertIn(f"{front_door}.ptxas: compiles 1 kernels of rungs again, as {OUR_KERNEL}", self.printed(1, program, self.scratch))

    def test_a_missing_report_fails(self):
        missing = f"{self.scratch}/a.cu.o: the compiler's report is missing: build through the CMake target\n"
        none = "1 objects, 0 kernels of ours (at most 0 registers), 0 of libraries, 0 complaints\n"
        self.expect(1, f"{missing}{none}no kernel was found: nothing was checked\n")


if __name__ == "__main__":
    unittest.main()
