// rungs::DeviceTopK and DeviceBatchedTopK against a sort on the host, bit for bit: keys and indices, for shapes on both
// sides of every change of mapping.
#include <rungs/device/device_top_k.cuh>

#include "rungs/parts/launch.cuh"
#include "top_k/of_rows.cuh"

namespace rungs::tests {
namespace {

using rows::matrix;

using key_types = testing::Types<float, __half, __nv_bfloat16, int, unsigned>;
TYPED_TEST_SUITE(TopK, key_types);

TYPED_TEST(TopK, ShortRows) {
  for (const std::size_t columns : {1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 512, 896, 1023, 1024})
    for (const std::size_t k : {1, 2, 8, 12, 13, 32})
      if (k == 1 || k <= columns)
        for (const keys_are kind : all_kinds)
          this->expect_right({19, columns, k, k % 2, columns % 3}, kind, (k + columns) % 2 == 0);
}

// So many that a row has eight lanes instead of sixteen.
TYPED_TEST(TopK, ManyShortRows) {
  for (const std::size_t columns : {65, 128, 200, 256})
    for (const std::size_t k : {8, 12})
      for (const keys_are kind : {keys_are::random, keys_are::special})
        this->expect_right({4101, columns, k, k % 3, columns % 2}, kind, k == 8);
}

// A thread a key, up to 256 columns.
TYPED_TEST(TopK, ShortRowsOfManyResults) {
  for (const shape& of : {shape{3, 33, 33}, shape{300, 40, 34, 1, 1}, shape{3, 100, 64, 1, 1}, shape{5, 255, 255, 0, 1},
                          shape{7, 256, 200, 3, 2}, shape{2, 257, 100, 1, 1}})
    for (const keys_are kind : all_kinds)
      for (const bool greatest : {true, false}) this->expect_right(of, kind, greatest);
}

TYPED_TEST(TopK, RowsOfABlock) {
  for (const shape& of : {shape{2, 1024, 33}, shape{2, 1024, 1024}, shape{3, 1025, 1, 2, 3}, shape{3, 1500, 1024, 1, 1},
                          shape{3, 2999, 100, 0, 5}, shape{2, 4095, 4095, 1, 1}, shape{2, 4096, 4096},
                          shape{2, 4097, 4096, 0, 1}, shape{3, 8191, 1000, 3, 2}})
    for (const keys_are kind : all_kinds)
      for (const bool greatest : {true, false}) this->expect_right(of, kind, greatest);
}

// More rows than blocks fit the device, and rows in parts.
TYPED_TEST(TopK, ManyRowsAndFew) {
  this->expect_right({1000, 5000, 50, 1, 1}, keys_are::random, true);
  this->expect_right({1000, 2000, 1}, keys_are::few, false);
  for (const std::size_t rows : {1, 3})
    for (const std::size_t k : {1, 64, 1024, 4096})
      for (const keys_are kind : all_kinds)
        this->expect_right({rows, 128 * 1024 + 5 * rows, k, 1, 3}, kind, k % 3 == 1);
  this->expect_right({2, 512 * 1024, 64}, keys_are::random, true);
  this->expect_right({2, 512 * 1024, 4096, 1, 1}, keys_are::random, true);
}

// Clusters of 16 and 8 blocks, where the device has them. In some rows one block has all the greatest.
TYPED_TEST(TopK, FewLongRows) {
  for (const shape& of :
       {shape{1, 32 * 1024, 100}, shape{2, 64 * 1024 + 5, 4096, 1, 1}, shape{1, 128 * 1024, 4095, 0, 1},
        shape{9, 65'535, 100, 3, 2}, shape{20, 40'001, 3}, shape{1, 1 << 20, 512, 0, 5}})
    for (const keys_are kind :
         {keys_are::random, keys_are::equal, keys_are::few, keys_are::special, keys_are::bits, keys_are::one_share})
      this->expect_right(of, kind, of.num_columns % 2 == 0);
}

// Rows that a block gathers, and clusters of 2 to 16 blocks, with keys in registers or not. In some, more keys equal
// the bound than there is room for, or the greatest lie beside each other.
TYPED_TEST(TopK, GatheredRows) {
  for (const shape& of : {shape{3, 2048, 256}, shape{5, 5000, 50, 1, 1}, shape{2, 8192, 2, 0, 1}, shape{3, 8192, 1024},
                          shape{2, 8191, 999, 1, 3}, shape{3, 9000, 40, 1, 1}, shape{40, 16'384, 200},
                          shape{6, 32 * 1024, 300}, shape{9, 65'535, 1000, 3, 2}, shape{5, 65'536, 4096},
                          shape{34, 40'001, 700, 0, 1}, shape{5, 263'000, 300, 2, 1}, shape{1, 1 << 20, 1024}})
    for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::few, keys_are::special, keys_are::bits,
                                keys_are::one_share, keys_are::ascending, keys_are::clumpy})
      this->expect_right(of, kind, (of.num_columns + of.k) % 2 == 0);
  for (const keys_are kind : {keys_are::random, keys_are::few})
    this->expect_right({133, 65'537, 2048, 0, 1}, kind, kind != keys_are::few);
}

// The first key, by a block or by clusters of 2 to 16. Of equal ones the first column.
TYPED_TEST(TopK, FirstKeysOfRows) {
  for (const shape& of : {shape{300, 1500, 1, 1, 1}, shape{140, 5001, 1}, shape{1, 128 * 1024, 1, 0, 1},
                          shape{9, 40'001, 1, 1, 1}, shape{20, 16'384, 1}, shape{60, 9000, 1, 3, 2}, shape{2, 8192, 1}})
    for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::few, keys_are::special, keys_are::bits,
                                keys_are::ascending, keys_are::descending})
      for (const bool greatest : {true, false}) this->expect_right(of, kind, greatest);
}

// More candidates of parts than the last block has room for. Parts that find theirs by a sample, or anew, unsorted.
TYPED_TEST(TopK, MergedParts) {
  for (const keys_are kind : {keys_are::random, keys_are::equal, keys_are::few, keys_are::one_share,
                              keys_are::ascending, keys_are::clumpy, keys_are::parted})
    for (const shape& of :
         {shape{1, (1 << 20) + 9, 2000, 0, 1}, shape{1, 1'300'003, 1000, 1, 2}, shape{1, (1 << 20) + 3, 64, 0, 1}})
      this->expect_right(of, kind, kind != keys_are::few);
}

// A threshold from a sample: right, too low, or none.
TYPED_TEST(TopK, ManyLongRows) {
  for (const keys_are kind : {keys_are::random, keys_are::few, keys_are::one_share})
    this->expect_right({258, 32 * 1024 + 3, 60, 1, 1}, kind, kind != keys_are::few);
}

TYPED_TEST(TopK, GreaterKThanABlockHolds) {
  for (const shape& of : {shape{3, 4097, 4097, 1, 1}, shape{2, 20'001, 5000, 0, 1}, shape{1, 50'000, 50'000},
                          shape{1, 131'072, 70'001, 0, 3}})
    for (const keys_are kind : all_kinds) this->expect_right(of, kind, of.num_rows != 2);
}

// --- one array, with values beside the keys

struct TopKCalls : OnAGpu {};

TEST_F(TopKCalls, ValuesLieBesideKeys) {
  const std::size_t n = 100'000, k = 77;
  const std::vector<int> items = make_keys<int>(keys_are::random, n, 5);
  std::vector<double> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = 0.5 * static_cast<double>(i);
  const guarded<int> in(items), keys(k);
  const guarded<double> values_in(numbers), values(k);
  for (const bool greatest : {true, false}) {
    const auto expected = expected_indices(items.data(), n, k, greatest);
    const auto call = [&](auto&&... storage) {
      const int* const from = in.data();
      return greatest
                 ? DeviceTopK::MaxPairs(storage..., from, keys.data(), values_in.data(), values.data(), n, k)
                 : DeviceTopK::MinPairs(storage..., from, keys.data(), values_in.data(), values.data(), n, unsigned(k));
    };
    ASSERT_EQ(in_two_phases([&](void* storage, std::size_t& bytes) { return call(storage, bytes); }), cudaSuccess);
    const auto in_storage = keys.read();
    const auto found = values.read();
    for (std::size_t i = 0; i < k; ++i) ASSERT_EQ(found[i], 0.5 * static_cast<double>(expected[i])) << i;
    workspace workspace;
    ASSERT_EQ(call(workspace), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(keys.read(), in_storage);
    EXPECT_EQ(values.read(), found);
  }
}

TEST_F(TopKCalls, KeysAloneAndMatricesOfValues) {
  const std::size_t rows = 4, n = 3000, k = 40, stride = n + 2;
  const std::vector<float> items = make_keys<float>(keys_are::few, rows * stride, 6);
  std::vector<int> numbers(rows * (n + 1));
  std::iota(numbers.begin(), numbers.end(), 0);
  const guarded<float> in(items, 1), keys(rows * k), keys_alone(rows * k), keys_of_one(k);
  const guarded<int> values_in(numbers), values(rows * (k + 1));
  const matrix<const float> from{in.data(), rows, n, stride};
  workspace workspace;
  ASSERT_EQ(DeviceBatchedTopK::MaxKeys(workspace, from, matrix{keys_alone.data(), rows, k}, k), cudaSuccess);
  ASSERT_EQ(
      DeviceBatchedTopK::MaxPairs(workspace, from, matrix{keys.data(), rows, k},
                                  matrix{values_in.data(), rows, n, n + 1}, matrix{values.data(), rows, k, k + 1}, k),
      cudaSuccess);
  ASSERT_EQ(DeviceTopK::MaxKeys(workspace, from.data, keys_of_one.data(), n, k), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto found = values.read();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto expected = expected_indices(items.data() + row * stride, n, k, true);
    for (std::size_t i = 0; i < k; ++i)
      ASSERT_EQ(found[row * (k + 1) + i], static_cast<int>(row * (n + 1) + expected[i])) << row << ' ' << i;
  }
  const auto alone = keys_alone.read();
  EXPECT_EQ(keys.read(), alone);
  EXPECT_EQ(keys_of_one.read(), std::vector<float>(alone.begin(), alone.begin() + k));
  ASSERT_EQ(DeviceBatchedTopK::MinKeys(workspace, from, matrix{keys_alone.data(), rows, k}, k), cudaSuccess);
  ASSERT_EQ(DeviceTopK::MinKeys(workspace, from.data, keys_of_one.data(), n, k), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto least = keys_alone.read();
  EXPECT_EQ(keys_of_one.read(), std::vector<float>(least.begin(), least.begin() + k));
  EXPECT_EQ(least.front(), -1.0f);
}

TEST_F(TopKCalls, NothingAndWhatIsRefused) {
  const guarded<float> in(std::vector<float>(5000, 1.0f)), keys(5000);
  const float* const from = in.data();
  const auto untouched = keys.read();
  const auto of_array = [&](std::size_t n, std::size_t k) {
    return in_two_phases([&](void* storage, std::size_t& bytes) {
      return DeviceTopK::MaxKeys(storage, bytes, from, keys.data(), n, k);
    });
  };
  EXPECT_EQ(of_array(0, 0), cudaSuccess);
  EXPECT_EQ(of_array(0, 5), cudaSuccess);
  EXPECT_EQ(of_array(5000, 0), cudaSuccess);
  workspace workspace;
  const auto of_matrices = [&](const matrix<float>& in_matrix, const matrix<float>& out_matrix, std::size_t k) {
    return DeviceBatchedTopK::MaxKeys(workspace, matrix<const float>(in_matrix), out_matrix, k);
  };
  const matrix<float> rows{in.data(), 10, 500};
  EXPECT_EQ(of_matrices({in.data(), 0, 500}, {keys.data(), 0, 5}, 5), cudaSuccess);
  EXPECT_EQ(of_matrices(rows, {keys.data(), 10, 4}, 5), cudaErrorInvalidValue);     // no room for k
  EXPECT_EQ(of_matrices(rows, {keys.data(), 9, 5}, 5), cudaErrorInvalidValue);      // nor for all rows
  EXPECT_EQ(of_matrices(rows, {keys.data(), 10, 5, 4}, 5), cudaErrorInvalidValue);  // rows overlap
  EXPECT_EQ(DeviceTopK::MaxKeys(workspace, from, keys.data(), std::size_t(1) << 32, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(std::memcmp(keys.read().data(), untouched.data(), 5000 * sizeof(float)), 0);
  EXPECT_EQ(of_array(10, 20), cudaSuccess);  // all there are
  EXPECT_EQ(std::memcmp(keys.read().data() + 10, untouched.data(), 4990 * sizeof(float)), 0);
}

TEST_F(TopKCalls, GraphsReplayWithNewKeys) {
  for (const std::size_t k : {8, 500, 6000}) {
    const std::size_t rows = 3, n = k == 8 ? 300 : 100'000;
    guarded<float> in(rows * n);
    const guarded<float> keys(rows * k);
    const guarded<int> columns(rows * k);
    workspace workspace;
    const own_stream stream;
    const auto call = [&] {
      return DeviceBatchedTopK::MaxPairs(workspace, matrix<const float>{in.data(), rows, n},
                                         matrix{keys.data(), rows, k}, columns_as_values{},
                                         matrix{columns.data(), rows, k}, k, stream);
    };
    in.write(make_keys<float>(keys_are::equal, rows * n, 1));
    ASSERT_EQ(call(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const captured graph(stream, call);
    for (const keys_are kind : {keys_are::random, keys_are::ascending, keys_are::few}) {
      const auto items = make_keys<float>(kind, rows * n, 2);
      in.write(items);
      ASSERT_EQ(graph.replay(), cudaSuccess);
      const auto found = columns.read();
      for (std::size_t row = 0; row < rows; ++row) {
        const auto expected = expected_indices(items.data() + row * n, n, k, true);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + static_cast<std::ptrdiff_t>(row * k),
                               [](std::size_t a, int b) { return a == static_cast<std::size_t>(b); }))
            << name_of(kind) << ", k " << k;
      }
    }
    EXPECT_EQ(workspace.release(stream), cudaSuccess);
  }
}

// --- long arrays: the k found have to be in order, and no more than k - 1 of all keys may come before the last

__host__ __device__ unsigned hashed(unsigned i) {
  i = (i ^ 61) ^ (i >> 16);
  i *= 9;
  i ^= i >> 4;
  i *= 0x27d4eb2d;
  return i ^ (i >> 15);
}
// Scattered, or ascending, which makes every key a candidate.
__host__ __device__ unsigned long_key(unsigned i, bool ascending) { return ascending ? i / 3 : hashed(i) & 0x7fffffff; }

__global__ void make_long_keys(unsigned* keys, std::size_t n, bool ascending) {
  for (std::size_t i = blockIdx.x * std::size_t{256} + threadIdx.x; i < n; i += std::size_t{1024} * 256)
    keys[i] = long_key(static_cast<unsigned>(i), ascending);
}

void expect_right_of_long(std::size_t n, std::size_t k, bool ascending) {
  SCOPED_TRACE(std::to_string(n) + ", k " + std::to_string(k) + (ascending ? ", ascending" : ""));
  unsigned* in = nullptr;
  if (cudaMalloc(&in, n * sizeof(unsigned)) != cudaSuccess) {
    cudaGetLastError();
    std::printf("note: no memory for %zu keys\n", n);
    return;
  }
  const guarded<unsigned> keys(k), columns(k);
  EXPECT_EQ(parts::launch(make_long_keys, 1024, 256, nullptr, in, n, ascending), cudaSuccess);
  const auto call = [&](void* storage, std::size_t& bytes) {
    return DeviceTopK::MaxPairs(storage, bytes, static_cast<const unsigned*>(in), keys.data(), columns_as_values{},
                                columns.data(), n, k);
  };
  EXPECT_EQ(in_two_phases(call), cudaSuccess);
  cudaFree(in);
  const auto found = columns.read(), found_keys = keys.read();
  const auto before = [=](unsigned a, unsigned b) {
    const unsigned x = long_key(a, ascending), y = long_key(b, ascending);
    return x > y || (x == y && a < b);
  };
  for (std::size_t i = 0; i < k; ++i) {
    ASSERT_LT(found[i], n);
    ASSERT_EQ(found_keys[i], long_key(found[i], ascending));
    if (i > 0) ASSERT_TRUE(before(found[i - 1], found[i])) << i;
  }
  std::size_t num_before = 0;
  for (std::size_t i = 0; i < n; ++i) num_before += before(static_cast<unsigned>(i), found[k - 1]);
  EXPECT_EQ(num_before, k - 1);
}

TEST_F(TopKCalls, LongArrays) {
  for (const std::size_t k : {1, 64, 4096, 100'000})
    for (const bool ascending : {false, true}) expect_right_of_long((std::size_t(1) << 24) + 3, k, ascending);
  expect_right_of_long(std::size_t(1) << 28, 64, false);
}

}  // namespace
}  // namespace rungs::tests
