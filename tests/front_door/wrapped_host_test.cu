// Two copies of the library in one program launch their own kernels. Over a runtime that runs nothing.
#include <gtest/gtest.h>

#include <rungs/device/device_reduce.cuh>

#include "faults/fake_runtime.hpp"
#include "front_door/far_away.hpp"

cudaError_t sum_in_mine(void* d_temp_storage, std::size_t& temp_storage_bytes, const int* d_in, int* d_out);

namespace rungs::tests {
namespace {

template <class Call>
const void* kernel_of(Call call) {
  std::size_t bytes = 0;
  EXPECT_EQ(call(nullptr, bytes, far_away<const int>(1), far_away<int>(2)), cudaSuccess);
  fake::current() = {};
  EXPECT_EQ(call(far_away<void>(100), bytes, far_away<const int>(1), far_away<int>(2)), cudaSuccess);
  for (const fake::call& each : fake::current().calls)
    if (each.launches()) return each.kernel;
  return nullptr;
}

TEST(Wrapped, CopiesDoNotMeet) {
  const auto sum = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const int* d_in, int* d_out) {
    return DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, 1000);
  };
  const void *const plain = kernel_of(sum), *const mine = kernel_of(sum_in_mine);
  EXPECT_NE(plain, nullptr);
  EXPECT_NE(mine, nullptr);
  EXPECT_NE(plain, mine);
}

}  // namespace
}  // namespace rungs::tests
