// The items of the fuzzer's calls, made from a counter alike on the host and on the device; the operators that users
// write; and what these mean, as the host computes it.
//
// Signed numbers and floats are so small that no sum leaves what is exact: 2^23 for floats, the type for integers. Sums
// that saturate are of numbers that are not negative, for only then does their order not matter.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "fuzz/draw.hpp"
#include "rungs/operators.cuh"

namespace rungs::fuzz {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using i128 = __int128;
using u128 = unsigned __int128;
using f16 = __half;
using bf16 = __nv_bfloat16;

enum tiny : signed char {};

// A number with a unit: converts to int and from int, and has no operators of its own.
struct celsius {
  signed char degrees;
  celsius() = default;
  __host__ __device__ celsius(int value) : degrees(static_cast<signed char>(value)) {}
  __host__ __device__ operator int() const { return degrees; }
};

template <class Member, int count>
struct pack {
  Member values[count];
};
template <class T>
inline constexpr bool is_pack = false;
template <class Member, int count>
inline constexpr bool is_pack<pack<Member, count>> = true;

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_short_float<T>;
template <class T>  // which the traits of the standard library may not know
inline constexpr bool has_128_bits = std::is_same_v<T, i128> || std::is_same_v<T, u128>;

// --- items

__host__ __device__ inline unsigned long long scrambled(unsigned long long seed, unsigned long long counter) {
  unsigned long long z = seed + (counter + 1) * 0x9e3779b97f4a7c15ull;  // as mixed()
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

// Which numbers a call takes: any, those whose sum is exact, or those that are not negative.
enum numbers : unsigned char { any_numbers, summable_numbers, natural_numbers };

// How the items of a call are made.
struct recipe {
  unsigned long long seed, pattern, num_items, fixed;  // fixed: of computed inputs, the same for every replay
  numbers taken;
};

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
template <class T>
inline constexpr unsigned long long largest = static_cast<unsigned long long>(std::numeric_limits<T>::max());

template <class T>
__host__ __device__ T special_float(unsigned long long bits) {
  switch (bits % 64) {
    case 0:
      return static_cast<T>(infinity);
    case 1:
      return static_cast<T>(-infinity);
    case 2:
    case 3:
    case 4:
      return static_cast<T>(0.0f);
    case 5:
    case 6:
    case 7:
      return static_cast<T>(-0.0f);
    case 8:
      return (bits >> 32) % 512 == 0 ? static_cast<T>(not_a_number) : static_cast<T>(-1.0f);
    case 10:
      return static_cast<T>(6e-8f);
    default:
      return static_cast<T>(static_cast<float>(static_cast<int>(bits >> 8 & 15) - 8));
  }
}

// An integer in [-most, most], seldom other than 0 where there are very many.
__host__ __device__ inline long long bounded(unsigned long long bits, unsigned long long num_items,
                                             unsigned long long budget, unsigned long long cap) {
  unsigned long long most = num_items == 0 ? cap : budget / num_items;
  if (most == 0) {
    if ((bits >> 40) % 32 != 0) return 0;
    most = 1;
  }
  if (most > cap) most = cap;
  return static_cast<long long>(bits % (2 * most + 1)) - static_cast<long long>(most);
}

// Of some calls few numbers are not 0, and of some all are small. So sums saturate at once, late or never.
template <class T>
__host__ __device__ T natural_of(unsigned long long bits, const recipe& recipe, bool is_small) {
  const unsigned long long one_in = 1ull << recipe.seed % 13;
  if (bits >> 40 & (one_in - 1)) return T{};
  return is_small ? T{1} : static_cast<T>((bits & largest<T>) >> (recipe.seed >> 8) % (8 * sizeof(T)));
}

// Less than 2^24 signed ones have a sum.
template <class T>
__host__ __device__ T number_of_128_bits(unsigned long long bits, const recipe& recipe) {
  const T number = static_cast<T>(static_cast<u128>(bits) << 64 | scrambled(bits, 1));
  return std::is_same_v<T, i128> && recipe.taken == summable_numbers ? number >> 25 : number;
}

template <class T>
__host__ __device__ T number_of(unsigned long long bits, const recipe& recipe, bool is_small) {
  if constexpr (is_float<T>) {
    const unsigned long long cap = is_small ? 2 : std::is_same_v<T, bf16> ? 256 : 1000;
    return static_cast<T>(static_cast<float>(bounded(bits, recipe.num_items, 1ull << 23, cap)));
  } else if constexpr (std::is_same_v<T, celsius>) {
    return celsius(static_cast<int>(bounded(bits, recipe.num_items, 1ull << 30, is_small ? 2 : 127)));
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(bounded(bits, recipe.num_items, 1ull << 30, is_small ? 2 : 127));
  } else if constexpr (has_128_bits<T>) {
    return is_small ? static_cast<T>(bits % 5) : number_of_128_bits<T>(bits, recipe);
  } else if (sizeof(T) <= 2 && recipe.taken == natural_numbers) {
    return natural_of<T>(bits, recipe, is_small);
  } else if (is_small) {
    return static_cast<T>(bits % 5);
  } else if constexpr (std::is_signed_v<T>) {
    if (recipe.taken == summable_numbers)
      return static_cast<T>(bounded(bits, recipe.num_items, sizeof(T) == 8 ? 1ull << 61 : 1ull << 30,
                                    largest<T> < 1ull << 40 ? largest<T> : 1ull << 40));
    return static_cast<T>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
__host__ __device__ T item_of_bits(unsigned long long bits, const recipe& recipe, bool is_small) {
  if constexpr (is_pack<T>) {
    T item;
    constexpr int count = sizeof(T) / sizeof(item.values[0]);
    for (int k = 0; k < count; ++k)
      item.values[k] = static_cast<std::decay_t<decltype(item.values[0])>>(
          is_small ? scrambled(bits, static_cast<unsigned long long>(k)) % 3
                   : scrambled(bits, static_cast<unsigned long long>(k)));
    return item;
  } else if constexpr (std::is_same_v<T, affine>) {
    return {static_cast<unsigned>(bits) | 1u, static_cast<unsigned>(bits >> 32)};
  } else {
    return number_of<T>(bits, recipe, is_small);
  }
}

template <class T>
__host__ __device__ T make(const recipe& recipe, unsigned long long i) {
  unsigned long long bits = scrambled(recipe.seed, i);
  switch (recipe.pattern) {
    case constant_values:
      bits = scrambled(recipe.seed, 0);
      break;
    case one_spike:
      if (recipe.num_items == 0 || i != recipe.seed % recipe.num_items) bits = 0x5851f42d4c957f2dull;
      break;
    case ascending_values:
      bits = i;
      break;
    case special_values:
      if constexpr (is_float<T>) return special_float<T>(bits);
      break;
    default:
      break;
  }
  return item_of_bits<T>(bits, recipe, recipe.pattern == small_values);
}

// --- operators as users write them

struct bit_xor_functor {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return static_cast<T>(a ^ b);
  }
};

// Of numbers that are not negative; and the same with an identity, by which rungs may pad.
struct saturating_plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    constexpr int most = static_cast<int>(largest<T>);
    const int sum = a + b;
    return static_cast<T>(sum > most ? most : sum);
  }
};
struct saturating_plus_from_zero : saturating_plus {
  template <class T>
  static __host__ __device__ constexpr T identity() {
    return T{};
  }
};

// Its call operator promises nothing.
struct changing_maximum {
  unsigned num_calls = 0;
  template <class T>
  __host__ __device__ T operator()(T a, T b) {
    ++num_calls;
    return a < b ? b : a;
  }
};

// Member by member a sum, a maximum, a minimum and an exclusive or.
struct by_member {
  template <class Member, int count>
  __host__ __device__ pack<Member, count> operator()(pack<Member, count> a, const pack<Member, count>& b) const {
    for (int k = 0; k < count; ++k) {
      const Member x = a.values[k], y = b.values[k];
      a.values[k] = static_cast<Member>(k % 4 == 0   ? x + y
                                        : k % 4 == 1 ? (x < y ? y : x)
                                        : k % 4 == 2 ? (y < x ? y : x)
                                                     : x ^ y);
    }
    return a;
  }
};

// Does not commute: the last member is the one of whichever stands behind.
struct by_member_in_order {
  template <class Member, int count>
  __host__ __device__ pack<Member, count> operator()(const pack<Member, count>& a, const pack<Member, count>& b) const {
    pack<Member, count> both = by_member{}(a, b);
    both.values[count - 1] = b.values[count - 1];
    return both;
  }
};

struct square {
  __host__ __device__ i64 operator()(i32 x) const { return static_cast<i64>(x % 1024) * (x % 1024); }
};
struct doubled {
  __host__ __device__ i32 operator()(i32 x) const { return 2 * x; }
};
struct low_byte {
  __host__ __device__ u32 operator()(u64 x) const { return static_cast<u32>(x * 2654435761u >> 7 & 255); }
};
struct to_float {
  __host__ __device__ float operator()(f16 x) const { return static_cast<float>(x); }
};

// --- what they mean, in types wide enough

template <class T>
auto widened(const T& item) {
  if constexpr (is_pack<T> || std::is_same_v<T, affine> || has_128_bits<T>)
    return item;
  else if constexpr (is_short_float<T>)
    return static_cast<double>(static_cast<float>(item));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(item);
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<unsigned long long>(item);
  else if constexpr (std::is_same_v<T, celsius>)
    return static_cast<long long>(item.degrees);
  else
    return static_cast<long long>(item);
}
template <class T>
using wide = decltype(widened(std::declval<T>()));

template <class T, class Wide>
T narrowed(const Wide& value) {
  if constexpr (is_short_float<T>)
    return static_cast<T>(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, celsius>)
    return celsius(static_cast<int>(value));
  else
    return static_cast<T>(value);
}

struct sums {
  static constexpr numbers taken = summable_numbers;
  template <class Wide>
  Wide operator()(const Wide& a, const Wide& b) const {
    if constexpr (has_128_bits<Wide>)
      return static_cast<Wide>(static_cast<u128>(a) + static_cast<u128>(b));
    else if constexpr (std::is_integral_v<Wide>)
      return static_cast<Wide>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
    else
      return a + b;
  }
  template <class T>
  static wide<T> of_nothing() {
    return {};
  }
};

// Sums of numbers of type T that are not negative.
template <class T>
struct saturated_sums {
  static constexpr numbers taken = natural_numbers;
  template <class Wide>
  Wide operator()(const Wide& a, const Wide& b) const {
    return std::min(static_cast<Wide>(a + b), static_cast<Wide>(largest<T>));
  }
};

// NaN first; -0 before +0.
template <bool least>
struct extremes {
  static constexpr numbers taken = any_numbers;
  template <class Wide>
  Wide operator()(const Wide& a, const Wide& b) const {
    if constexpr (std::is_floating_point_v<Wide>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return (__builtin_signbit(a) != 0) == least ? a : b;
    }
    if constexpr (least)
      return b < a ? b : a;
    else
      return a < b ? b : a;
  }
  template <class T>
  static wide<T> of_nothing() {
    if constexpr (has_128_bits<T>) {
      constexpr T most = static_cast<T>(~u128{} >> std::is_same_v<T, i128>);
      return least ? most : ~most;
    } else if constexpr (is_float<T>)
      return least ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    else
      return widened(least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
  }
};
using minima = extremes<true>;
using maxima = extremes<false>;

struct differing_bits {
  static constexpr numbers taken = any_numbers;
  template <class Wide>
  Wide operator()(const Wide& a, const Wide& b) const {
    return a ^ b;
  }
};
template <class Op>
struct as_written {  // the operator itself, one item after the other
  static constexpr numbers taken = any_numbers;
  template <class Wide>
  Wide operator()(const Wide& a, const Wide& b) const {
    return Op{}(a, b);
  }
};
struct composed {
  static constexpr numbers taken = any_numbers;
  affine operator()(const affine& first, const affine& second) const {
    return {first.slope * second.slope, first.offset * second.slope + second.offset};
  }
};

// Whether a call of the front door may tell one NaN from another: it may not.
template <class T>
void make_nans_alike(unsigned char* bytes, std::size_t num_bytes) {
  if constexpr (is_float<T>) {
    for (std::size_t at = 0; at + sizeof(T) <= num_bytes; at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes + at, sizeof(T));
      const float as_float = static_cast<float>(value);
      if (as_float != as_float) std::memset(bytes + at, 0xff, sizeof(T));
    }
  }
}

// --- items on the device, by whichever recipe they are made

template <class Item, class Recipe>
__global__ void make_items(Item* d_items, std::size_t num_items, Recipe recipe) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    d_items[i] = make<Item>(recipe, i);
}

template <class Item, class Recipe>
__global__ void count_changed_items(const Item* d_items, std::size_t num_items, Recipe recipe,
                                    unsigned* d_num_changed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride) {
    const Item expected = make<Item>(recipe, i);
    const unsigned char* const right = reinterpret_cast<const unsigned char*>(&expected);
    const unsigned char* const found = reinterpret_cast<const unsigned char*>(d_items + i);
    bool is_changed = false;
    for (unsigned k = 0; k < sizeof(Item); ++k) is_changed |= right[k] != found[k];
    if (is_changed) atomicAdd(d_num_changed, 1u);
  }
}

inline unsigned num_blocks(std::size_t num_items) {
  return static_cast<unsigned>(std::min<std::size_t>((num_items + 255) / 256, 2048));
}

template <class Item, class Recipe>
cudaError_t prepare_items(void* d_items, std::size_t num_items, const Recipe& recipe, cudaStream_t stream) {
  if (num_items > 0)
    make_items<<<num_blocks(num_items), 256, 0, stream>>>(static_cast<Item*>(d_items), num_items, recipe);
  return cudaGetLastError();
}

template <class Item, class Recipe>
cudaError_t count_changes_of(const void* d_items, std::size_t num_items, const Recipe& recipe, unsigned* d_num_changed,
                             cudaStream_t stream) {
  if (num_items > 0)
    count_changed_items<<<num_blocks(num_items), 256, 0, stream>>>(static_cast<const Item*>(d_items), num_items, recipe,
                                                                   d_num_changed);
  return cudaGetLastError();
}

}  // namespace rungs::fuzz
