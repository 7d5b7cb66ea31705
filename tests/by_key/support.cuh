// What the tests of selections and runs share: inputs and outputs at any place, storage that nobody cleans, iterators
// that are no pointers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "arrived.hpp"
#include "generic/support.cuh"
#include "gpu_test.hpp"
#include "made.cuh"

namespace rungs::tests {

// Keys that differ in what the operator does not look at.
struct same_tens {
  __host__ __device__ bool operator()(int a, int b) const { return a / 10 == b / 10; }
};

// The first items in memory are these, bit for bit.
template <class T>
void expect_there(const guarded<T>& memory, const std::vector<T>& front, const char* where) {
  const std::vector<T> got = memory.read();
  const std::size_t bytes = front.size() * sizeof(T);
  EXPECT_EQ(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(front.data()), bytes), 0)
      << where;
}

// Room for outputs.
template <class T>
class outputs : public guarded<T> {
 public:
  outputs(std::size_t num_items, std::size_t offset) : guarded<T>(num_items, offset) {}

  // The first outputs are these, bit for bit, and nothing else was written; with `reversed`, but for the outputs at the
  // end, which are those from the last one backwards. Written anew for the next call.
  void expect(const std::vector<T>& front, const std::vector<T>& reversed = {}) const {
    std::vector<T> expected(this->size());
    std::memset(static_cast<void*>(expected.data()), this->canary, expected.size() * sizeof(T));
    std::copy(front.begin(), front.end(), expected.begin());
    std::copy(reversed.begin(), reversed.end(), expected.rbegin());
    const std::vector<T> got = this->read();
    for (std::size_t i = 0; i < got.size(); ++i)
      if (std::memcmp(static_cast<const void*>(&got[i]), static_cast<const void*>(&expected[i]), sizeof(T)) != 0) {
        ADD_FAILURE() << "output " << i << " of " << front.size() + reversed.size() << " is wrong";
        break;
      }
    this->fill(this->canary);
  }
};

class Calls : public OnAGpu {
 protected:
  void TearDown() override { cudaFree(storage_); }

  // call(d_temp_storage, temp_storage_bytes), or call(workspace), in turn. The storage lies at an odd address and holds
  // what other calls have left; one byte less of it is refused.
  template <class Call>
  void run(Call call) {
    is_workspaces_turn_ = !is_workspaces_turn_;
    if (is_workspaces_turn_) {
      ASSERT_EQ(call(workspace_), cudaSuccess);
    } else {
      std::size_t bytes = 0;
      void* of_size = nullptr;
      ASSERT_EQ(call(of_size, bytes), cudaSuccess);
      ASSERT_GT(bytes, 0u);
      if (bytes > held_) {
        ASSERT_EQ(cudaFree(storage_), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&storage_, bytes + 1), cudaSuccess);
        ASSERT_EQ(arrived(cudaMemset(storage_, 0xa5, bytes + 1)), cudaSuccess);
        held_ = bytes;
      }
      void* const odd = storage_ + 1;
      std::size_t too_few = bytes - 1;
      ASSERT_EQ(call(odd, too_few), cudaErrorInvalidValue);
      ASSERT_EQ(call(odd, bytes), cudaSuccess);
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  workspace workspace_;

 private:
  char* storage_ = nullptr;
  std::size_t held_ = 0;
  bool is_workspaces_turn_ = false;
};

// Takes anything, and keeps nothing.
struct discarding {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = discarding&;

  template <class T>
  __host__ __device__ const discarding& operator=(const T&) const {
    return *this;
  }
  __host__ __device__ discarding operator[](difference_type) const { return *this; }
  __host__ __device__ discarding operator*() const { return *this; }
  __host__ __device__ discarding operator+(difference_type) const { return *this; }
};
// Writes the negative of what it is given.
struct negating {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  struct reference {
    int* to;
    __host__ __device__ const reference& operator=(int value) const {
      *to = -value;
      return *this;
    }
  };

  int* to;
  __host__ __device__ reference operator[](difference_type i) const { return {to + i}; }
  __host__ __device__ reference operator*() const { return {to}; }
  __host__ __device__ negating operator+(difference_type i) const { return {to + i}; }
};

// Tiles have 256 to 8192 items.
constexpr std::size_t around_tiles[] = {
    0,    1,    2,    3,    31,   32,   33,   255,  256,   257,   511,   513,     1023,    1025,    2047,     2048,
    2049, 4095, 4096, 4097, 8191, 8192, 8193, 8195, 12288, 16385, 65535, 131'071, 131'073, 262'145, 1'000'003};

// Items that make runs of a length; a negative one is the greatest of random lengths.
template <class T, class Make>
std::vector<T> in_runs(std::size_t num_items, int length, Make make) {
  std::mt19937 random(static_cast<unsigned>(num_items) * 31u + static_cast<unsigned>(length));
  std::vector<T> items(num_items);
  int run = 0, left = 0;
  for (T& item : items) {
    if (left == 0) {
      ++run;
      left = length > 0 ? length : 1 + static_cast<int>(random() % static_cast<unsigned>(-length));
    }
    --left;
    item = make(run);
  }
  return items;
}
constexpr int one_long_run = 1 << 30;
constexpr int run_lengths[] = {1, 2, 4, 16, 256, 5000, one_long_run, -3, -700, -20'000};

}  // namespace rungs::tests
