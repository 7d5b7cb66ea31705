// rungs::DeviceSelect and rungs::DevicePartition against loops on the host, bit for bit.
#include <rungs/device/device_partition.cuh>
#include <rungs/device/device_select.cuh>

#include <algorithm>

#include "by_key/support.cuh"

namespace rungs::tests {
namespace {

template <class T>
__host__ __device__ T numbered(int number) {
  return static_cast<T>(number);
}
template <>
__host__ __device__ bundle<6> numbered(int number) {
  return {{number, 1, 2, 3, number * 7, -number}};
}
template <>
__host__ __device__ bundle<4> numbered(int number) {
  return {{number, -number, 5, number * 3}};
}
template <class T>
__host__ __device__ int number_of(const T& item) {
  return static_cast<int>(item);
}
template <int num_values>
__host__ __device__ int number_of(const bundle<num_values>& item) {
  return item.values[0];
}

struct is_chosen {
  template <class T>
  __host__ __device__ bool operator()(const T& item) const {
    return number_of(item) % 3 == 1;
  }
};
struct is_even {
  template <class T>
  __host__ __device__ bool operator()(const T& item) const {
    return number_of(item) % 2 == 0;
  }
};
struct same_number {
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const {
    return number_of(a) == number_of(b);
  }
};
struct is_seven {
  __host__ __device__ bool operator()(short flag) const { return flag == 7; }
};

// Which items are chosen: all, none, one of many, any, and runs of those that are and are not.
enum class pattern { all, none, few, random, runs, alternating };
constexpr pattern patterns[] = {pattern::all,    pattern::none, pattern::few,
                                pattern::random, pattern::runs, pattern::alternating};

template <class T>
std::vector<T> items_of(std::size_t num_items, pattern how) {
  std::mt19937 random(static_cast<unsigned>(num_items) + static_cast<unsigned>(how));
  std::vector<T> items(num_items);
  for (std::size_t i = 0; i < num_items; ++i) {
    const int any = static_cast<int>(random() % 40), chosen = any * 3 + 1, other = any * 3;
    const bool is_it = how == pattern::all      ? true
                       : how == pattern::none   ? false
                       : how == pattern::few    ? i % 4999 == 4998
                       : how == pattern::random ? random() % 2 == 0
                       : how == pattern::runs   ? i / 700 % 2 == 1
                                                : i % 2 == 1;
    items[i] = numbered<T>(how == pattern::runs ? (is_it ? 1 : 0) : is_it ? chosen : other);
  }
  return items;
}

class Select : public Calls {
 protected:
  template <class T>
  void expect_right(std::size_t n, pattern how, std::size_t offset) {
    SCOPED_TRACE(testing::Message() << n << " items of " << sizeof(T) << " bytes, pattern " << static_cast<int>(how)
                                    << ", offset " << offset);
    const std::vector<T> items = items_of<T>(n, how);
    std::vector<char> flags(n);
    std::vector<short> numbers(n);
    std::vector<T> chosen, others, firsts;
    std::vector<long long> values(n), first_values;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_it = is_chosen{}(items[i]);
      (is_it ? chosen : others).push_back(items[i]);
      flags[i] = is_it ? static_cast<char>(1 + i % 100) : 0;
      numbers[i] = is_it ? 7 : 6;
      values[i] = static_cast<long long>(i) * 5 - 3;
      if (i == 0 || !(items[i] == items[i - 1])) firsts.push_back(items[i]), first_values.push_back(values[i]);
    }
    const guarded<T> in(items, offset);
    const guarded<char> d_flags(flags, offset);
    const guarded<short> d_numbers(numbers, offset);
    const guarded<long long> d_values(values, offset);
    outputs<T> out(n, offset == 0 ? 0 : 3);
    outputs<long long> out_values(n, offset);
    outputs<unsigned long long> num(1, 0);
    const auto expect = [&](const std::vector<T>& front, const std::vector<T>& reversed = {}) {
      num.expect({front.size()});
      out.expect(front, reversed);
    };

    run([&](auto&&... storage) {
      return DeviceSelect::If(storage..., in.data(), out.data(), num.data(), n, is_chosen{});
    });
    expect(chosen);
    run([&](auto&&... storage) {
      return DeviceSelect::Flagged(storage..., in.data(), d_flags.data(), out.data(), num.data(), n);
    });
    expect(chosen);
    run([&](auto&&... storage) {
      return DeviceSelect::FlaggedIf(storage..., in.data(), d_numbers.data(), out.data(), num.data(), n, is_seven{});
    });
    expect(chosen);
    run([&](auto&&... storage) { return DeviceSelect::Unique(storage..., in.data(), out.data(), num.data(), n); });
    expect(firsts);
    run([&](auto&&... storage) {
      return DeviceSelect::Unique(storage..., in.data(), out.data(), num.data(), n, same_number{});
    });
    expect(firsts);
    run([&](auto&&... storage) {
      return DeviceSelect::UniqueByKey(storage..., in.data(), d_values.data(), out.data(), out_values.data(),
                                       num.data(), n);
    });
    expect(firsts);
    out_values.expect(first_values);
    run([&](auto&&... storage) {
      return DevicePartition::If(storage..., in.data(), out.data(), num.data(), n, is_chosen{});
    });
    expect(chosen, others);
    run([&](auto&&... storage) {
      return DevicePartition::Flagged(storage..., in.data(), d_flags.data(), out.data(), num.data(), n);
    });
    expect(chosen, others);

    // In three parts, of which the second one has what the first one has left.
    std::vector<T> even, odd;
    for (const T& item : others) (is_even{}(item) ? even : odd).push_back(item);
    outputs<T> out_even(n, 1), out_odd(n, offset);
    outputs<unsigned> nums(2, 0);
    run([&](auto&&... storage) {
      return DevicePartition::If(storage..., in.data(), out.data(), out_even.data(), out_odd.data(), nums.data(), n,
                                 is_chosen{}, is_even{});
    });
    nums.expect({static_cast<unsigned>(chosen.size()), static_cast<unsigned>(even.size())});
    out.expect(chosen);
    out_even.expect(even);
    out_odd.expect(odd);

    // In place, what lies behind the chosen items may be anything.
    const auto expect_in_place = [&](const std::vector<T>& expected, auto call) {
      const guarded<T> data(items, offset);
      run([&](auto&&... storage) { return call(data.data(), storage...); });
      num.expect({expected.size()});
      expect_there(data, expected, "in place");
    };
    expect_in_place(chosen, [&](T* d_data, auto&&... storage) {
      return DeviceSelect::If(storage..., d_data, num.data(), n, is_chosen{}, nullptr);
    });
    expect_in_place(chosen, [&](T* d_data, auto&&... storage) {
      return DeviceSelect::Flagged(storage..., d_data, d_flags.data(), num.data(), n, nullptr);
    });
    expect_in_place(chosen, [&](T* d_data, auto&&... storage) {
      return DeviceSelect::FlaggedIf(storage..., d_data, d_numbers.data(), num.data(), n, is_seven{}, nullptr);
    });
    expect_in_place(
        firsts, [&](T* d_data, auto&&... storage) { return DeviceSelect::Unique(storage..., d_data, num.data(), n); });
    expect_in_place(firsts, [&](T* d_data, auto&&... storage) {
      return DeviceSelect::Unique(storage..., d_data, num.data(), n, same_number{}, nullptr);
    });
  }

  // Partitions alone, without the host's copies for the other calls.
  template <class T>
  void expect_parted(std::size_t n, pattern how, std::size_t offset) {
    SCOPED_TRACE(testing::Message() << n << " items of " << sizeof(T) << " bytes, pattern " << static_cast<int>(how)
                                    << ", offset " << offset);
    const std::vector<T> items = items_of<T>(n, how);
    std::vector<char> flags(n);
    std::vector<T> chosen, others;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_it = is_chosen{}(items[i]);
      (is_it ? chosen : others).push_back(items[i]);
      flags[i] = is_it ? static_cast<char>(1 + i % 100) : 0;
    }
    const guarded<T> in(items, offset);
    const guarded<char> d_flags(flags, offset);
    outputs<T> out(n, offset == 0 ? 0 : 3);
    outputs<unsigned long long> num(1, 0);
    run([&](auto&&... storage) {
      return DevicePartition::If(storage..., in.data(), out.data(), num.data(), n, is_chosen{});
    });
    num.expect({chosen.size()});
    out.expect(chosen, others);
    run([&](auto&&... storage) {
      return DevicePartition::Flagged(storage..., in.data(), d_flags.data(), out.data(), num.data(), n);
    });
    num.expect({chosen.size()});
    out.expect(chosen, others);
  }

  template <class T>
  void expect_right_everywhere() {
    for (const std::size_t n : around_tiles)
      for (const pattern how : patterns)
        for (const std::size_t offset : {0, 1}) {
          if (offset == 1 && how != pattern::random && how != pattern::runs) continue;
          if (n > 20'000 && (offset == 1) != (how == pattern::random)) continue;
          expect_right<T>(n, how, offset);
          if (HasFatalFailure() || HasNonfatalFailure()) return;
        }
  }
};

TEST_F(Select, ItemsOf1Byte) { expect_right_everywhere<signed char>(); }
TEST_F(Select, ItemsOf4Bytes) { expect_right_everywhere<int>(); }
TEST_F(Select, ItemsOf8Bytes) { expect_right_everywhere<long long>(); }
TEST_F(Select, ItemsOf24Bytes) { expect_right_everywhere<bundle<6>>(); }

// As many as are taken in rounds.
TEST_F(Select, ManyItems) {
  expect_right<int>((1 << 24) + 1, pattern::random, 0);
  expect_right<int>((1 << 24) + 12'345, pattern::runs, 1);
  expect_right<long long>((1 << 23) + 7, pattern::few, 0);
  expect_right<bundle<4>>((1 << 22) + 3'071, pattern::runs, 0);
}

TEST_F(Select, PartitionsOfManyBytes) {
  constexpr std::size_t least = 64 << 20;
  expect_parted<unsigned char>(least - 1, pattern::random, 0);
  expect_parted<unsigned char>(least, pattern::random, 0);
  expect_parted<signed char>(least + 1, pattern::runs, 1);
  expect_parted<signed char>(least + 24'575, pattern::random, 1);
  expect_parted<unsigned char>(least + 12'345, pattern::few, 0);
  expect_parted<unsigned char>(least + 7, pattern::all, 1);
  expect_parted<signed char>(least + 3'071, pattern::none, 1);
}

// Flags that are the items themselves, where both are replaced.
TEST_F(Select, FlagsInPlace) {
  constexpr std::size_t n = 300'007;
  const std::vector<int> items = items_of<int>(n, pattern::random);
  std::vector<int> chosen;
  for (const int item : items)
    if (item != 0) chosen.push_back(item);
  const guarded<int> data(items, 0);
  outputs<unsigned long long> num(1, 0);
  run([&](auto&&... storage) { return DeviceSelect::Flagged(storage..., data.data(), data.data(), num.data(), n); });
  num.expect({chosen.size()});
  expect_there(data, chosen, "in place");
}

TEST_F(Select, UniqueByAnOperator) {
  constexpr std::size_t n = 100'003;
  std::vector<int> keys(n), first_keys, first_values;
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<int>(i * 3 / 4);
  for (std::size_t i = 0; i < n; ++i)
    if (i == 0 || keys[i] / 10 != keys[i - 1] / 10) {
      first_keys.push_back(keys[i]);
      first_values.push_back(-keys[i]);
    }
  std::vector<int> values(n);
  std::transform(keys.begin(), keys.end(), values.begin(), [](int key) { return -key; });
  const guarded<int> d_keys(keys, 0), d_values(values, 0);
  outputs<int> out_keys(n, 0), out_values(n, 0);
  outputs<unsigned long long> num(1, 0);
  run([&](auto&&... storage) {
    return DeviceSelect::UniqueByKey(storage..., d_keys.data(), d_values.data(), out_keys.data(), out_values.data(),
                                     num.data(), n, same_tens{});
  });
  num.expect({first_keys.size()});
  out_keys.expect(first_keys);
  out_values.expect(first_values);
  run([&](auto&&... storage) {
    return DeviceSelect::Unique(storage..., d_keys.data(), out_keys.data(), num.data(), n, same_tens{});
  });
  num.expect({first_keys.size()});
  out_keys.expect(first_keys);
}

struct squared {
  __host__ __device__ long long operator()(long long i) const { return i * i % 1009; }
};
struct is_small {
  __host__ __device__ bool operator()(long long item) const { return item < 300; }
};
TEST_F(Select, IteratorsThatAreNoPointers) {
  constexpr std::size_t n = 200'003;
  std::vector<int> expected;
  for (std::size_t i = 0; i < n; ++i)
    if (const long long item = squared{}(static_cast<long long>(i)); item < 300)
      expected.push_back(-static_cast<int>(item));
  outputs<int> out(n, 0);
  outputs<unsigned long long> num(1, 0);
  run([&](auto&&... storage) {
    return DeviceSelect::If(storage..., made<squared>{}, negating{out.data()}, num.data(), n, is_small{});
  });
  num.expect({expected.size()});
  out.expect(expected);
  run([&](auto&&... storage) {
    return DeviceSelect::If(storage..., made<squared>{}, discarding{}, num.data(), n, is_small{});
  });
  num.expect({expected.size()});
  run([&](auto&&... storage) {
    return DeviceSelect::If(storage..., made<squared>{}, negating{out.data()}, discarding{}, n, is_small{});
  });
  out.expect(expected);
}

// Bytes that are made and go to an iterator, as many as are taken in rounds.
struct digit {
  __host__ __device__ unsigned char operator()(long long i) const { return static_cast<unsigned char>(i * i % 10); }
};
struct is_small_digit {
  __host__ __device__ bool operator()(unsigned char item) const { return item < 5; }
};
TEST_F(Select, ManyBytesThroughIterators) {
  constexpr std::size_t n = (64 << 20) + 5;
  std::vector<int> chosen, others;
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned char item = digit{}(static_cast<long long>(i));
    (is_small_digit{}(item) ? chosen : others).push_back(-static_cast<int>(item));
  }
  outputs<int> out(n, 0);
  outputs<unsigned long long> num(1, 0);
  run([&](auto&&... storage) {
    return DevicePartition::If(storage..., made<digit>{}, negating{out.data()}, num.data(), n, is_small_digit{});
  });
  num.expect({chosen.size()});
  out.expect(chosen, others);
}

// More than 2^31 items: chosen ones at known places, and all of them.
struct itself {
  __host__ __device__ long long operator()(long long i) const { return i; }
};
struct is_marked {
  __host__ __device__ bool operator()(long long i) const { return i % 10'000'019 == 12'345; }
};
struct low_byte {
  __host__ __device__ unsigned char operator()(long long i) const {
    return static_cast<unsigned char>(i * 2654435761ll >> 17);
  }
};
struct any_byte {
  __host__ __device__ bool operator()(unsigned char) const { return true; }
};
TEST_F(Select, MoreThan2To31Items) {
  constexpr long long n = (1ll << 31) + 1;
  std::vector<long long> expected;
  for (long long i = 12'345; i < n; i += 10'000'019) expected.push_back(i);
  outputs<long long> out(1000, 0);
  outputs<unsigned long long> num(1, 0);
  run([&](auto&&... storage) {
    return DeviceSelect::If(storage..., made<itself>{}, out.data(), num.data(), n, is_marked{});
  });
  num.expect({expected.size()});
  out.expect(expected);

  unsigned char* bytes = nullptr;
  if (cudaMalloc(&bytes, n) != cudaSuccess) {
    cudaGetLastError();
    GTEST_SKIP() << "not enough memory for 2 GiB";
  }
  run([&](auto&&... storage) {
    return DeviceSelect::If(storage..., made<low_byte>{}, bytes, num.data(), n, any_byte{});
  });
  num.expect({static_cast<unsigned long long>(n)});
  constexpr long long part = 1 << 20;
  std::vector<unsigned char> got(part);
  for (const long long first : {0ll, (1ll << 30) - part / 2, n - part}) {
    ASSERT_EQ(cudaMemcpy(got.data(), bytes + first, part, cudaMemcpyDeviceToHost), cudaSuccess);
    long long wrong = 0;
    for (long long i = 0; i < part; ++i) wrong += got[static_cast<std::size_t>(i)] != low_byte{}(first + i);
    EXPECT_EQ(wrong, 0) << "from " << first;
  }
  cudaFree(bytes);
}

}  // namespace
}  // namespace rungs::tests
