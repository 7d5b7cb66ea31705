// What the study of atomics must leave: its operations (rungs/parts/updates.cuh) done one after the other, each in its
// own type, by what its operator means. The cases and the bench judge by it.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "catalog.hpp"
#include "rungs/parts/updates.cuh"

namespace rungs::tests {

// Of these combinations operations are defined: pairs are added, floats added and compared, integers all.
template <class Op, class T>
inline constexpr bool is_studied = parts::is_pair<T>             ? std::is_same_v<Op, plus>
                                   : std::is_floating_point_v<T> ? std::is_same_v<Op, plus> || parts::is_extreme<Op>
                                                                 : true;

// Calls call.template operator()<Op, T>() for this operator and type; false where they do not belong together.
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

struct update_call {
  catalog::op op{};
  catalog::scalar type{};
  std::size_t num_operations = 0, num_addresses = 1;
  unsigned seed = 0;
};
bool has_reference(const update_call& call);

// What the values must be, byte by byte; of exchanges, one of the ways they may be.
std::vector<unsigned char> values_after(const update_call& call);

// Empty where they are as they must be; `expected` is what values_after answered.
std::optional<std::string> disagreement(const update_call& call, const std::vector<unsigned char>& expected,
                                        const void* values);

}  // namespace rungs::tests
