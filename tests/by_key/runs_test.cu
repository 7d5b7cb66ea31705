// Calls on runs of equal keys against loops on the host: aggregates, scans and lengths, bit for bit. Floats hold whole
// numbers whose sums are exact; that the bits of others repeat is a test of its own.
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_run_length_encode.cuh>
#include <rungs/device/device_scan.cuh>

#include "by_key/support.cuh"

namespace rungs::tests {
namespace {

// Keys by the number of their run, and values by their place.
template <class T>
T key_of_run(int run) {
  return static_cast<T>(run % 120);
}
template <>
bundle<3> key_of_run(int run) {
  return {{1, run % 120, 2}};
}
template <class T>
T value_at(std::size_t i) {
  return static_cast<T>(static_cast<int>(i * 7919 % 7) - 3);
}
template <>
affine value_at(std::size_t i) {
  return numbered_map(i);
}
template <>
bundle<6> value_at(std::size_t i) {
  const int at = static_cast<int>(i);
  return {{at, at * 7919 % 1001, 3, at % 17, -at, at * 31 % 977}};
}

template <class T>
std::vector<T> values_of(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value_at<T>(i);
  return values;
}

class Runs : public Calls {
 protected:
  // All calls, of runs of one length.
  template <class Key, class Value, class Op>
  void expect_right(std::size_t n, int length, std::size_t offset, Op op) {
    SCOPED_TRACE(testing::Message() << n << " items, runs of " << length << ", offset " << offset);
    const std::vector<Key> keys = in_runs<Key>(n, length, key_of_run<Key>);
    const std::vector<Value> values = values_of<Value>(n);
    const Value init = value_at<Value>(4711);
    std::vector<Key> unique;
    std::vector<Value> aggregates, inclusive(n), exclusive(n);
    std::vector<long long> begins, lengths;
    for (std::size_t i = 0; i < n; ++i) {
      const bool begins_run = i == 0 || !(keys[i] == keys[i - 1]);
      exclusive[i] = begins_run ? init : op(init, aggregates.back());
      if (begins_run) {
        unique.push_back(keys[i]);
        aggregates.push_back(values[i]);
        begins.push_back(static_cast<long long>(i));
        lengths.push_back(1);
      } else {
        aggregates.back() = op(aggregates.back(), values[i]);
        ++lengths.back();
      }
      inclusive[i] = aggregates.back();
    }
    std::vector<long long> longer_begins, longer_lengths;
    for (std::size_t r = 0; r < lengths.size(); ++r)
      if (lengths[r] > 1) {
        longer_begins.push_back(begins[r]);
        longer_lengths.push_back(lengths[r]);
      }

    const guarded<Key> d_keys(keys, offset);
    const guarded<Value> d_values(values, offset);
    outputs<Key> out_keys(n, offset == 0 ? 0 : 3);
    outputs<Value> out(n, offset);
    outputs<long long> out_begins(n, 0), out_lengths(n, offset);
    outputs<unsigned> num(1, 0);
    const Key* const in_keys = d_keys.data();
    const Value* const in_values = d_values.data();

    run([&](auto&&... storage) {
      return DeviceReduce::ReduceByKey(storage..., in_keys, out_keys.data(), in_values, out.data(), num.data(), op, n);
    });
    num.expect({static_cast<unsigned>(unique.size())});
    out_keys.expect(unique);
    out.expect(aggregates);
    run([&](auto&&... storage) {
      return DeviceScan::InclusiveScanByKey(storage..., in_keys, in_values, out.data(), op, n);
    });
    out.expect(inclusive);
    run([&](auto&&... storage) {
      return DeviceScan::ExclusiveScanByKey(storage..., in_keys, in_values, out.data(), op, init, n);
    });
    out.expect(exclusive);
    run([&](auto&&... storage) {
      return DeviceRunLengthEncode::Encode(storage..., in_keys, out_keys.data(), out_lengths.data(), num.data(), n);
    });
    num.expect({static_cast<unsigned>(unique.size())});
    out_keys.expect(unique);
    out_lengths.expect(lengths);
    run([&](auto&&... storage) {
      return DeviceRunLengthEncode::NonTrivialRuns(storage..., in_keys, out_begins.data(), out_lengths.data(),
                                                   num.data(), n);
    });
    num.expect({static_cast<unsigned>(longer_begins.size())});
    out_begins.expect(longer_begins);
    out_lengths.expect(longer_lengths);

    run([&](auto&&... storage) {
      return DeviceScan::ExclusiveScanByKey(storage..., in_keys, in_values, d_values.data(), op, init, n);
    });
    expect_there(d_values, exclusive, "over the values");
    if constexpr (std::is_same_v<Key, Value>) {
      const guarded<Value> again(values, offset);
      run([&](auto&&... storage) {
        return DeviceScan::InclusiveScanByKey(storage..., in_keys, static_cast<const Value*>(again.data()),
                                              d_keys.data(), op, n);
      });
      expect_there(d_keys, inclusive, "over the keys");
    }
  }

  template <class Key, class Value, class Op>
  void expect_right_everywhere(Op op) {
    for (const std::size_t n : around_tiles)
      for (const int length : run_lengths)
        for (const std::size_t offset : {0, 1}) {
          const bool is_shifted = length == 16 || length == -700;
          if (offset == 1 && !is_shifted) continue;
          if (n > 20'000 && (offset == 1) != is_shifted) continue;
          expect_right<Key, Value>(n, length, offset, op);
          if (HasFatalFailure() || HasNonfatalFailure()) return;
        }
  }
};

TEST_F(Runs, KeysAndSumsOf4Bytes) { expect_right_everywhere<int, int>(plus{}); }
TEST_F(Runs, KeysOf8BytesAndSumsOfFloats) { expect_right_everywhere<long long, float>(plus{}); }
TEST_F(Runs, KeysOf1ByteAndMapsThatDoNotCommute) { expect_right_everywhere<unsigned char, affine>(compose{}); }
TEST_F(Runs, KeysOf12BytesAndValuesOf24) { expect_right_everywhere<bundle<3>, bundle<6>>(by_value{}); }

// Runs of many tiles and of many groups of tiles.
TEST_F(Runs, LongRuns) {
  for (const int length : {one_long_run, -1'000'000, 131'072}) {
    expect_right<int, int>((1 << 24) + 1, length, 0, plus{});
    expect_right<unsigned char, affine>((1 << 22) + 3, length, 0, compose{});
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// The most items that small tiles are for, and more: of run lengths, of sums by key and of scans by key.
TEST_F(Runs, SmallAndLargeTiles) {
  constexpr std::size_t most_wide_lengths = 1 << 16, most_lengths = 1 << 17, most_sums = 1 << 19, most_scans = 2 << 20;
  for (const std::size_t n : {most_wide_lengths, most_wide_lengths + 1, most_lengths, most_lengths + 1, most_sums,
                              most_sums + 1, most_scans, most_scans + 1, most_scans + 5'375})
    for (const int length : {1, -3, -700, -200'000, one_long_run}) {
      expect_right<int, int>(n, length, 0, plus{});
      expect_right<unsigned char, affine>(n, length, 1, compose{});
      expect_right<long long, double>(n, length, 0, plus{});
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
}

// As many as are taken in rounds, with pairs of 5 to 16 bytes.
TEST_F(Runs, ManyItems) {
  expect_right<int, int>((1 << 24) + 4'097, -50, 1, plus{});
  expect_right<unsigned char, float>(27'000'011, -50, 1, plus{});
  expect_right<unsigned char, long long>(15'000'013, -50, 1, plus{});
  expect_right<long long, int>((1 << 22) + 1, 2, 0, plus{});
  expect_right<long long, int>(12'000'011, -700, 0, plus{});
  expect_right<long long, long long>(9'000'001, 4, 1, plus{});
  expect_right<int, affine>(12'000'007, -50, 0, compose{});
}

// What every one of many calls makes of floats whose sums are rounded, at other places in memory, too; and how far it
// is from the sum in double precision, by the height that is promised.
TEST_F(Runs, RoundedSumsHaveTheSameBits) {
  struct shape {
    std::size_t n;
    int length;
  };
  constexpr std::size_t few = 500'003, more = 6'000'007, in_rounds = 17'000'003;
  for (const auto [n, length] : {shape{few, one_long_run}, shape{few, -30'000}, shape{few, -50},
                                 shape{more, one_long_run}, shape{more, -2'000'000}, shape{more, -30'000},
                                 shape{more, -50}, shape{in_rounds, one_long_run}, shape{in_rounds, -30'000}}) {
    SCOPED_TRACE(testing::Message() << n << " items, runs of " << length);
    const std::vector<int> keys = in_runs<int>(n, length, [](int run) { return run; });
    std::vector<float> values(n);
    std::mt19937 random(5);
    for (float& value : values) value = static_cast<float>(random() % 2'000'001) * 1e-3f - 900.0f;
    std::vector<float> first_sums, first_scan;
    for (const std::size_t offset : {0, 1, 0, 3, 0}) {
      const guarded<int> d_keys(keys, offset);
      const guarded<float> d_values(values, offset);
      device_vector<float> sums{std::vector<float>(n)}, scan{std::vector<float>(n)};
      run([&](auto&&... storage) {
        return DeviceReduce::ReduceByKey(storage..., d_keys.data(), discarding{}, d_values.data(), sums.items,
                                         discarding{}, plus{}, n);
      });
      run([&](auto&&... storage) {
        return DeviceScan::InclusiveSumByKey(storage..., d_keys.data(), d_values.data(), scan.items, n);
      });
      const auto sums_now = sums.read(n), scan_now = scan.read(n);
      if (first_sums.empty()) {
        first_sums = sums_now;
        first_scan = scan_now;
      }
      EXPECT_EQ(std::memcmp(sums_now.data(), first_sums.data(), n * sizeof(float)), 0) << "sums, offset " << offset;
      EXPECT_EQ(std::memcmp(scan_now.data(), first_scan.data(), n * sizeof(float)), 0) << "scan, offset " << offset;
    }
    double sum = 0, magnitudes = 0;
    std::size_t run = 0, of_run = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += values[i];
      magnitudes += values[i] < 0 ? -static_cast<double>(values[i]) : static_cast<double>(values[i]);
      ++of_run;
      const double bound = static_cast<double>(production::by_key_height(of_run)) * 6e-8 * magnitudes;
      ASSERT_NEAR(first_scan[i], sum, bound) << "item " << i;
      if (i + 1 < n && keys[i + 1] == keys[i]) continue;
      ASSERT_NEAR(first_sums[run], sum, bound) << "run " << run;
      ++run;
      sum = magnitudes = 0;
      of_run = 0;
    }
  }
}

// A call as GPUs take it whose blocks have too little shared memory for rounds.
template <class Call>
struct a_tile_a_block : Call {
  static constexpr bool suits_rounds = false;
};

// Many rounded sums of runs, by the kernel in rounds and by that of one tile a block.
template <class Key, class T, class Output>
void expect_same_bits_in_rounds(const std::vector<Key>& keys, const std::vector<T>& values, Output output) {
  using call_type =
      production::by_key<const Key*, const T*, T, decltype(device::as_folding<T>(plus{})), device::equal_items, Output>;
  static_assert(call_type::suits_rounds);
  const std::size_t n = keys.size();
  const guarded<Key> d_keys(keys, 0);
  const guarded<T> d_values(values, 0);
  device_vector<T> in_rounds{std::vector<T>(n)}, by_tiles{std::vector<T>(n)};
  const auto fill = [&](auto call, device_vector<T>& to) {
    if constexpr (call_type::is_scan)
      call.output.d_values_out = to.items;
    else
      call.output.d_aggregates_out = to.items;
    std::size_t bytes = 0;
    ASSERT_EQ(production::run_by_key(nullptr, bytes, call, nullptr), cudaSuccess);
    device_vector<char> storage{std::vector<char>(bytes)};
    ASSERT_EQ(production::run_by_key(storage.items, bytes, call, nullptr), cudaSuccess);
  };
  const call_type call{d_keys.data(), d_values.data(), n, device::as_folding<T>(plus{}), {}, output, true, true};
  fill(call, in_rounds);
  fill(a_tile_a_block<call_type>{call}, by_tiles);
  const auto expected = by_tiles.read(n);
  EXPECT_EQ(std::memcmp(in_rounds.read(n).data(), expected.data(), n * sizeof(T)), 0);
}

TEST_F(Runs, RoundsHaveTheBitsOfSingleTiles) {
  using production::of_runs;
  constexpr std::size_t n = 17'000'003, n_of_bytes = 27'000'011;
  for (const int length : {one_long_run, -2'000'000, -300, -5}) {
    SCOPED_TRACE(testing::Message() << "runs of " << length);
    const auto words = in_runs<int>(n, length, [](int run) { return run; });
    const auto bytes =
        in_runs<unsigned char>(n_of_bytes, length, [](int run) { return static_cast<unsigned char>(run); });
    const std::vector<long long> wide(words.begin(), words.end());
    std::vector<float> values_of_bytes(n_of_bytes);
    std::mt19937 random(6);
    for (float& value : values_of_bytes) value = static_cast<float>(random() % 2'000'001) * 1e-3f - 900.0f;
    const std::vector<float> values(values_of_bytes.begin(), values_of_bytes.begin() + n);
    const std::vector<double> wide_values(values.begin(), values.end()),
        wide_values_of_bytes(values_of_bytes.begin(), values_of_bytes.end());
    const auto as_reduced = [](auto* sums) {
      return production::runs_reduced<discarding, decltype(sums), discarding>{{}, sums, {}};
    };
    expect_same_bits_in_rounds(bytes, values_of_bytes, as_reduced(static_cast<float*>(nullptr)));
    expect_same_bits_in_rounds(bytes, wide_values_of_bytes, as_reduced(static_cast<double*>(nullptr)));
    expect_same_bits_in_rounds(wide, values, as_reduced(static_cast<float*>(nullptr)));
    expect_same_bits_in_rounds(wide, wide_values, as_reduced(static_cast<double*>(nullptr)));
    expect_same_bits_in_rounds(
        words, values, production::runs_scanned<of_runs::inclusive_scans, float*, float>{nullptr, 0, false, true});
    expect_same_bits_in_rounds(
        words, values, production::runs_scanned<of_runs::exclusive_scans, float*, float>{nullptr, 0.3f, false, true});
    expect_same_bits_in_rounds(
        wide, wide_values,
        production::runs_scanned<of_runs::exclusive_scans, double*, double>{nullptr, 0.3, false, true});
  }
}

// Keys, values and lengths from iterators, more than 2^31 of them.
struct of_a_million {
  __host__ __device__ int operator()(long long i) const { return static_cast<int>(i / 1'000'003); }
};
struct one {
  __host__ __device__ int operator()(long long) const { return 1; }
};
TEST_F(Runs, MoreThan2To31Items) {
  constexpr long long n = (1ll << 31) + 1;
  std::vector<int> keys, lengths;
  std::vector<long long> begins;
  for (long long first = 0; first < n; first += 1'000'003) {
    keys.push_back(of_a_million{}(first));
    lengths.push_back(static_cast<int>(n - first < 1'000'003 ? n - first : 1'000'003));
    begins.push_back(first);
  }
  outputs<int> out_keys(keys.size(), 0), out(keys.size(), 0);
  outputs<long long> out_begins(keys.size(), 0);
  outputs<unsigned> num(1, 0);
  run([&](auto&&... storage) {
    return DeviceReduce::ReduceByKey(storage..., made<of_a_million>{}, out_keys.data(), made<one>{}, out.data(),
                                     num.data(), plus{}, n);
  });
  num.expect({static_cast<unsigned>(keys.size())});
  out_keys.expect(keys);
  out.expect(lengths);
  run([&](auto&&... storage) {
    return DeviceRunLengthEncode::NonTrivialRuns(storage..., made<of_a_million>{}, out_begins.data(), out.data(),
                                                 num.data(), n);
  });
  num.expect({static_cast<unsigned>(keys.size())});
  out_begins.expect(begins);
  out.expect(lengths);
}

}  // namespace
}  // namespace rungs::tests
