// Operators of libstdc++ and of libcu++; lambdas that both sides may call or the device alone, with and without a
// trailing return type; and items that are computed where they are read, by Thrust's iterators.
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cuda/functional>
#include <cuda/std/functional>
#include <functional>

#include "fuzz/kind_of.cuh"
#include "rungs/device/cuda_std_operators.cuh"

namespace rungs::fuzz {
namespace {

template <class T>
struct from_counting {
  using item = T;
  static constexpr std::size_t item_bytes = 0;
  static T first(const recipe& recipe) { return static_cast<T>(recipe.fixed % 1000); }
  static auto at(void*, const recipe& recipe) { return thrust::counting_iterator<T>(first(recipe)); }
  static T on_host(const recipe& recipe, u64 i) { return static_cast<T>(first(recipe) + static_cast<T>(i)); }
};
template <class T>
struct from_constant {
  using item = T;
  static constexpr std::size_t item_bytes = 0;
  static T value(const recipe& recipe) { return static_cast<T>(recipe.fixed % 100); }
  static auto at(void*, const recipe& recipe) { return thrust::constant_iterator<T>(value(recipe)); }
  static T on_host(const recipe& recipe, u64) { return value(recipe); }
};
// The items that lie in memory, each transformed.
template <class Stored, class Transform>
struct from_transformed {
  using stored = Stored;
  using item = std::invoke_result_t<Transform, Stored>;
  static constexpr std::size_t item_bytes = sizeof(Stored);
  static auto at(void* d_in, const recipe&) {
    return thrust::transform_iterator<Transform, const Stored*>(static_cast<const Stored*>(d_in), Transform{});
  }
  static item on_host(const recipe& recipe, u64 i) { return Transform{}(make<Stored>(recipe, i)); }
};
struct from_counted_bytes {
  using item = u32;
  static constexpr std::size_t item_bytes = 0;
  using counting = thrust::counting_iterator<u64>;
  static auto at(void*, const recipe& recipe) {
    return thrust::transform_iterator<low_byte, counting>(counting(recipe.fixed % 4096), low_byte{});
  }
  static item on_host(const recipe& recipe, u64 i) { return low_byte{}(recipe.fixed % 4096 + i); }
};

}  // namespace

void add_operators(kind_table& table) {
  add<from_counting<u64>, u64>(table, "sum.counting.u64", sum(), sums{});
  add<from_constant<u32>, u32>(table, "sum.constant.u32", sum(), sums{});
  add<from_transformed<i32, square>, i64>(table, "max.transformed.i64", max(), maxima{});
  add<from_counted_bytes, u32, u32>(table, "xor.counted.u32", reduce(bit_xor_functor{}), differing_bits{});
  add<from_counting<u32>, u32>(table, "inclusive_sum.counting.u32", inclusive_sum(), sums{});
  add<from_constant<i32>, i32>(table, "exclusive_sum.constant.i32", exclusive_sum(), sums{});
  add<from_transformed<i32, square>, i64>(table, "inclusive_sum.transformed.i64", inclusive_sum(), sums{});

  add_of<i32>(table, "std_plus.i32", reduce(std::plus<>{}), sums{});
  add<from_memory<u8>, u32, u32>(table, "std_plus.u8.to_u32", reduce(std::plus<u32>{}), sums{});
  add_of<float>(table, "cuda_plus.f32", reduce(cuda::std::plus<float>{}), sums{});
  add_of<i32>(table, "cuda_minimum.i32", reduce(cuda::minimum<>{}), minima{});
  add_of<u32>(table, "cuda_bit_xor.u32", reduce(cuda::std::bit_xor<>{}), differing_bits{});
  add<from_memory<i32>, i32>(table, "inclusive_cuda_plus.i32", inclusive_scan(cuda::std::plus<>{}), sums{});
  add_of<i32>(table, "exclusive_cuda_maximum.i32", exclusive_scan(cuda::maximum<i32>{}), maxima{});

  const u32 shift = 0;  // something that is captured
  const auto captures = [shift] __host__ __device__(u32 a, u32 b) { return (a ^ b) << shift; };
  const auto captures_typed = [shift] __host__ __device__(u32 a, u32 b) -> u32 { return (a ^ b) << shift; };
  const auto greater = [] __host__ __device__(i16 a, i16 b) { return a < b ? b : a; };
  const auto apply_both = [] __host__ __device__(const affine& a, const affine& b) {
    return affine{a.slope * b.slope, a.offset * b.slope + b.offset};
  };
  add_of<u32>(table, "lambda.xor.u32", reduce(captures), differing_bits{});
  add_of<i16>(table, "lambda.max.i16", reduce(greater), maxima{});
  add<from_memory<u32>, u32>(table, "inclusive_lambda.xor.u32", inclusive_scan(captures_typed), differing_bits{});
  add_of<affine>(table, "exclusive_lambda.affine", exclusive_scan(apply_both), composed{});

  const auto differ_on_device = [] __device__(u32 a, u32 b) { return a ^ b; };
  const auto greater_on_device = [] __device__(i32 a, i32 b) -> i32 { return a < b ? b : a; };
  const auto add_floats_on_device = [] __device__(float a, float b) { return a + b; };
  const auto add_on_device = [] __device__(u32 a, u32 b) { return a + b; };
  const auto apply_both_on_device = [] __device__(const affine& a, const affine& b) -> affine {
    return {a.slope * b.slope, a.offset * b.slope + b.offset};
  };
  add_of<u32>(table, "device_lambda.xor.u32", reduce(differ_on_device), differing_bits{});
  add_of<i32>(table, "device_lambda.typed_max.i32", reduce(greater_on_device), maxima{});
  add_of<float>(table, "device_lambda.plus.f32", reduce(add_floats_on_device), sums{});
  add<from_memory<u32>, u32>(table, "inclusive_device_lambda.plus.u32", inclusive_scan(add_on_device), sums{});
  add_of<affine>(table, "exclusive_device_lambda.affine", exclusive_scan(apply_both_on_device), composed{});
}

}  // namespace rungs::fuzz
