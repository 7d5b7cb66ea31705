// Scans of floats and halves.
#include <functional>

#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_float_scans(kind_table& table) {
  add_scan<from_memory<float>, float>(table, "inclusive_sum.f32", call_inclusive_sum{}, sums{});
  add_scan<from_memory<double>, double>(table, "exclusive_sum.f64", call_exclusive_sum{}, sums{});
  add_scan<from_memory<f16>, f16>(table, "inclusive_sum.f16", call_inclusive_sum{}, sums{});
  add_scan<from_memory<bf16>, bf16>(table, "exclusive_sum.bf16", call_exclusive_sum{}, sums{});
  add_scan<from_memory<float>, float, float>(table, "exclusive_max.f32", call_exclusive_scan<maximum>{}, maxima{});
  add_scan<from_memory<float>, float, float>(table, "inclusive_std_plus_init.f32",
                                             call_inclusive_scan_init<std::plus<float>>{}, sums{});
  add_scan<from_output<double>, double, double>(table, "exclusive_min.f64.in_place", call_exclusive_scan<minimum>{},
                                                minima{});
  add_scan<from_memory<double>, double, double>(table, "inclusive_max_future.f64",
                                                call_inclusive_scan_future<maximum>{}, maxima{});
}

}  // namespace rungs::fuzz
