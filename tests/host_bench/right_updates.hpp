// Variants of the study of atomics that are right, or off by one slip, on the host: each operation is done as its
// operator says, in its type.
#pragma once

#include <string_view>

#include "../oracles/update_reference.hpp"
#include "fake_records.hpp"
#include "rungs/parts/updates.cuh"

namespace rungs::bench::fakes {

enum class slip {
  none,
  last_dropped,
  one_lost,
  start_kept,
  seed_ignored,
  next_address,
  one_bit,
  writes_behind,
  any_number_of_addresses,
  workspace_unchecked
};

template <class Op, class T, slip planted = slip::none>
cudaError_t update(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  if (planted != slip::any_number_of_addresses && (a.num_addresses == 0 || a.num_addresses > 1 << 20))
    return cudaErrorInvalidValue;
  if (planted != slip::workspace_unchecked && num_bytes < 16) return cudaErrorInvalidValue;
  const unsigned seed = planted == slip::seed_ignored ? 17 : a.seed;
  const auto work = parts::updates::of<Op, T>(a.num_items, static_cast<unsigned>(a.num_addresses), seed);
  T* const values = static_cast<T*>(a.d_out);
  if (planted != slip::start_kept)
    for (std::size_t k = 0; k < a.num_addresses; ++k) values[k] = parts::updates::start<Op, T>();
  const std::size_t done = a.num_items - (planted == slip::last_dropped && a.num_items > 0);
  for (std::size_t i = 0; i < done; ++i) {
    if (planted == slip::one_lost && i == a.num_items / 2) continue;
    const unsigned bits = work.bits_of(i);
    unsigned address = work.address_of(bits);
    if (planted == slip::next_address && i == 3) address = (address + 1) % static_cast<unsigned>(a.num_addresses);
    values[address] = tests::changed<Op>(values[address], work.template value_of<Op, T>(i, bits));
  }
  if (planted == slip::writes_behind && a.num_items > 0) values[a.num_addresses] = T{};
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
