// Rung 5. The tiles' sums are items like others: the same kernel scans them, and their sums, until one tile is left.
// Against 04_vector_items: where one block walked over 8 Ki sums for every 64 Mi items while the device idled, three
// levels of tiles reach 2^39 items, and the middle phase all but disappears. An input of one tile takes one launch
// instead of three. The rows of 04_vector_items come from parts/rows.cuh. What is left of the cost is DRAM traffic:
// still two reads and two writes of every item.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/passes.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/three_phases.cuh"

namespace rungs::RUNGS_ABI::scans {

template <parts::scan_kind kind, int block_threads, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    three_phases_kernel(typename Rows::input_iterator d_in, std::size_t num_items,
                        typename Rows::output_iterator d_scanned, typename Rows::accumulator* d_sums, ScanOpT scan_op,
                        typename Rows::accumulator seed, bool by_vectors) {
  using T = typename Rows::accumulator;
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ T warp_aggregates[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  Rows rows;
  parts::load_tile<block_threads>(rows, d_in, blockIdx.x, num_items, by_vectors, scan_op);
  const T of_warp = rows.aggregate(scan_op);
  if (lane == 0) warp_aggregates[warp] = of_warp;
  __syncthreads();
  const T before = scan_op(seed, parts::before_warp<num_warps>(warp_aggregates, warp, scan_op));
  rows.template scan<kind>(before, scan_op);
  parts::store_tile<block_threads>(rows, d_scanned, blockIdx.x, num_items, by_vectors);
  if (threadIdx.x == block_threads - 1) d_sums[blockIdx.x] = scan_op(before, of_warp);
}

struct three_phases : parts::scan_calls<three_phases> {
  static constexpr auto idea = "the tiles' sums are scanned by the same kernel, level by level";
  static constexpr int block_threads = 256, num_rows = 8, items_per_thread = 4 * num_rows;
  static constexpr bool deterministic = true;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::height_in_passes(num_items, block_threads * num_rows, parts::row_tile_height(num_rows) + 1);
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using room = parts::waiting_room<OutputIteratorT, T>;
    const std::size_t more_items = room::more_items(num_items);
    const std::size_t num_sums =
        parts::sums_on_all_levels(parts::ceil_div(num_items, tile_items<InputIteratorT, T*, T>), tile_items<T*, T*, T>);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, (more_items + num_sums) * sizeof(T), region, error) ||
        num_items == 0)
      return error;
    T* const d_scanned = room::in(d_out, reinterpret_cast<T*>(region));
    T* const d_sums = reinterpret_cast<T*>(region) + more_items;
    return scan_level<kind>(d_in, d_out, d_scanned, d_sums, scan_op, seed, num_items, stream);
  }

 private:
  template <class InputIteratorT, class OutputIteratorT, class T>
  static constexpr int tile_items =
      parts::row_tile_items<block_threads, parts::rows<num_rows, InputIteratorT, OutputIteratorT, T>>;

  // Scans d_in to d_out by way of d_scanned. The sums of this level and behind them those of the next go to d_sums.
  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan_level(InputIteratorT d_in, OutputIteratorT d_out, T* d_scanned, T* d_sums, ScanOpT scan_op,
                                T seed, std::size_t num_items, cudaStream_t stream) {
    const auto scan_tiles = [&](auto d_out, T seed) {
      using rows = parts::rows<num_rows, InputIteratorT, decltype(d_out), T>;
      return parts::launch(three_phases_kernel<kind, block_threads, rows, ScanOpT>,
                           parts::ceil_div(num_items, tile_items<InputIteratorT, decltype(d_out), T>), block_threads,
                           stream, d_in, num_items, d_out, d_sums, scan_op, seed, rows::vectorised(d_in, d_out));
    };
    if (num_items <= tile_items<InputIteratorT, OutputIteratorT, T>) return scan_tiles(d_out, seed);
    const std::size_t num_tiles = parts::ceil_div(num_items, tile_items<InputIteratorT, T*, T>);
    cudaError_t error = scan_tiles(d_scanned, ScanOpT::template identity<T>());
    if (error == cudaSuccess)
      error = scan_level<parts::scan_kind::exclusive>(d_sums, d_sums, d_sums, d_sums + num_tiles, scan_op, seed,
                                                      num_tiles, stream);
    if (error != cudaSuccess) return error;
    return parts::add_back<tile_items<InputIteratorT, T*, T>, parts::access::by_vectors>(d_scanned, d_sums, num_items,
                                                                                         d_out, scan_op, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::scans
