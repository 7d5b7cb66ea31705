// Reading many mailboxes at once.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::parts {

// The aggregate of what was posted to the mailboxes first to last - 1 under `tag`, in every lane of the warp that
// calls it; waits for what is still to come. Each lane has `batch` reads in flight, and what each lane adds up depends
// on first and last alone: the bits repeat. Neighbouring lanes read neighbours where the order does not matter; where
// it does, neighbours are read by one lane, for the order of the lanes to be the order of all.
template <int batch, class T, class ScanOpT>
__device__ aggregate_of<T, ScanOpT> gather(const mailboxes<T>& mailboxes, std::size_t first, std::size_t last, tag tag,
                                           ScanOpT scan_op) {
  constexpr bool any_order = is_commutative<ScanOpT>;
  const unsigned lane = threadIdx.x % warp_threads;
  constexpr int step = any_order ? warp_threads : 1;
  const unsigned begin = any_order ? lane : lane * batch;
  auto aggregate = ScanOpT::template identity<aggregate_of<T, ScanOpT>>();
  for (std::size_t from = first; from < last; from += batch * warp_threads) {
    typename parts::mailboxes<T>::letter letters[batch];
    const unsigned left = static_cast<unsigned>(at_most(last - from, batch * warp_threads));
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (k * step + begin < left) letters[k] = mailboxes.read(from + k * step + begin);
    bool complete;
    do {  // all that is missing is asked for again before any of it is looked at
      complete = true;
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (k * step + begin < left && !letters[k].bears(tag)) {
          complete = false;
          letters[k] = mailboxes.read(from + k * step + begin);
        }
    } while (!__all_sync(full_mask, complete));
    if constexpr (any_order) {
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const bool present = k * step + begin < left;
        const T value = present ? letters[k].value() : ScanOpT::template identity<T>();
        aggregate = scan_op(aggregate, value);
      }
    } else {
      T of_lane = letters[0].value();
#pragma unroll
      for (int k = 1; k < batch; ++k)
        if (k * step + begin < left) of_lane = scan_op(of_lane, letters[k].value());
      aggregate = scan_op(aggregate, aggregate_of_lanes(of_lane, static_cast<int>(ceil_div(left, batch)), scan_op));
    }
  }
  if constexpr (any_order) aggregate = warp_aggregate(aggregate, scan_op);
  return aggregate;
}

}  // namespace rungs::RUNGS_ABI::parts
