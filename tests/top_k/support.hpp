// What the tests of top-k share: memory between canaries, keys of every kind, and the order as C++ says it.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "gpu_test.hpp"

namespace rungs::tests {

enum class keys_are { random, equal, few, ascending, descending, special, bits, one_share, clumpy, parted };
inline const char* name_of(keys_are kind) {
  constexpr const char* names[] = {"random",  "equal", "few",       "ascending", "descending",
                                   "special", "bits",  "one_share", "clumpy",    "parted"};
  return names[static_cast<int>(kind)];
}

template <class T>
T key_of_bits(std::uint32_t bits) {
  const std::uint64_t word = std::uint64_t{bits} << 32 | bits * 0x9e3779b1u;
  T key;
  std::memcpy(&key, reinterpret_cast<const unsigned char*>(&word) + (8 - sizeof(T)), sizeof(T));  // the upper ones
  return key;
}
template <class T>
T key_of_value(double value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr std::uint64_t half = std::uint64_t{1} << (8 * sizeof(T) - 1);
    constexpr long long most = static_cast<long long>(half - 1);
    const long long within = std::min(std::max(static_cast<long long>(value), -most - 1), most);
    return static_cast<T>(static_cast<std::uint64_t>(within) + (std::is_signed_v<T> ? 0 : half));
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

// Few of them are equal, unless there are more than a key has values, or it is said.
template <class T>
std::vector<T> make_keys(keys_are kind, std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  constexpr bool is_float = !std::is_integral_v<T>;
  constexpr double spread = is_float ? 4 : sizeof(T) >= 4 ? 1e6 : sizeof(T) == 2 ? 1e4 : 40;
  constexpr double unit = is_float ? 1 : sizeof(T) >= 4 ? 1 << 20 : sizeof(T) == 2 ? 1 << 11 : 1 << 3;
  std::normal_distribution<double> normal(0, spread);
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<T> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    switch (kind) {
      case keys_are::random:
        keys[i] = key_of_value<T>(normal(engine));
        break;
      case keys_are::equal:
        keys[i] = key_of_value<T>(7);
        break;
      case keys_are::few:
        keys[i] = key_of_value<T>(static_cast<double>(engine() % 3) - 1);
        break;
      case keys_are::ascending:
        keys[i] = key_of_value<T>(static_cast<double>(i) - static_cast<double>(n) / 2);
        break;
      case keys_are::descending:
        keys[i] = key_of_value<T>(static_cast<double>(n) / 2 - static_cast<double>(i));
        break;
      case keys_are::special: {
        if constexpr (is_float) {
          const double values[] = {0.0, -0.0, inf, -inf, 1.0, -1.0, std::ldexp(1, -130), -std::ldexp(1, -130)};
          const unsigned which = engine() % 10;
          keys[i] = which < 8 ? key_of_value<T>(values[which]) : key_of_bits<T>(which == 8 ? 0x7fffffff : 0xffff1234);
        } else {
          const std::uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
          keys[i] = key_of_bits<T>(values[engine() % 6]);
        }
        break;
      }
      case keys_are::one_share: {  // the greatest and the least in the same 512 bytes of each 8 KB
        const double value = normal(engine);
        const bool stands_out = i * sizeof(T) / 512 % 16 == 3;
        keys[i] = key_of_value<T>(stands_out ? 50 * value : value);
        break;
      }
      case keys_are::clumpy:  // in few powers of two, a quarter of them beside each other
        keys[i] =
            key_of_value<T>((engine() % 4 == 0 ? 7 + engine() % 4096 / 65536.0 : engine() % 8'192 / 1024.0) * unit);
        break;
      case keys_are::parted: {  // the first third are equal but for few, the others random
        const double value = normal(engine) * (4 / spread);
        keys[i] = key_of_value<T>((i >= n / 3 ? value : i % 997 == 5 ? 13 : 12) * unit);
        break;
      }
      case keys_are::bits:
        keys[i] = key_of_bits<T>(engine());
        break;
    }
  }
  return keys;
}

// Whether a comes before b among the greatest: 1, before among the least: -1, or they are equal.
template <class T>
int compare_keys(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a > b ? 1 : a < b ? -1 : 0;
  } else {
    using number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const number x = static_cast<number>(a), y = static_cast<number>(b);
    if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
    return x > y ? 1 : x < y ? -1 : 0;
  }
}
template <class T>
bool comes_before(const T* keys, std::size_t a, std::size_t b, bool greatest) {
  const int order = compare_keys(keys[a], keys[b]);
  return order != 0 ? (order > 0) == greatest : a < b;
}

// The indices of the first k of the order.
template <class T>
std::vector<std::size_t> expected_indices(const T* keys, std::size_t n, std::size_t k, bool greatest) {
  std::vector<std::size_t> indices(n);
  std::iota(indices.begin(), indices.end(), std::size_t(0));
  const auto before = [=](std::size_t a, std::size_t b) { return comes_before(keys, a, b, greatest); };
  const auto end = indices.begin() + static_cast<std::ptrdiff_t>(k);
  if (k < n) std::nth_element(indices.begin(), end, indices.end(), before);
  std::sort(indices.begin(), end, before);
  indices.resize(k);
  return indices;
}

}  // namespace rungs::tests
