// What the study of atomics must leave: its operations (rungs/parts/updates.cuh) done one after the other, each in its
// own type, by what its operator means.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "catalog.hpp"
#include "rungs/parts/updates.cuh"

namespace rungs::tests {

template <class Op, class T>
T changed(const T& before, const T& value) {
  if constexpr (std::is_same_v<T, __half2>)
    return __floats2half2_rn(__half2float(__low2half(before)) + __half2float(__low2half(value)),
                             __half2float(__high2half(before)) + __half2float(__high2half(value)));
  else if constexpr (std::is_same_v<T, __nv_bfloat162>)
    return __floats2bfloat162_rn(__bfloat162float(__low2bfloat16(before)) + __bfloat162float(__low2bfloat16(value)),
                                 __bfloat162float(__high2bfloat16(before)) + __bfloat162float(__high2bfloat16(value)));
  else if constexpr (std::is_same_v<Op, plus> && std::is_floating_point_v<T>)
    return before + value;
  else if constexpr (std::is_same_v<Op, plus> || std::is_same_v<Op, increment>)  // wraps around
    return static_cast<T>(static_cast<unsigned long long>(before) + static_cast<unsigned long long>(value));
  else if constexpr (std::is_same_v<Op, minus>)
    return static_cast<T>(static_cast<unsigned long long>(before) - static_cast<unsigned long long>(value));
  else if constexpr (std::is_same_v<Op, minimum>)
    return value < before ? value : before;
  else if constexpr (std::is_same_v<Op, maximum>)
    return before < value ? value : before;
  else if constexpr (std::is_same_v<Op, bit_and>)
    return before & value;
  else if constexpr (std::is_same_v<Op, bit_or>)
    return before | value;
  else if constexpr (std::is_same_v<Op, bit_xor>)
    return before ^ value;
  else
    return value;
}

template <class Op, class T>
void do_one_by_one(const parts::updates& work, T* values) {
  for (unsigned k = 0; k < work.num_addresses; ++k) values[k] = parts::updates::start<Op, T>();
  for (std::size_t i = 0; i < work.num_operations; ++i) {
    const unsigned bits = work.bits_of(i), address = work.address_of(bits);
    values[address] = changed<Op>(values[address], work.template value_of<Op, T>(i, bits));
  }
}

struct update_call {
  catalog::op op{};
  catalog::scalar type{};
  std::size_t num_operations = 0, num_addresses = 1;
  unsigned seed = 0;
};

// What the values must be, byte by byte; of exchanges, one of the ways they may be.
std::vector<unsigned char> values_after(const update_call& call);

// Empty where they are as they must be; `expected` is what values_after answered.
std::optional<std::string> disagreement(const update_call& call, const std::vector<unsigned char>& expected,
                                        const void* values);

}  // namespace rungs::tests
