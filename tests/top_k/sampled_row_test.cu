// One row of 64-bit keys: between bounds of a sample, and where the bounds fail.
#include <limits>

#include <rungs/device/device_top_k.cuh>

#include "top_k/of_rows.cuh"

namespace rungs::tests {
namespace {

template <class T>
struct SampledRow : TopK<T> {
  // Keys whose sampled ones all come first, so that too few reach a bound.
  static std::vector<T> misleading_keys(std::size_t n, bool greatest) {
    std::vector<T> items = make_keys<T>(keys_are::few, n, 3);
    for (unsigned i = 0; i < production::sampled_row::most_samples; ++i)
      items[production::sampled_place(i, production::sampled_row::most_samples, static_cast<unsigned>(n))] =
          key_of_value<T>((greatest ? 1.0 : -1.0) * (5 + i % 7));
    return items;
  }
  static void expect_right_of(const std::vector<T>& items, std::size_t k, bool greatest, std::size_t offset) {
    SCOPED_TRACE(std::to_string(items.size()) + ", k " + std::to_string(k));
    const std::size_t n = items.size();
    const guarded<T> in(items, offset), keys(k, 1);
    const guarded<unsigned> columns(k, 1);
    const auto expected = expected_indices(items.data(), n, k, greatest);
    for (const top_k_order order : {top_k_order::sorted, top_k_order::unsorted}) {
      const auto call = [&](void* storage, std::size_t& bytes) {
        const T* const from = in.data();
        return greatest ? DeviceTopK::MaxPairs(storage, bytes, from, keys.data(), columns_as_values{}, columns.data(),
                                               n, k, nullptr, order)
                        : DeviceTopK::MinPairs(storage, bytes, from, keys.data(), columns_as_values{}, columns.data(),
                                               n, k, nullptr, order);
      };
      ASSERT_EQ(in_two_phases(call), cudaSuccess);
      const std::vector<T> found_keys = keys.read();
      const std::vector<unsigned> found_columns = columns.read();
      for (std::size_t i = 0; i < k; ++i) {
        ASSERT_LT(found_columns[i], n);
        ASSERT_EQ(std::memcmp(&found_keys[i], &items[found_columns[i]], sizeof(T)), 0) << i;
      }
      std::vector<std::size_t> found(found_columns.begin(), found_columns.end()), wanted = expected;
      if (order == top_k_order::unsorted) {
        std::sort(found.begin(), found.end());
        std::sort(wanted.begin(), wanted.end());
      }
      ASSERT_EQ(found, wanted);
    }
  }
};

using sampled_key_types = testing::Types<long long, unsigned long long, double>;
TYPED_TEST_SUITE(SampledRow, sampled_key_types);

// On both sides of the limits of a tile, of what is ranked, and of k.
TYPED_TEST(SampledRow, BothSidesOfLimits) {
  constexpr keys_are kinds[] = {keys_are::random,     keys_are::equal,   keys_are::few,  keys_are::ascending,
                                keys_are::descending, keys_are::special, keys_are::bits, keys_are::clumpy};
  for (const std::size_t n : {1, 127, 128, 129, 4097, 16'383, 16'384, 16'385, 100'003})
    for (const std::size_t k : {std::size_t(1), std::size_t(100), std::size_t(4096), std::size_t(4097), n / 2, n})
      for (const keys_are kind : kinds)
        if (k > 0 && k <= n && (k <= 4096 || n < 20'000 || kind == keys_are::random || kind == keys_are::special))
          this->expect_right({1, n, k, 0, k % 2}, kind, (n + k / 2) % 2 == 0);
}

// Rows of which a block selects, and of which a block selects what a round left.
TYPED_TEST(SampledRow, Selected) {
  for (const std::size_t n : {4096, 4097, 8192, 12'001, 16'384, 65'537, 1'000'003})
    for (const std::size_t k : {1, 5, 1000, 4096, 4097})
      for (const keys_are kind : {keys_are::bits, keys_are::few, keys_are::equal})
        if (k <= n) this->expect_right_of(make_keys<TypeParam>(kind, n, 5), k, k % 2 == 0, n % 2);
}

// All bits of the first candidate are set, as of the bound that none is to reach.
TYPED_TEST(SampledRow, TheGreatestKeyIsTheFirst) {
  using limits = std::numeric_limits<TypeParam>;
  for (const std::size_t n : {100, 5000, 65'537, 1'000'003})
    for (const std::size_t k : {1, 100, 4096})
      for (const bool greatest : {true, false}) {
        auto items = make_keys<TypeParam>(keys_are::few, n, 7);
        items[0] = greatest ? limits::max() : limits::lowest();
        if (k <= n) this->expect_right_of(items, k, greatest, 0);
      }
}

TYPED_TEST(SampledRow, SeveralRounds) {
  const std::size_t n = (std::size_t(1) << 22) + 5;
  for (const std::size_t k : {std::size_t(300), std::size_t(4096), n / 16})
    for (const keys_are kind : {keys_are::bits, keys_are::equal}) this->expect_right({1, n, k, 0, 1}, kind, k == 300);
}

TYPED_TEST(SampledRow, AMisleadingSample) {
  for (const std::size_t n : {20'001, 300'007})
    for (const std::size_t k : {1, 100, 4096, 9000, 20'001})
      for (const bool greatest : {true, false})
        this->expect_right_of(TestFixture::misleading_keys(n, greatest), k, greatest, k % 2);
}

TYPED_TEST(SampledRow, GraphsReplayWithNewKeys) {
  const std::size_t n = 100'003;
  for (const std::size_t k : {50, 6000}) {
    const guarded<TypeParam> in(n, 1), keys(k);
    const guarded<unsigned> columns(k);
    workspace workspace;
    const own_stream stream;
    const auto call = [&] {
      const TypeParam* const from = in.data();
      return DeviceTopK::MaxPairs(workspace, from, keys.data(), columns_as_values{}, columns.data(), n, k, stream);
    };
    in.write(make_keys<TypeParam>(keys_are::equal, n, 1));
    ASSERT_EQ(call(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const captured graph(stream, call);
    for (int turn = 0; turn < 4; ++turn) {  // the sample misleads every other time
      const auto items = turn % 2 == 0 ? TestFixture::misleading_keys(n, true)
                                       : make_keys<TypeParam>(turn == 1 ? keys_are::bits : keys_are::few, n, 2);
      in.write(items);
      ASSERT_EQ(graph.replay(), cudaSuccess);
      const auto expected = expected_indices(items.data(), n, k, true);
      const auto found = columns.read();
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                             [](std::size_t a, unsigned b) { return a == b; }))
          << "turn " << turn << ", k " << k;
    }
    EXPECT_EQ(workspace.release(stream), cudaSuccess);
  }
}

// No place is sampled twice, whatever the size.
TEST(SampledRowPlaces, AreDistinctAndInside) {
  for (const unsigned size : {1u, 100u, 8191u, 8192u, 8193u, 16'385u, 1u << 20, 0xffffdfffu}) {
    const unsigned samples = std::min(size, production::sampled_row::most_samples);
    for (unsigned i = 0, next = 0; i < samples; ++i) {
      const unsigned place = production::sampled_place(i, samples, size);
      ASSERT_GE(place, next) << size;
      ASSERT_LT(place, size);
      next = place + 1;
    }
  }
}

}  // namespace
}  // namespace rungs::tests
