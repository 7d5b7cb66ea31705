// Operators of libstdc++ and of libcu++.
#include <cuda/functional>
#include <cuda/std/functional>
#include <functional>

#include "fuzz/kind_of.cuh"
#include "rungs/device/cuda_std_operators.cuh"

namespace rungs::fuzz {

void add_library_operators(kind_table& table) {
  add_reduction<from_memory<i32>, i32, i32>(table, "std_plus.i32", call_reduce<std::plus<>>{}, sums{});
  add_reduction<from_memory<u8>, u32, u32>(table, "std_plus.u8.to_u32", call_reduce<std::plus<u32>>{}, sums{});
  add_reduction<from_memory<float>, float, float>(table, "cuda_plus.f32", call_reduce<cuda::std::plus<float>>{},
                                                  sums{});
  add_reduction<from_memory<i32>, i32, i32>(table, "cuda_minimum.i32", call_reduce<cuda::minimum<>>{}, minima{});
  add_reduction<from_memory<u32>, u32, u32>(table, "cuda_bit_xor.u32", call_reduce<cuda::std::bit_xor<>>{},
                                            differing_bits{});
  add_scan<from_memory<i32>, i32>(table, "inclusive_cuda_plus.i32", call_inclusive_scan<cuda::std::plus<>>{}, sums{});
  add_scan<from_memory<i32>, i32, i32>(table, "exclusive_cuda_maximum.i32", call_exclusive_scan<cuda::maximum<i32>>{},
                                       maxima{});
}

}  // namespace rungs::fuzz
