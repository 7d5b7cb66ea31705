// Scans and reductions that accumulate 200 to 512 bytes. A program of its own, because its kernels have to be built at
// all. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>

#include <vector>

#include "front_door/stage.cuh"

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
class LargeAccumulators : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const bool none = cudaGetDeviceCount(&count) != cudaSuccess || count == 0;
    cudaGetLastError();
    if (none) GTEST_SKIP() << "no usable GPU";
  }

  // call(storage...) in both forms fills d_out with what is expected.
  template <class Call>
  void expect(const char* what, const std::vector<T>& expected, const device_array<T>& d_out, Call call) {
    for (const bool has_workspace : {false, true}) {
      ASSERT_EQ(cudaMemset(d_out.get(), 0xa5, expected.size() * sizeof(T)), cudaSuccess);
      void* d_temp_storage = nullptr;
      std::size_t temp_storage_bytes = 0;
      cudaError_t error = cudaSuccess;
      if (has_workspace) {
        error = call(workspace_);
      } else {
        error = call(d_temp_storage, temp_storage_bytes);
        if (error == cudaSuccess) error = cudaMalloc(&d_temp_storage, temp_storage_bytes);
        if (error == cudaSuccess) error = call(d_temp_storage, temp_storage_bytes);
      }
      ASSERT_EQ(error, cudaSuccess) << what << ", " << expected.size() << " outputs";
      std::vector<T> got(expected.size());
      ASSERT_EQ(cudaMemcpy(got.data(), d_out.get(), got.size() * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
      EXPECT_TRUE(got == expected) << what << ", " << expected.size() << " outputs";
      cudaFree(d_temp_storage);
    }
  }
  workspace workspace_;
};
using large_types = ::testing::Types<large<200>, large<256>, large<400>, large<512>>;
TYPED_TEST_SUITE(LargeAccumulators, large_types);

TYPED_TEST(LargeAccumulators, AreReducedAndScanned) {
  using T = TypeParam;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{70'001}}) {
    std::vector<T> in, inclusive, sum{T(7)};
    for (const int each : items<int>(n)) {
      in.push_back(T(each));
      inclusive.push_back(inclusive.empty() ? in.back() : add<T>{}(inclusive.back(), in.back()));
      sum[0] = add<T>{}(sum[0], in.back());
    }
    const device_array<T> d_in(in), d_out(n);
    this->expect("Reduce", sum, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, add<T>{}, T(7));
    });
    this->expect("InclusiveScan", inclusive, d_out, [&](auto&... storage) {
      return DeviceScan::InclusiveScan(storage..., d_in.read(), d_out.get(), add<T>{}, n);
    });
  }
}

TYPED_TEST(LargeAccumulators, AreMadeOfSmallItems) {
  using T = TypeParam;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{70'001}}) {
    const std::vector<int> in = items<int>(n);
    std::vector<T> exclusive{T(7)}, sum;
    for (const int each : in) exclusive.push_back(add<T>{}(exclusive.back(), T(each)));
    sum.push_back(exclusive.back());
    exclusive.pop_back();
    const device_array<int> d_in(in);
    const device_array<T> d_out(n);
    this->expect("Reduce of ints", sum, d_out, [&](auto&... storage) {
      return DeviceReduce::Reduce(storage..., d_in.read(), d_out.get(), n, add<T>{}, T(7));
    });
    this->expect("ExclusiveScan of ints", exclusive, d_out, [&](auto&... storage) {
      return DeviceScan::ExclusiveScan(storage..., d_in.read(), d_out.get(), add<T>{}, T(7), n);
    });
  }
}

}  // namespace
}  // namespace rungs::tests
