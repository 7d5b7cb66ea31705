// rungs::BlockReduce: cub::BlockReduce's calls, and the same with the result in all threads.
//
//   __shared__ rungs::BlockReduce<float, 256>::TempStorage temp_storage;
//   float sum = rungs::BlockReduce<float, 256>(temp_storage).Sum(x);      // as CUB's: in thread 0
//   float sum = rungs::BlockReduce<float, 256>(temp_storage).AllSum(x);   // in every thread, at no further barrier
//
// T                     any type that CUB takes.
// BlockDimX, Y, Z       the block's dimensions, 1 to 1024 threads; no multiple of 32 is needed. The first thread is 0,
//                       the order is x first, then y, then z.
// BlockReduceAlgorithm  taken for the sake of CUB's callers: there is one algorithm, for any operator.
// TempStorage           shared memory, one T a warp. Without one the collective brings its own, one for each type.
//
// Sum, Reduce, AllSum and AllReduce are in warp/parts/reduce_calls.cuh. All threads of the block make a call. Inside
// it they meet once at the block's barrier (twice where the result goes to all threads of a block that is no multiple
// of 32; not at all where there is one warp). Before the storage is used again, by a second call or for something else,
// they have to meet at __syncthreads().
//
// Warps reduce as WarpReduce does, and the warps' aggregates are reduced the same way, in their order. The operator has
// to be associative and need not commute, except that sums, minima and maxima of arithmetic types are known to. Ten
// operations deep, and log2 of the items of a thread: as many rounding errors of the sum of magnitudes. The same bits
// for the same inputs. Minimum and maximum propagate NaN, CUB's do not.
//
// The idea: Luitjens, Faster Parallel Reductions on Kepler. What it costs: rungs/collectives/04_warps_of_warps.
#pragma once

#include "rungs/block/parts/place.cuh"
#include "rungs/warp/parts/reduce_calls.cuh"

namespace rungs::RUNGS_ABI {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

template <class T, int BlockDimX, BlockReduceAlgorithm Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BlockDimY = 1,
          int BlockDimZ = 1>
class BlockReduce : public device::reduce_calls<BlockReduce<T, BlockDimX, Algorithm, BlockDimY, BlockDimZ>, T> {
  friend device::reduce_calls<BlockReduce, T>;
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;

 public:
  struct TempStorage {
    device::carried<T> warp_aggregates[place::num_warps];
  };

  __device__ BlockReduce() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit BlockReduce(TempStorage& temp_storage) : storage_(temp_storage) {}

 private:
  template <bool to_all, bool whole, class Op>
  __device__ T reduce(T value, Op op, int num_valid) {
    constexpr bool one_warp = place::num_warps == 1;
    constexpr bool all_lanes = to_all && one_warp, whole_warps = whole && place::has_whole_warps;
    const int warp = place::warp();
    const auto at = place::warp_lanes();
    if (whole || num_valid > place::num_threads) num_valid = place::num_threads;
    value = device::reduce_lanes<all_lanes, whole_warps>(value, op, at, num_valid - warp * parts::warp_threads);
    if constexpr (!one_warp) {
      // Every warp reduces the aggregates where all want to know; one that lacks lanes is told the result.
      constexpr bool by_all = to_all && place::has_whole_warps;
      if (at.rank == 0) storage_.warp_aggregates[warp] = device::carried<T>(value);
      __syncthreads();
      if (by_all || warp == 0)
        value = device::reduce_shared<by_all, place::num_warps, T>(
            storage_.warp_aggregates, (num_valid - 1) / parts::warp_threads + 1, op, {at.mask, 0, at.rank});
      if constexpr (to_all && !by_all) {
        if (place::thread() == 0) storage_.warp_aggregates[0] = device::carried<T>(value);
        __syncthreads();
        value = storage_.warp_aggregates[0];
      }
    }
    return value;
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
