// The shared memory of a block that looks through a row by bins of levels (level_bins.cuh).
#pragma once

#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/frequent_values.cuh"
#include "rungs/production/sampling/halved_bins.cuh"
#include "rungs/production/sampling/level_window.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Peers read a block's bins and its list. They write its extremes, groups, sizes, few tokens, and the last token of the
// cuts. The first block gathers listed tokens where its bins were.
struct level_memory {
  static constexpr unsigned num_bins = 2048, group_bins = parts::warp_threads, num_groups = num_bins / group_bins;
  static constexpr unsigned num_windows = 3, fine_bins = weight_bins::block_threads, few_tokens = 128;
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, warps = weight_bins::warps;
  static constexpr unsigned list_capacity = 1536, gathered_capacity = 3072;
  static constexpr std::size_t most_items = std::size_t{1} << 16;  // of a block, as halved_bins allow

  union {
    halved_bins<num_bins> bins;  // of the block's items; behind a meeting, sums up to a bin in its group
    candidate gathered[gathered_capacity];
  };
  union {
    halved_bins<fine_bins> fine[num_windows];
    frequent_memory frequent;
  };
  token_mass groups[num_groups];
  token_mass of_warps[warps];
  int extremes_of_warps[warps][2], extremes[most_blocks][2];
  level_window windows[num_windows];
  unsigned sizes[most_blocks], size, num_left, num_few[num_windows], few_weights[few_tokens];
  candidate few[few_tokens], last;
  found_bin found;
  token_cut cut;
  row_blocks_memory blocks;

  __device__ void clear_fine() {
    for (auto& each : fine) each.clear();
  }
  // Of the list of a block.
  static __host__ __device__ unsigned capacity(unsigned num_blocks) {
    return num_blocks > 1 ? list_capacity : gathered_capacity;
  }
};

}  // namespace rungs::RUNGS_ABI::production
