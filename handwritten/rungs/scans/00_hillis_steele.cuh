// Rung 0. Every item adds what stands 1, 2, 4 … before it: ten steps in shared memory for a tile of 1024.
// All threads work in all steps, so a tile costs 9217 additions where 1023 would do. Two copies of the tile take turns,
// so that a step reads one and writes the other and needs one barrier instead of two. Tiles know nothing of each other:
// their sums are scanned by a second kernel of one block, and a third adds what precedes. Every item is read twice and
// written twice, twice what a scan has to move.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class InputIteratorT, class ScanOpT, class T>
__global__ void __launch_bounds__(block_threads)
    hillis_steele_kernel(InputIteratorT d_in, std::size_t num_items, T* d_scanned, T* d_sums, ScanOpT scan_op) {
  __shared__ T scans[2][block_threads];
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  int from = 0;
  scans[from][threadIdx.x] = i < num_items ? static_cast<T>(d_in[i]) : ScanOpT::template identity<T>();
  __syncthreads();
  for (int distance = 1; distance < block_threads; distance *= 2) {
    T value = scans[from][threadIdx.x];
    if (threadIdx.x >= distance) value = scan_op(scans[from][threadIdx.x - distance], value);
    from ^= 1;
    scans[from][threadIdx.x] = value;
    __syncthreads();
  }
  T value = scans[from][threadIdx.x];
  if (threadIdx.x == block_threads - 1) d_sums[blockIdx.x] = value;
  if (kind == parts::scan_kind::exclusive)
    value = threadIdx.x > 0 ? scans[from][threadIdx.x - 1] : ScanOpT::template identity<T>();
  if (i < num_items) d_scanned[i] = value;
}

struct hillis_steele : parts::scan_calls<hillis_steele> {
  static constexpr auto idea = "every item adds what stands 1, 2, 4 ... before it, in shared memory";
  static constexpr int block_threads = 1024, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_three_phases(num_items, block_threads, 10);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    const auto scan_tiles = [&](T* d_scanned, T* d_sums, std::size_t num_tiles) {
      return parts::launch(hillis_steele_kernel<kind, block_threads, InputIteratorT, ScanOpT, T>, num_tiles,
                           block_threads, stream, d_in, num_items, d_scanned, d_sums, scan_op);
    };
    return parts::scan_in_three_phases<block_threads, parts::access::by_items>(
        d_temp_storage, temp_storage_bytes, d_out, scan_op, seed, num_items, stream, scan_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
