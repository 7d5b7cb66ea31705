// Lambdas that both sides may call, of items with and without a struct around them.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

template <class Op>
call_reduce<Op> reducing(Op op) {
  return {op};
}
template <class Op>
call_inclusive_scan<Op> scanning(Op op) {
  return {op};
}
template <class Op>
call_exclusive_scan<Op> scanning_from(Op op) {
  return {op};
}

void add_lambdas(kind_table& table) {
  const u32 shift = 0;  // something that is captured
  add_reduction<from_memory<u32>, u32, u32>(
      table, "lambda.xor.u32", reducing([shift] __host__ __device__(u32 a, u32 b) { return (a ^ b) << shift; }),
      differing_bits{});
  add_reduction<from_memory<i16>, i16, i16>(
      table, "lambda.max.i16", reducing([] __host__ __device__(i16 a, i16 b) { return a < b ? b : a; }), maxima{});
  add_scan<from_memory<u32>, u32>(
      table, "inclusive_lambda.xor.u32",
      scanning([shift] __host__ __device__(u32 a, u32 b) -> u32 { return (a ^ b) << shift; }), differing_bits{});
  add_scan<from_memory<affine>, affine, affine>(table, "exclusive_lambda.affine",
                                                scanning_from([] __host__ __device__(const affine& a, const affine& b) {
                                                  return affine{a.slope * b.slope, a.offset * b.slope + b.offset};
                                                }),
                                                composed{});
}

}  // namespace rungs::fuzz
