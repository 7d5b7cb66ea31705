// Rung 1. A count for every tile instead of a flag for every item; inside a tile, ballots say what precedes an item.
// Against 00_flags_scan_scatter: what is written, scanned and read again shrinks from a word an item to a word for 512.
// DRAM carries twice the items and what is chosen. A ballot makes one word of a warp's flags, whose lower bits are
// counted in one instruction. The counts of warps meet in shared memory behind one barrier.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/scans/05_three_phases.cuh"

namespace rungs::RUNGS_ABI::selections {

// There is one count more than tiles: the scan makes of it how many are chosen.
template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    count_kernel(const T* d_in, std::size_t num_items, unsigned long long* d_counts, SelectOp select_op) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const int count = __syncthreads_count(i < num_items && select_op(d_in[i]));
  if (threadIdx.x == 0) d_counts[blockIdx.x] = count;
}

template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    scatter_tiles_kernel(const T* d_in, std::size_t num_items, const unsigned long long* d_places, T* d_out,
                         long long* d_num_selected_out, SelectOp select_op) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const bool is_chosen = i < num_items && select_op(d_in[i]);
  const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
  if (lane == 0) warp_counts[warp] = __popc(chosen_lanes);
  __syncthreads();
  int rank = __popc(chosen_lanes & ((1u << lane) - 1));  // in the tile
  for (int earlier = 0; earlier < warp; ++earlier) rank += warp_counts[earlier];
  if (is_chosen) d_out[d_places[blockIdx.x] + rank] = d_in[i];
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *d_num_selected_out = d_places[blockIdx.x];
}

struct tile_counts {
  static constexpr auto idea = "a count for every tile, ballots inside it";
  static constexpr int block_threads = 512, items_per_thread = 1;
  static constexpr bool deterministic = true;
  using place = unsigned long long;

  // As in 00_flags_scan_scatter.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    const std::size_t grid_blocks = parts::ceil_div(num_items, block_threads) + 1;
    const std::size_t num_places = grid_blocks, place_bytes = num_places * sizeof(place);
    const auto scan = [=](void* d_scan_storage, std::size_t& scan_bytes, place* d_places) {
      return scans::three_phases::exclusive_scan(d_scan_storage, scan_bytes, d_places, d_places, plus{}, place{},
                                                 num_places, stream);
    };
    std::size_t scan_bytes = 0;
    char* region;
    cudaError_t error = scan(nullptr, scan_bytes, nullptr);
    if (error != cudaSuccess ||
        parts::answered(d_temp_storage, temp_storage_bytes, place_bytes + scan_bytes, region, error))
      return error;
    const auto d_places = reinterpret_cast<place*>(region);  // which begin as counts
    error = parts::launch(count_kernel<block_threads, T, SelectOp>, grid_blocks, block_threads, stream, d_in, num_items,
                          d_places, select_op);
    if (error == cudaSuccess) error = scan(region + place_bytes, scan_bytes, d_places);
    if (error != cudaSuccess) return error;
    return parts::launch(scatter_tiles_kernel<block_threads, T, SelectOp>, grid_blocks, block_threads, stream, d_in,
                         num_items, d_places, d_out, d_num_selected_out, select_op);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
