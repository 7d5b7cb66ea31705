// Rung 0. The textbook's compaction, in three steps: a flag for every item, an exclusive scan of the flags, a scatter.
// A flag is 1 where the item is chosen. The scan makes of it how many chosen items precede, which is the item's place
// in the output. The scan is scans/05_three_phases, in place. Of items of 4 bytes, DRAM carries twice the items, six
// times as many words of flags and places, and what is chosen.
#pragma once

#include "rungs/parts/selections_in_steps.cuh"

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

struct flags_scan_scatter : parts::selects_in_steps<flags_scan_scatter> {
  static constexpr auto idea = "a flag for every item, a scan of the flags, and a scatter";
  static constexpr int block_threads = 256, items_per_thread = 1, places_of_block = block_threads;
  static constexpr std::size_t max_items = 0xfffffffe;
  static constexpr std::size_t num_places(std::size_t num_items) { return num_items + 1; }
  using place = unsigned;

  template <class T, class SelectOp>
  static constexpr auto mark() {
    return flag_kernel<block_threads, T, SelectOp>;
  }
  template <class T, class SelectOp>
  static constexpr auto scatter() {
    return scatter_kernel<block_threads, T, SelectOp>;
  }
};

}  // namespace rungs::RUNGS_ABI::selections
