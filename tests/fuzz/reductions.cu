// Reductions of integers, of what converts to them, of floats and halves, and of structs of 3 to 200 bytes.
#include <functional>

#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {
namespace {

template <class Item>
void add_members(kind_table& table) {
  add_of<Item>(table, "by_member." + std::to_string(sizeof(Item)) + "_bytes", reduce(by_member{}),
               as_written<by_member>{});
}

}  // namespace

void add_reductions(kind_table& table) {
  add<from_memory<i8>, i8>(table, "sum.i8", sum(), sums{});
  add<from_memory<u8>, u8>(table, "sum.u8", sum(), sums{});
  add<from_memory<u16>, u16>(table, "sum.u16", sum(), sums{});
  add<from_memory<i32>, i32>(table, "sum.i32", sum(), sums{});
  add<from_memory<u64>, u64>(table, "sum.u64", sum(), sums{});
  add<from_memory<i8>, i32>(table, "sum.i8.to_i32", sum(), sums{});
  add<from_memory<i32>, i64>(table, "sum.i32.to_i64", sum(), sums{});
  add<from_memory<tiny>, i32>(table, "sum.enum.to_i32", sum(), sums{});
  add<from_memory<celsius>, celsius>(table, "sum.converting", sum(), sums{});
  add<from_memory<celsius>, i32>(table, "sum.converting.to_i32", sum(), sums{});
  add<from_memory<i8>, i8>(table, "min.i8", min(), minima{});
  add<from_memory<u16>, u16>(table, "max.u16", max(), maxima{});
  add<from_memory<u32>, u32>(table, "min.u32", min(), minima{});
  add<from_memory<i64>, i64>(table, "max.i64", max(), maxima{});
  add_of<u32>(table, "xor.u32", reduce(bit_xor_functor{}), differing_bits{});
  add_of<u8>(table, "xor.u8", reduce(bit_xor_functor{}), differing_bits{});
  add_of<i16>(table, "changing_maximum.i16", reduce(changing_maximum{}), maxima{});
  add<from_memory<i32>, i64, i64, square>(table, "transform.square.i32", transform_reduce(plus{}, square{}), sums{});
  add<from_memory<i8>, i64, i64, square>(table, "transform.square.i8", transform_reduce(plus{}, square{}), sums{});
  add<from_memory<u8>, u32, u32, low_byte>(table, "transform.xor.u8", transform_reduce(bit_xor_functor{}, low_byte{}),
                                           differing_bits{});
  add<from_memory<i16>, i32, i32, doubled>(table, "transform.max.i16", transform_reduce(maximum{}, doubled{}),
                                           maxima{});
  add<from_memory<f16>, float, float, to_float>(table, "transform.sum.f16", transform_reduce(plus{}, to_float{}),
                                                sums{});

  add<from_memory<float>, float>(table, "sum.f32", sum(), sums{});
  add<from_memory<double>, double>(table, "sum.f64", sum(), sums{});
  add<from_memory<f16>, f16>(table, "sum.f16", sum(), sums{});
  add<from_memory<bf16>, bf16>(table, "sum.bf16", sum(), sums{});
  add<from_memory<f16>, float>(table, "sum.f16.to_f32", sum(), sums{});
  add<from_memory<float>, double, double>(table, "std_plus.f32.to_f64", reduce(std::plus<>{}), sums{});
  add<from_memory<float>, float>(table, "min.f32", min(), minima{});
  add<from_memory<double>, double>(table, "max.f64", max(), maxima{});
  add<from_memory<f16>, f16>(table, "max.f16", max(), maxima{});
  add<from_memory<bf16>, bf16>(table, "min.bf16", min(), minima{});
  add_of<float>(table, "changing_maximum.f32", reduce(changing_maximum{}), as_written<changing_maximum>{});

  add_members<pack<u8, 3>>(table);
  add_members<pack<u8, 5>>(table);
  add_members<pack<u32, 3>>(table);
  add_members<pack<u32, 4>>(table);
  add_members<pack<u64, 3>>(table);
  add_members<pack<u64, 4>>(table);
  add_members<pack<u64, 5>>(table);
  add_members<pack<u64, 9>>(table);
  add_members<pack<u32, 50>>(table);
}

}  // namespace rungs::fuzz
