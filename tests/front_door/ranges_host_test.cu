// With -DRUNGS_NVTX every call that launches kernels stands in one range with the name of its struct, in each form; a
// call that answers a size stands in none. Over a runtime that runs nothing, with the test as the tool.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

#include "faults/fake_runtime.hpp"
#include "front_door/environment_calls.cuh"
#include "front_door/far_away.hpp"

namespace {

std::vector<std::string> pushed;
int depth = 0;

nvtxDomainHandle_t create_domain(const char* name) {
  EXPECT_STREQ(name, "rungs");
  return reinterpret_cast<nvtxDomainHandle_t>(&depth);
}
int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  pushed.push_back(attributes->message.ascii);
  return depth++;
}
int pop(nvtxDomainHandle_t) { return --depth; }

int attach(NvtxGetExportTableFunc_t export_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}

}  // namespace

namespace rungs::tests {
namespace {

TEST(Ranges, HaveTheNamesOfStructs) {
  InitializeInjectionNvtx2_fnptr = attach;
  fake::current() = {};
  const places at{far_away<const float>(1), far_away<const int>(2), far_away<char>(3), 1000};
  std::vector<std::string> names;
  const auto test = [&](const std::string& name, auto call, auto... arguments) {
    void *none = nullptr, *const storage = far_away<void>(100);
    std::size_t bytes = 0;
    pushed.clear();
    EXPECT_EQ(call(none, bytes, arguments...), cudaSuccess) << name;
    EXPECT_TRUE(pushed.empty()) << name;
    EXPECT_EQ(call(storage, bytes, arguments...), cudaSuccess) << name;
    ASSERT_EQ(pushed.size(), 1u) << name;
    names.push_back(pushed[0]);
    workspace keeper;
    EXPECT_EQ(call(keeper, arguments...), cudaSuccess) << name;
    EXPECT_EQ(call(arguments...), cudaSuccess) << name;
    EXPECT_EQ(pushed, std::vector<std::string>(3, pushed[0])) << name;
    EXPECT_EQ(depth, 0) << name;
  };
  visit_calls(at, test);
  test(
      "MaxKeys of rows", [](auto&&... all) { return DeviceBatchedTopK::MaxKeys(all...); },
      rows::matrix<const float>{at.d_in, 4, 100}, rows::matrix<float>{at.out<float>(), 4, 9}, std::size_t{9});
  std::vector<std::string> expected;
  const auto expect = [&](int calls, const char* name) { expected.insert(expected.end(), calls, name); };
  expect(6, "rungs::DeviceReduce");
  expect(2, "rungs::DeviceScan");
  expect(1, "rungs::DeviceHistogram");
  expect(1, "rungs::DeviceSegmentedReduce");
  expect(1, "rungs::DeviceSegmentedScan");
  expect(5, "rungs::DeviceSelect");
  expect(2, "rungs::DevicePartition");
  expect(1, "rungs::DeviceRunLengthEncode");
  expect(1, "rungs::DeviceReduce");
  expect(1, "rungs::DeviceScan");
  expect(1, "rungs::DeviceTopK");
  expect(1, "rungs::DeviceBatchedTopK");
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace rungs::tests
