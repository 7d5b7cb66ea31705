// Top-k of the keys that top_k_test does not have, for shapes of every kernel; and keys behind iterators.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <rungs/device/device_top_k.cuh>

#include "top_k/of_rows.cuh"

namespace rungs::tests {
namespace {

template <class T>
struct OtherKeys : TopK<T> {};

using other_key_types =
    testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, long long, unsigned long long, double>;
TYPED_TEST_SUITE(OtherKeys, other_key_types);

TYPED_TEST(OtherKeys, ShortRows) {
  for (const std::size_t columns : {1, 7, 31, 32, 33, 64, 65, 128, 200, 256, 257, 512, 1023, 1024})
    for (const std::size_t k : {1, 8, 12, 13, 32})
      if (k == 1 || k <= columns)
        for (const keys_are kind : all_kinds)
          this->expect_right({19, columns, k, k % 2, columns % 3}, kind, (k + columns) % 2 == 0);
  for (const std::size_t columns : {65, 128, 256})
    for (const keys_are kind : {keys_are::random, keys_are::special})
      this->expect_right({4101, columns, 12, columns % 2, 1}, kind, kind == keys_are::random);
  this->expect_right({300, 40, 34, 1, 1}, keys_are::bits, true);
}

TYPED_TEST(OtherKeys, LongerRows) {
  for (const shape& of :
       {shape{3, 1025, 1, 2, 3}, shape{3, 1500, 1024, 1, 1}, shape{3, 2999, 100, 0, 5}, shape{2, 4097, 4096, 0, 1},
        shape{3, 8191, 1000, 3, 2}, shape{2, 8192, 2, 0, 1}, shape{140, 5001, 1}, shape{9, 40'001, 1, 1, 1},
        shape{6, 32 * 1024, 300}, shape{34, 40'001, 700, 0, 1}, shape{1, 128 * 1024, 4095, 0, 1},
        shape{9, 65'535, 100, 3, 2}, shape{3, 20'001, 5000, 0, 1}, shape{258, 32 * 1024 + 3, 60, 1, 1},
        shape{1, (1 << 20) + 9, 2000, 0, 1}})
    for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::few, keys_are::special, keys_are::bits,
                                keys_are::one_share, keys_are::ascending, keys_are::clumpy})
      if (of.num_rows < 100 || kind == keys_are::random || kind == keys_are::few)
        this->expect_right(of, kind, (of.num_columns + of.k) % 2 == 0);
}

// Odd sizes of one array, at any address, on both sides of the limits of kernels.
TYPED_TEST(OtherKeys, ArraysOfOddSizes) {
  for (const std::size_t n : {1, 31, 33, 255, 257, 1023, 1025, 4097, 65'537, 1'000'007})
    for (const std::size_t k : {std::size_t(1), std::size_t(5), std::size_t(33), std::size_t(1000), n})
      if (k <= n && (k < n || n < 70'000))
        for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::bits})
          this->expect_right({1, n, k, 0, (n + k) % 7}, kind, (n + k) % 2 == 0);
}

// --- one array, behind iterators

struct OtherKeysCalls : OnAGpu {};

// Writes keys as numbers, thrice as large.
struct thrice {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = float;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = void;
  struct place {
    float* to;
    __device__ void operator=(std::int8_t key) const { *to = 3.0f * static_cast<float>(key); }
  };

  float* to;

  __device__ place operator[](std::ptrdiff_t i) const { return {to + i}; }
};

TEST_F(OtherKeysCalls, IteratorsOfArraysAndOthers) {
  for (const std::size_t n : {77, 1000, 100'003})
    for (const std::size_t k : {1, 5, 33, 70'000}) {
      const std::size_t found = std::min(n, k);
      const std::vector<std::int8_t> items = make_keys<std::int8_t>(keys_are::random, n, 5);
      std::vector<int> numbers(n);
      std::iota(numbers.begin(), numbers.end(), 7);
      const thrust::device_vector<std::int8_t> in(items.begin(), items.end());
      const thrust::device_vector<int> values_in(numbers.begin(), numbers.end());
      thrust::device_vector<std::int8_t> keys(found);
      thrust::device_vector<int> values(found);
      const guarded<float> tripled(found);
      for (const bool greatest : {true, false}) {
        const auto expected = expected_indices(items.data(), n, found, greatest);
        ASSERT_EQ(in_two_phases([&](void* storage, std::size_t& bytes) {
                    return greatest ? DeviceTopK::MaxPairs(storage, bytes, in.begin(), keys.begin(), values_in.begin(),
                                                           values.begin(), n, k)
                                    : DeviceTopK::MinPairs(storage, bytes, in.data(), keys.data(), values_in.data(),
                                                           values.data(), n, k);
                  }),
                  cudaSuccess);
        ASSERT_EQ(greatest ? DeviceTopK::MaxKeys(in.cbegin(), thrice{tripled.data()}, n, k)
                           : DeviceTopK::MinKeys(in.cbegin(), thrice{tripled.data()}, n, k),
                  cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<std::int8_t> found_keys(found);
        std::vector<int> found_values(found);
        thrust::copy(keys.begin(), keys.end(), found_keys.begin());
        thrust::copy(values.begin(), values.end(), found_values.begin());
        const auto found_tripled = tripled.read();
        for (std::size_t i = 0; i < found; ++i) {
          ASSERT_EQ(found_keys[i], items[expected[i]]) << i;
          ASSERT_EQ(found_values[i], numbers[expected[i]]) << i;
          ASSERT_EQ(found_tripled[i], 3.0f * static_cast<float>(items[expected[i]])) << i;
        }
      }
    }
}

// What libcu++'s buffers have, and what stands for no array.
struct iterator_of_buffer {
  using iterator_concept = struct contiguous_tag : std::random_access_iterator_tag {};
  const float* at;
  const float* __unwrap() const { return at; }
};
static_assert(std::is_same_v<decltype(device::array_of(iterator_of_buffer{})), const float*>);
static_assert(std::is_same_v<decltype(device::array_of(std::declval<thrust::device_vector<int>>().begin())), int*>);
static_assert(!std::is_pointer_v<decltype(device::array_of(std::declval<thrust::device_vector<int>>().rbegin()))>);
static_assert(!std::is_pointer_v<decltype(device::array_of(thrust::counting_iterator<int>(0)))>);

// Bools are bytes of 0 and 1.
TEST_F(OtherKeysCalls, Bools) {
  for (const std::size_t n : {40, 257, 5000, 70'001}) {
    std::vector<std::uint8_t> items(n);
    for (std::size_t i = 0; i < n; ++i) items[i] = i % 7 == 3 ? 1 : 0;
    const guarded<std::uint8_t> in(items), keys(n);
    const guarded<int> columns(n);
    for (const std::size_t k : {std::size_t(1), n / 5, n})
      for (const bool greatest : {true, false}) {
        const auto expected = expected_indices(items.data(), n, k, greatest);
        const bool* const from = reinterpret_cast<const bool*>(in.data());
        bool* const to = reinterpret_cast<bool*>(keys.data());
        ASSERT_EQ(greatest ? DeviceTopK::MaxPairs(from, to, columns_as_values{}, columns.data(), n, k)
                           : DeviceTopK::MinPairs(from, to, columns_as_values{}, columns.data(), n, k),
                  cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        const auto found = columns.read();
        const auto found_keys = keys.read();
        for (std::size_t i = 0; i < k; ++i) {
          ASSERT_EQ(found[i], static_cast<int>(expected[i])) << n << ", k " << k;
          ASSERT_EQ(found_keys[i], items[expected[i]]) << n << ", k " << k;
        }
      }
  }
}

}  // namespace
}  // namespace rungs::tests
