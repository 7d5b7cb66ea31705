// Rung 4. Eight rows of a warp in registers: 16 bytes an access, 32 four-byte items a thread.
// Against 03_warp_shuffle: a quarter of the load and store instructions, 128 bytes in flight per thread, which is what
// DRAM latency asks for, and tiles of 8192 items instead of 1024: an eighth of the barriers and of the sums that one
// block walks over. Registers hold the tile, so fewer threads are resident. DRAM traffic stays the same.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::scans {

// Four neighbours, the lane's part of a row.
template <class T>
struct alignas(std::is_arithmetic_v<T> && sizeof(T) >= 4 ? 16 : alignof(T)) quad {
  T items[4];
};
template <class T, class InputIteratorT>
inline constexpr bool is_made_of =
    std::is_pointer_v<InputIteratorT>&& std::is_same_v<parts::item_of<InputIteratorT>, T>;

template <parts::scan_kind kind, int block_threads, int num_rows, class InputIteratorT, class ScanOpT, class T>
__global__ void __launch_bounds__(block_threads)
    vector_items_kernel(InputIteratorT d_in, std::size_t num_items, T* d_scanned, T* d_sums, ScanOpT scan_op,
                        bool are_aligned) {
  constexpr int num_warps = block_threads / parts::warp_threads, last_lane = parts::warp_threads - 1;
  constexpr std::size_t row_items = 4 * parts::warp_threads, warp_items = row_items * num_rows;
  const T identity = ScanOpT::template identity<T>();
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t first = (std::size_t(blockIdx.x) * num_warps + warp) * warp_items;
  const std::size_t mine = first + 4 * lane;  // the lane's first item
  const bool by_vectors = are_aligned && first + warp_items <= num_items;

  quad<T> rows[num_rows];
  T before_lane[num_rows], of_warp = identity;  // what precedes the lane's items of a row, within the warp
#pragma unroll
  for (int row = 0; row < num_rows; ++row) {
    const std::size_t at = mine + row * row_items;
    if constexpr (is_made_of<T, InputIteratorT>)
      if (by_vectors) rows[row] = *reinterpret_cast<const quad<T>*>(d_in + at);
    if (!by_vectors)
      for (int i = 0; i < 4; ++i) rows[row].items[i] = at + i < num_items ? static_cast<T>(d_in[at + i]) : identity;
  }
#pragma unroll
  for (int row = 0; row < num_rows; ++row) {
    const T(&items)[4] = rows[row].items;
    const T scanned = parts::warp_scan(scan_op(scan_op(items[0], items[1]), scan_op(items[2], items[3])), scan_op);
    const T of_earlier_lanes = parts::shuffle_up(scanned, 1);
    before_lane[row] = lane > 0 ? scan_op(of_warp, of_earlier_lanes) : of_warp;
    of_warp = scan_op(of_warp, parts::shuffle_from(scanned, last_lane));
  }
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  T before_warp = identity;
  for (int earlier = 0; earlier < warp; ++earlier) before_warp = scan_op(before_warp, warp_aggregates[earlier]);

#pragma unroll
  for (int row = 0; row < num_rows; ++row) {
    T sum = scan_op(before_warp, before_lane[row]);
#pragma unroll
    for (T& item : rows[row].items) {
      const T before = sum;
      sum = scan_op(sum, item);
      item = kind == parts::scan_kind::inclusive ? sum : before;
    }
    const std::size_t at = mine + row * row_items;
    if (by_vectors) *reinterpret_cast<quad<T>*>(d_scanned + at) = rows[row];
    if (!by_vectors)
      for (int i = 0; i < 4; ++i)
        if (at + i < num_items) d_scanned[at + i] = rows[row].items[i];
  }
  if (threadIdx.x == block_threads - 1) d_sums[blockIdx.x] = scan_op(before_warp, of_warp);
}

struct vector_items : parts::scan_calls<vector_items> {
  static constexpr auto idea = "16-byte accesses, eight rows of a warp in registers";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_three_phases(num_items, block_threads * items_per_thread,
                                         2 + 5 + num_rows + block_threads / parts::warp_threads + 4);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    const auto scan_tiles = [&](T* d_scanned, T* d_sums, std::size_t num_tiles) {
      const auto is_aligned = [](auto p) { return reinterpret_cast<std::uintptr_t>(p) % alignof(quad<T>) == 0; };
      bool are_aligned = false;
      if constexpr (is_made_of<T, InputIteratorT>) are_aligned = is_aligned(d_in) && is_aligned(d_scanned);
      return parts::launch(vector_items_kernel<kind, block_threads, num_rows, InputIteratorT, ScanOpT, T>, num_tiles,
                           block_threads, stream, d_in, num_items, d_scanned, d_sums, scan_op, are_aligned);
    };
    return parts::scan_in_three_phases<block_threads * items_per_thread, parts::access::by_vectors>(
        d_temp_storage, temp_storage_bytes, d_out, scan_op, seed, num_items, stream, scan_tiles);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
