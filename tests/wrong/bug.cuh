// What the variants that are wrong on purpose share: the bugs that can be planted, each where the right line would
// stand. What the suite must refuse is thus what a slip of the pen makes, and the bug is the only difference to code
// that passes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <limits>

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::wrong {

enum class bug {
  none,
  last_tile_dropped,
  tail_mask_off_by_one,
  first_tile_twice,
  init_per_block,
  init_forgotten,
  identity_zero,
  identity_least_positive,
  offset_of_32_bits,
  missing_barrier,
  stale_ticket,
  memset_in_another_stream,
  ignored_launch_error,
  unchecked_alignment,
  workspace_short,
  workspace_unchecked,
  unrolled_for_64_run_with_32,
  output_not_initialised,
  init_copied_from_the_stack,
  synchronises,
  barrier_without_co_residency,
  order_follows_the_address,
  input_changed,
  size_query_launches,
  exclusive_as_inclusive,
  stale_flag,
  third_phase_forgotten,
  operands_exchanged,
  written_past_the_end,
  item_read_after_its_output,
  upper_level_inclusive,
  lower_level_exclusive,
  nan_in_bin_0,
  output_not_cleared,
  shared_bins_not_zeroed,
  flushed_by_a_store,
  negative_samples_dropped,
  bins_in_the_sample_type,
  width_rounded_first,
  last_bin_not_clamped,
  first_of_equal_edges,
  levels_copied_from_the_stack,
  fourth_channel_counted,
  levels_unchecked,
  bins_unchecked,
  last_peer_dropped,
  init_in_every_block,
  missing_cluster_barrier,
  lane_left_out,
  mask_too_wide,
  last_collective_left_out,
  barrier_left_out,
  one_block_not_waited_for,
  half_of_the_row_left_out,
  barrier_in_a_ragged_loop,
  absent_row_not_guarded,
  second_taken_for_aligned,
  product_in_the_item_type,
  last_of_equals,
  nan_never_less,
  index_in_the_tile,
  order_lost
};

inline constexpr int block_threads = 128, items_per_thread = 4, tile = block_threads * items_per_thread;

// The members of every exhibit.
struct variant {
  static constexpr auto idea = "wrong on purpose";
  static constexpr int block_threads = wrong::block_threads, items_per_thread = wrong::items_per_thread;
  static constexpr bool deterministic = true;
};

template <class T>
inline constexpr T least_positive = std::numeric_limits<T>::min();

template <bug planted, class T, class Op>
__device__ T identity() {
  if constexpr (planted == bug::identity_zero)
    return T{};
  else if constexpr (planted == bug::identity_least_positive)
    return least_positive<T>;
  else
    return Op::template identity<T>();
}

// A slow warp, so that a race is lost every time.
__device__ inline void dawdle() {
  for (int i = 0; i < 200; ++i) __nanosleep(100);
}

}  // namespace rungs::wrong
