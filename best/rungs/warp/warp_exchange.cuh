// rungs::WarpExchange: cub::WarpExchange's calls.
//
//   __shared__ rungs::WarpExchange<int, 4>::TempStorage temp_storage[num_warps];
//   rungs::WarpExchange<int, 4>(temp_storage[warp]).StripedToBlocked(items, items);
//
// T                      any type that CUB takes.
// ItemsPerThread         how many items each lane holds.
// LogicalWarpThreads     1 to 32. A warp is cut into as many logical warps as there fit; what is over makes no call.
// WarpExchangeAlgorithm  taken for the sake of CUB's callers: there is one algorithm, through shared memory.
// TempStorage            shared memory for each logical warp: one T an item, and where items_per_thread is a power of
//                        two above 4, one more for 32 items.
//
// Blocked: lane l holds items l * ItemsPerThread and following. Striped: its item i is item l + i * LogicalWarpThreads.
// All lanes of a logical warp make a call; other logical warps need not. Inside it the lanes meet once at __syncwarp().
// Before the storage is used again they have to meet there, too. Output and input may be the same array. Items are
// moved, or converted to the output's type, and never combined.
#pragma once

#include "rungs/warp/parts/exchanged.cuh"

namespace rungs::RUNGS_ABI {

enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

template <class T, int ItemsPerThread, int LogicalWarpThreads = parts::warp_threads,
          WarpExchangeAlgorithm Algorithm = WARP_EXCHANGE_SMEM>
class WarpExchange {
 public:
  struct TempStorage {
    device::exchanged<T, LogicalWarpThreads * ItemsPerThread, ItemsPerThread> items;
  };

  __device__ explicit WarpExchange(TempStorage& temp_storage)
      : storage_(temp_storage), at_(device::lanes_of_caller<LogicalWarpThreads>()) {}

  template <class OutputT>
  __device__ void BlockedToStriped(const T (&input_items)[ItemsPerThread], OutputT (&output_items)[ItemsPerThread]) {
    exchange(
        input_items, output_items, [this](int i) { return blocked(i); }, [this](int i) { return striped(i); });
  }
  template <class OutputT>
  __device__ void StripedToBlocked(const T (&input_items)[ItemsPerThread], OutputT (&output_items)[ItemsPerThread]) {
    exchange(
        input_items, output_items, [this](int i) { return striped(i); }, [this](int i) { return blocked(i); });
  }

  // Item i goes to rank ranks[i] of all, and ranks are striped. All ranks of the logical warp are different, and from 0
  // to LogicalWarpThreads * ItemsPerThread - 1.
  template <class OffsetT>
  __device__ void ScatterToStriped(T (&items)[ItemsPerThread], OffsetT (&ranks)[ItemsPerThread]) {
    ScatterToStriped(items, items, ranks);
  }
  template <class OutputT, class OffsetT>
  __device__ void ScatterToStriped(const T (&input_items)[ItemsPerThread], OutputT (&output_items)[ItemsPerThread],
                                   OffsetT (&ranks)[ItemsPerThread]) {
    exchange(
        input_items, output_items, [&ranks](int i) { return static_cast<int>(ranks[i]); },
        [this](int i) { return striped(i); });
  }

 private:
  __device__ int blocked(int i) const { return at_.rank * ItemsPerThread + i; }
  __device__ int striped(int i) const { return at_.rank + i * LogicalWarpThreads; }

  template <class OutputT, class From, class To>
  __device__ void exchange(const T (&input_items)[ItemsPerThread], OutputT (&output_items)[ItemsPerThread],
                           From place_before, To place_behind) {
#pragma unroll
    for (int i = 0; i < ItemsPerThread; ++i) storage_.items[place_before(i)] = device::carried<T>(input_items[i]);
    __syncwarp(at_.mask);
#pragma unroll
    for (int i = 0; i < ItemsPerThread; ++i) output_items[i] = static_cast<T>(storage_.items[place_behind(i)]);
  }

  TempStorage& storage_;
  device::lanes<LogicalWarpThreads> at_;
};

}  // namespace rungs::RUNGS_ABI
