// The study of rungs_top_k and its like on a fake GPU: what is verified, what is timed, and what its file says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "fake_device_work.hpp"
#include "faults/fake_runtime.hpp"
#include "inference/study.hpp"

namespace rungs::bench::inference {
namespace {

namespace fake = tests::fake;
namespace fs = std::filesystem;

// Writes the number that it is named by, once it was called so often another one.
struct behaviour {
  int writes = 7, wrong_from_call = 1 << 30, num_calls = 0;
  cudaError_t error = cudaSuccess;
};
behaviour of_rungs, of_rival;

template <behaviour& how, int microseconds>
cudaError_t call(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (storage == nullptr) {
    num_bytes = 5;
    return cudaSuccess;
  }
  if (how.error != cudaSuccess) return how.error;
  return fake::launch(microseconds, [d_out = a.d_out] {
    const int written = ++how.num_calls >= how.wrong_from_call ? 0 : how.writes;
    std::memcpy(d_out, &written, sizeof written);
  });
}

std::size_t bytes_read, bytes_copied;
template <int microseconds>
cudaError_t roof(void* storage, std::size_t& num_bytes, std::size_t items, std::size_t* seen) {
  if (storage == nullptr) {
    num_bytes = 1;
    return cudaSuccess;
  }
  if (seen != nullptr) *seen = items;
  return fake::launch(microseconds, [] {});
}

}  // namespace

cudaError_t plain_read(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  return roof<10>(storage, num_bytes, a.num_items, &bytes_read);
}
cudaError_t plain_copy(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  return roof<15>(storage, num_bytes, a.num_items, &bytes_copied);
}
cudaError_t empty_kernel(void* storage, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  return roof<2>(storage, num_bytes, a.num_items, nullptr);
}
std::string cccl_version() { return "3.0.1"; }

namespace {

struct InferencePath : testing::Test {
  fs::path file = fs::temp_directory_path() / ("rungs_inference_" + std::to_string(getpid()) + ".json");
  int out = 0, code = -1;

  InferencePath() {
    fake::current() = {};
    fake::current().executes = true;
    device_work::fake_clock_mhz = 1980;
    of_rungs = of_rival = {};
  }
  ~InferencePath() override { fs::remove(file); }

  // Two cells, of which the second copies; what the file says.
  json measure(const std::string& filter = "") {
    device_facts gpu;
    gpu.name = "NVIDIA Fake";
    gpu.card = "01234567";
    gpu.multiprocessors = 132;
    gpu.l2_bytes = std::size_t{1} << 20;
    gpu.memory_bytes = gpu.free_bytes = std::size_t{16} << 30;
    const environment surroundings;
    study all(gpu, filter);
    catalog::arguments arguments;
    arguments.d_out = &out;
    const auto defect = [this] { return out == 7 ? "" : "it wrote " + std::to_string(out); };
    for (const bool copies : {false, true}) {
      cell each;
      each.work = copies ? "quantise_fp8" : "top_k";
      each.input = "f32";
      each.parameter = "k 1";
      each.rows = 1;
      each.columns = 100;
      each.read_bytes = 400;
      each.written_bytes = 200;
      each.roof_copies = copies;
      each.roof_in = each.d_out = &out;
      each.out_bytes = sizeof out;
      each.ways = {{role::rungs, "rungs", call<of_rungs, 20>, arguments, defect},
                   {role::rival, "other", call<of_rival, 30>, arguments, defect}};
      all.measure(each);
    }
    code = all.write(file, "rungs_top_k", surroundings, gpu, surroundings.read(gpu), {"file"});
    std::ifstream text(file);
    return json::parse(text);
  }
  static json result(const json& found, std::size_t cell, const std::string& name) {
    for (const json& each : found["cells"][cell]["results"])
      if (each["name"] == name) return each;
    return {};
  }
};

TEST_F(InferencePath, AllWaysOfACellAreVerifiedAndTimedBesideItsRoof) {
  const json found = measure();
  EXPECT_EQ(code, exit_ok);
  EXPECT_EQ(found["schema"], "rungs.inference/1");
  EXPECT_EQ(found["gpu"], "nvidia-fake");
  EXPECT_EQ(found["versions"]["cccl"], "3.0.1");
  ASSERT_EQ(found["cells"].size(), 2u);
  for (const std::size_t cell : {0, 1}) {
    const std::string limit = cell == 0 ? "read" : "copy";
    EXPECT_EQ(found["cells"][cell]["roof"], limit);
    EXPECT_NEAR(result(found, cell, "rungs")["median_us"], 20, 0.01);
    EXPECT_NEAR(result(found, cell, "other")["median_us"], 30, 0.01);
    EXPECT_NEAR(result(found, cell, "other")["speedup"]["value"], 1.5, 1e-3);
    EXPECT_EQ(result(found, cell, "other")["speedup"]["verdict"], "FASTER");
    EXPECT_FALSE(result(found, cell, "rungs").contains("speedup"));
    EXPECT_NEAR(result(found, cell, limit)["median_us"], cell == 0 ? 10 : 15, 0.01);
    EXPECT_NEAR(result(found, cell, "empty")["median_us"], 2, 0.01);
  }
  EXPECT_EQ(bytes_read, 400u);
  EXPECT_EQ(bytes_copied, 300u);
  EXPECT_EQ(result(found, 0, "rungs")["storage_bytes"], 5);
}

TEST_F(InferencePath, AWrongResultHasNoTimeAndOursFails) {
  of_rungs.writes = 6;
  const json found = measure();
  EXPECT_EQ(code, exit_wrong);
  EXPECT_EQ(result(found, 0, "rungs")["defect"], "it wrote 6");
  EXPECT_FALSE(result(found, 0, "rungs").contains("median_us"));
  EXPECT_TRUE(result(found, 0, "other").contains("median_us"));
  EXPECT_FALSE(result(found, 0, "other").contains("speedup"));
}

TEST_F(InferencePath, AWrongRivalIsTold) {
  of_rival.writes = 6;
  const json found = measure();
  EXPECT_EQ(code, exit_ok);
  EXPECT_EQ(result(found, 1, "other")["verified"], false);
  EXPECT_TRUE(result(found, 1, "rungs").contains("median_us"));
}

TEST_F(InferencePath, WhatGoesWrongUnderTheSamplesIsFound) {
  of_rungs.wrong_from_call = 5;
  const json found = measure();
  EXPECT_EQ(code, exit_wrong);
  EXPECT_EQ(result(found, 0, "rungs")["defect"], "after the samples, it wrote 0");
}

TEST_F(InferencePath, AnErrorIsOfItsCall) {
  of_rival.error = cudaErrorNotSupported;
  const json found = measure();
  EXPECT_EQ(code, exit_ok);
  ASSERT_EQ(found["skipped"].size(), 2u);
  EXPECT_EQ(found["skipped"][0]["cell"], "top_k/f32/1x100/k 1");
  EXPECT_EQ(found["skipped"][0]["name"], "other");
  EXPECT_EQ(found["skipped"][0]["reason"], "operation not supported");
  of_rungs.error = cudaErrorNotSupported;
  measure();
  EXPECT_EQ(code, exit_wrong);
}

TEST_F(InferencePath, AFilterLeavesCells) {
  EXPECT_EQ(measure("quant").at("cells").size(), 1u);
  EXPECT_THROW(measure("nothing"), usage_error);
}

}  // namespace
}  // namespace rungs::bench::inference
