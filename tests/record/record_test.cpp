#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "record/gpu_record.hpp"
#include "record/source_hash.hpp"

namespace rungs::tests::record {
namespace {

namespace fs = std::filesystem;

class a_tree : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "rungs_record_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    put("handwritten/rungs/a.cuh", "#include \"rungs/parts/p.cuh\"\nint a = 1;  // one\n");
    put("handwritten/rungs/parts/p.cuh", "#include <vector>\n#include \"q.cuh\"\nint p;\n");
    put("handwritten/rungs/parts/q.cuh", "/* q */ int q;\n");
    put("handwritten/rungs/other.cuh", "int other;\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::string hash(const std::string& flags = "-O3") { return hash_of(root_, "handwritten/rungs/a.cuh", flags); }
  fs::path root_;
};

TEST(comments, go_and_white_space_is_evened_out) {
  EXPECT_EQ(without_comments("a  =\t1; // one\n\n\n  b;"), "a = 1;\nb;\n");
  EXPECT_EQ(without_comments("a /* x\ny */ b"), "a b\n");
  EXPECT_EQ(without_comments("a // one \\\n still one\nb"), "a\nb\n");
  EXPECT_EQ(without_comments("// only\n/* comments */\n"), "");
  EXPECT_EQ(without_comments(""), "");
}

TEST(comments, in_literals_stay) {
  EXPECT_EQ(without_comments("s = \"// no  comment\"; // yes"), "s = \"// no  comment\";\n");
  EXPECT_EQ(without_comments("s = \"\\\"/*\"; t = '\"'; // yes"), "s = \"\\\"/*\"; t = '\"';\n");
  EXPECT_EQ(without_comments("s = R\"x(// a\n  \")x\"; // yes"), "s = R\"x(// a\n  \")x\";\n");
  EXPECT_EQ(without_comments("n = 1'000'000; // a 'quote\nb"), "n = 1'000'000;\nb\n");
}

TEST_F(a_tree, is_followed_through_its_includes) {
  EXPECT_EQ(sources_of(root_, "handwritten/rungs/a.cuh"),
            (std::vector<std::string>{"handwritten/rungs/a.cuh", "handwritten/rungs/parts/p.cuh",
                                      "handwritten/rungs/parts/q.cuh"}));
  EXPECT_THROW(sources_of(root_, "handwritten/rungs/gone.cuh"), std::runtime_error);
}

TEST_F(a_tree, keeps_its_hash_when_only_comments_space_or_other_files_change) {
  const std::string before = hash();
  EXPECT_EQ(before.size(), 16u);
  put("handwritten/rungs/a.cuh", "// new\n#include \"rungs/parts/p.cuh\"\n\n  int   a = 1;\n");
  put("handwritten/rungs/parts/q.cuh", "int q;\n");
  put("handwritten/rungs/other.cuh", "int changed;\n");
  EXPECT_EQ(hash(), before);
}

TEST_F(a_tree, changes_its_hash_with_any_code_any_include_and_the_flags) {
  const std::string before = hash();
  EXPECT_NE(hash("-O2"), before);
  put("handwritten/rungs/parts/q.cuh", "int q = 0;\n");
  EXPECT_NE(hash(), before);
  put("handwritten/rungs/parts/q.cuh", "int q;\n");
  EXPECT_EQ(hash(), before);
  put("handwritten/rungs/a.cuh", "#include \"rungs/parts/p.cuh\"\n#include \"rungs/other.cuh\"\nint a = 1;\n");
  EXPECT_NE(hash(), before);
}

TEST_F(a_tree, may_include_itself_in_a_ring) {
  put("handwritten/rungs/parts/q.cuh", "#include \"rungs/a.cuh\"\n");
  EXPECT_EQ(sources_of(root_, "handwritten/rungs/a.cuh").size(), 3u);
}

const identity warp{"handwritten", "reductions", "warp_shuffle", "reduce", "plus", "f32", "f32"};
const identity bytes{"handwritten", "reductions", "vector_loads", "reduce", "plus", "u8", "u32"};
const identity roof{"library_baselines", "roofs", "copy", "copy", "", "f32", ""};
const machine h200{"NVIDIA H200", "580.95", "13.0"};

TEST(gpu_record, survives_writing_and_reading) {
  const lines all{{warp, "0123456789abcdef", "passed", 130, h200}, {bytes, "fedcba9876543210", "pending", 0, {}}};
  const std::string text = to_json(all);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // a line an entry
  EXPECT_EQ(to_json(from_json(text, "x")), text);
  EXPECT_EQ(from_json(to_json({}), "x").size(), 0u);
}

TEST(gpu_record, names_are_those_of_the_tests) {
  EXPECT_EQ(warp.name(), "handwritten/reductions/warp_shuffle/plus/f32");
  EXPECT_EQ(bytes.name(), "handwritten/reductions/vector_loads/plus/u8_u32");
  EXPECT_EQ(roof.name(), "library_baselines/roofs/copy/copy/f32");
  identity scan = warp;
  scan.operation = "inclusive_scan";
  EXPECT_EQ(scan.name(), "handwritten/reductions/warp_shuffle/inclusive_scan/plus/f32");
}

TEST(gpu_record, refuses_bad_files_with_their_name) {
  const std::string good = to_json({{warp, "00", "passed", 1, h200}});
  const auto spoiled = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(0, good.size() / 2),
        spoiled("passed", "perhaps"), spoiled("record/1", "record/9"), spoiled("\"cases\":1", "\"cases\":0"),
        spoiled("NVIDIA H200", ""), spoiled("\"hash\"", "\"hush\"")}) {
    try {
      from_json(bad, "the_file.json");
      ADD_FAILURE() << "accepted " << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("the_file.json"), std::string::npos);
    }
  }
  EXPECT_THROW(from_json(to_json({{warp, "00", "passed", 1, h200}, {warp, "00", "passed", 1, h200}}), "x"),
               std::runtime_error);
}

TEST(gpu_record, a_missing_stale_or_superfluous_line_is_bad_and_a_pending_one_is_counted) {
  const std::vector<subject> now{{warp, "aa"}, {bytes, "bb"}};
  EXPECT_TRUE(compare({{warp, "aa", "passed", 1, h200}, {bytes, "bb", "passed", 1, h200}}, now).good());
  const state none = compare({}, now);
  EXPECT_EQ(none.missing.size(), 2u);
  EXPECT_FALSE(none.good());
  const state stale = compare({{warp, "old", "passed", 1, h200}, {bytes, "bb", "passed", 1, h200}}, now);
  EXPECT_EQ(stale.stale, std::vector<std::string>{warp.name()});
  EXPECT_FALSE(stale.good());
  const state stale_pending = compare({{warp, "old", "pending", 0, {}}, {bytes, "bb", "passed", 1, h200}}, now);
  EXPECT_FALSE(stale_pending.good());
  const state pending = compare({{warp, "aa", "pending", 0, {}}, {bytes, "bb", "passed", 1, h200}}, now);
  EXPECT_TRUE(pending.good());
  EXPECT_EQ(pending.pending, std::vector<std::string>{warp.name()});
  EXPECT_EQ(pending.passed, 1u);
  const state left_over = compare(
      {{warp, "aa", "passed", 1, h200}, {bytes, "bb", "passed", 1, h200}, {roof, "cc", "passed", 1, h200}}, now);
  EXPECT_EQ(left_over.superfluous, std::vector<std::string>{roof.name()});
  EXPECT_FALSE(left_over.good());
}

TEST(gpu_record, pending_heals_what_check_refuses_and_touches_nothing_else) {
  const std::vector<subject> now{{warp, "aa"}, {bytes, "bb"}, {roof, "cc"}};
  const lines healed =
      with_pending({{{"handwritten", "reductions", "gone", "reduce", "plus", "f32", "f32"}, "dd", "passed", 1, h200},
                    {bytes, "bb", "passed", 7, h200},
                    {warp, "old", "passed", 1, h200}},
                   now);
  ASSERT_EQ(healed.size(), 3u);
  EXPECT_EQ(healed[0].outcome, "pending");
  EXPECT_EQ(healed[0].hash, "aa");
  EXPECT_EQ(healed[1].outcome, "passed");
  EXPECT_EQ(healed[1].cases, 7);
  EXPECT_EQ(healed[2].outcome, "pending");
  EXPECT_TRUE(compare(healed, now).good());
}

TEST(gpu_record, a_run_enters_what_passed_and_never_what_was_skipped) {
  const std::vector<subject> now{{warp, "aa"}, {bytes, "bb"}, {roof, "cc"}};
  const lines before{{roof, "cc", "passed", 5, h200}, {warp, "old", "passed", 1, h200}};
  const lines after = with_runs(
      before, now, {{warp.name(), true, false, 130}, {bytes.name(), false, false, 12}, {roof.name(), false, true, 0}},
      h200);
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0].hash, "aa");
  EXPECT_EQ(after[0].cases, 130);
  EXPECT_EQ(after[0].where.gpu, "NVIDIA H200");
  EXPECT_EQ(after[1].outcome, "pending");  // failed
  EXPECT_EQ(after[2].cases, 5);            // skipped: as it was
  EXPECT_EQ(with_runs({}, now, {{warp.name(), false, true, 0}}, h200).size(), 0u);
}

}  // namespace
}  // namespace rungs::tests::record
