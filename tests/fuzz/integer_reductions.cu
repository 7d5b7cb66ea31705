// Reductions of integers, and of what converts to them.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_integer_reductions(kind_table& table) {
  add_reduction<from_memory<i8>, i8>(table, "sum.i8", call_sum{}, sums{});
  add_reduction<from_memory<u8>, u8>(table, "sum.u8", call_sum{}, sums{});
  add_reduction<from_memory<u16>, u16>(table, "sum.u16", call_sum{}, sums{});
  add_reduction<from_memory<i32>, i32>(table, "sum.i32", call_sum{}, sums{});
  add_reduction<from_memory<u64>, u64>(table, "sum.u64", call_sum{}, sums{});
  add_reduction<from_memory<i8>, i32>(table, "sum.i8.to_i32", call_sum{}, sums{});
  add_reduction<from_memory<i32>, i64>(table, "sum.i32.to_i64", call_sum{}, sums{});
  add_reduction<from_memory<tiny>, i32>(table, "sum.enum.to_i32", call_sum{}, sums{});
  add_reduction<from_memory<celsius>, celsius>(table, "sum.converting", call_sum{}, sums{});
  add_reduction<from_memory<celsius>, i32>(table, "sum.converting.to_i32", call_sum{}, sums{});
  add_reduction<from_memory<i8>, i8>(table, "min.i8", call_min{}, minima{});
  add_reduction<from_memory<u16>, u16>(table, "max.u16", call_max{}, maxima{});
  add_reduction<from_memory<u32>, u32>(table, "min.u32", call_min{}, minima{});
  add_reduction<from_memory<i64>, i64>(table, "max.i64", call_max{}, maxima{});
  add_reduction<from_memory<u32>, u32, u32>(table, "xor.u32", call_reduce<bit_xor_functor>{}, differing_bits{});
  add_reduction<from_memory<u8>, u8, u8>(table, "xor.u8", call_reduce<bit_xor_functor>{}, differing_bits{});
  add_reduction<from_memory<i16>, i16, i16>(table, "changing_maximum.i16", call_reduce<changing_maximum>{}, maxima{});
  add_reduction<from_memory<i32>, i64, i64, square>(table, "transform.square.i32",
                                                    call_transform_reduce<plus, square>{}, sums{});
}

}  // namespace rungs::fuzz
