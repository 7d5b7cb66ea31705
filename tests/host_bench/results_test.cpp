#include "results.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <sstream>
#include <tuple>

#include "check.hpp"
#include "fake_records.hpp"
#include "tables.hpp"

namespace rungs::bench {
namespace {

namespace fs = std::filesystem;
using catalog::operation;

struct folder {
  fs::path path = fs::temp_directory_path() / ("rungs_results_" + std::to_string(getpid()));
  folder() { fs::create_directories(path); }
  ~folder() { fs::remove_all(path); }
};

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const catalog::record cub =
    fakes::record("cub_device_reduce", fakes::does_nothing, catalog::scalar::f32, executor::device);
const catalog::record ours = fakes::record("ours", fakes::does_nothing, catalog::scalar::f32, executor::device);

row a_row(const catalog::record& record, double microseconds, bool twin = false, std::size_t items = 1 << 20) {
  row one;
  one.record = &record;
  one.about = {.operation = operation::reduce,
               .op = catalog::op::plus,
               .input_type = catalog::scalar::f32,
               .accumulator_type = catalog::scalar::f32,
               .output_type = catalog::scalar::f32,
               .num_items = items};
  one.twin = twin;
  one.verified = true;
  for (int i = 0; i < 30; ++i) one.samples.accepted.push_back(microseconds * (1 + 0.0001 * ((7 * i) % 30)));
  return one;
}

ceiling a_ceiling(double microseconds, double after, std::size_t bytes = 4 << 20,
                  operation kind = operation::stream_read) {
  return {kind, mode::cold, bytes, std::vector<double>(10, microseconds), std::vector<double>(10, after)};
}

TEST(Compare, SpeedupIsCubOverOurs) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 8), a_row(cub, 10.01, true)};
  compare(found, 4800);
  EXPECT_NEAR(found.rows[1].speedup->value, 1.25, 1e-6);
  EXPECT_EQ(found.rows[1].verdict, "FASTER");
  EXPECT_EQ(found.rows[0].verdict, "SAME");
  ASSERT_EQ(found.twins.size(), 1u);
  EXPECT_NEAR(found.twins[0].floor, 0.01, 1e-9);  // a lone cell has no better
}

// Its table names every column, in this order.
TEST(Tables, CsvHasTheColumnsOfTheSchema) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 8), a_row(cub, 10.01, true)};
  found.rows[1].energy_uj = 41.5;
  found.rows[0].defect = "wrong, \"all\" of it";
  found.rows[0].verified = false;
  compare(found, 4800);
  const json file = to_json(found, {.run = "r", .gpu = "g", .context = json::object()}, {});
  const std::string csv = to_csv(file);
  std::ifstream schema(RUNGS_SCHEMA);
  const json columns = json::parse(schema)["$defs"]["row"]["required"];
  std::string header;
  for (const json& column : columns) header += column.get<std::string>() + ",";
  EXPECT_EQ(csv.substr(0, csv.find('\n')), header + "energy_uj");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3) << "the twin is no row";
  EXPECT_NE(csv.find(",g,,r,41.5\n"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("wrong"), std::string::npos);
}

TEST(Tables, MarkdownTellsWhatIsWrongAndTheEnergyWhereThereIsOne) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 8), a_row(cub, 10.01, true), a_row(ours, 2000, false, 1 << 28)};
  found.rows[0].verified = false;
  found.rows[1].energy_uj = 41.54;
  compare(found, 4800);
  const json file = to_json(found, {.run = "r", .gpu = "g", .complete = false, .context = {{"banners", {"hot"}}}}, {});
  const std::string tables = to_markdown(file);
  for (const char* part : {"# g, run r\n", "ended before every case", "Note: hot.", "## reduce, plus, f32, cold\n",
                           "/cub_device_reduce | WRONG |", "/ours | 8.0", "| 41.5 |", "| 256Mi |", "| uJ a call |"})
    EXPECT_NE(tables.find(part), std::string::npos) << part << tables;
  EXPECT_EQ(std::ranges::count(tables, '#'), 3) << "one table";
}

TEST(Compare, TheFloorComesFromOtherCellsOfLikeFootprint) {
  findings found;
  found.rows = {a_row(cub, 10),
                a_row(ours, 9.8),
                a_row(cub, 10, true),
                a_row(cub, 10, false, 1 << 21),
                a_row(cub, 10.5, true, 1 << 21),  // alike, and noisy
                a_row(cub, 900, false, 1 << 28),
                a_row(cub, 900, true, 1 << 28)};  // far away
  compare(found, 0);
  EXPECT_NEAR(found.twins[0].floor, 0.05, 1e-6);
  EXPECT_EQ(found.rows[1].verdict, "SAME");
  EXPECT_NEAR(found.twins[1].floor, 0, 1e-6);  // its neighbour's twins agreed
}

TEST(Compare, TheFloorComesFromCellsOfTheSameShape) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 9.8), a_row(cub, 10, true), a_row(cub, 10, false, 1 << 21),
                a_row(cub, 10.001, true, 1 << 21)};
  for (const std::size_t bins : {256, 4096}) {
    for (row noisy : {a_row(cub, 10), a_row(cub, 14, true)}) {
      noisy.about.shape = shape{{{"bins", bins}}};
      found.rows.push_back(noisy);
    }
  }
  compare(found, 0);
  ASSERT_EQ(found.twins.size(), 4u);
  for (const twin_pair& twin : found.twins)
    EXPECT_NEAR(twin.floor, twin.about.shape.empty() ? (twin.about.num_items == 1 << 20 ? 1e-4 : 0) : 0.4, 1e-6);
  EXPECT_EQ(found.rows[1].verdict, "FASTER");
}

TEST(Compare, TheFastestCubEntryCounts) {
  catalog::record expert = cub;
  expert.rung = "cub_device_reduce_expert";
  findings found;
  found.rows = {a_row(cub, 10), a_row(expert, 5), a_row(ours, 8), a_row(cub, 10, true)};
  compare(found, 0);
  EXPECT_NEAR(found.rows[2].speedup->value, 5.0 / 8, 1e-6);
  EXPECT_EQ(found.rows[2].verdict, "SLOWER");
}

// Which of the measured roofs is the ceiling of a problem of 1 Mi items, and who is too fast for it.
struct bounded {
  operation kind;
  catalog::scalar input, output;
  std::vector<std::pair<operation, double>> roofs;  // with as many bytes as the problem has, in microseconds
  double ceiling_us, plausible_us, implausible_us;
};
using catalog::scalar;
constexpr auto scan = operation::inclusive_scan;
const bounded all_bounded[] = {
    {operation::reduce, scalar::f32, scalar::f32, {{operation::stream_read, 20}}, 20, 19.6, 17},
    {scan,
     scalar::f32,
     scalar::f32,
     {{operation::stream_read, 5}, {operation::copy, 20}, {operation::fill, 15}},
     20,
     19.6,
     17},
    // A copy of as many bytes reads more of them and writes fewer: it says nothing about what widens.
    {scan,
     scalar::u8,
     scalar::u32,
     {{operation::copy, 20}, {operation::fill, 15}, {operation::widen_halves, 17}, {operation::widen_bytes, 18}},
     18,
     19,
     16.5},
    // Writing is not reading: where no roof widens alike, an output of wider items may come faster than a copy.
    {scan, scalar::f32, scalar::f64, {{operation::copy, 20}, {operation::fill, 15}}, 15, 17, 14}};

struct Bounded : ::testing::TestWithParam<bounded> {};

TEST_P(Bounded, ARowFasterThanItsCeilingIsImplausible) {
  const bounded& one = GetParam();
  findings found;
  found.rows = {a_row(ours, one.plausible_us), a_row(ours, one.implausible_us)};
  for (row& each : found.rows) {
    each.about.operation = one.kind;
    each.about.input_type = one.input;
    each.about.output_type = one.output;
  }
  const std::size_t bytes = found.rows[0].about.footprint();
  for (const auto& [kind, microseconds] : one.roofs)
    found.ceilings.push_back(a_ceiling(microseconds, microseconds, bytes, kind));
  found.ceilings.push_back(a_ceiling(11, 11, bytes / 2, one.roofs.front().first));  // another footprint's
  compare(found, 4800);
  EXPECT_NEAR(*found.rows[0].ceiling_us, one.ceiling_us, 1e-9);
  EXPECT_FALSE(found.rows[0].implausible);
  EXPECT_TRUE(found.rows[1].implausible);
  EXPECT_NEAR(*found.rows[1].percent_of_ceiling, 100 * one.ceiling_us / one.implausible_us, 1);
  const double gb_per_s = static_cast<double>(found.rows[0].about.bytes()) / one.plausible_us / 1e3;
  EXPECT_NEAR(*found.rows[0].percent_of_peak, 100 * gb_per_s / 4800, 0.1);
}
INSTANTIATE_TEST_SUITE_P(All, Bounded, ::testing::ValuesIn(all_bounded));

TEST(Compare, NearTheLaunchFloorHalfAMicrosecondIsAllowed) {
  EXPECT_FALSE(beats_ceiling(4.0, 4.4));  // 10 % but 0.4 us
  EXPECT_TRUE(beats_ceiling(3.8, 4.4));
  EXPECT_FALSE(beats_ceiling(990, 1000));  // 10 us but 1 %
  EXPECT_TRUE(beats_ceiling(960, 1000));
}

TEST(Compare, AnUnverifiedRowIsComparedWithNothing) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 1)};
  found.rows[1].verified = false;
  compare(found, 0);
  EXPECT_FALSE(found.rows[1].speedup.has_value());
}

TEST(Ceiling, DriftIsMarked) {
  EXPECT_LT(a_ceiling(100, 101).drift(), largest_drift);
  EXPECT_GT(a_ceiling(100, 103).drift(), largest_drift);
}

TEST(ResultFile, IsStrictJsonWithTheSchemasColumnsInOrder) {
  findings found;
  found.ceilings = {a_ceiling(9, 9), {operation::empty, mode::cold, 0, {3.1, 3.1}, {3.1}}};
  found.rows = {a_row(cub, 10), a_row(ours, 12), a_row(cub, 10, true), a_row(ours, 1)};
  found.rows[3].verified = false;
  found.rows[3].error_ulps = std::numeric_limits<double>::infinity();
  found.omissions = {{&ours, std::nullopt, std::nullopt, "why \"not\"\n"}};
  compare(found, 4800);
  const run_facts about{.run = "run",
                        .gpu = "gpu",
                        .commit = "commit",
                        .complete = false,
                        .seconds = 1.5,
                        .arguments = {"--x"},
                        .context = json::object()};
  const auto text = to_json(found, about, {&cub, &ours}).dump();
  for (const char* word : {"NaN", "nan", "Infinity"}) EXPECT_EQ(text.find(word), std::string::npos) << word;
  const json file = json::parse(text);
  EXPECT_EQ(file["complete"], false);
  EXPECT_EQ(file["floors"].size(), 1u);
  EXPECT_EQ(file["ceilings"].size(), 1u);
  EXPECT_EQ(file["skipped"][0]["items"], nullptr);
  EXPECT_EQ(file["rows"][3]["error"], nullptr);
  std::istringstream columns(
      "family rung operation operator input_type accumulator_type output_type items shape distribution mode median_us "
      "low_us high_us samples set_aside bytes gb_per_s percent_of_ceiling percent_of_peak speedup_over_cub speedup_low "
      "speedup_high verdict verified error repeatable kernels workspace_bytes workspace_contract gpu commit run");
  auto column = file["rows"][0].items().begin();
  for (std::string name; columns >> name; ++column) EXPECT_EQ(column.key(), name);
}

TEST(ResultFile, HasAnEntryALine) {
  findings found;
  found.ceilings = {a_ceiling(9, 9), a_ceiling(18, 18, 8 << 20)};
  found.rows = {a_row(cub, 10), a_row(ours, 12)};
  compare(found, 4800);
  run_facts about{.run = "run", .gpu = "gpu", .commit = "commit", .arguments = {"--x"}, .context = json::object()};
  about.context["host"] = {{"cpu", "a \"cpu\""}};
  about.context["banners"] = json::array();
  const json file = to_json(found, about, {&cub, &ours});
  const std::string text = to_text(file);
  EXPECT_EQ(json::parse(text), file);
  std::istringstream lines(text);
  int rows = 0, ceilings = 0, variants = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = json::parse(line.substr(0, line.find_last_of('}') + 1), nullptr, false);
    if (!entry.is_object()) continue;
    rows += entry.contains("median_us");
    ceilings += entry.contains("drift_percent");
    variants += entry.contains("idea");
  }
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(ceilings, 2);
  EXPECT_EQ(variants, 2);
}

TEST(ResultFile, NumbersHaveTheDigitsOfAnEvent) {
  findings found;
  found.rows = {a_row(cub, 8.25600028038025)};
  found.rows[0].samples.accepted.assign(30, 8.25600028038025);
  compare(found, 0);
  const json file = to_json(found, {.run = "r", .gpu = "g", .commit = "c"}, {});
  EXPECT_EQ(file["rows"][0]["median_us"].dump(), "8.256");
}

TEST(Compare, ScansAndReductionsAreNotCompared) {
  findings found;
  found.rows = {a_row(cub, 10), a_row(ours, 5)};
  found.rows[1].about.operation = operation::inclusive_scan;
  compare(found, 0);
  EXPECT_FALSE(found.rows[1].speedup.has_value());
}

row a_histogram_row(const catalog::record& record, double microseconds, int bins, distribution from,
                    bool twin = false) {
  row one = a_row(record, microseconds, twin);
  one.about.operation = operation::histogram_even;
  one.about.shape = {{{"bins", static_cast<std::size_t>(bins)}}};
  one.about.distribution = from;
  return one;
}

TEST(Compare, BinsAndDistributionsAreCellsOfTheirOwn) {
  findings found;
  found.rows = {a_histogram_row(cub, 10, 256, distribution::uniform, true)};
  for (const auto& [bins, from, cub_us] :
       {std::tuple{256, distribution::uniform, 10}, {256, distribution::zipf, 40}, {4096, distribution::uniform, 80}}) {
    found.rows.push_back(a_histogram_row(cub, cub_us, bins, from));
    found.rows.push_back(a_histogram_row(ours, 5, bins, from));
  }
  found.rows.push_back(a_histogram_row(ours, 5, 65536, distribution::uniform));
  compare(found, 0);
  EXPECT_NEAR(found.rows[2].speedup->value, 2, 0.01);
  EXPECT_NEAR(found.rows[4].speedup->value, 8, 0.01);
  EXPECT_NEAR(found.rows[6].speedup->value, 16, 0.01);
  EXPECT_FALSE(found.rows[7].speedup.has_value());
  EXPECT_EQ(found.twins.size(), 1u);
}

TEST(ResultFile, SaysShapeAndDistributionOfRowsTwinsAndWhatWasLeftOut) {
  findings found;
  found.rows = {a_histogram_row(cub, 10, 256, distribution::zipf),
                a_histogram_row(cub, 10, 256, distribution::zipf, true), a_row(ours, 3),
                a_histogram_row(cub, 10, 4096, distribution::runs)};
  found.rows[3].verified = false;
  found.rows[3].fault = "refused";
  found.rows[3].defect = "the call failed";
  found.omissions = {{&ours, 1000, mode::cold, "why", {{{"bins", 256}, {"channels", 4}}}, distribution::sorted},
                     {&ours, std::nullopt, std::nullopt, "no GPU"}};
  compare(found, 0);
  const json file = to_json(found, {.run = "r", .gpu = "g", .commit = "c"}, {});
  EXPECT_FALSE(file["rows"][2].contains("fault"));
  EXPECT_EQ(file["rows"][3]["fault"], "refused");
  EXPECT_EQ(file["rows"][3]["verified"], "no");
  EXPECT_TRUE(file["rows"][3]["median_us"].is_null());
  const std::tuple<json, const char*, const char*> said[] = {{file["rows"][0], "bins=256", "zipf"},
                                                             {file["rows"][2], "", "uniform"},
                                                             {file["twins"][0], "bins=256", "zipf"},
                                                             {file["skipped"][0], "bins=256 channels=4", "sorted"},
                                                             {file["skipped"][1], "", ""}};
  for (const auto& [entry, shape, from] : said) {
    EXPECT_EQ(entry["shape"], shape);
    EXPECT_EQ(entry["distribution"], from);
  }
}

TEST(Files, AreReplacedWhole) {
  const folder here;
  const auto path = here.path / "deep" / "a.json";
  write_atomically(path, "old");
  write_atomically(path, "new");
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);  // nothing left aside
}

TEST(Files, ThatCannotBeWrittenAreTheUsersMistake) {
  const folder here;
  EXPECT_THROW(write_atomically("/proc/no/such/file.json", "x"), usage_error);
  write_atomically(here.path / "file", "x");
  EXPECT_THROW(write_atomically(here.path / "file" / "below.json", "x"), usage_error);
}

TEST(Files, SamplesAreGzip) {
  const folder here;
  const std::string text(100'000, 'x');
  write_gzip_atomically(here.path / "s.json.gz", text);
  EXPECT_LT(fs::file_size(here.path / "s.json.gz"), 1'000u);
  gzFile file = gzopen((here.path / "s.json.gz").c_str(), "rb");
  std::string back(200'000, '\0');
  back.resize(static_cast<std::size_t>(gzread(file, back.data(), static_cast<unsigned>(back.size()))));
  gzclose(file);
  EXPECT_EQ(back, text);
}

}  // namespace
}  // namespace rungs::bench
