// Reductions of floats and halves.
#include <functional>

#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_float_reductions(kind_table& table) {
  add_reduction<from_memory<float>, float>(table, "sum.f32", call_sum{}, sums{});
  add_reduction<from_memory<double>, double>(table, "sum.f64", call_sum{}, sums{});
  add_reduction<from_memory<f16>, f16>(table, "sum.f16", call_sum{}, sums{});
  add_reduction<from_memory<bf16>, bf16>(table, "sum.bf16", call_sum{}, sums{});
  add_reduction<from_memory<f16>, float>(table, "sum.f16.to_f32", call_sum{}, sums{});
  add_reduction<from_memory<float>, double, double>(table, "std_plus.f32.to_f64", call_reduce<std::plus<>>{}, sums{});
  add_reduction<from_memory<float>, float>(table, "min.f32", call_min{}, minima{});
  add_reduction<from_memory<double>, double>(table, "max.f64", call_max{}, maxima{});
  add_reduction<from_memory<f16>, f16>(table, "max.f16", call_max{}, maxima{});
  add_reduction<from_memory<bf16>, bf16>(table, "min.bf16", call_min{}, minima{});
  add_reduction<from_memory<float>, float, float>(table, "changing_maximum.f32", call_reduce<changing_maximum>{},
                                                  as_written<changing_maximum>{});
}

}  // namespace rungs::fuzz
