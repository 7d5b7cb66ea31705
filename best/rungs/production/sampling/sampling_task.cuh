// What a call asks of all its rows, how blocks take them, and how a row's results are written.
#pragma once

#include <cstddef>

#include "rungs/production/sampling/random.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T>
struct sampling_task {
  const T* data;
  std::size_t stride;
  unsigned num_columns;
  int *tokens, *last_kept;  // the latter and probabilities may be null
  float* probabilities;
  const float* uniforms;  // null: random numbers by counting
  random_source random;
  philox_keys keys;                  // of random's seed
  const unsigned long long* offset;  // what is added to random's; may be null
  float logit_factor;
  bool of_logits, by_gumbel;
  unsigned least_level;
  unsigned top_k;  // 0: all
  bool cuts_by_sum;
  unsigned sum_share;  // in units of 2^-32
};

struct sampling_plan {
  unsigned num_blocks;                   // of a row
  bool resident;                         // whether its blocks keep it in shared memory
  bool by_windows;                       // whether it is long enough for windows
  bool by_patterns;                      // whether its patterns are counted first (pattern_bins.cuh)
  bool by_levels;                        // whether weights are added up by level first (level_bins.cuh)
  bool by_list;                          // whether tokens that may win a Gumbel draw are listed (gumbel_rows.cuh)
  unsigned num_held;                     // vectors of a block that stay in shared memory, where levels come first
  unsigned capacity, gathered_capacity;  // of a block's tokens of a bin, and of all blocks'
  std::size_t dynamic_bytes;
};

// What a call asks of a row's draw, from tokens whose weights sum up to `sum`.
template <class T, bool of_logits>
__device__ void write_token(const sampling_task<T>& task, unsigned row, const row_levels<of_logits>& levels,
                            weight_sum sum, unsigned token) {
  task.tokens[row] = static_cast<int>(token);
  if (task.probabilities != nullptr) {
    const float value = to_float(task.data[row * task.stride + token]);
    task.probabilities[row] = static_cast<float>(static_cast<double>(weight_of_level<of_logits>(levels.level(value))) /
                                                 static_cast<double>(sum));
  }
}
template <class T, bool of_logits>
__device__ void write_row(const sampling_task<T>& task, unsigned row, const row_levels<of_logits>& levels,
                          const token_cut& kept, unsigned token) {
  if (task.last_kept != nullptr) task.last_kept[row] = static_cast<int>(column_of_token(kept.last));
  write_token(task, row, levels, kept.up_to, token);
}

template <class T>
__device__ weight_sum draw_of(const sampling_task<T>& task, const random_source& random, unsigned row) {
  return task.uniforms != nullptr ? fraction_of(task.uniforms[row]) : random.of_row(row).fraction();
}
template <class T>
__device__ random_source random_of(const sampling_task<T>& task) {
  random_source random = task.random;
  if (task.offset != nullptr) random.offset += *task.offset;
  return random;
}

}  // namespace rungs::RUNGS_ABI::production
