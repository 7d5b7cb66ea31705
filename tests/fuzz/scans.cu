// Scans of integers, of what converts to them, of floats and halves.
#include <functional>

#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_scans(kind_table& table) {
  add<from_memory<u8>, u8>(table, "inclusive_sum.u8", inclusive_sum(), sums{});
  add<from_memory<i8>, i32>(table, "inclusive_sum.i8.to_i32", inclusive_sum(), sums{});
  add<from_memory<i32>, i32>(table, "inclusive_sum.i32", inclusive_sum(), sums{});
  add<from_memory<u64>, u64>(table, "exclusive_sum.u64", exclusive_sum(), sums{});
  add<from_memory<u16>, u16>(table, "exclusive_sum.u16", exclusive_sum(), sums{});
  add<from_output<u32>, u32>(table, "exclusive_sum.u32.in_place", exclusive_sum(), sums{});
  add<from_output<i16>, i16>(table, "inclusive_max.i16.in_place", inclusive_scan(maximum{}), maxima{});
  add_of<i64>(table, "exclusive_min.i64", exclusive_scan(minimum{}), minima{});
  add_of<u32>(table, "exclusive_xor.u32", exclusive_scan(bit_xor_functor{}), differing_bits{});
  add<from_memory<u16>, u16>(table, "inclusive_changing_maximum.u16", inclusive_scan(changing_maximum{}), maxima{});
  add<from_memory<tiny>, i32>(table, "exclusive_sum.enum.to_i32", exclusive_sum(), sums{});
  add<from_memory<celsius>, celsius>(table, "inclusive_sum.converting", inclusive_sum(), sums{});
  add_of<i32>(table, "inclusive_plus_init.i32", inclusive_scan_init(plus{}), sums{});
  add_of<i32>(table, "exclusive_plus_future.i32", exclusive_scan_future(plus{}), sums{});

  add<from_memory<float>, float>(table, "inclusive_sum.f32", inclusive_sum(), sums{});
  add<from_memory<double>, double>(table, "exclusive_sum.f64", exclusive_sum(), sums{});
  add<from_memory<f16>, f16>(table, "inclusive_sum.f16", inclusive_sum(), sums{});
  add<from_memory<bf16>, bf16>(table, "exclusive_sum.bf16", exclusive_sum(), sums{});
  add_of<float>(table, "exclusive_max.f32", exclusive_scan(maximum{}), maxima{});
  add_of<float>(table, "inclusive_std_plus_init.f32", inclusive_scan_init(std::plus<float>{}), sums{});
  add<from_output<double>, double, double>(table, "exclusive_min.f64.in_place", exclusive_scan(minimum{}), minima{});
  add_of<double>(table, "inclusive_max_future.f64", inclusive_scan_future(maximum{}), maxima{});
}

}  // namespace rungs::fuzz
