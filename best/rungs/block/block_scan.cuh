// rungs::BlockScan: cub::BlockScan's calls.
//
//   __shared__ rungs::BlockScan<int, 256>::TempStorage temp_storage;
//   rungs::BlockScan<int, 256>(temp_storage).ExclusiveSum(x, offset, total);   // total: in every thread
//
// T                   any type that CUB takes.
// BlockDimX, Y, Z     the block's dimensions, 1 to 1024 threads; no multiple of 32 is needed. The first thread is 0,
//                     the order is x first, then y, then z.
// BlockScanAlgorithm  taken for the sake of CUB's callers: there is one algorithm, for any operator.
// TempStorage         shared memory, one T a warp and one more. Without one the collective brings its own, one for each
//                     type.
//
// The scans are in warp/parts/scan_calls.cuh; those with a callback are here. All threads of the block make a call.
// Inside it they meet once at the block's barrier, twice with a callback. Before the storage is used again, by a second
// call or for something else, they have to meet at __syncthreads().
//
// Everything is combined in the order of the threads, for operators that do not commute: in a warp as WarpScan does,
// then one warp's aggregate after the other: as many operations deeper as there are warps. The same bits for the same
// inputs. Minimum and maximum propagate NaN, CUB's do not; how operators are recognised, warp_reduce.cuh says.
//
// The idea: Sengupta, Harris and Garland, Efficient Parallel Scan Algorithms for GPUs. What it costs:
// rungs/collectives/06_scan_of_warps.
#pragma once

#include "rungs/block/parts/place.cuh"
#include "rungs/warp/parts/scan_calls.cuh"

namespace rungs::RUNGS_ABI {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BlockDimX, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int BlockDimY = 1,
          int BlockDimZ = 1>
class BlockScan : public device::collective_scan_calls<BlockScan<T, BlockDimX, Algorithm, BlockDimY, BlockDimZ>, T> {
  using calls = device::collective_scan_calls<BlockScan, T>;
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;
  friend calls;

 public:
  struct TempStorage {
    device::carried<T> warp_aggregates[place::num_warps], prefix;
  };

  __device__ BlockScan() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit BlockScan(TempStorage& temp_storage) : storage_(temp_storage) {}

  // The same behind a prefix, in place of an initial value, that depends on the block's aggregate: as where a block
  // scans tile after tile, or looks back. The first warp calls block_prefix_callback_op(block_aggregate), and what its
  // first lane is answered is the prefix. The functor is taken by reference, and may change.
  using calls::ExclusiveScan;
  using calls::ExclusiveSum;
  using calls::InclusiveScan;
  using calls::InclusiveSum;
  template <class BlockPrefixCallbackOp>
  __device__ void InclusiveSum(T input, T& output, BlockPrefixCallbackOp& block_prefix_callback_op) {
    InclusiveScan(input, output, plus{}, block_prefix_callback_op);
  }
  template <int n, class BlockPrefixCallbackOp>
  __device__ void InclusiveSum(const T (&input)[n], T (&output)[n], BlockPrefixCallbackOp& block_prefix_callback_op) {
    InclusiveScan(input, output, plus{}, block_prefix_callback_op);
  }
  template <class BlockPrefixCallbackOp>
  __device__ void ExclusiveSum(T input, T& output, BlockPrefixCallbackOp& block_prefix_callback_op) {
    ExclusiveScan(input, output, plus{}, block_prefix_callback_op);
  }
  template <int n, class BlockPrefixCallbackOp>
  __device__ void ExclusiveSum(const T (&input)[n], T (&output)[n], BlockPrefixCallbackOp& block_prefix_callback_op) {
    ExclusiveScan(input, output, plus{}, block_prefix_callback_op);
  }
  template <class ScanOpT, class BlockPrefixCallbackOp>
  __device__ void InclusiveScan(T input, T& output, ScanOpT scan_op, BlockPrefixCallbackOp& block_prefix_callback_op) {
    this->template scan_items<true, 1>(&input, &output, scan_op, called_back(block_prefix_callback_op));
  }
  template <int n, class ScanOpT, class BlockPrefixCallbackOp>
  __device__ void InclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op,
                                BlockPrefixCallbackOp& block_prefix_callback_op) {
    this->template scan_items<true, n>(input, output, scan_op, called_back(block_prefix_callback_op));
  }
  template <class ScanOpT, class BlockPrefixCallbackOp>
  __device__ void ExclusiveScan(T input, T& output, ScanOpT scan_op, BlockPrefixCallbackOp& block_prefix_callback_op) {
    this->template scan_items<false, 1>(&input, &output, scan_op, called_back(block_prefix_callback_op));
  }
  template <int n, class ScanOpT, class BlockPrefixCallbackOp>
  __device__ void ExclusiveScan(const T (&input)[n], T (&output)[n], ScanOpT scan_op,
                                BlockPrefixCallbackOp& block_prefix_callback_op) {
    this->template scan_items<false, n>(input, output, scan_op, called_back(block_prefix_callback_op));
  }

 private:
  static __device__ bool is_first() { return place::thread() == 0; }

  template <class BlockPrefixCallbackOp>
  __device__ auto called_back(BlockPrefixCallbackOp& callback) {
    return [this, &callback](const T& aggregate) -> T {
      if (place::warp() == 0) {
        const T prefix = callback(aggregate);
        if (is_first()) storage_.prefix = device::carried<T>(prefix);
      }
      __syncthreads();
      return storage_.prefix;
    };
  }

  template <bool inclusive, class Op>
  __device__ device::scanned<T> scan(T input, Op op) {
    const int warp = place::warp();
    const auto at = place::warp_lanes();
    const T up_to = device::scan_lanes(input, op, at);
    T value = inclusive ? up_to : device::from_before(up_to, at);
    if (at.rank == parts::warp_threads - 1 || place::thread() == place::num_threads - 1)
      storage_.warp_aggregates[warp] = device::carried<T>(up_to);
    __syncthreads();
    T aggregate = storage_.warp_aggregates[0], before = aggregate;
#pragma unroll
    for (int i = 1; i < place::num_warps; ++i) {
      if (i == warp) before = aggregate;
      aggregate = static_cast<T>(op(aggregate, static_cast<T>(storage_.warp_aggregates[i])));
    }
    if (warp > 0) value = !inclusive && at.rank == 0 ? before : static_cast<T>(op(before, value));
    return {value, aggregate};
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
