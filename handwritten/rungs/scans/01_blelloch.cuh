// Rung 1. A tree over the tile: sums on the way up, what precedes each subtree on the way down.
// Against 00_hillis_steele: 1023 additions up and 1023 down instead of 9217, two items a thread and one copy of the
// tile. But 21 barriers instead of 11, fewer active threads at each level up, and active threads whose items lie 2, 4,
// 8 … apart: up to all 32 lanes meet in one bank of shared memory. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class InputIteratorT, class ScanOpT, class T>
__global__ void __launch_bounds__(block_threads)
    blelloch_kernel(InputIteratorT d_in, std::size_t num_items, T* d_scanned, T* d_sums, ScanOpT scan_op) {
  constexpr int tile_items = 2 * block_threads;
  __shared__ T tree[tile_items];
  const std::size_t first = std::size_t(blockIdx.x) * tile_items;
  T items[2];
  for (int k = 0; k < 2; ++k) {
    const int at = threadIdx.x + k * block_threads;
    items[k] = first + at < num_items ? static_cast<T>(d_in[first + at]) : ScanOpT::template identity<T>();
    tree[at] = items[k];
  }
  for (int distance = 1; distance < tile_items; distance *= 2) {
    __syncthreads();
    const int right = (threadIdx.x + 1) * 2 * distance - 1, left = right - distance;
    if (right < tile_items) tree[right] = scan_op(tree[left], tree[right]);
  }
  if (threadIdx.x == 0) {  // who has written the root
    d_sums[blockIdx.x] = tree[tile_items - 1];
    tree[tile_items - 1] = ScanOpT::template identity<T>();
  }
  for (int distance = tile_items / 2; distance > 0; distance /= 2) {
    __syncthreads();
    const int right = (threadIdx.x + 1) * 2 * distance - 1, left = right - distance;
    if (right < tile_items) {
      const T before = tree[right], of_left = tree[left];
      tree[left] = before;
      tree[right] = scan_op(before, of_left);
    }
  }
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    const int at = threadIdx.x + k * block_threads;
    T value = tree[at];
    if (kind == parts::scan_kind::inclusive) value = scan_op(value, items[k]);
    if (first + at < num_items) d_scanned[first + at] = value;
  }
}

struct blelloch : parts::scan_calls<blelloch> {
  static constexpr auto idea = "a tree in shared memory: sums on the way up, prefixes on the way down";
  static constexpr int block_threads = 512, items_per_thread = 2;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_three_phases(num_items, 2 * block_threads, 10 + 10 + 1);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    const auto scan_tiles = [&](T* d_scanned, T* d_sums, std::size_t num_tiles) {
      return parts::launch(blelloch_kernel<kind, block_threads, InputIteratorT, ScanOpT, T>, num_tiles, block_threads,
                           stream, d_in, num_items, d_scanned, d_sums, scan_op);
    };
    return parts::scan_in_three_phases<2 * block_threads, parts::access::by_items>(
        d_temp_storage, temp_storage_bytes, d_out, scan_op, seed, num_items, stream, scan_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
