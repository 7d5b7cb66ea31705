// Reading many mailboxes at once.
#pragma once

#include "rungs/parts/state.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::v0::parts {

// The aggregate of what was posted to the mailboxes first to last - 1 under `epoch`, in every lane of the warp that
// calls it; waits for what is still to come. Each lane has `batch` reads in flight, and what each lane adds up depends
// on first and last alone: the bits repeat.
template <int batch, class T, class ScanOpT>
__device__ T gather(const mailboxes<T>& mailboxes, std::size_t first, std::size_t last, unsigned epoch,
                    ScanOpT scan_op) {
  const unsigned lane = threadIdx.x % warp_threads;
  T aggregate = ScanOpT::template identity<T>();
  for (std::size_t from = first; from < last; from += batch * warp_threads) {
    typename parts::mailboxes<T>::letter letters[batch];
    const unsigned left = static_cast<unsigned>(at_most(last - from, batch * warp_threads));
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (k * warp_threads + lane < left) letters[k] = mailboxes.read(from + k * warp_threads + lane);
    bool complete;
    do {  // all that is missing is asked for again before any of it is looked at
      complete = true;
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (k * warp_threads + lane < left && !letters[k].is_of(epoch)) {
          complete = false;
          letters[k] = mailboxes.read(from + k * warp_threads + lane);
        }
    } while (!__all_sync(full_mask, complete));
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const bool present = k * warp_threads + lane < left;
      const T value = present ? letters[k].value() : ScanOpT::template identity<T>();
      if constexpr (is_commutative<ScanOpT>)
        aggregate = scan_op(aggregate, value);
      else
        aggregate = scan_op(aggregate, warp_aggregate(value, scan_op));
    }
  }
  if constexpr (is_commutative<ScanOpT>) aggregate = warp_aggregate(aggregate, scan_op);
  return aggregate;
}

}  // namespace rungs::v0::parts
