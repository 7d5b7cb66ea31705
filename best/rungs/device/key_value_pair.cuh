// What CUB's older ArgMin and ArgMax write: the index as key. And the operators by which kernels reduce such pairs.
#pragma once

#include <type_traits>
#include <utility>

#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI {

template <class KeyT, class ValueT>
struct KeyValuePair {
  using Key = KeyT;
  using Value = ValueT;

  Key key;
  Value value;

  KeyValuePair() = default;
  __host__ __device__ KeyValuePair(const Key& key, const Value& value) : key(key), value(value) {}

  __host__ __device__ bool operator!=(const KeyValuePair& other) const {
    return value != other.value || key != other.key;
  }
};

// The pair of the less, or greater, value; of equals that of the smaller key. A NaN is what the comparisons make of it.
struct ArgMin {
  template <class Value, class Key>
  __host__ __device__ KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a,
                                                          const KeyValuePair<Key, Value>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMax {
  template <class Value, class Key>
  __host__ __device__ KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a,
                                                          const KeyValuePair<Key, Value>& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

namespace device {

template <class Pair, class = void>
inline constexpr bool has_key = false;
template <class Pair>
inline constexpr bool has_key<Pair, std::void_t<decltype(std::declval<Pair>().key, std::declval<Pair>().value)>> = true;
template <class Pair, class = void>
inline constexpr bool has_first = false;
template <class Pair>
inline constexpr bool has_first<Pair, std::void_t<decltype(std::declval<Pair>().first, std::declval<Pair>().second)>> =
    true;

// Sets the members key and value; or first and second, as pairs of cuda::std and thrust have them.
template <class Pair, class T>
__device__ void set_pair(Pair& pair, long long key, const T& value) {
  static_assert(has_key<Pair> || has_first<Pair>,
                "d_out of ArgMin and ArgMax takes rungs::KeyValuePair, cub::KeyValuePair, cuda::std::pair, or another "
                "struct with the members key and value, or first and second");
  if constexpr (has_key<Pair>) {
    pair.key = static_cast<decltype(pair.key)>(key);
    pair.value = value;
  } else if constexpr (has_first<Pair>) {
    pair.first = static_cast<decltype(pair.first)>(key);
    pair.second = value;
  }
}

}  // namespace device

}  // namespace rungs::RUNGS_ABI
