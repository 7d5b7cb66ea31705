import unittest

import sources
from scratch import InScratch
from sources import sources_of, without_comments


class Comments(unittest.TestCase):
    def expect(self, source, stripped):
        with self.subTest(source):
            self.assertEqual(without_comments(source), stripped)

    def test_go_and_white_space_is_evened_out(self):
        self.expect("a  =\t1; // one\n\n\n  b;", "a = 1;\nb;\n")
        self.expect("a /* x\ny */ b", "a b\n")
        self.expect("a // one \\\n still one\nb", "a\nb\n")
        self.expect("// only\n/* comments */\n", "")
        self.expect("", "")
        self.expect("a /* cut off", "a\n")

    def test_in_literals_stay(self):
        self.expect('s = "// no  comment"; // yes', 's = "// no  comment";\n')
        self.expect("s = \"\\\"/*\"; t = '\"'; // yes", "s = \"\\\"/*\"; t = '\"';\n")
        self.expect('s = R"x(// a\n  ")x"; // yes', 's = R"x(// a\n  ")x";\n')
        self.expect("n = 1'000'000; // a 'quote\nb", "n = 1'000'000;\nb\n")


class Tree(InScratch):
    A, P, Q, OTHER = (f"handwritten/rungs/{name}.cuh" for name in ("a", "parts/p", "parts/q", "other"))

    def setUp(self):
        super().setUp()
        self.put(self.A, '#include "rungs/parts/p.cuh"\nint a = 1;  // one\n')
        self.put(self.P, '#include <vector>\n#include "q.cuh"\nint p;\n')
        self.put(self.Q, "/* q */ int q;\n")
        self.put(self.OTHER, "int other;\n")

    def put(self, file, text):
        super().put(file, text)
        for cached in (sources.stripped_file, sources.included_by, sources.hash_of):
            cached.cache_clear()

    def hash(self, flags="-O3"):
        return sources.hash_of(self.scratch, self.A, flags)

    def test_is_followed_through_its_includes(self):
        self.assertEqual(sources_of(self.scratch, self.A), [self.A, self.P, self.Q])
        with self.assertRaises(OSError):
            sources_of(self.scratch, "handwritten/rungs/gone.cuh")

    def test_has_the_hash_that_the_committed_record_was_written_with(self):
        self.assertEqual(self.hash(), "5654cd92050f224f")

    def test_keeps_its_hash_when_only_comments_space_or_other_files_change(self):
        before = self.hash()
        self.put(self.A, '// new\n#include "rungs/parts/p.cuh"\n\n  int   a = 1;\n')
        self.put(self.Q, "int q;\n")
        self.put(self.OTHER, "int changed;\n")
        self.assertEqual(self.hash(), before)

    def test_changes_its_hash_with_any_code_any_include_and_the_flags(self):
        before = self.hash()
        self.assertNotEqual(self.hash("-O2"), before)
        self.put(self.Q, "int q = 0;\n")
        self.assertNotEqual(self.hash(), before)
        self.put(self.Q, "int q;\n")
        self.assertEqual(self.hash(), before)
        self.put(self.A, '#include "rungs/parts/p.cuh"\n#include "rungs/other.cuh"\nint a = 1;\n')
        self.assertNotEqual(self.hash(), before)

    def test_may_include_itself_in_a_ring(self):
        self.put(self.Q, '#include "rungs/a.cuh"\n')
        self.assertEqual(len(sources_of(self.scratch, self.A)), 3)


if __name__ == "__main__":
    unittest.main()
