// The calls that WarpReduce, BlockReduce and ClusterReduce have in common.
#pragma once

#include "rungs/warp/parts/lanes.cuh"

namespace rungs::RUNGS_ABI::device {

// The rungs' operator for the caller's, where it means the same on values of type T.
template <class T, class Op>
__device__ auto known(Op op) {
  using named = typename known_operator<Op>::accumulator;
  using type = typename known_operator<Op>::type;
  if constexpr (!std::is_same_v<type, Op> && (std::is_void_v<named> || std::is_same_v<named, T>))
    return type{};
  else
    return op;
}

// How many items a range of fixed size has: an array or a span of static extent; 0 for all else.
template <class Range, std::size_t extent = Range::extent>
constexpr std::integral_constant<std::size_t, extent == static_cast<std::size_t>(-1) ? 0 : extent> size_of_range(int);
template <class Range, std::size_t size = std::tuple_size<Range>::value>
constexpr std::integral_constant<std::size_t, size> size_of_range(long);
template <class Range>
constexpr std::integral_constant<std::size_t, 0> size_of_range(...);
template <class Range, class T>
using if_range =
    std::enable_if_t<decltype(size_of_range<Range>(0))::value != 0 &&
                     std::is_same_v<std::decay_t<decltype(std::declval<const Range&>()[std::size_t{}])>, T>>;

// A collective derives from reduce_calls<collective, T>, befriends it, and writes
//
//   template <bool to_all, bool whole, class Op>
//   __device__ T reduce(T input, Op op, int num_valid);  // `whole`: num_valid means nothing
//
// "All threads" below are those of the logical warp, the block or the cluster. All of them make the call, each with the
// same operator and valid_items. An operator is associative, T(const T&, const T&), and has the same result in every
// thread; it is handed nothing but valid inputs and aggregates of them.
template <class Collective, class T>
class reduce_calls {
 public:
  // The sum or the aggregate of all threads' inputs, in the first thread; elsewhere the result means nothing.
  __device__ T Sum(T input) { return Reduce(input, plus{}); }
  template <class ReductionOpT>
  __device__ T Reduce(T input, ReductionOpT reduction_op) {
    return self().template reduce<false, true>(input, known<T>(reduction_op), 0);
  }

  // The same of the first valid_items threads, one at least; the others' inputs mean nothing.
  __device__ T Sum(T input, int valid_items) { return Reduce(input, plus{}, valid_items); }
  template <class ReductionOpT>
  __device__ T Reduce(T input, ReductionOpT reduction_op, int valid_items) {
    return self().template reduce<false, false>(input, known<T>(reduction_op), valid_items);
  }

  // The same of several inputs a thread: those of a thread follow each other, then come the next thread's. They are an
  // array, or a range of fixed size whose members run on the device: cuda::std::array, or cuda::std::span of static
  // extent. CUB takes ranges from 3.1 on, for warps only.
  template <int items_per_thread>
  __device__ T Sum(const T (&inputs)[items_per_thread]) {
    return Reduce(inputs, plus{});
  }
  template <int items_per_thread, class ReductionOpT>
  __device__ T Reduce(const T (&inputs)[items_per_thread], ReductionOpT reduction_op) {
    return Reduce(parts::fold<T, 0, items_per_thread>(inputs, known<T>(reduction_op)), reduction_op);
  }
  template <class Range, class = if_range<Range, T>>
  __device__ T Sum(const Range& inputs) {
    return Reduce(inputs, plus{});
  }
  template <class Range, class ReductionOpT, class = if_range<Range, T>>
  __device__ T Reduce(const Range& inputs, ReductionOpT reduction_op) {
    constexpr std::size_t items_per_thread = decltype(size_of_range<Range>(0))::value;
    const auto op = known<T>(reduction_op);
    T aggregate = inputs[0];
#pragma unroll
    for (std::size_t i = 1; i < items_per_thread; ++i) aggregate = static_cast<T>(op(aggregate, inputs[i]));
    return Reduce(aggregate, reduction_op);
  }

  // The least and the greatest input, likewise. CUB has these calls for warps only, from 3.1 on.
  __device__ T Min(T input) { return Reduce(input, minimum{}); }
  __device__ T Max(T input) { return Reduce(input, maximum{}); }
  __device__ T Min(T input, int valid_items) { return Reduce(input, minimum{}, valid_items); }
  __device__ T Max(T input, int valid_items) { return Reduce(input, maximum{}, valid_items); }
  template <int items_per_thread>
  __device__ T Min(const T (&inputs)[items_per_thread]) {
    return Reduce(inputs, minimum{});
  }
  template <int items_per_thread>
  __device__ T Max(const T (&inputs)[items_per_thread]) {
    return Reduce(inputs, maximum{});
  }
  template <class Range, class = if_range<Range, T>>
  __device__ T Min(const Range& inputs) {
    return Reduce(inputs, minimum{});
  }
  template <class Range, class = if_range<Range, T>>
  __device__ T Max(const Range& inputs) {
    return Reduce(inputs, maximum{});
  }

  // All of these with the result in all threads, the same bits in each. CUB has no such calls.
  __device__ T AllSum(T input) { return AllReduce(input, plus{}); }
  template <class ReductionOpT>
  __device__ T AllReduce(T input, ReductionOpT reduction_op) {
    return self().template reduce<true, true>(input, known<T>(reduction_op), 0);
  }
  __device__ T AllSum(T input, int valid_items) { return AllReduce(input, plus{}, valid_items); }
  template <class ReductionOpT>
  __device__ T AllReduce(T input, ReductionOpT reduction_op, int valid_items) {
    return self().template reduce<true, false>(input, known<T>(reduction_op), valid_items);
  }
  template <int items_per_thread>
  __device__ T AllSum(const T (&inputs)[items_per_thread]) {
    return AllReduce(inputs, plus{});
  }
  template <int items_per_thread, class ReductionOpT>
  __device__ T AllReduce(const T (&inputs)[items_per_thread], ReductionOpT reduction_op) {
    return AllReduce(parts::fold<T, 0, items_per_thread>(inputs, known<T>(reduction_op)), reduction_op);
  }

 private:
  __device__ Collective& self() { return static_cast<Collective&>(*this); }
};

}  // namespace rungs::RUNGS_ABI::device
