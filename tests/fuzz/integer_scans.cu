// Scans of integers, and of what converts to them.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_integer_scans(kind_table& table) {
  add_scan<from_memory<u8>, u8>(table, "inclusive_sum.u8", call_inclusive_sum{}, sums{});
  add_scan<from_memory<i8>, i32>(table, "inclusive_sum.i8.to_i32", call_inclusive_sum{}, sums{});
  add_scan<from_memory<i32>, i32>(table, "inclusive_sum.i32", call_inclusive_sum{}, sums{});
  add_scan<from_memory<u64>, u64>(table, "exclusive_sum.u64", call_exclusive_sum{}, sums{});
  add_scan<from_memory<u16>, u16>(table, "exclusive_sum.u16", call_exclusive_sum{}, sums{});
  add_scan<from_output<u32>, u32>(table, "exclusive_sum.u32.in_place", call_exclusive_sum{}, sums{});
  add_scan<from_output<i16>, i16>(table, "inclusive_max.i16.in_place", call_inclusive_scan<maximum>{}, maxima{});
  add_scan<from_memory<i64>, i64, i64>(table, "exclusive_min.i64", call_exclusive_scan<minimum>{}, minima{});
  add_scan<from_memory<u32>, u32, u32>(table, "exclusive_xor.u32", call_exclusive_scan<bit_xor_functor>{},
                                       differing_bits{});
  add_scan<from_memory<u16>, u16>(table, "inclusive_changing_maximum.u16", call_inclusive_scan<changing_maximum>{},
                                  maxima{});
  add_scan<from_memory<tiny>, i32>(table, "exclusive_sum.enum.to_i32", call_exclusive_sum{}, sums{});
  add_scan<from_memory<celsius>, celsius>(table, "inclusive_sum.converting", call_inclusive_sum{}, sums{});
  add_scan<from_memory<i32>, i32, i32>(table, "inclusive_plus_init.i32", call_inclusive_scan_init<plus>{}, sums{});
  add_scan<from_memory<i32>, i32, i32>(table, "exclusive_plus_future.i32", call_exclusive_scan_future<plus>{}, sums{});
}

}  // namespace rungs::fuzz
