// The calls that WarpScan, BlockScan and ClusterScan have in common.
#pragma once

#include "rungs/warp/parts/reduce_calls.cuh"

namespace rungs::RUNGS_ABI::device {

// What a collective makes of one value a thread: the aggregate of the values up to the thread's own, or of those before
// (anything in the first thread), and the aggregate of all.
template <class T>
struct scanned {
  T value, aggregate;
};

// Stands for the initial value of a scan that has none.
struct no_prefix {};

// A collective derives from collective_scan_calls<collective, T>, befriends it, and writes
//
//   template <bool inclusive, class Op>
//   __device__ scanned<T> scan(T input, Op op);
//   __device__ bool is_first() const;
//
// "All threads" below are those of the logical warp, the block or the cluster. All of them make the call, each with the
// same operator and initial value. An operator is associative, T(const T&, const T&), and has the same result in every
// thread; it need not commute, and is handed nothing but inputs, the initial value and aggregates of neighbours.
//
// Every call scans one input a thread, or an array of several: those of a thread follow each other, then come the next
// thread's. Output and input may be the same. `aggregate`, where it is asked for, is of all inputs without the initial
// value, in all threads.
template <class Collective, class T>
class collective_scan_calls {
 public:
  // output = the sum of all inputs up to the thread's own.
  __device__ void InclusiveSum(T input, T& output) { InclusiveScan(input, output, plus{}); }
  __device__ void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, plus{}, aggregate); }
  template <int n>
  __device__ void InclusiveSum(const T (&input)[n], T (&output)[n]) {
    InclusiveScan(input, output, plus{});
  }
  template <int n>
  __device__ void InclusiveSum(const T (&input)[n], T (&output)[n], T& aggregate) {
    InclusiveScan(input, output, plus{}, aggregate);
  }

  // output = T{} plus the sum of all inputs before the thread's own.
  __device__ void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T{}, plus{}); }
  __device__ void ExclusiveSum(T input, T& output, T& aggregate) {
    ExclusiveScan(input, output, T{}, plus{}, aggregate);
  }
  template <int n>
  __device__ void ExclusiveSum(const T (&input)[n], T (&output)[n]) {
    ExclusiveScan(input, output, T{}, plus{});
  }
  template <int n>
  __device__ void ExclusiveSum(const T (&input)[n], T (&output)[n], T& aggregate) {
    ExclusiveScan(input, output, T{}, plus{}, aggregate);
  }

  // output = [initial_value op] all inputs up to the thread's own.
  template <class ScanOpT>
  __device__ void InclusiveScan(T input, T& output, ScanOpT scan_op) {
    scan_items<true, 1>(&input, &output, scan_op, no_prefix{});
  }
  template <class ScanOpT>
  __device__ void InclusiveScan(T input, T& output, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<true, 1>(&input, &output, scan_op, no_prefix{});
  }
  template <class ScanOpT>
  __device__ void InclusiveScan(T input, T& output, T initial_value, ScanOpT scan_op) {
    scan_items<true, 1>(&input, &output, scan_op, always(initial_value));
  }
  template <class ScanOpT>
  __device__ void InclusiveScan(T input, T& output, T initial_value, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<true, 1>(&input, &output, scan_op, always(initial_value));
  }
  template <int n, class ScanOpT>
  __device__ void InclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op) {
    scan_items<true, n>(input, output, scan_op, no_prefix{});
  }
  template <int n, class ScanOpT>
  __device__ void InclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<true, n>(input, output, scan_op, no_prefix{});
  }
  template <int n, class ScanOpT>
  __device__ void InclusiveScan(const T (&input)[n], T (&output)[n], T initial_value, ScanOpT scan_op) {
    scan_items<true, n>(input, output, scan_op, always(initial_value));
  }
  template <int n, class ScanOpT>
  __device__ void InclusiveScan(const T (&input)[n], T (&output)[n], T initial_value, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<true, n>(input, output, scan_op, always(initial_value));
  }

  // output = [initial_value op] all inputs before the thread's own. Without an initial value the first output means
  // nothing.
  template <class ScanOpT>
  __device__ void ExclusiveScan(T input, T& output, ScanOpT scan_op) {
    scan_items<false, 1>(&input, &output, scan_op, no_prefix{});
  }
  template <class ScanOpT>
  __device__ void ExclusiveScan(T input, T& output, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<false, 1>(&input, &output, scan_op, no_prefix{});
  }
  template <class ScanOpT>
  __device__ void ExclusiveScan(T input, T& output, T initial_value, ScanOpT scan_op) {
    scan_items<false, 1>(&input, &output, scan_op, always(initial_value));
  }
  template <class ScanOpT>
  __device__ void ExclusiveScan(T input, T& output, T initial_value, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<false, 1>(&input, &output, scan_op, always(initial_value));
  }
  template <int n, class ScanOpT>
  __device__ void ExclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op) {
    scan_items<false, n>(input, output, scan_op, no_prefix{});
  }
  template <int n, class ScanOpT>
  __device__ void ExclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<false, n>(input, output, scan_op, no_prefix{});
  }
  template <int n, class ScanOpT>
  __device__ void ExclusiveScan(const T (&input)[n], T (&output)[n], T initial_value, ScanOpT scan_op) {
    scan_items<false, n>(input, output, scan_op, always(initial_value));
  }
  template <int n, class ScanOpT>
  __device__ void ExclusiveScan(const T (&input)[n], T (&output)[n], T initial_value, ScanOpT scan_op, T& aggregate) {
    aggregate = scan_items<false, n>(input, output, scan_op, always(initial_value));
  }

 protected:
  static __device__ auto always(const T& value) {
    return [&value](const T&) { return value; };
  }

  // Scans n items a thread behind prefix_of(aggregate), which all threads call. Returns the aggregate.
  template <bool inclusive, int n, class ScanOpT, class PrefixOpT>
  __device__ T scan_items(const T* input, T* output, ScanOpT scan_op, PrefixOpT prefix_of) {
    constexpr bool has_prefix = !std::is_same_v<PrefixOpT, no_prefix>;
    constexpr bool is_done = inclusive && n == 1;
    Collective& self = static_cast<Collective&>(*this);
    const auto op = known<T>(scan_op);
    const scanned<T> of_threads = self.template scan<is_done>(parts::fold<T, 0, n>(input, op), op);
    T before = of_threads.value;
    if constexpr (has_prefix) {
      const T prefix = prefix_of(of_threads.aggregate);
      before = !is_done && self.is_first() ? prefix : static_cast<T>(op(prefix, before));
    }
    if constexpr (is_done) {
      *output = before;
    } else {
#pragma unroll
      for (int i = 0; i < n; ++i) {
        const T item = input[i];
        const bool is_behind = has_prefix || i > 0 || !self.is_first();
        const T up_to = is_behind ? static_cast<T>(op(before, item)) : item;
        output[i] = inclusive ? up_to : before;
        before = up_to;
      }
    }
    return of_threads.aggregate;
  }
};

}  // namespace rungs::RUNGS_ABI::device
