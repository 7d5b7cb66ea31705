// What the host plans for gathered rows (gathered_rows.cuh), and what a block keeps in shared memory beside its
// candidates.
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/order.cuh"

namespace rungs::RUNGS_ABI::production {

struct gathered_plan {
  static constexpr unsigned most_sampled = 16;  // keys of a thread
  candidate_layout layout;
  unsigned num_columns, k;
  unsigned capacity;  // of the candidates of a block, and of all of them
  unsigned cluster_blocks;
  bool is_held;                         // whether a block's share fits its registers
  unsigned wanted;                      // how many of a block's keys, or of its sample, reach its bound
  unsigned vectors_per_thread;          // of the sample
  bool counts_threads, counts_vectors;  // whether keys are counted by the greatest of a thread's, or of a vector
};

// What a block keeps beside its candidates. Each peer writes its entry of the arrays of all blocks.
struct gathered_memory {
  static constexpr int most_blocks = cluster::parts::greatest_cluster_blocks;
  block_selection selection;
  unsigned bounds[most_blocks], counts[most_blocks];  // the bound of each block, and how many candidates it holds
  unsigned above[most_blocks], equal[most_blocks];    // its keys above the bound, and equal to it
  unsigned num_above, num_equal;                      // of this block, while its threads count
};

}  // namespace rungs::RUNGS_ABI::production
