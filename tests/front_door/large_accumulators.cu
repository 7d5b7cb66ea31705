// Scans and reductions that accumulate 200 to 512 bytes. A program of its own, because its kernels have to be built at
// all. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>

#include <vector>

#include "front_door/gpu_test.cuh"

namespace rungs::tests {
namespace {

// An int counts for all of its numbers.
template <int num_bytes>
struct large {
  int numbers[num_bytes / 4];

  large() = default;
  __host__ __device__ large(int i) {
    for (int k = 0; k < num_bytes / 4; ++k) numbers[k] = i + k % 3;
  }
  friend bool operator==(const large& a, const large& b) {
    for (int k = 0; k < num_bytes / 4; ++k)
      if (a.numbers[k] != b.numbers[k]) return false;
    return true;
  }
};
template <class T>
struct add {
  __host__ __device__ T operator()(const T& a, const T& b) const {
    T sum = a;
    for (std::size_t k = 0; k < sizeof(T) / 4; ++k) sum.numbers[k] += b.numbers[k];
    return sum;
  }
};

template <class T>
class LargeAccumulators : public GpuTest {};
using large_types = ::testing::Types<large<200>, large<256>, large<400>, large<512>>;
TYPED_TEST_SUITE(LargeAccumulators, large_types);

TYPED_TEST(LargeAccumulators, AreReducedAndScanned) {
  using T = TypeParam;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{70'001}}) {
    const std::string size = ", n = " + std::to_string(n);
    std::vector<T> in, inclusive, sum{T(7)};
    for (const int each : items<int>(n)) {
      in.push_back(T(each));
      inclusive.push_back(inclusive.empty() ? in.back() : add<T>{}(inclusive.back(), in.back()));
      sum[0] = add<T>{}(sum[0], in.back());
    }
    const device_array<T> d_in(in), d_out(n);
    expect_in_both_forms("Reduce" + size, sum, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, add<T>{}, T(7));
    });
    expect_in_both_forms("InclusiveScan" + size, inclusive, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveScan(storage..., d_in.read(), d_out.get(), add<T>{}, n);
    });
  }
}

TYPED_TEST(LargeAccumulators, AreMadeOfSmallItems) {
  using T = TypeParam;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{70'001}}) {
    const std::string size = ", n = " + std::to_string(n);
    const std::vector<int> in = items<int>(n);
    std::vector<T> exclusive{T(7)}, sum;
    for (const int each : in) exclusive.push_back(add<T>{}(exclusive.back(), T(each)));
    sum.push_back(exclusive.back());
    exclusive.pop_back();
    const device_array<int> d_in(in);
    const device_array<T> d_out(n);
    expect_in_both_forms("Reduce of ints" + size, sum, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, add<T>{}, T(7));
    });
    expect_in_both_forms("ExclusiveScan of ints" + size, exclusive, d_out, [&](auto&... storage) {
      return DeviceScan::ExclusiveScan(storage..., d_in.read(), d_out.get(), add<T>{}, T(7), n);
    });
  }
}

}  // namespace
}  // namespace rungs::tests
