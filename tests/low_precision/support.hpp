// What the tests of low precision on a GPU share.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "arrived.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {

struct OnAGpu : testing::Test {
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  }
};

// Memory of the device with canaries on both sides of what a call may write. `offset` is in items, from a multiple of
// 256 bytes.
template <class T>
class buffer {
 public:
  explicit buffer(std::size_t num_items, std::size_t offset = 0) : num_items_(num_items), offset_(margin + offset) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes()), cudaSuccess);
    EXPECT_EQ(arrived(cudaMemset(memory_, canary, bytes())), cudaSuccess);
  }
  explicit buffer(const std::vector<T>& items, std::size_t offset = 0) : buffer(items.size(), offset) { write(items); }
  ~buffer() { cudaFree(memory_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  T* data() const { return reinterpret_cast<T*>(memory_) + offset_; }
  void write(const std::vector<T>& items) const {
    EXPECT_EQ(arrived(cudaMemcpy(data(), items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice)), cudaSuccess);
  }
  std::vector<T> read() const {
    std::vector<unsigned char> all(bytes());
    EXPECT_EQ(cudaMemcpy(all.data(), memory_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    const std::size_t begin = offset_ * sizeof(T), end = begin + num_items_ * sizeof(T);
    for (std::size_t i = 0; i < bytes(); ++i) {
      if (i >= begin && i < end) continue;
      EXPECT_EQ(all[i], canary) << "written outside, at byte " << i;
    }
    std::vector<T> items(num_items_);
    if (num_items_ > 0) std::memcpy(items.data(), all.data() + begin, num_items_ * sizeof(T));
    return items;
  }

 private:
  static constexpr std::size_t margin = 256;
  static constexpr unsigned char canary = 0xa5;
  std::size_t bytes() const { return (num_items_ + offset_ + margin) * sizeof(T); }
  void* memory_ = nullptr;
  std::size_t num_items_, offset_;
};

}  // namespace rungs::tests
