// Rung 0. The textbook's compaction, in three steps: a flag for every item, an exclusive scan of the flags, a scatter.
// A flag is 1 where the item is chosen. The scan makes of it how many chosen items precede, which is the item's place
// in the output. The scan is scans/05_three_phases, in place. Of items of 4 bytes, DRAM carries twice the items, six
// times as many words of flags and places, and what is chosen.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/scans/05_three_phases.cuh"

namespace rungs::RUNGS_ABI::selections {

// There is one flag more than items: the scan makes of it how many are chosen.
template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    flag_kernel(const T* d_in, std::size_t num_items, unsigned* d_flags, SelectOp select_op) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  if (i <= num_items) d_flags[i] = i < num_items && select_op(d_in[i]);
}

template <int block_threads, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    scatter_kernel(const T* d_in, std::size_t num_items, const unsigned* d_places, T* d_out,
                   long long* d_num_selected_out, SelectOp select_op) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  if (i < num_items && select_op(d_in[i])) d_out[d_places[i]] = d_in[i];
  if (i == num_items) *d_num_selected_out = d_places[i];
}

struct flags_scan_scatter {
  static constexpr auto idea = "a flag for every item, a scan of the flags, and a scatter";
  static constexpr int block_threads = 256, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr std::size_t max_items = 0xfffffffe;
  using place = unsigned;

  // d_out[0 …] = those items of which select_op is true, in their order, and *d_num_selected_out how many they are.
  // d_out has room for them, and overlaps no input. select_op may be called more than once for an item.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    if (num_items > max_items) return cudaErrorInvalidValue;
    const std::size_t num_places = num_items + 1, place_bytes = num_places * sizeof(place);
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
    const auto d_places = reinterpret_cast<place*>(region);  // which begin as flags
    const std::size_t grid_blocks = parts::ceil_div(num_places, block_threads);
    error = parts::launch(flag_kernel<block_threads, T, SelectOp>, grid_blocks, block_threads, stream, d_in, num_items,
                          d_places, select_op);
    if (error == cudaSuccess) error = scan(region + place_bytes, scan_bytes, d_places);
    if (error != cudaSuccess) return error;
    return parts::launch(scatter_kernel<block_threads, T, SelectOp>, grid_blocks, block_threads, stream, d_in,
                         num_items, d_places, d_out, d_num_selected_out, select_op);
  }
};

}  // namespace rungs::RUNGS_ABI::selections
