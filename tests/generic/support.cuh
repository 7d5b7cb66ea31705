// What the generic tests share: memory, operators and items of kinds that no record has.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "arrived.hpp"
#include "bundle.cuh"
#include "on_a_gpu.hpp"
#include "rungs/operators.cuh"
#include "rungs/workspace.cuh"

namespace rungs::tests {

// Why a variant cannot be tested here; empty where it can.
template <class Variant>
std::string why_not_here() {
  if (!has_gpu()) return "no usable GPU";
  if constexpr (requires { Variant::min_cc; }) {
    cudaDeviceProp device{};
    EXPECT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
    if (10 * device.major + device.minor < Variant::min_cc)
      return "needs compute capability " + std::to_string(Variant::min_cc);
  }
  return "";
}

template <class T>
struct device_vector {
  explicit device_vector(const std::vector<T>& host) {
    EXPECT_EQ(cudaMalloc(&items, host.size() * sizeof(T) + 1), cudaSuccess);
    EXPECT_EQ(arrived(cudaMemcpy(items, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)), cudaSuccess);
  }
  ~device_vector() { cudaFree(items); }
  device_vector(const device_vector&) = delete;
  device_vector& operator=(const device_vector&) = delete;
  std::vector<T> read(std::size_t num_items) const {
    std::vector<T> host(num_items);
    EXPECT_EQ(cudaMemcpy(host.data(), items, num_items * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }
  T front() const { return read(1).front(); }
  const T* in() const { return items; }
  T* items = nullptr;
};

// Calls of one variant, all in one workspace.
template <class Variant>
class Generic : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_not_here<Variant>(); !why.empty()) GTEST_SKIP() << why;
  }
  template <class Call>
  void expect_success(Call call) {
    ASSERT_EQ(workspace_.template run<Variant>(call), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  rungs::workspace workspace_;
};

// A reduction by `Variant` in that workspace; `out` may be an iterator that writes d_out.
template <class Variant, class In, class Out, class T, class Op>
T reduced(rungs::workspace& workspace, In in, Out out, const device_vector<T>& d_out, std::size_t num_items, Op op,
          T init) {
  const auto call = [&](void* d_temp_storage, std::size_t& bytes) {
    return Variant::reduce(d_temp_storage, bytes, in, out, num_items, op, init);
  };
  EXPECT_EQ(workspace.run<Variant>(call), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return d_out.front();
}

// Whole numbers from -500 to 500.
inline std::vector<int> scattered_ints(std::size_t num_items) {
  std::vector<int> items(num_items);
  for (std::size_t i = 0; i < num_items; ++i) items[i] = static_cast<int>(i * 7919 % 1001) - 500;
  return items;
}
// Maps of which none forgets what came before.
inline rungs::affine numbered_map(std::size_t i) {
  return {static_cast<unsigned>(i * 2654435761u) | 1u, static_cast<unsigned>(i)};
}

// Has no identity that it could name: gcd(0, x) = x, but it does not say so, and it must never see anything but items.
struct greatest_common_divisor {
  __host__ __device__ unsigned operator()(unsigned a, unsigned b) const {
    if (a == 0 || b == 0) return 1;  // what padding would do
    while (b != 0) {
      const unsigned rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
};

// Of 12 and 24 bytes neither divides a 16-byte vector.
template <int num_values>
std::vector<bundle<num_values>> bundles(std::size_t num_items) {
  std::vector<bundle<num_values>> items(num_items);
  std::mt19937 random(2);
  for (auto& item : items)
    for (int& value : item.values) value = static_cast<int>(random() % 2001) - 1000;
  return items;
}

// Three bytes, which no vector and no word holds, with an operator that does not commute.
struct three_bytes {
  unsigned char sum, most, last;
  __host__ __device__ bool operator==(const three_bytes& other) const {
    return sum == other.sum && most == other.most && last == other.last;
  }
};
struct sum_most_last {
  __host__ __device__ three_bytes operator()(const three_bytes& a, const three_bytes& b) const {
    return {static_cast<unsigned char>(a.sum + b.sum), a.most < b.most ? b.most : a.most,
            b.last != 0 ? b.last : a.last};
  }
};

struct square {
  __host__ __device__ long long operator()(long long x) const { return x * x; }
};
struct negate {
  __host__ __device__ long long operator()(long long x) const { return -x; }
};

}  // namespace rungs::tests
