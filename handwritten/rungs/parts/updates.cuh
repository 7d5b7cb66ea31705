// The work of the study of atomics: operation i of num_operations changes one of num_addresses values. Which one, and
// by what, are pure functions of i, so nothing is read but what the atomics change, and whoever knows the functions can
// say what must come out. Plain C++: the oracles call them too.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI {

// What can be done to an address beside plus, minimum and maximum. increment adds 1, which hardware may know; exchange
// leaves one of the values that were brought to the address.
struct minus {};
struct increment {};
struct bit_and {};
struct bit_or {};
struct bit_xor {};
struct exchange {};

namespace parts {

template <class T>
inline constexpr bool is_pair = std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat162>;

template <class Op>
inline constexpr bool is_bitwise =
    std::is_same_v<Op, bit_and> || std::is_same_v<Op, bit_or> || std::is_same_v<Op, bit_xor>;
template <class Op>
inline constexpr bool is_extreme = std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>;

// Most of an address's sum of floats, about: far below where whole numbers end to be exact, so that every order of
// additions is exact.
template <class T>
inline constexpr double expected_sum = std::is_same_v<T, __nv_bfloat162> ? 48
                                       : std::is_same_v<T, __half2>      ? 512
                                                                         : 1e6;

struct updates {
  std::size_t num_operations = 0;
  unsigned num_addresses = 1;
  unsigned seed = 0;
  unsigned sparse = ~0u;  // of 2^32 operations, how many change the value where not all can: see value_of

  // For operations that bring values of type T: bits are set (or cleared) by about 16 operations an address, and floats
  // are added by so many that sums stay exact. The others add 0 or change no bit.
  template <class Op, class T>
  static updates of(std::size_t num_operations, unsigned num_addresses, unsigned seed) {
    updates all{num_operations, num_addresses, seed};
    const double expected = is_bitwise<Op> ? 16 : expected_sum<T> / 1.5;
    const double share = expected * num_addresses / (static_cast<double>(num_operations) + 1);
    if (share < 1) all.sparse = static_cast<unsigned>(share * 0x1p32);
    return all;
  }

  // The random bits of operation i: two multiplications, so that making them costs less than an atomic.
  __host__ __device__ unsigned bits_of(std::size_t i) const {
    unsigned bits = static_cast<unsigned>(i) * 0x9E3779B1u + (static_cast<unsigned>(i >> 32) * 0x85EBCA6Bu + seed);
    bits ^= bits >> 16;
    bits *= 0x7FEB352Du;
    return bits ^ bits >> 15;
  }
  // Its address: all are hit equally often, in no order.
  __host__ __device__ unsigned address_of(unsigned bits) const {
    return static_cast<unsigned>(static_cast<unsigned long long>(bits) * num_addresses >> 32);
  }
  // Bits that the address does not determine.
  static __host__ __device__ unsigned other_bits(unsigned bits) { return (bits << 16 | bits >> 16) * 0x846CA68Bu; }

  // What operation i brings.
  //   exchange           i
  //   increment          1
  //   bit_and, bit_or    a bit to clear, to set; or all, or none
  //   floats, minimum or maximum   a whole number of 24 bits and a sign
  //   floats, plus       0, 1 or 2
  //   integers           any
  template <class Op, class T>
  __host__ __device__ T value_of(std::size_t i, unsigned bits) const {
    const unsigned other = other_bits(bits);
    if constexpr (std::is_same_v<Op, exchange>) {
      return static_cast<T>(i);
    } else if constexpr (std::is_same_v<Op, increment>) {
      return T(1);
    } else if constexpr (std::is_same_v<Op, bit_and> || std::is_same_v<Op, bit_or>) {
      const T bit = other < sparse ? T(1) << bits % (8 * sizeof(T)) : T(0);
      return std::is_same_v<Op, bit_and> ? static_cast<T>(~bit) : bit;
    } else if constexpr (is_pair<T>) {
      const unsigned changes = other < sparse;
      const float low = static_cast<float>(changes + (changes & bits)), high = static_cast<float>(changes);
      if constexpr (std::is_same_v<T, __half2>)
        return __floats2half2_rn(low, high);
      else
        return __floats2bfloat162_rn(low, high);
    } else if constexpr (std::is_floating_point_v<T>) {
      if constexpr (is_extreme<Op>) return static_cast<T>(static_cast<int>(other) >> 8);
      const unsigned changes = other < sparse;
      return static_cast<T>(changes + (changes & bits));
    } else if constexpr (sizeof(T) == 8) {
      return static_cast<T>(static_cast<unsigned long long>(other) << 32 | bits);
    } else {
      return static_cast<T>(other);
    }
  }

  // What every address holds before the first operation.
  template <class Op, class T>
  static __host__ __device__ T start() {
    if constexpr (is_extreme<Op>)
      return Op::template identity<T>();
    else if constexpr (std::is_same_v<Op, bit_and> || std::is_same_v<Op, exchange>)
      return static_cast<T>(~T(0));
    else if constexpr (is_pair<T>)
      return T{};
    else
      return T(0);
  }
};

}  // namespace parts
}  // namespace rungs::RUNGS_ABI
