// The shared memory of a block that looks through a row by bins of levels (level_bins.cuh).
#pragma once

#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/phase_barrier.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/frequent_values.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_window.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Peers write extremes, the sums that the block merges, groups, what is told about windows, and sizes. They also write
// few tokens, and the last token of the cuts. Tokens of windows go to the first block, where its bins were.
struct level_memory {
  static constexpr unsigned num_bins = weight_bins::num_bins, group_bins = parts::warp_threads,
                            num_groups = num_bins / group_bins;
  static constexpr unsigned num_windows = 3, fine_bins = weight_bins::block_threads, few_tokens = 128;
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, warps = weight_bins::warps;
  static constexpr unsigned list_capacity = 3072;
  static constexpr std::size_t most_items = std::size_t{1} << 16;  // of a block, as halved_bins allow

  union {
    weight_bins bins;  // of the block's items
    candidate gathered[list_capacity];
  };
  union {
    weight_bins received;  // of each block, the block's part of the bins
    halved_bins<fine_bins> fine[num_windows];
    frequent_memory frequent;
  };
  union {
    struct {
      alignas(16) weight_sum sums[num_bins];  // of the block's part, of all blocks: in its group, up to each bin
      alignas(16) unsigned counts[num_bins];
    } merged;
    // Tokens of a fine bin, by their places in the list: the last one, and the one before each.
    struct {
      unsigned last[num_windows][fine_bins];
      unsigned short before[num_windows][list_capacity];
    } chains;
    candidate list[list_capacity];  // where tokens are too many
  };
  token_mass groups[num_groups];  // of the row
  weight_sum fraction;            // of the draw
  token_mass of_warps[warps];
  int2 extremes_of_warps[warps], extremes[most_blocks];  // the greatest and the least, as integers of the order
  level_window windows[num_windows];
  window_start starts[num_windows];
  window_end ends[num_windows];
  unsigned sizes[most_blocks], size, num_left, num_few[num_windows], few_weights[few_tokens];
  bool is_chained[num_windows];
  candidate few[few_tokens], last;
  found_bin found;
  token_cut cut, cuts[num_windows];
  row_blocks_memory blocks;
  parts::phase_barrier has_extremes, has_sums, has_groups, has_window[num_windows], has_sizes, has_tokens;

  __device__ void clear_fine() {
    for (auto& each : fine) each.clear();
  }
};
static_assert(sizeof(level_memory) % sizeof(uint4) == 0);

}  // namespace rungs::RUNGS_ABI::production
