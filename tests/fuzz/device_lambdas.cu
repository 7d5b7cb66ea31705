// Extended lambdas that only the device may call, with and without a trailing return type.
#include "fuzz/kind_of.cuh"

#ifndef RUNGS_FUZZ_DEVICE_LAMBDAS
#define RUNGS_FUZZ_DEVICE_LAMBDAS 1
#endif

namespace rungs::fuzz {

template <class Op>
call_reduce<Op> reducing_on_device(Op op) {
  return {op};
}
template <class Op>
call_inclusive_scan<Op> scanning_on_device(Op op) {
  return {op};
}
template <class Op>
call_exclusive_scan<Op> scanning_from_on_device(Op op) {
  return {op};
}

void add_device_lambdas([[maybe_unused]] kind_table& table) {
#if RUNGS_FUZZ_DEVICE_LAMBDAS
  add_reduction<from_memory<u32>, u32, u32>(table, "device_lambda.xor.u32",
                                            reducing_on_device([] __device__(u32 a, u32 b) { return a ^ b; }),
                                            differing_bits{});
  add_reduction<from_memory<i32>, i32, i32>(
      table, "device_lambda.typed_max.i32",
      reducing_on_device([] __device__(i32 a, i32 b) -> i32 { return a < b ? b : a; }), maxima{});
  add_reduction<from_memory<float>, float, float>(
      table, "device_lambda.plus.f32", reducing_on_device([] __device__(float a, float b) { return a + b; }), sums{});
  add_scan<from_memory<u32>, u32>(table, "inclusive_device_lambda.plus.u32",
                                  scanning_on_device([] __device__(u32 a, u32 b) { return a + b; }), sums{});
  add_scan<from_memory<affine>, affine, affine>(
      table, "exclusive_device_lambda.affine",
      scanning_from_on_device([] __device__(const affine& a, const affine& b) -> affine {
        return {a.slope * b.slope, a.offset * b.slope + b.offset};
      }),
      composed{});
#endif
}

}  // namespace rungs::fuzz
