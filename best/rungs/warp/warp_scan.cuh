// rungs::WarpScan: cub::WarpScan's calls, and the same of several items a lane.
//
//   rungs::WarpScan<int>(temp_storage).ExclusiveSum(x, offset, total);
//
// T                   any type that CUB takes.
// LogicalWarpThreads  1 to 32. A warp is cut into as many logical warps as there fit; what is over makes no call.
// TempStorage         empty: values go from register to register. There for the sake of CUB's callers.
//
// The scans are in warp/parts/scan_calls.cuh. All lanes of a logical warp make a call; other logical warps need not. No
// call waits for anybody else, and none needs a barrier.
//
// Everything is combined in the order of the lanes, for operators that do not commute: five operations deep, one more
// for an initial value and, of several items a lane, two more for each: as many rounding errors of the sum of
// magnitudes at most. The same bits for the same inputs. Minimum and maximum propagate NaN, CUB's do not; how operators
// are recognised, warp_reduce.cuh says.
//
// The idea: Kogge and Stone's adder; Hillis and Steele, Data Parallel Algorithms. What it costs:
// rungs/collectives/05_shuffle_up.
#pragma once

#include "rungs/warp/parts/scan_calls.cuh"

namespace rungs::RUNGS_ABI {

template <class T, int LogicalWarpThreads = parts::warp_threads>
class WarpScan : public device::collective_scan_calls<WarpScan<T, LogicalWarpThreads>, T> {
  friend device::collective_scan_calls<WarpScan, T>;

 public:
  struct TempStorage {};

  __device__ WarpScan() : at_(device::lanes_of_caller<LogicalWarpThreads>()) {}
  __device__ explicit WarpScan(TempStorage&) : WarpScan() {}

  // Both scans at once.
  template <class ScanOpT>
  __device__ void Scan(T input, T& inclusive_output, T& exclusive_output, ScanOpT scan_op) {
    inclusive_output = device::scan_lanes(input, device::known<T>(scan_op), at_);
    exclusive_output = device::from_before(inclusive_output, at_);
  }
  template <class ScanOpT>
  __device__ void Scan(T input, T& inclusive_output, T& exclusive_output, T initial_value, ScanOpT scan_op) {
    this->InclusiveScan(input, inclusive_output, initial_value, scan_op);
    exclusive_output = device::from_before(inclusive_output, at_);
    if (is_first()) exclusive_output = initial_value;
  }

  // Scans of the inputs of the first valid_items lanes; the others' mean nothing, and no operator sees them.
  // valid_items is the same in all lanes; it may be less than 1, or more than there are lanes. Only the first
  // valid_items lanes are given an output; the others keep theirs. warp_aggregate is of the valid inputs, in all lanes;
  // of none it means nothing. As in CUB from 3.2 on.
  template <class ScanOpT>
  __device__ void InclusiveScanPartial(T input, T& inclusive_output, ScanOpT scan_op, int valid_items) {
    scan_partial(input, &inclusive_output, nullptr, device::no_prefix{}, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void InclusiveScanPartial(T input, T& inclusive_output, T initial_value, ScanOpT scan_op,
                                       int valid_items) {
    scan_partial(input, &inclusive_output, nullptr, initial_value, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void InclusiveScanPartial(T input, T& inclusive_output, ScanOpT scan_op, int valid_items,
                                       T& warp_aggregate) {
    warp_aggregate = scan_partial(input, &inclusive_output, nullptr, device::no_prefix{}, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void InclusiveScanPartial(T input, T& inclusive_output, T initial_value, ScanOpT scan_op, int valid_items,
                                       T& warp_aggregate) {
    warp_aggregate = scan_partial(input, &inclusive_output, nullptr, initial_value, scan_op, valid_items);
  }
  // Without an initial value the first output means nothing.
  template <class ScanOpT>
  __device__ void ExclusiveScanPartial(T input, T& exclusive_output, ScanOpT scan_op, int valid_items) {
    scan_partial(input, nullptr, &exclusive_output, device::no_prefix{}, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void ExclusiveScanPartial(T input, T& exclusive_output, T initial_value, ScanOpT scan_op,
                                       int valid_items) {
    scan_partial(input, nullptr, &exclusive_output, initial_value, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void ExclusiveScanPartial(T input, T& exclusive_output, ScanOpT scan_op, int valid_items,
                                       T& warp_aggregate) {
    warp_aggregate = scan_partial(input, nullptr, &exclusive_output, device::no_prefix{}, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void ExclusiveScanPartial(T input, T& exclusive_output, T initial_value, ScanOpT scan_op, int valid_items,
                                       T& warp_aggregate) {
    warp_aggregate = scan_partial(input, nullptr, &exclusive_output, initial_value, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void ScanPartial(T input, T& inclusive_output, T& exclusive_output, ScanOpT scan_op, int valid_items) {
    scan_partial(input, &inclusive_output, &exclusive_output, device::no_prefix{}, scan_op, valid_items);
  }
  template <class ScanOpT>
  __device__ void ScanPartial(T input, T& inclusive_output, T& exclusive_output, T initial_value, ScanOpT scan_op,
                              int valid_items) {
    scan_partial(input, &inclusive_output, &exclusive_output, initial_value, scan_op, valid_items);
  }

  // What lane src_lane of the logical warp has.
  __device__ T Broadcast(T input, unsigned src_lane) {
    return device::from_rank(input, at_, static_cast<int>(src_lane));
  }

 private:
  __device__ bool is_first() const { return at_.rank == 0; }

  // Returns the aggregate. An output that is not asked for is null.
  template <class InitT, class ScanOpT>
  __device__ T scan_partial(T input, T* inclusive, T* exclusive, const InitT& initial_value, ScanOpT scan_op,
                            int valid_items) {
    constexpr bool has_prefix = !std::is_same_v<InitT, device::no_prefix>;
    const auto op = device::known<T>(scan_op);
    if (valid_items > LogicalWarpThreads) valid_items = LogicalWarpThreads;
    const T up_to = device::scan_lanes<false>(input, op, at_, valid_items);
    const T before = device::from_before(up_to, at_);
    const T aggregate = device::from_rank(up_to, at_, valid_items > 0 ? valid_items - 1 : 0);
    if (at_.rank < valid_items) {
      if constexpr (has_prefix) {
        if (inclusive) *inclusive = static_cast<T>(op(initial_value, up_to));
        if (exclusive) *exclusive = is_first() ? initial_value : static_cast<T>(op(initial_value, before));
      } else {
        if (inclusive) *inclusive = up_to;
        if (exclusive) *exclusive = before;
      }
    }
    return aggregate;
  }

  template <bool inclusive, class Op>
  __device__ device::scanned<T> scan(T input, Op op) {
    const T up_to = device::scan_lanes(input, op, at_);
    return {inclusive ? up_to : device::from_before(up_to, at_), device::from_rank(up_to, at_, LogicalWarpThreads - 1)};
  }

  device::lanes<LogicalWarpThreads> at_;
};

}  // namespace rungs::RUNGS_ABI
