// Words and bytes that are not aligned, and so many that kernels of their own read and write them by vectors.
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_select.cuh>

#include "by_key/support.cuh"

namespace rungs::tests {
namespace {

// By how many items the first of each array misses an alignment.
struct misses {
  std::size_t keys, values, out;
};
constexpr misses any_misses[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1},
                                 {2, 2, 2}, {3, 3, 3}, {3, 2, 1}, {7, 5, 11}};

class Unaligned : public Calls {
 protected:
  // Values are integers whose sums any order makes exact.
  template <class Key, class Value>
  void expect_scans(std::size_t n, int length, const misses& at) {
    SCOPED_TRACE(testing::Message() << n << " items, runs of " << length << ", offsets " << at.keys << ", " << at.values
                                    << " and " << at.out);
    const std::vector<Key> keys = in_runs<Key>(n, length, [](int run) { return static_cast<Key>(run); });
    std::vector<Value> values(n), inclusive(n), exclusive(n);
    std::mt19937 random(static_cast<unsigned>(n));
    Value sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<Value>(random() % 7);
      if (i > 0 && keys[i] != keys[i - 1]) sum = 0;
      exclusive[i] = sum;
      sum = static_cast<Value>(sum + values[i]);
      inclusive[i] = sum;
    }
    const guarded<Key> d_keys(keys, at.keys);
    const guarded<Value> d_values(values, at.values);
    const outputs<Value> out(n, at.out);
    run([&](auto&&... storage) {
      return DeviceScan::InclusiveSumByKey(storage..., d_keys.data(), d_values.data(), out.data(), n);
    });
    out.expect(inclusive);
    run([&](auto&&... storage) {
      return DeviceScan::ExclusiveSumByKey(storage..., d_keys.data(), d_values.data(), out.data(), n);
    });
    out.expect(exclusive);
  }

  template <class Key, class Value>
  void expect_firsts(std::size_t n, int length, const misses& at) {
    SCOPED_TRACE(testing::Message() << n << " items, runs of " << length << ", offsets " << at.keys << ", " << at.values
                                    << " and " << at.out);
    const std::vector<Key> keys = in_runs<Key>(n, length, [](int run) { return static_cast<Key>(run); });
    std::vector<Value> values(n), first_values;
    std::vector<Key> first_keys;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<Value>(i % 251);
      if (i > 0 && keys[i] == keys[i - 1]) continue;
      first_keys.push_back(keys[i]);
      first_values.push_back(values[i]);
    }
    const guarded<Key> d_keys(keys, at.keys);
    const guarded<Value> d_values(values, at.values);
    const outputs<Key> out_keys(n, at.out);
    const outputs<Value> out_values(n, at.out);
    const outputs<long long> count(1, 0);
    run([&](auto&&... storage) {
      return DeviceSelect::UniqueByKey(storage..., d_keys.data(), d_values.data(), out_keys.data(), out_values.data(),
                                       count.data(), n);
    });
    out_keys.expect(first_keys);
    out_values.expect(first_values);
    count.expect({static_cast<long long>(first_keys.size())});
  }
};

constexpr std::size_t many_items = (std::size_t{2} << 20) + 12'345;

TEST_F(Unaligned, ScansByKeyOfBytes) {
  for (const misses& at : any_misses) {
    expect_scans<signed char, signed char>(many_items, -700, at);
    expect_scans<signed char, float>(many_items, 3, at);
    expect_scans<signed char, unsigned short>(many_items, -20'000, at);
  }
}

TEST_F(Unaligned, ScansByKeyOfWords) {
  for (const misses& at : any_misses) {
    expect_scans<short, int>(many_items, -700, at);
    expect_scans<int, float>(many_items, one_long_run, at);
    expect_scans<unsigned, signed char>(many_items, 2, at);
  }
}

// Aligned ones beside those that are not, and items that no vector is shifted to.
TEST_F(Unaligned, ScansByKeyOfWideItems) {
  for (const misses& at : {misses{1, 1, 1}, misses{0, 0, 1}, misses{1, 0, 0}}) {
    expect_scans<long long, double>(many_items, -700, at);
    expect_scans<signed char, double>(many_items, -700, at);
  }
}

TEST_F(Unaligned, ScansByKeyInRounds) {
  for (const misses& at : {misses{1, 1, 1}, misses{0, 3, 2}}) expect_scans<int, float>(17'000'003, -30'000, at);
}

TEST_F(Unaligned, FirstsByKey) {
  for (const std::size_t n : {100'003, 1'000'003, 1'700'003})
    for (const int length : {1, -3, -700}) {
      for (const misses& at : any_misses) expect_firsts<int, int>(n, length, at);
      for (const misses& at : {misses{1, 1, 1}, misses{0, 3, 0}, misses{3, 0, 2}}) {
        expect_firsts<unsigned, signed char>(n, length, at);
        expect_firsts<int, short>(n, length, at);
        expect_firsts<float, double>(n, length, at);
      }
    }
}

}  // namespace
}  // namespace rungs::tests
