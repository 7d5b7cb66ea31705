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

  // The same of several inputs a thread: those of a thread follow each other, then come the next thread's.
  template <int items_per_thread>
  __device__ T Sum(const T (&inputs)[items_per_thread]) {
    return Reduce(inputs, plus{});
  }
  template <int items_per_thread, class ReductionOpT>
  __device__ T Reduce(const T (&inputs)[items_per_thread], ReductionOpT reduction_op) {
    return Reduce(parts::fold<T, 0, items_per_thread>(inputs, known<T>(reduction_op)), reduction_op);
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
