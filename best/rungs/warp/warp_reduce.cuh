// rungs::WarpReduce: cub::WarpReduce's calls, and the same with the result in all lanes.
//
//   float sum = rungs::WarpReduce<float>().AllSum(x);                        // in every lane
//   int most = rungs::WarpReduce<int>(temp_storage).Reduce(x, rungs::maximum{});  // as CUB's: in lane 0
//
// T                   any type that CUB takes.
// LogicalWarpThreads  1 to 32. A warp is cut into as many logical warps as there fit; what is over makes no call.
// TempStorage         empty: values go from register to register. There for the sake of CUB's callers.
//
// Sum, Reduce, AllSum and AllReduce are in warp/parts/reduce_calls.cuh. All lanes of a logical warp make a call; other
// logical warps need not. No call waits for anybody else, and none needs a barrier.
//
// Whole warps take sums, minima and maxima of arithmetic types in any order, 32-bit integers by redux.sync since sm_80:
// rungs::plus, minimum and maximum, std::plus, and those of cuda::std with <rungs/device/cuda_std_operators.cuh>. All
// else is combined in the order of the lanes, whatever the operator. Five operations deep, so five rounding errors of
// the sum of magnitudes at most; the same bits for the same inputs. Minimum and maximum propagate NaN, CUB's do not.
//
// The idea: Harris, Optimizing Parallel Reduction in CUDA, with shuffles (Luitjens, Faster Parallel Reductions on
// Kepler). What each way costs: rungs/collectives/01 to 03.
#pragma once

#include "rungs/warp/parts/reduce_calls.cuh"

namespace rungs::RUNGS_ABI {

template <class T, int LogicalWarpThreads = parts::warp_threads>
class WarpReduce : public device::reduce_calls<WarpReduce<T, LogicalWarpThreads>, T> {
  friend device::reduce_calls<WarpReduce, T>;

 public:
  struct TempStorage {};

  __device__ WarpReduce() {}
  __device__ explicit WarpReduce(TempStorage&) {}

  // A reduction for each segment. A segment begins where head_flag is not zero, or ends where tail_flag is not; lane 0
  // begins one anyway. The result is in the first lane of the segment; elsewhere it means nothing.
  template <class FlagT>
  __device__ T HeadSegmentedSum(T input, FlagT head_flag) {
    return HeadSegmentedReduce(input, head_flag, plus{});
  }
  template <class FlagT>
  __device__ T TailSegmentedSum(T input, FlagT tail_flag) {
    return TailSegmentedReduce(input, tail_flag, plus{});
  }
  template <class ReductionOpT, class FlagT>
  __device__ T HeadSegmentedReduce(T input, FlagT head_flag, ReductionOpT reduction_op) {
    const auto at = device::lanes_of_caller<LogicalWarpThreads>();
    const unsigned heads = __ballot_sync(at.mask, head_flag) >> at.first;
    const int end = __ffs(static_cast<int>(heads & ~1u << at.rank));
    return device::reduce_until(input, device::known<T>(reduction_op), at, end > 0 ? end - 1 : LogicalWarpThreads);
  }
  template <class ReductionOpT, class FlagT>
  __device__ T TailSegmentedReduce(T input, FlagT tail_flag, ReductionOpT reduction_op) {
    const auto at = device::lanes_of_caller<LogicalWarpThreads>();
    const unsigned tails = __ballot_sync(at.mask, tail_flag) >> at.first;
    const int end = __ffs(static_cast<int>(tails & ~0u << at.rank));
    return device::reduce_until(input, device::known<T>(reduction_op), at, end > 0 ? end : LogicalWarpThreads);
  }

 private:
  template <bool to_all, bool whole, class Op>
  __device__ T reduce(T input, Op op, int num_valid) {
    return device::reduce_lanes<to_all, whole>(input, op, device::lanes_of_caller<LogicalWarpThreads>(), num_valid);
  }
};

}  // namespace rungs::RUNGS_ABI
