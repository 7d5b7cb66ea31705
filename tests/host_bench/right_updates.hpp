// Variants of the study of atomics that are right, or off by one slip, on the host: each operation is done as its
// operator says, in its type.
#pragma once

#include <string_view>

#include "fake_records.hpp"
#include "rungs/parts/updates.cuh"
#include "update_oracle.hpp"

namespace rungs::bench::fakes {

enum class slip { none, last_dropped, one_lost, start_kept, seed_ignored, next_address, one_bit };

template <class Op, class T>
T changed(const T& before, const T& value) {
  if constexpr (std::is_same_v<T, __half2>)
    return __floats2half2_rn(__half2float(__low2half(before)) + __half2float(__low2half(value)),
                             __half2float(__high2half(before)) + __half2float(__high2half(value)));
  else if constexpr (std::is_same_v<T, __nv_bfloat162>)
    return __floats2bfloat162_rn(__bfloat162float(__low2bfloat16(before)) + __bfloat162float(__low2bfloat16(value)),
                                 __bfloat162float(__high2bfloat16(before)) + __bfloat162float(__high2bfloat16(value)));
  else if constexpr (std::is_same_v<Op, plus> || std::is_same_v<Op, increment>) {
    if constexpr (std::is_same_v<T, int>)
      return static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
    else
      return before + value;
  } else if constexpr (std::is_same_v<Op, minus>)
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

template <class Op, class T, slip planted = slip::none>
cudaError_t update(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  const unsigned seed = planted == slip::seed_ignored ? 17 : a.seed;
  const auto work = parts::updates::of<Op, T>(a.num_items, static_cast<unsigned>(a.num_addresses), seed);
  T* const values = static_cast<T*>(a.d_out);
  if (planted != slip::start_kept)
    for (std::size_t k = 0; k < a.num_addresses; ++k) values[k] = parts::updates::start<Op, T>();
  const std::size_t done = a.num_items - (planted == slip::last_dropped);
  for (std::size_t i = 0; i < done; ++i) {
    if (planted == slip::one_lost && i == a.num_items / 2) continue;
    const unsigned bits = work.bits_of(i);
    unsigned address = work.address_of(bits);
    if (planted == slip::next_address && i == 3) address = (address + 1) % static_cast<unsigned>(a.num_addresses);
    values[address] = changed<Op>(values[address], work.template value_of<Op, T>(i, bits));
  }
  if (planted == slip::one_bit) *static_cast<unsigned char*>(a.d_out) ^= 1;
  return cudaSuccess;
}

inline catalog::record an_update(std::string_view rung, catalog::call_t call, catalog::op op = catalog::op::plus,
                                 catalog::scalar type = catalog::scalar::u32, executor where = executor::host) {
  catalog::record about = record(rung, call, type, where);
  about.family = catalog::family::handwritten;
  about.operation = catalog::operation::atomics;
  about.op = op;
  return about;
}

inline constexpr catalog::op studied_operators[] = {catalog::op::plus,    catalog::op::minus,   catalog::op::increment,
                                                    catalog::op::minimum, catalog::op::maximum, catalog::op::bit_and,
                                                    catalog::op::bit_or,  catalog::op::bit_xor, catalog::op::exchange};
inline constexpr catalog::scalar studied_types[] = {
    catalog::scalar::i32, catalog::scalar::u32,   catalog::scalar::u64,   catalog::scalar::f32,
    catalog::scalar::f64, catalog::scalar::f16x2, catalog::scalar::bf16x2};

}  // namespace rungs::bench::fakes
