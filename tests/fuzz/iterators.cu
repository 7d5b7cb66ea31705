// Items that are computed where they are read, by Thrust's iterators.
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "fuzz/kind_of.cuh"

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

void add_iterators(kind_table& table) {
  add_reduction<from_counting<u64>, u64>(table, "sum.counting.u64", call_sum{}, sums{});
  add_reduction<from_constant<u32>, u32>(table, "sum.constant.u32", call_sum{}, sums{});
  add_reduction<from_transformed<i32, square>, i64>(table, "max.transformed.i64", call_max{}, maxima{});
  add_reduction<from_counted_bytes, u32, u32>(table, "xor.counted.u32", call_reduce<bit_xor_functor>{},
                                              differing_bits{});
  add_scan<from_counting<u32>, u32>(table, "inclusive_sum.counting.u32", call_inclusive_sum{}, sums{});
  add_scan<from_constant<i32>, i32>(table, "exclusive_sum.constant.i32", call_exclusive_sum{}, sums{});
  add_scan<from_transformed<i32, square>, i64>(table, "inclusive_sum.transformed.i64", call_inclusive_sum{}, sums{});
}

}  // namespace rungs::fuzz
