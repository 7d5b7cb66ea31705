// The suite on a fake GPU: flushes, events, graphs, ceilings, twins, floors and verdicts, where every duration is
// known.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>

#include "fake_device_work.hpp"
#include "fake_histograms.hpp"
#include "faults/fake_runtime.hpp"
#include "profile.hpp"
#include "resume.hpp"
#include "right_chains.hpp"
#include "right_scans.hpp"
#include "right_updates.hpp"
#include "suite_fixture.hpp"

namespace rungs::bench {
namespace {

using catalog::operation;
using catalog::record;
using catalog::scalar;
namespace fake = tests::fake;

device_facts a_gpu() {
  device_facts gpu;
  gpu.name = "NVIDIA Fake";
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  gpu.l2_bytes = std::size_t{60} << 20;
  gpu.memory_bytes = gpu.free_bytes = std::size_t{16} << 30;
  gpu.memory_bus_bits = 6144;
  gpu.memory_clock_khz = 3'201'000;
  return gpu;
}

// A host's call as a kernel of known duration: launch_us, and us_per_mi for each Mi items.
template <catalog::call_t does, int launch_us, int us_per_mi, bool levels_on_host = true>
cudaError_t kernel(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  if (workspace == nullptr) return does(workspace, num_bytes, a, stream);
  // The init and the levels of even bins are the host's, and may be gone when the kernel runs.
  std::uint64_t init = 0;
  std::array<std::uint64_t, 2> levels{};
  if (a.init != nullptr) std::memcpy(&init, a.init, sizeof init);
  if (a.levels != nullptr && levels_on_host) std::memcpy(&levels, a.levels, sizeof levels);
  return fake::launch(launch_us + us_per_mi * static_cast<double>(a.num_items) / (1 << 20), [=] {
    std::size_t unused = 16;
    catalog::arguments kept = a;
    kept.init = &init;
    if (levels_on_host) kept.levels = &levels;
    does(&unused, unused, kept, nullptr);
  });
}

template <int launch_us, int us_per_mi>
constexpr catalog::call_t sums = kernel<fakes::right<float>, launch_us, us_per_mi>;
constexpr catalog::call_t wrong_sums = kernel<fakes::drops_the_last<float>, 6, 4>;
template <int launch_us, int us_per_mi>
constexpr catalog::call_t moves = kernel<fakes::does_nothing, launch_us, us_per_mi>;

constexpr auto library = catalog::family::library_baselines;

record a_variant(const char* rung, catalog::call_t call, catalog::family family = catalog::family::handwritten) {
  record one = fakes::record(rung, call, scalar::f32, executor::device);
  one.family = family;
  return one;
}

record a_roof(operation kind, catalog::call_t call) {
  record one = a_variant(name(kind).data(), call, library);
  one.operation = kind;
  one.op = catalog::op::none;
  one.accumulator_type = scalar::none;
  return one;
}

struct DevicePath : SuiteFixture {
  DevicePath() {
    records = {a_variant("cub_device_reduce", sums<8, 4>, library),
               a_variant("faster", sums<6, 4>),
               a_variant("slower", sums<12, 4>),
               a_roof(operation::stream_read, moves<4, 3>),
               a_roof(operation::copy, moves<4, 6>),
               a_roof(operation::fill, moves<4, 2>),
               a_roof(operation::empty, moves<3, 0>)};
    wanted.sizes = {1 << 16};
    gpu = a_gpu();
    fake::current() = {};
    fake::current().executes = true;
    fake::current().static_shared_bytes = 1024;
    device_work::fake_clock_mhz = 1980;
  }
  void run_and_succeed() {
    run();
    EXPECT_TRUE(all->complete());
    EXPECT_FALSE(all->failed());
  }
  // A row of the rung in that mode, which must be there.
  const row& at(const char* rung, mode how = mode::cold) const {
    static const row nothing;
    const row* const found = find(rung, how);
    EXPECT_NE(found, nullptr) << rung << ' ' << name(how);
    return found == nullptr ? nothing : *found;
  }
  // A right row beside a slower CUB, whose ceiling took roof_us.
  static void expect_faster(const row& one, double us, double cub_us, double roof_us) {
    EXPECT_TRUE(one.timed()) << one.defect;
    EXPECT_NEAR(one.summary.median, us, 0.01) << name(one.mode);
    EXPECT_EQ(one.verdict, "FASTER");
    EXPECT_NEAR(one.speedup->value, cub_us / us, 0.01);
    EXPECT_TRUE(one.repeatable);
    EXPECT_EQ(one.launches->kernels, 1);
    EXPECT_FALSE(one.implausible);
    EXPECT_NEAR(*one.percent_of_ceiling, 100 * roof_us / us, 0.2);
  }
  // The same of all rows of a rung: it takes 6 us, CUB 8 us, and both so many more for each Mi items.
  void expect_all_faster(const char* rung, int us_per_mi, int roof_us_per_mi) const {
    EXPECT_FALSE(rows_of(rung).empty());
    for (const row* one : rows_of(rung)) {
      const double mi = static_cast<double>(one->about.num_items) / (1 << 20);
      expect_faster(*one, 6 + us_per_mi * mi, 8 + us_per_mi * mi, 4 + roof_us_per_mi * mi);
    }
  }
  // Only what bounds a problem is measured beside it, but for the launch floor.
  void expect_roofs(operation kind, std::size_t bytes) const {
    for (const ceiling& one : all->found.ceilings)
      EXPECT_TRUE(one.kind == operation::empty || (one.kind == kind && one.bytes == bytes)) << name(one.kind);
  }
  // A rung that beats its ceiling is implausible, and another is not.
  void expect_implausible(const char* plausible) {
    EXPECT_TRUE(at("too_good").implausible);
    EXPECT_FALSE(at(plausible).implausible);
  }
  // Of all modes: the wrong rung has no time, and another has.
  void expect_only_wrong(const char* wrong, const char* right) const {
    EXPECT_TRUE(all->failed());
    EXPECT_FALSE(rows_of(wrong).empty());
    for (const row* one : rows_of(wrong)) {
      EXPECT_FALSE(one->timed());
      EXPECT_EQ(one->fault, "");
    }
    for (const row* one : rows_of(right)) EXPECT_TRUE(one->timed());
  }
};

TEST_F(DevicePath, TimesAreWhatTheKernelsTook) {
  wanted.dirty_flush = true;
  run_and_succeed();
  for (const mode how : {mode::cold, mode::warm, mode::graph, mode::dirty}) {
    const row& faster = at("faster", how);
    EXPECT_NEAR(at("cub_device_reduce", how).summary.median, 8.25, 0.01) << name(how);
    expect_faster(faster, 6.25, 8.25, 4 + 3 / 16.0);
    EXPECT_EQ(at("slower", how).verdict, "SLOWER");
    const launch_shape& largest = faster.launches->largest.value();
    EXPECT_EQ(largest.blocks, 264u);
    EXPECT_EQ(largest.block_threads, 128u);
    EXPECT_EQ(largest.cluster_blocks, 4u);
    EXPECT_TRUE(largest.cooperative);
    EXPECT_EQ(largest.needs.value().registers, 32);
    EXPECT_EQ(largest.needs->shared_bytes, 2048u);
    EXPECT_EQ(largest.needs->occupancy, 0.5);
  }
  EXPECT_EQ(all->found.rows.size(), 4u * 4);  // each of four modes: three variants and CUB's twin
  EXPECT_EQ(all->found.twins.size(), 4u);
  for (const auto& twin : all->found.twins) EXPECT_FALSE(twin.different());
  EXPECT_EQ(fake::current().asked.block_threads, 128);
  EXPECT_EQ(fake::current().asked.dynamic_shared_bytes, 1024u);
  for (const json& row : to_json(all->found, {}, {})["rows"]) {
    EXPECT_EQ(row["registers"], 32);
    EXPECT_EQ(row["shared_bytes"], 2048);
    EXPECT_EQ(row["occupancy"], 0.5);
  }
}

// The front door however slow it is, of the others the fastest three of each kind of storage; aligned and not.
TEST_F(DevicePath, WhatIsHeldOutIsMeasuredBesideTheFrontDoor) {
  records.push_back(a_variant("second", sums<7, 4>));
  records.push_back(a_variant("third", sums<8, 4>));
  records.push_back(a_variant("fourth", sums<9, 4>));
  records.push_back(a_variant("wants_zeros", sums<9, 4>));
  records.back().temp_storage = contents::zeroed_once;
  records.push_back(a_variant("front_door", sums<30, 4>));
  records.back().ladder = "front_door_of_fakes";
  wanted.sizes = {};
  wanted.filter = "n=(37|3079)/";
  wanted.grid = grid::held_out;
  run_and_succeed();
  std::map<std::pair<std::size_t, std::size_t>, std::set<std::string_view>> sampled;
  for (const row& one : all->found.rows) {
    EXPECT_EQ(one.mode, mode::cold);
    EXPECT_TRUE(one.timed()) << one.defect;
    if (!one.twin) sampled[{one.about.num_items, one.about.shape["offset"]}].insert(one.record->rung);
  }
  const std::set<std::string_view> entered = {"cub_device_reduce", "faster",    "second", "third",
                                              "wants_zeros",       "front_door"};
  ASSERT_EQ(sampled.size(), 4u);  // 37 items; 3079, also one and three items behind
  for (const auto& [cell, rungs] : sampled) EXPECT_EQ(rungs, entered) << cell.first << ' ' << cell.second;
  EXPECT_EQ(all->found.twins.size(), 4u);
}

TEST_F(DevicePath, CeilingsStandBeforeAndAfterEachCell) {
  run();
  int roofs = 0, floors = 0;
  for (const ceiling& one : all->found.ceilings) {
    EXPECT_FALSE(one.before.empty());
    EXPECT_FALSE(one.after.empty());
    EXPECT_LT(one.drift(), 1e-3);
    (one.kind == operation::empty ? floors : roofs) += 1;
    if (one.kind == operation::empty) {
      EXPECT_NEAR(one.median_us(), 3, 0.01);
    } else if (one.kind == operation::copy) {
      EXPECT_NEAR(one.median_us(), 4 + 6 / 32.0, 0.01) << "half is read, half is written";
    }
  }
  EXPECT_EQ(roofs, 9);
  EXPECT_EQ(floors, 3);
  EXPECT_NEAR(*at("cub_device_reduce").percent_of_ceiling, 100 * (4 + 3 / 16.0) / 8.25, 0.2);
  EXPECT_NEAR(*at("cub_device_reduce").percent_of_peak, 100 * (65537 * 4 / 8.25e3) / 4916.7, 0.01);
}

TEST_F(DevicePath, ARowThatBeatsItsCeilingIsImplausible) {
  records.push_back(a_variant("too_good", sums<2, 0>));
  run();
  expect_implausible("faster");
}

TEST_F(DevicePath, AWrongVariantHasNoTimeInAnyMode) {
  records.push_back(a_variant("wrong", wrong_sums));
  run();
  expect_only_wrong("wrong", "faster");
  EXPECT_EQ(rows_of("wrong").size(), 3u);
}

TEST_F(DevicePath, AClockThatDropsForGoodLeavesNoSamplesAndFails) {
  static int calls;
  calls = 0;
  records[1].call = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    if (workspace != nullptr && ++calls > 30) device_work::fake_clock_mhz = 1000;
    return sums<6, 4>(workspace, num_bytes, a, stream);
  };
  run();
  EXPECT_TRUE(all->failed());
  EXPECT_NE(all->why_not(plan.cases.back()).find("no accepted samples"), std::string::npos);
}

TEST_F(DevicePath, TheSlowStopAtTheSizeWhereASampleIsTooLong) {
  records.push_back(a_variant("crawls", sums<6, 3000>));
  wanted.sizes = {1 << 16, 1 << 20, 4 << 20};
  wanted.filter = "crawls";
  run();
  int stopped = 0;
  for (const auto& one : all->found.omissions)
    stopped += one.reason.find("over the limit of 10 ms") != std::string::npos && one.num_items == std::size_t{4} << 20;
  EXPECT_EQ(stopped, 3);  // cold, warm, graph
  int graphs = 0;
  for (const auto& one : all->found.omissions) graphs += one.reason.find("a graph of 20 calls") != std::string::npos;
  EXPECT_EQ(graphs, 1);  // at 1 Mi a call takes 3 ms
  at("crawls");
}

TEST_F(DevicePath, WhatWaitsForTheHostIsMeasuredWithoutAGraph) {
  records[1].waits_for_host = true;
  run();
  EXPECT_FALSE(at("faster").launches);
  EXPECT_EQ(find("faster", mode::graph), nullptr);
}

// Half a kilowatt while anything runs, told by a counter that moves every millisecond.
TEST_F(DevicePath, EnergyIsWhatTheCounterTellsOfCallsBackToBack) {
  wanted.modes = {mode::cold, mode::warm, mode::graph};
  rules.energy_seconds = 0.01;
  rules.joules = [] { return std::optional(500 * std::floor(fake::current().now_us / 1000) * 1e-3); };
  run_and_succeed();
  for (const mode how : {mode::warm, mode::graph}) {
    for (const char* rung : {"cub_device_reduce", "faster", "slower"}) {
      const row& one = at(rung, how);
      ASSERT_TRUE(one.energy_uj) << rung;
      EXPECT_NEAR(*one.energy_uj, 500 * one.summary.median, 0.25 * 500 * one.summary.median)
          << rung << ' ' << name(how);
    }
  }
  EXPECT_FALSE(at("faster", mode::cold).energy_uj) << "flushes take energy, too";
  for (const row& one : all->found.rows) EXPECT_FALSE(one.twin && one.energy_uj);
  const json file = to_json(all->found, {}, {});
  for (const json& one : file["rows"]) EXPECT_EQ(one.contains("energy_uj"), one["mode"] != "cold" && !one["twin"]);
}

TEST_F(DevicePath, ACounterThatStandsStillOrIsNotThereGivesNoEnergy) {
  wanted.modes = {mode::warm};
  for (const std::optional<double> stands : {std::optional<double>(7), std::optional<double>()}) {
    records.resize(1);  // CUB alone
    rules.joules = [=] { return stands; };
    run_and_succeed();
    EXPECT_TRUE(at("cub_device_reduce", mode::warm).timed());
    EXPECT_FALSE(at("cub_device_reduce", mode::warm).energy_uj);
  }
}

// Of a run over two sizes that ended after the first: the file, as it would be written.
TEST_F(DevicePath, AResumedRunHasBothPartsCeilingsAndTwins) {
  wanted.sizes = {1 << 16, 1 << 18};
  wanted.modes = {mode::cold, mode::warm, mode::graph};
  run_and_succeed();
  const run_facts about{.run = "2030-01-02T030405Z-abc1234",
                        .gpu = "fake",
                        .commit = "abc1234",
                        .complete = false,
                        .context = {{"environment", {{"before", {{"power_w", 1}}}}}, {"banners", {"hot"}}}};
  json file = to_json(all->found, about, {});
  const json whole = file;
  const auto is_small = [](const json& one) { return one["items"] == 1 << 16; };
  for (const char* part : {"rows", "twins"})
    file[part].erase(std::remove_if(file[part].begin(), file[part].end(), std::not_fn(is_small)), file[part].end());
  // A cell that lacks one of its cases is measured anew, and what it had goes.
  const auto is_lost = [](const json& one) { return one["mode"] == "graph" && one["rung"] == "slower"; };
  file["rows"].erase(std::remove_if(file["rows"].begin(), file["rows"].end(), is_lost), file["rows"].end());
  for (json& one : file["rows"])
    if (one["mode"] == "cold" && one["rung"] == "faster") one["verdict"] = "SLOWER";
  const auto path = std::filesystem::temp_directory_path() / ("rungs_resume_" + std::to_string(getpid()) + ".json");
  write_atomically(path, to_text(file));

  make();
  const std::size_t num_cells = plan.problems[0].modes.size() + plan.problems[1].modes.size();
  unfinished_run earlier(path, "nowhere");
  const auto twins = earlier.take_from(plan);
  std::filesystem::remove(path);
  EXPECT_EQ(earlier.num_cells(), num_cells / 2 - 1);
  EXPECT_EQ(twins.size(), earlier.num_cells());
  all = std::make_unique<suite>(plan, records, gpu, rules, [] { return false; });
  EXPECT_EQ(all->num_cells(), num_cells / 2 + 1);
  all->found.earlier_twins = twins;
  for (std::size_t i = 0; i < plan.problems.size(); ++i) all->visit(i);
  compare(all->found, gpu->peak_gb_per_s());
  const run_facts later{
      .seconds = 5, .context = {{"environment", {{"before", nullptr}}}, {"banners", {"cold"}}, {"resumed", {"now"}}}};
  const json both = earlier.united_with(to_json(all->found, later, {}));
  for (const char* part : {"rows", "twins", "ceilings", "floors", "skipped"})
    EXPECT_EQ(both[part].size(), whole[part].size()) << part;
  EXPECT_EQ(both["context"]["environment"]["before"]["power_w"], 1);
  EXPECT_EQ(both["context"]["banners"], json({"cold", "hot"}));
  for (const json& one : both["rows"]) {
    if (one["rung"] != "faster" || one["mode"] != "cold") continue;
    EXPECT_EQ(one["verdict"], "FASTER") << "judged anew";
  }
}

TEST_F(DevicePath, AProfilerSeesEachColdCallOnceAndNothingElse) {
  records[2].waits_for_host = true;
  make();
  std::vector<std::string> told;
  const auto seen = profile(plan, a_gpu(), 1, [&](const std::string& name) { told.push_back(name); });
  ASSERT_EQ(seen.size(), 3u);  // cold alone, CUB once
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(fake::current().seen, 2);
  EXPECT_EQ(fake::current().flushed_before, 2);
  EXPECT_FALSE(fake::current().in_view);
  for (const profiled_case& one : seen) {
    EXPECT_EQ(one.which->mode, mode::cold);
    EXPECT_FALSE(one.wrong) << one.why_not;
  }
  const json file = to_json(seen, plan, {});
  ASSERT_EQ(file["cases"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(file["cases"][i]["range"], range_name(i));
    EXPECT_EQ(file["cases"][i]["rung"], i == 0 ? "cub_device_reduce" : "faster");
    EXPECT_EQ(file["cases"][i]["kernels"], 1);
    EXPECT_EQ(file["cases"][i]["items"], 1 << 16);
  }
  ASSERT_EQ(file["skipped"].size(), 1u);
  EXPECT_EQ(file["skipped"][0]["range"], range_name(2));
  EXPECT_NE(file["skipped"][0]["reason"].get<std::string>().find("cannot be captured"), std::string::npos);
}

TEST_F(DevicePath, AWrongCallIsNotShownToAProfiler) {
  records[1] = a_variant("faster", wrong_sums);
  make();
  const auto seen = profile(plan, a_gpu(), 1, [](const std::string&) {});
  EXPECT_EQ(fake::current().seen, 2);
  EXPECT_TRUE(seen[1].wrong);
  EXPECT_NE(seen[1].why_not.find("wrong"), std::string::npos);
}

template <int launch_us, int us_per_mi, fakes::flaw planted = fakes::flaw::none>
constexpr catalog::call_t scans = kernel<fakes::scan<float, operation::inclusive_scan, planted>, launch_us, us_per_mi>;
constexpr auto stops_early = fakes::flaw::last_unwritten;

struct ScanPath : DevicePath {
  static record a_scan(const char* rung, catalog::call_t call, catalog::family family = catalog::family::handwritten) {
    record one = fakes::a_scan(rung, operation::inclusive_scan, call, scalar::f32, executor::device);
    one.family = family;
    return one;
  }
  ScanPath() {
    records.push_back(a_scan("cub_device_scan", scans<8, 8>, library));
    records.push_back(a_scan("cub_device_scan_expert", scans<9, 8>, library));
    records.push_back(a_scan("look_back", scans<6, 8>));
    wanted.filter = "inclusive_scan";
  }
};

TEST_F(ScanPath, ScansAreTimedBesideCubAndItsTwin) {
  run_and_succeed();
  EXPECT_EQ(all->found.rows.size(), 3u * 4);
  EXPECT_EQ(all->found.twins.size(), 3u);
  for (const mode how : {mode::cold, mode::warm, mode::graph}) {
    // Half a MiB is read and written; a copy of as much takes 4 us and 6 us a Mi items.
    expect_faster(at("look_back", how), 6.5, 8.5, 4 + 6 / 16.0);
    EXPECT_EQ(at("look_back", how).about.bytes(), 512u << 10);
  }
  expect_roofs(operation::copy, 512 << 10);
}

TEST_F(ScanPath, ReductionsAndScansShareARun) {
  wanted.filter = "";
  run_and_succeed();
  EXPECT_TRUE(at("faster").timed());
  EXPECT_TRUE(at("look_back", mode::graph).timed());
  EXPECT_NEAR(*at("cub_device_reduce").percent_of_ceiling, 100 * (4 + 3 / 16.0) / 8.25, 0.2);
}

// Three items behind what the device's memory is aligned to, in and out.
TEST_F(ScanPath, ItemsBeginAtTheirOffset) {
  const auto begins = [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
    const auto of = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16; };
    if (workspace != nullptr && (of(a.d_in) != 12 || of(a.d_out) != 12)) return cudaErrorMisalignedAddress;
    return scans<6, 8>(workspace, num_bytes, a, stream);
  };
  records.push_back(a_scan("begins", begins));
  make();
  for (problem& one : plan.problems) one.shape.dimensions.push_back({"offset", 3});
  measure();
  EXPECT_FALSE(all->failed());
  for (const char* rung : {"begins", "look_back", "cub_device_scan"}) EXPECT_TRUE(at(rung).timed()) << at(rung).defect;
}

TEST_F(ScanPath, AScanThatBeatsItsCopyIsImplausible) {
  records.push_back(a_scan("too_good", scans<2, 0>));
  run();
  expect_implausible("look_back");
}

template <int launch_us, int us_per_mi, fakes::row_slip planted = fakes::row_slip::none>
constexpr catalog::call_t rows = kernel<fakes::row_sums<float, planted>, launch_us, us_per_mi>;

struct RowPath : DevicePath {
  RowPath() {
    records.push_back(fakes::of_rows(a_variant("cub_device_segmented_reduce", rows<8, 32>, library)));
    records.push_back(fakes::of_rows(a_variant("warp_a_row", rows<6, 32>)));
    wanted.sizes = {};
    wanted.filter = "row_reduce/.*rows=(1|19)/columns=16384";
  }
};

TEST_F(RowPath, RowsAreTimedBesideCubAndAReadOfAsMuch) {
  run_and_succeed();
  EXPECT_EQ(all->found.rows.size(), 2u * 3 * 3);
  expect_all_faster("warp_a_row", 32, 3);
  for (const row* one : rows_of("warp_a_row")) EXPECT_EQ(one->about.bytes(), 4 * one->about.shape["rows"] * 16385);
}

TEST_F(RowPath, AnUnwrittenRowIsSeenInTheSharedOutput) {
  wanted.filter = "row_reduce/.*rows=19/columns=16384";
  records.push_back(fakes::of_rows(a_variant("stops_early", rows<6, 32, fakes::row_slip::last_row_unwritten>)));
  run();
  expect_only_wrong("stops_early", "warp_a_row");
  EXPECT_NE(at("stops_early").defect.find("element 18 of 19"), std::string::npos) << at("stops_early").defect;
}

template <int launch_us, int us_per_mi, fakes::pair_slip planted = fakes::pair_slip::none>
constexpr catalog::call_t dots = kernel<fakes::dot<float, planted>, launch_us, us_per_mi>;

struct DotPath : DevicePath {
  DotPath() {
    records.push_back(fakes::of_pairs(a_variant("cub_device_transform_reduce", dots<8, 64>, library)));
    records.push_back(fakes::of_pairs(a_variant("tagged_sums", dots<6, 64>)));
    wanted.filter = "dot/";
  }
};

TEST_F(DotPath, PairsAreReadBesideARoofOfBothArrays) {
  run_and_succeed();
  expect_all_faster("tagged_sums", 64, 6);
  for (const row* one : rows_of("tagged_sums")) EXPECT_EQ(one->about.bytes(), 8 * one->about.num_items + 4);
}

TEST_F(DotPath, AShiftedSecondArrayIsSeen) {
  records.push_back(fakes::of_pairs(a_variant("shifts", dots<6, 64, fakes::pair_slip::next_second>)));
  run();
  expect_only_wrong("shifts", "tagged_sums");
}

template <int launch_us, int us_per_mi, fakes::place_slip planted = fakes::place_slip::none>
constexpr catalog::call_t places = kernel<fakes::place_of_the_least<float, planted>, launch_us, us_per_mi>;

struct PlacePath : DevicePath {
  PlacePath() {
    records.push_back(fakes::of_places(a_variant("cub_device_arg", places<8, 32>, library)));
    records.push_back(fakes::of_places(a_variant("tagged_places", places<6, 32>)));
    wanted.filter = "arg_extremum/";
  }
};

TEST_F(PlacePath, PlacesAreTimedBesideTheReadOnlyRoof) {
  run_and_succeed();
  expect_all_faster("tagged_places", 32, 3);
  for (const row* one : rows_of("tagged_places")) EXPECT_EQ(one->about.bytes(), 4 * one->about.num_items + 16);
}

TEST_F(DevicePath, SelectionsAreVerifiedByTheirCountAndHash) {
  records.push_back(fakes::of_selections(a_variant("cub_device_select", kernel<fakes::chosen<float>, 8, 32>, library)));
  records.push_back(fakes::of_selections(a_variant("staged", kernel<fakes::chosen<float>, 6, 32>)));
  wanted.filter = "select_if/f32/percent=(1|100)/";
  run_and_succeed();
  ASSERT_FALSE(rows_of("staged").empty());
  for (const row* one : rows_of("staged"))
    EXPECT_EQ(one->about.bytes(),
              4 * (one->about.num_items + one->about.num_items * one->about.shape["percent"] / 100));
}

TEST_F(DevicePath, AnExchangeOfChosenItemsIsSeen) {
  using fakes::choice_slip;
  records.push_back(fakes::of_selections(a_variant("staged", kernel<fakes::chosen<float>, 6, 32>)));
  records.push_back(fakes::of_selections(a_variant("swaps", kernel<fakes::chosen<float, choice_slip::order>, 6, 32>)));
  wanted.filter = "select_if/f32/percent=100/";
  run();
  expect_only_wrong("swaps", "staged");
}

TEST_F(PlacePath, BothPlacesAreFourWords) {
  records = {
      fakes::of_both_places(a_variant("cub_device_arg_twice", kernel<fakes::both_places<float>, 16, 64>, library)),
      fakes::of_both_places(a_variant("both_at_once", kernel<fakes::both_places<float>, 6, 32>))};
  run_and_succeed();
  ASSERT_FALSE(rows_of("both_at_once").empty());
  for (const row* one : rows_of("both_at_once")) EXPECT_EQ(one->about.bytes(), 4 * one->about.num_items + 32);
}

TEST_F(PlacePath, AnIndexThatBeginsAnewIsSeen) {
  records.push_back(fakes::of_places(a_variant("restarts", places<6, 32, fakes::place_slip::index_in_a_tile>)));
  run();
  expect_only_wrong("restarts", "tagged_places");
}

template <int launch_us, int us_per_mi>
constexpr catalog::call_t scans_bytes =
    kernel<fakes::scan<unsigned, operation::inclusive_scan, fakes::flaw::none, unsigned char>, launch_us, us_per_mi>;

record from_bytes(record one) {
  one.input_type = scalar::u8;
  one.takes_init = true;
  if (one.accumulator_type != scalar::none) one.accumulator_type = scalar::u32;
  one.output_type = scalar::u32;
  return one;
}

TEST_F(ScanPath, AScanOfBytesIsBoundedByWideningAsMany) {
  records = {from_bytes(a_scan("cub_device_scan", scans_bytes<8, 8>, library)),
             from_bytes(a_scan("look_back", scans_bytes<6, 8>)),
             from_bytes(a_scan("too_good", scans_bytes<2, 0>)),
             a_roof(operation::copy, moves<4, 2>),
             a_roof(operation::fill, moves<4, 1>),
             from_bytes(a_roof(operation::widen_bytes, moves<4, 6>)),
             a_roof(operation::empty, moves<3, 0>)};
  run();
  // As many items as the scan has.
  expect_faster(at("look_back"), 6.5, 8.5, 4 + 6 / 16.0);
  EXPECT_EQ(at("look_back").about.bytes(), 5u << 16);
  expect_implausible("look_back");
  expect_roofs(operation::widen_bytes, 5 << 16);
}

// Others write to the same output: what they left there must not count for it.
TEST_F(ScanPath, AnUnwrittenEndIsSeenInTheSharedOutput) {
  records.push_back(a_scan("stops_early", scans<6, 8, stops_early>));
  run();
  expect_only_wrong("stops_early", "look_back");
  EXPECT_EQ(rows_of("stops_early").size(), 3u);
  EXPECT_NE(at("stops_early").defect.find("element 65535 of 65536"), std::string::npos) << at("stops_early").defect;
}

TEST_F(ScanPath, AScanThatTiresInOneModeIsSeen) {
  records.push_back(
      a_scan("tires", [](void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
        if (workspace != nullptr && ++fakes::calls > 60)
          return scans<6, 8, stops_early>(workspace, num_bytes, a, stream);
        return scans<6, 8>(workspace, num_bytes, a, stream);
      }));
  run();
  EXPECT_TRUE(all->failed());
  EXPECT_FALSE(at("tires").timed());
  EXPECT_NE(at("tires").defect.find("after the last sample"), std::string::npos);
}

template <int launch_us, fakes::slip planted = fakes::slip::none>
constexpr catalog::call_t updates = kernel<fakes::update<plus, unsigned, planted>, launch_us, 8>;

TEST_F(DevicePath, AtomicsAreTimedByAddressesAndWithoutCeilings) {
  const auto on_device = [](const char* rung, catalog::call_t call) {
    return fakes::an_update(rung, call, catalog::op::plus, scalar::u32, executor::device);
  };
  record few = on_device("few_addresses", updates<5>), crowded = on_device("crowded", updates<5>);
  few.max_addresses = 64;
  crowded.max_operations_per_address = 1024;
  records.insert(records.end(), {on_device("global", updates<6>), few, crowded,
                                 on_device("slips", updates<6, fakes::slip::one_lost>)});
  wanted.filter = "atomics/.*addresses=(1|64|1024)/";
  run();
  EXPECT_TRUE(all->failed());
  int timed = 0, wrong = 0;
  for (const row& one : all->found.rows) {
    (one.timed() ? timed : wrong) += 1;
    EXPECT_EQ(one.timed(), one.record->rung != "slips") << one.defect;
    EXPECT_EQ(one.mode, mode::cold);
    if (one.timed()) {
      EXPECT_NEAR(one.summary.median, one.record->rung == "global" ? 6.5 : 5.5, 0.01);
      EXPECT_EQ(one.launches->kernels, 1);
      EXPECT_EQ(one.percent_of_ceiling, std::nullopt);
    }
  }
  EXPECT_EQ(timed, 3 + 2 + 2);
  EXPECT_EQ(wrong, 3);
  for (const ceiling& one : all->found.ceilings) EXPECT_EQ(one.kind, operation::empty);
  std::set<std::string> reasons;
  for (const omission& one : all->found.omissions) reasons.insert(one.reason);
  EXPECT_EQ(reasons, (std::set<std::string>{"takes at most 64 addresses",
                                            "more than 1024 operations an address would take seconds or minutes"}));
}

// Chains of collectives whose links take 30 ns.
template <fakes::chain_slip planted = fakes::chain_slip::none>
constexpr catalog::call_t chains =
    kernel<fakes::chain<planted, operation::collective_scan, catalog::op::plus, scalar::i32>, 5, (30 << 20) / 1000>;

TEST_F(DevicePath, ChainsAreTimedByWhoTakesPart) {
  const auto a_chain = [](const char* rung, catalog::call_t call) {
    return fakes::a_chain<operation::collective_scan, catalog::op::plus, scalar::i32>(rung, executor::device, call);
  };
  records.insert(records.end(),
                 {a_chain("right", chains<>), a_chain("slips", chains<fakes::chain_slip::last_link_dropped>)});
  wanted.filter = "collective_scan/";
  wanted.sizes.clear();
  run();
  EXPECT_TRUE(all->failed());
  int timed = 0;
  for (const row& one : all->found.rows) {
    EXPECT_EQ(one.timed(), one.record->rung == "right") << one.defect;
    if (!one.timed()) continue;
    ++timed;
    EXPECT_NEAR(one.summary.median, 5 + 0.03 * static_cast<double>(one.about.num_items), 0.01);
    EXPECT_EQ(one.percent_of_ceiling, std::nullopt);
  }
  EXPECT_EQ(timed, 3 * 2);
  EXPECT_EQ(all->found.rows.size(), 2u * 3 * 2);
}

template <int launch_us, int us_per_mi, fakes::miscount planted = fakes::miscount::none, bool even = true>
constexpr catalog::call_t counts = kernel<fakes::histogram<int, int, planted, even>, launch_us, us_per_mi, even>;

struct HistogramPath : DevicePath {
  static record one(const char* rung, catalog::call_t call, catalog::family family = catalog::family::handwritten,
                    operation kind = operation::histogram_even) {
    record about = fakes::a_histogram(rung, call, scalar::i32, scalar::i32, kind, executor::device);
    about.family = family;
    return about;
  }
  HistogramPath() {
    wanted.bins = {5, 12};
    rules.enough = 10;
    rules.most = 20;
    wanted.distributions = {distribution::uniform, distribution::runs};
    records.push_back(one("cub_device_histogram", counts<8, 4>, library));
    records.push_back(one("cub_device_histogram_expert", counts<9, 4>, library));
    records.push_back(one("clears_first", counts<6, 4>));
  }
};

TEST_F(HistogramPath, EveryBinAndDistributionIsACellOfItsOwn) {
  run_and_succeed();
  EXPECT_EQ(all->found.rows.size(), 4u * 4);
  EXPECT_EQ(all->found.twins.size(), 4u);
  EXPECT_EQ(rows_of("clears_first").size(), 4u);
  expect_all_faster("clears_first", 4, 3);
  expect_roofs(operation::stream_read, 256 << 10);
}

TEST_F(HistogramPath, RangesReadTheirLevelsOnTheDevice) {
  records = {
      one("cub_device_histogram", counts<8, 4, fakes::miscount::none, false>, library, operation::histogram_range),
      one("searches", counts<6, 4, fakes::miscount::none, false>, catalog::family::handwritten,
          operation::histogram_range)};
  wanted.modes = {mode::cold, mode::graph};
  run_and_succeed();
  EXPECT_EQ(rows_of("searches").size(), 8u);
  for (const row* one : rows_of("searches")) EXPECT_TRUE(one->timed()) << one->defect;
}

TEST_F(HistogramPath, AWrongRungOfOursFailsTheRun) {
  records.push_back(one("wrong", counts<6, 4, fakes::miscount::drops_the_last>));
  run();
  expect_only_wrong("wrong", "clears_first");
}

// A library that fails is told, and is neither a failure of the run nor a win.
TEST_F(HistogramPath, AWrongLibraryIsToldAndNoWin) {
  records[records.size() - 3].call = counts<8, 4, fakes::miscount::drops_the_last>;
  records[records.size() - 2].call = fakes::fails;
  run_and_succeed();
  ASSERT_EQ(rows_of("cub_device_histogram").size(), 4u);
  for (const row* one : rows_of("cub_device_histogram")) {
    EXPECT_FALSE(one->timed());
    EXPECT_EQ(one->fault, "wrong");
    EXPECT_NE(one->defect.find("bin "), std::string::npos) << one->defect;
  }
  ASSERT_EQ(rows_of("cub_device_histogram_expert").size(), 4u);
  for (const row* one : rows_of("cub_device_histogram_expert")) EXPECT_EQ(one->fault, "refused");
  for (const row* one : rows_of("clears_first")) {
    EXPECT_TRUE(one->timed());
    EXPECT_FALSE(one->speedup.has_value());
    EXPECT_EQ(one->verdict, "");
  }
  EXPECT_TRUE(all->found.twins.empty());
  const auto file = to_json(all->found, {.run = "r", .gpu = "g", .commit = "c"}, {});
  int faults = 0;
  for (const auto& entry : file["rows"]) {
    EXPECT_EQ(entry.contains("fault"), entry["verified"] == "no");
    if (!entry.contains("fault")) continue;
    ++faults;
    for (const char* column : {"median_us", "low_us", "gb_per_s", "speedup_over_cub"})
      EXPECT_TRUE(entry[column].is_null()) << column;
  }
  EXPECT_GE(faults, 8);
}

TEST_F(HistogramPath, OneRightCubIsEnoughToCompareWith) {
  records[records.size() - 3].call = counts<8, 4, fakes::miscount::drops_the_last>;
  run_and_succeed();
  for (const row* one : rows_of("clears_first")) EXPECT_NEAR(one->speedup->value, 9.25 / 6.25, 0.01);
}

TEST_F(HistogramPath, WrongReductionsOfLibrariesStillFailTheRun) {
  wanted.bins = {};
  wanted.distributions = {};
  wanted.filter = "^reduce";
  records[0].call = wrong_sums;
  run();
  EXPECT_TRUE(all->failed());
}

TEST_F(HistogramPath, OtherLibrariesAreMeasuredWhereTheyAreFast) {
  records.push_back(one("thrust_histogram", counts<60, 4>, library));
  records.push_back(one("cub_block_histogram", counts<7, 4>, library));
  wanted.sizes = {};
  wanted.bins = {};
  wanted.distributions = {distribution::eight_hot};
  wanted.filter = "bins=256/.*n=64Ki";
  run();
  EXPECT_TRUE(rows_of("thrust_histogram").empty());
  EXPECT_EQ(rows_of("cub_block_histogram").size(), 1u);
}

// CUB may take longer than others before it is stopped: how much it loses is what is told.
TEST_F(HistogramPath, ASlowCubIsMeasuredAllTheSame) {
  records[records.size() - 3].call = counts<40'000, 4>;
  records.push_back(one("slow", counts<40'000, 4>));
  wanted.bins = {5};
  wanted.distributions = {distribution::uniform};
  wanted.modes = {mode::cold};
  run();
  EXPECT_EQ(rows_of("cub_device_histogram").size(), 1u);
  EXPECT_TRUE(rows_of("slow").empty());
  EXPECT_NE(all->why_not(plan.cases.back()).find("over the limit of 30 ms"), std::string::npos)
      << all->why_not(plan.cases.back());
}

TEST_F(DevicePath, WholeOutputsOfScansAreChecked) {
  device_place where(a_gpu(), std::size_t{128} << 20, std::size_t{128} << 20);
  fakes::expect_outputs_to_be_checked(where);
}

TEST_F(DevicePath, EverythingIsFreed) {
  run();
  all.reset();
  EXPECT_EQ(fake::num_allocations(), 0u);
}

}  // namespace
}  // namespace rungs::bench
