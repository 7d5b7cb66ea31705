// Where the programs run: memory for their inputs and outputs, and the two phases of a call.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "arrived.hpp"
#include "bundle.cuh"
#include "front_door/programs.hpp"

namespace rungs::tests {

template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& host) : num_items_(host.size()) {
    cudaMalloc(&items_, (num_items_ + 1) * sizeof(T));
    arrived(cudaMemcpy(items_, host.data(), num_items_ * sizeof(T), cudaMemcpyHostToDevice));
    cudaStreamSynchronize(nullptr);  // the copy may return before the items are there
  }
  explicit device_array(std::size_t num_items) : num_items_(num_items) {
    cudaMalloc(&items_, (num_items_ + 1) * sizeof(T));
    arrived(cudaMemset(items_, 0xa5, num_items_ * sizeof(T)));
  }
  ~device_array() { cudaFree(items_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;

  T* get() const { return items_; }
  const T* read() const { return items_; }
  std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> host(num_items_ * sizeof(T));
    cudaMemcpy(host.data(), items_, host.size(), cudaMemcpyDeviceToHost);
    return host;
  }

 private:
  std::size_t num_items_;
  T* items_ = nullptr;
};

template <class T>
std::vector<T> copied_back(const device_array<T>& from) {
  const std::vector<unsigned char> bytes = from.bytes();
  std::vector<T> host(bytes.size() / sizeof(T));
  std::memcpy(static_cast<void*>(host.data()), bytes.data(), bytes.size());
  return host;
}

// Items that tell their place: whole numbers from -500 to 500, whose sums in floats of 24 bits are exact.
template <class T>
std::vector<T> items(std::size_t num_items, int modulus = 1001, int offset = -500) {
  std::vector<T> made(num_items);
  for (std::size_t i = 0; i < num_items; ++i)
    made[i] = static_cast<T>(static_cast<int>(i * 7919 % static_cast<std::size_t>(modulus)) + offset);
  return made;
}

class stage {
 public:
  // Runs call(d_temp_storage, temp_storage_bytes) in two phases, and keeps what `output` holds then.
  template <class T, class Call>
  void run(const char* program, const device_array<T>& output, Call call) {
    outcomes.push_back({program, cudaSuccess, {}});
    cudaError_t& error = outcomes.back().error;
    void* d_temp_storage = nullptr;
    std::size_t temp_storage_bytes = 0;
    error = call(d_temp_storage, temp_storage_bytes);
    if (error == cudaSuccess) error = cudaMalloc(&d_temp_storage, temp_storage_bytes);
    if (error == cudaSuccess) error = arrived(cudaMemset(d_temp_storage, 0x5a, temp_storage_bytes));
    if (error == cudaSuccess) error = call(d_temp_storage, temp_storage_bytes);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    cudaFree(d_temp_storage);
    if (error == cudaSuccess) outcomes.back().bytes = output.bytes();
  }

  std::vector<outcome> outcomes;
};

template <int num_values>
std::vector<bundle<num_values>> bundles(std::size_t num_items) {
  std::vector<bundle<num_values>> made(num_items);
  for (std::size_t i = 0; i < num_items; ++i)
    for (int value = 0; value < num_values; ++value)
      made[i].values[value] = static_cast<int>((i + 31) * 7919 % (1001 + 2 * static_cast<std::size_t>(value))) - 500;
  return made;
}

// x -> slope * x + offset: applying one, then the other, does not commute.
struct map {
  unsigned slope, offset;
};
struct then {
  __host__ __device__ map operator()(const map& a, const map& b) const {
    return {a.slope * b.slope, a.offset * b.slope + b.offset};
  }
};

struct numbered_map {
  __host__ __device__ map operator()(unsigned i) const { return {i * 2654435761u | 1u, i}; }
};

struct scattered_int {
  __host__ __device__ int operator()(int i) const {
    return static_cast<int>(static_cast<long long>(i) * 7919 % 5003) - 2500;
  }
};
struct square {
  __host__ __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};
struct negate {
  __host__ __device__ int operator()(int x) const { return -x; }
};

}  // namespace rungs::tests
