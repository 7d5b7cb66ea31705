// rungs::ClusterScan: BlockScan over the blocks of a cluster. CUB has no such thing.
//
//   __global__ void __cluster_dims__(8) kernel(…) {
//     __shared__ rungs::ClusterScan<int, 256>::TempStorage temp_storage;
//     rungs::ClusterScan<int, 256>(temp_storage).ExclusiveSum(x, offset, total);   // total: in all eight blocks
//
// T                any type that BlockScan takes.
// BlockDimX, Y, Z  the dimensions of each block, 1 to 1024 threads. The cluster may have 1 to 16 blocks, in any
//                  dimensions; how many there are is found at run time. The order is that of the blocks' ranks, and in
//                  a block that of its threads.
// TempStorage      shared memory, 17 T and one T a warp, a __shared__ variable of the kernel: it has to have the same
//                  address in all blocks. Without one the collective brings its own, one for each type.
//
// The scans are in warp/parts/scan_calls.cuh. All threads of all blocks make a call, none has exited. Inside it they
// meet twice at the cluster's barrier, so what was written before the call is seen by the cluster behind it; no thread
// may have arrived there without having waited. A second call may follow at once. Behind a call no block touches a
// peer's memory: blocks may exit, or use the storage for something else after __syncthreads().
//
// Blocks scan as BlockScan does, then one block's aggregate after the other is put before: up to sixteen operations
// deeper. The same operators, order, accuracy and repeatability.
//
// Compiles for every architecture, for kernels that have another way; below sm_90 the call traps. Launched without a
// cluster, each block is one of its own.
//
// The idea: rungs/cluster/scans/00_remote_prefixes, with the cluster's barrier in place of one that counts bytes, so
// that nothing has to be set up and calls can be repeated.
#pragma once

#include "rungs/block/block_scan.cuh"
#include "rungs/cluster/parts/exchange.cuh"

namespace rungs::RUNGS_ABI {

template <class T, int BlockDimX, int BlockDimY = 1, int BlockDimZ = 1>
class ClusterScan : public device::collective_scan_calls<ClusterScan<T, BlockDimX, BlockDimY, BlockDimZ>, T> {
  friend device::collective_scan_calls<ClusterScan, T>;
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;
  using block_scan = BlockScan<T, BlockDimX, BLOCK_SCAN_RAKING, BlockDimY, BlockDimZ>;

 public:
  struct TempStorage {
    typename block_scan::TempStorage block;
    device::exchange<T> cluster;
  };

  __device__ ClusterScan() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit ClusterScan(TempStorage& temp_storage) : storage_(temp_storage) {}

 private:
  static __device__ bool is_first() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    return cluster::parts::block_rank() == 0 && place::thread() == 0;
#else
    return false;  // scan() does not return
#endif
  }

  template <bool inclusive, class Op>
  __device__ device::scanned<T> scan(T input, Op op) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    const int rank = static_cast<int>(cluster::parts::block_rank());
    const int num_blocks = static_cast<int>(cluster::parts::num_blocks());
    T value = input, of_block = input;
    storage_.cluster.open();
    block_scan block(storage_.block);
    if constexpr (inclusive)
      block.InclusiveScan(input, value, op, of_block);
    else
      block.ExclusiveScan(input, value, op, of_block);
    storage_.cluster.template tell<true>(of_block, place::thread(), place::num_threads);
    T aggregate = storage_.cluster.of_blocks[0], before = aggregate;
#pragma unroll
    for (int i = 1; i < device::most_cluster_blocks; ++i) {
      if (i == rank) before = aggregate;
      if (i < num_blocks) aggregate = static_cast<T>(op(aggregate, static_cast<T>(storage_.cluster.of_blocks[i])));
    }
    if (rank > 0) value = !inclusive && place::thread() == 0 ? before : static_cast<T>(op(before, value));
    return {value, aggregate};
#else
    __trap();
    return {input, input};
#endif
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
