// Rung 6. The first pass over the items only adds them up; the second knows what precedes a tile before it scans it.
// Against 05_three_phases: the first pass writes no item, so DRAM sees two reads and one write of every item instead of
// two and two, a quarter less. Nothing waits in d_out half done, so d_out need not be readable, nor the workspace hold
// every item where d_out is of another type. The sums are scanned by the same two kernels, level by level.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/passes.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::scans {

template <int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    reduce_tiles_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::accumulator* d_sums,
                        ScanOpT scan_op, bool by_vectors) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, blockIdx.x, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  if (warp > 0) return;
  const T of_tile = parts::before_warp<num_warps>(warp_aggregates, num_warps, scan_op);
  if (lane == 0) d_sums[blockIdx.x] = of_tile;
}

// d_prefixes is null where there is but one tile.
template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    scan_tiles_kernel(typename Rows::input_iterator d_in, std::size_t num_items, typename Rows::output_iterator d_out,
                      const typename Rows::accumulator* d_prefixes, ScanOpT scan_op, typename Rows::accumulator seed,
                      bool by_vectors) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, blockIdx.x, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  const T prefix = d_prefixes == nullptr ? seed : d_prefixes[blockIdx.x];
  const T warps_before = parts::before_warp<num_warps>(warp_aggregates, warp, scan_op);
  rows.template scan<kind>(scan_op(prefix, warps_before), scan_op);
  parts::store_tile<block_threads>(rows, d_out, blockIdx.x, num_items, by_vectors);
}

struct reduce_then_scan : parts::scan_calls<reduce_then_scan> {
  static constexpr auto idea = "the first pass only adds up, so items are written once: 3n instead of 4n";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * num_rows, parts::row_tile_height(num_rows) + 1);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    const std::size_t num_sums = parts::sums_on_all_levels(
        parts::ceil_div(num_items, tile_items<InputIteratorT, OutputIteratorT, T>), tile_items<const T*, T*, T>);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, num_sums * sizeof(T), region, error) || num_items == 0)
      return error;
    return scan_level<kind>(d_in, d_out, reinterpret_cast<T*>(region), scan_op, seed, num_items, stream);
  }

 private:
  template <class InputIteratorT, class OutputIteratorT, class T>
  static constexpr int tile_items =
      parts::row_tile_items<block_threads, parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>>;

  // The sums of this level and behind them those of the next go to d_sums.
  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan_level(InputIteratorT d_in, OutputIteratorT d_out, T* d_sums, ScanOpT scan_op, T seed,
                                std::size_t num_items, cudaStream_t stream) {
    using rows = parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>;
    const std::size_t num_tiles = parts::ceil_div(num_items, tile_items<InputIteratorT, OutputIteratorT, T>);
    cudaError_t error = cudaSuccess;
    if (num_tiles > 1) {
      error = parts::launch(reduce_tiles_kernel<block_threads, rows, ScanOpT>, num_tiles, block_threads, stream, d_in,
                            num_items, d_sums, scan_op, rows::reads_aligned(d_in));
      // Sums are read as items are, through a pointer to const: no kernels but those of the first level.
      if (error == cudaSuccess)
        error = scan_level<parts::scan_kind::exclusive>(static_cast<const T*>(d_sums), d_sums, d_sums + num_tiles,
                                                        scan_op, seed, num_tiles, stream);
    }
    if (error != cudaSuccess) return error;
    return parts::launch(scan_tiles_kernel<kind, block_threads, rows, ScanOpT>, num_tiles, block_threads, stream, d_in,
                         num_items, d_out, num_tiles > 1 ? d_sums : nullptr, scan_op, seed,
                         rows::vectorised(d_in, d_out));
  }
};

}  // namespace rungs::RUNGS_ABI::scans
