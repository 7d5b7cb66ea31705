// What the values of the study of atomics must come to: the same operations (rungs/parts/updates.cuh), folded address
// by address as 64-bit words, by code that shares nothing else with the variants.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "catalog.hpp"
#include "rungs/parts/updates.cuh"

namespace rungs::bench {

struct update_question {
  catalog::op op{};
  catalog::scalar type{};
  std::size_t num_operations = 0;
  std::size_t num_addresses = 1;
  unsigned seed = 0;
};

// Per address: its operations' values folded, and how many there were.
struct updated {
  std::vector<std::uint64_t> words;
  std::vector<std::uint32_t> counts;
};

// Of these combinations operations are defined: pairs are added, floats added and compared, integers all.
template <class Op, class T>
inline constexpr bool is_studied = parts::is_pair<T>             ? std::is_same_v<Op, plus>
                                   : std::is_floating_point_v<T> ? std::is_same_v<Op, plus> || parts::is_extreme<Op>
                                                                 : true;

// Calls call.template operator()<Op, T>() for the operator and type of the question; false where they do not belong
// together.
template <class Call>
bool with_update(catalog::op op, catalog::scalar type, Call&& call) {
  using catalog::scalar;
  const auto with_type = [&]<class Op>(Op) {
    const auto is = [&]<class T>(scalar name, T) {
      if constexpr (is_studied<Op, T>)
        if (type == name) call.template operator()<Op, T>();
      return is_studied<Op, T> && type == name;
    };
    return is(scalar::i32, 0) || is(scalar::u32, 0u) || is(scalar::u64, 0ull) || is(scalar::f32, 0.0f) ||
           is(scalar::f64, 0.0) || is(scalar::f16x2, __half2{}) || is(scalar::bf16x2, __nv_bfloat162{});
  };
  const auto is = [&](catalog::op name, auto combine) { return op == name && with_type(combine); };
  return is(catalog::op::plus, plus{}) || is(catalog::op::minus, minus{}) || is(catalog::op::increment, increment{}) ||
         is(catalog::op::minimum, minimum{}) || is(catalog::op::maximum, maximum{}) ||
         is(catalog::op::bit_and, bit_and{}) || is(catalog::op::bit_or, bit_or{}) ||
         is(catalog::op::bit_xor, bit_xor{}) || is(catalog::op::exchange, exchange{});
}

// How words are folded. Exchanges are only counted: any of their values may stay.
enum class folding : unsigned char { sum, least, greatest, all_bits, any_bit, odd_bits, none };
template <class Op>
inline constexpr folding folding_of = std::is_same_v<Op, minimum>    ? folding::least
                                      : std::is_same_v<Op, maximum>  ? folding::greatest
                                      : std::is_same_v<Op, bit_and>  ? folding::all_bits
                                      : std::is_same_v<Op, bit_or>   ? folding::any_bit
                                      : std::is_same_v<Op, bit_xor>  ? folding::odd_bits
                                      : std::is_same_v<Op, exchange> ? folding::none
                                                                     : folding::sum;
constexpr std::uint64_t nothing_folded(folding how) {
  return how == folding::least || how == folding::all_bits ? ~std::uint64_t{0} : 0;
}

// A value as a word that folds like it: a whole number, the two of a pair side by side, keys that order like the
// values, or bits.
template <class Op, class T>
__host__ __device__ std::uint64_t word_of_value(const T& value) {
  std::uint64_t word;
  if constexpr (std::is_same_v<T, __half2>) {
    word = static_cast<std::uint64_t>(__half2float(__high2half(value))) << 32 |
           static_cast<std::uint64_t>(__half2float(__low2half(value)));
  } else if constexpr (std::is_same_v<T, __nv_bfloat162>) {
    word = static_cast<std::uint64_t>(__bfloat162float(__high2bfloat16(value))) << 32 |
           static_cast<std::uint64_t>(__bfloat162float(__low2bfloat16(value)));
  } else if constexpr (std::is_unsigned_v<T>) {
    word = value;
  } else {
    word = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    if constexpr (parts::is_extreme<Op>) word ^= std::uint64_t{1} << 63;
  }
  return std::is_same_v<Op, minus> ? 0 - word : word;
}

inline std::uint64_t fold_words(folding how, std::uint64_t a, std::uint64_t b) {
  switch (how) {
    case folding::sum:
      return a + b;
    case folding::least:
      return a < b ? a : b;
    case folding::greatest:
      return a < b ? b : a;
    case folding::all_bits:
      return a & b;
    case folding::any_bit:
      return a | b;
    case folding::odd_bits:
      return a ^ b;
    case folding::none:
      break;
  }
  return 0;
}

bool has_oracle_of_atomics(const catalog::record& record);

// On the host, one operation after the other.
updated fold_updates(const update_question& of);

// The same of several sets, one after the other: each address's words and counts put together.
folding how_folded(const update_question& of);
updated merge(const update_question& of, std::span<const std::uint64_t> words, std::span<const std::uint32_t> counts);

// What is wrong with these values, of the question's type; empty where nothing is.
std::string find_wrong(const update_question& of, const updated& expected, const void* values);

}  // namespace rungs::bench
