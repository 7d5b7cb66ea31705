// Memory of the device for tests: between canaries, at any alignment.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "arrived.hpp"

namespace rungs::tests {

// num_items items with canaries on both sides of what a call may write. They begin `offset` items behind a multiple of
// 256 bytes.
template <class T>
class guarded {
 public:
  explicit guarded(std::size_t num_items, std::size_t offset = 0) : num_items_(num_items), offset_(offset + margin) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes()), cudaSuccess);
    EXPECT_EQ(arrived(cudaMemset(memory_, canary, bytes())), cudaSuccess);
  }
  explicit guarded(const std::vector<T>& items, std::size_t offset = 0) : guarded(items.size(), offset) {
    write(items);
  }
  ~guarded() { cudaFree(memory_); }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;

  std::size_t size() const { return num_items_; }
  T* data() const { return static_cast<T*>(memory_) + offset_; }
  void write(const std::vector<T>& items) const {
    EXPECT_EQ(arrived(cudaMemcpy(data(), items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice)), cudaSuccess);
  }
  void fill(int byte) const { EXPECT_EQ(arrived(cudaMemset(data(), byte, num_items_ * sizeof(T))), cudaSuccess); }
  // The items. Fails where a canary is gone.
  std::vector<T> read() const {
    std::vector<unsigned char> all(bytes());
    EXPECT_EQ(cudaMemcpy(all.data(), memory_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    const std::size_t begin = offset_ * sizeof(T), end = begin + num_items_ * sizeof(T);
    std::size_t outside = 0, first = 0;
    for (std::size_t i = 0; i < bytes(); i = i + 1 == begin ? end : i + 1)
      if (all[i] != canary && outside++ == 0) first = i;
    EXPECT_EQ(outside, 0u) << "bytes were written outside, the first at byte " << first << ", the items from " << begin
                           << " to " << end;
    std::vector<T> items(num_items_);
    if (num_items_ > 0) std::memcpy(static_cast<void*>(items.data()), all.data() + begin, num_items_ * sizeof(T));
    return items;
  }

  // What is in memory that nobody has written.
  static constexpr unsigned char canary = 0xa5;

 private:
  static constexpr std::size_t margin = 256;
  std::size_t bytes() const { return (num_items_ + offset_ + margin) * sizeof(T); }
  void* memory_ = nullptr;
  std::size_t num_items_, offset_;
};

}  // namespace rungs::tests
