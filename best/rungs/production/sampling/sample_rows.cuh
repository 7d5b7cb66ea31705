// A token of every row, drawn from the first tokens of the order by falling weight, exactly.
//
// Rows of 2,048 columns and more go by bins of levels (level_rows.cuh) while each has a multiprocessor or more, and a
// block no more than 2^16 columns. Weights are added up exactly in one read. Others go by windows of values
// (window_rows.cuh). Rows of bfloat16 logits are short of patterns, and go by these (pattern_rows.cuh). Gumbel draws
// from all logits have a way of their own (list_rows.cuh).
//
// A cut is a number of tokens (top-k) or of their weights (top-p). A draw is a cut at a random sum of the weights: it
// takes its last token. So the draw goes by falling probability, as that of a sorted row does.
//
// All sums are of integers (weights.cuh), and a token's place in the order is an integer of its own. So nothing depends
// on the number of blocks, the order of additions, or addresses.
//
// Source: bins of probability mass in place of a sort are known from radix top-p, as in TensorRT-LLM's AIR top-p.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/cluster/parts/block_bits.cuh"
#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/sampling/gumbel_rows.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/level_rows.cuh"
#include "rungs/production/sampling/list_rows.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/pattern_clusters.cuh"
#include "rungs/production/sampling/pattern_rows.cuh"
#include "rungs/production/sampling/pattern_search.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/row_share.cuh"
#include "rungs/production/sampling/sampling_task.cuh"
#include "rungs/production/sampling/token_search.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/window_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// By a shift: a division would come before the first load.
__device__ inline unsigned row_of_block(const sampling_plan& plan) {
  return blockIdx.x >> cluster::parts::block_bits(plan.num_blocks);
}

template <class T, bool resident, bool of_logits>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_rows_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  sample_row<T, resident, of_logits>(task, plan, row_of_block(plan), sampling_shared_memory);
}

// For rows that patterns do not tell, out of the way of others.
template <class T>
__device__ __noinline__ void sample_untold_row(const sampling_task<T>& task, const sampling_plan& plan, unsigned row,
                                               unsigned char* shared) {
  __syncthreads();
  sample_row<T, false, true>(task, plan, row, shared);
}

// Logits alone, a block a row.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_patterns_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  if (!sample_by_patterns(task, blockIdx.x, sampling_shared_memory))
    sample_untold_row(task, plan, blockIdx.x, sampling_shared_memory);
}

// The same, a cluster a row.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    sample_pattern_clusters_kernel(const __grid_constant__ sampling_task<T> task,
                                   const __grid_constant__ sampling_plan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  const unsigned row = row_of_block(plan);
  if (!sample_by_pattern_cluster(task, plan, row, sampling_shared_memory))
    sample_untold_row(task, plan, row, sampling_shared_memory);
#endif
}

// Logits or probabilities, a block a multiprocessor.
template <class T, bool of_logits>
__global__ void __launch_bounds__(weight_bins::block_threads, 1)
    sample_levels_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char sampling_shared_memory[];
  sample_by_levels<T, of_logits>(task, plan, row_of_block(plan), sampling_shared_memory);
#endif
}

// Logits alone, for Gumbel draws from all of them.
template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    draw_from_lists_kernel(const __grid_constant__ sampling_task<T> task, const __grid_constant__ sampling_plan plan) {
  __shared__ gumbel_memory own;
  draw_from_list(task, plan, row_of_block(plan), own);
}

// How many blocks take a row. Where levels come first, a block a multiprocessor keeps what fits its shared memory, and
// reads the rest again. Else a row stays in shared memory where a block a multiprocessor is enough for that; if not, it
// is read again from the second cache by two blocks a multiprocessor.
struct sample_rows {
  static constexpr std::size_t least_columns = 2048;  // of a block of a cluster
  static constexpr std::size_t least_columns_of_windows = 2048, least_columns_of_patterns = 8192,
                               least_columns_of_levels = 2048;
  static constexpr unsigned list_capacity = 1536, gathered_capacity = 4096;
  // Two windows of a flat row of 262,144 columns have up to 4,000 tokens. A longer list leaves less of the first cache.
  // Two blocks share a row's tokens, and two share a multiprocessor.
  static constexpr unsigned long_capacity = 6144, long_capacity_of_two = 2560, long_gathered_of_two = 5120;
  static constexpr std::size_t least_columns_of_long_lists = 196'608;
  // Of a block: threads number their vectors by 16 bits.
  static constexpr std::size_t most_vectors_of_windows = std::size_t{weight_bins::block_threads} << 16;

  template <class T>
  static cudaError_t fit(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                         bool of_logits, bool has_sums, bool has_least, sampling_plan& plan) {
    int blocks = of_logits && !has_sums && !has_least ? blocks_of_lists<T>(limits, num_rows, num_columns) : 0;
    if (blocks > 0) {
      plan = {};
      plan.num_blocks = static_cast<unsigned>(blocks);
      plan.by_list = true;
      return cudaSuccess;
    }
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      if (of_logits && has_sums && num_columns >= least_columns_of_patterns &&
          num_columns <= pattern_bins::most_columns) {
        blocks = blocks_of_patterns(limits, num_rows, num_columns);
        if (blocks == cluster::parts::greatest_cluster_blocks) {
          const cudaError_t error =
              cluster::parts::fit_cluster(sample_pattern_clusters_kernel<T>, weight_bins::block_threads, blocks);
          if (error != cudaSuccess) return error;
        }
        plan = by_patterns<T>(num_columns, blocks);
        if (plan.dynamic_bytes <= limits.shared_bytes) return cudaSuccess;
      }
    }
    blocks = blocks_of_levels(limits, num_rows, num_columns, has_sums);
    if (blocks == cluster::parts::greatest_cluster_blocks) {
      const cudaError_t error =
          cluster::parts::fit_cluster(sample_levels_kernel<T, true>, weight_bins::block_threads, blocks);
      if (error != cudaSuccess) return error;
    }
    if (blocks > 0) {
      const std::size_t items = row_share<T, false>::most_places(num_columns, static_cast<std::size_t>(blocks)) *
                                row_share<T, false>::vector_items;
      if (items <= level_memory::most_items) {
        plan = by_levels<T>(num_columns, blocks, limits.shared_bytes);
        return cudaSuccess;
      }
    }
    blocks = blocks_of_a_row(limits, num_rows, 1, num_columns / least_columns);
    if (blocks == cluster::parts::greatest_cluster_blocks) {
      const cudaError_t error =
          cluster::parts::fit_cluster(sample_rows_kernel<T, true, true>, weight_bins::block_threads, blocks);
      if (error != cudaSuccess) return error;
    }
    plan = of_blocks<T>(num_columns, blocks, true);
    // Rows of one block may leave room for another one's.
    if (plan.dynamic_bytes <= (blocks > 1 ? limits.shared_bytes : limits.shared_bytes / 2)) return cudaSuccess;
    const int more = blocks_of_a_row(limits, num_rows, 2, num_columns / least_columns);
    plan = of_blocks<T>(num_columns, more, false);
    if (more == 1 && plan.dynamic_bytes > limits.shared_bytes) {
      plan.dynamic_bytes -= (plan.capacity - list_capacity) * sizeof(candidate);
      plan.capacity = list_capacity;
    }
    return plan.dynamic_bytes <= limits.shared_bytes ? cudaSuccess : cudaErrorNotSupported;
  }

  template <class T>
  static sampling_plan of_blocks(std::size_t num_columns, int blocks, bool resident) {
    const auto num_blocks = static_cast<unsigned>(blocks);
    const bool is_long = !resident && num_columns >= least_columns_of_long_lists;
    unsigned capacity = list_capacity, gathered = gathered_capacity;
    if (num_blocks == 1) {  // its list is the gathered one
      capacity = gathered = is_long ? long_capacity : gathered_capacity;
    } else if (num_blocks == 2 && is_long) {
      capacity = long_capacity_of_two;
      gathered = long_gathered_of_two;
    }
    const unsigned lists = num_blocks > 1 ? capacity + gathered : gathered;
    const std::size_t places = resident ? row_share<T, true>::most_places(num_columns, num_blocks) : 0;
    constexpr std::size_t most_of_windows =
        (most_vectors_of_windows - weight_bins::block_threads) * row_share<T, false>::vector_items;
    return {num_blocks,
            resident,
            num_columns >= least_columns_of_windows && num_columns / num_blocks < most_of_windows,
            false,
            false,
            false,
            0,
            capacity,
            gathered,
            sizeof(sampling_memory) + lists * sizeof(candidate) + places * sizeof(uint4)};
  }

  template <class T>
  static sampling_plan by_patterns(std::size_t num_columns, int blocks) {
    sampling_plan plan = of_blocks<T>(num_columns, blocks, false);
    plan.by_patterns = true;
    const std::size_t least = blocks > 1 ? sizeof(pattern_cluster_memory) : sizeof(pattern_memory);
    if (plan.dynamic_bytes < least) plan.dynamic_bytes = least;
    return plan;
  }

  // Of a row by lists, or 0 where another way is faster. Behind the read, lists take about five microseconds. They save
  // less than that where rows are few or short. Floats are compared sooner than shorter items.
  template <class T>
  static int blocks_of_lists(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns) {
    constexpr std::size_t least_of_four = sizeof(T) == 4 ? 65536 : 131072,
                          least_of_two = sizeof(T) == 4 ? 16384 : 57344, least_of_one = sizeof(T) == 4 ? 8192 : 24576,
                          least_to_share = 24576;
    switch (blocks_of_a_row(limits, num_rows, 1, num_columns)) {
      case 4:
        return num_columns >= least_of_four ? 4 : 0;
      case 2:
        return num_columns < least_of_two ? 0 : num_columns < least_to_share ? 1 : 2;
      case 1:
        return num_columns >= least_of_one ? 1 : 0;
    }
    return 0;
  }

  // Of a row by patterns: one, or 4 to 16, as measured on an H200. Of short rows a block has a multiprocessor, of long
  // ones two share it. A block of a cluster counts in 16 bits, with up to 31 more items than columns.
  static int blocks_of_patterns(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns) {
    constexpr std::size_t least_of_four = 16384, least_of_long = 49152, most_of_block = 0xffff - 31, very_long = 131072;
    if (limits.cc < 90) return 1;
    const auto multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    const bool are_long = num_columns >= least_of_long;
    const std::size_t shared_by = are_long ? 2 : 1;
    const auto places = [&](int doublings) { return places_reached(multiprocessors, shared_by, doublings); };
    if (are_long && num_rows * 16 <= (num_columns > very_long ? places(4) : multiprocessors * 5 / 8)) return 16;
    if (num_rows * 8 <= (are_long ? multiprocessors * 7 / 4 : places(3))) return 8;
    if (num_columns >= least_of_four && num_columns <= 4 * most_of_block && num_rows * 4 <= places(2)) return 4;
    return 1;
  }

  // Of a row by levels, or 0 where another way is faster. All rows have their blocks at once. The least columns are
  // those where an H200 gained by more blocks.
  static int blocks_of_levels(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                              bool has_sums) {
    constexpr std::size_t least_of_eight = 8192, least_of_sixteen = 16384;
    const auto multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    if (limits.cc < 90 || num_rows > multiprocessors || num_columns < least_columns_of_levels) return 0;
    // Gumbel draws from all tokens need no bins.
    if (!has_sums && num_columns < least_of_eight) return 1;
    const int doublings = num_columns < least_of_eight ? 2 : num_columns < least_of_sixteen ? 3 : 4;
    int d = 0;
    while (d < doublings && num_rows << (d + 1) <= places_reached(multiprocessors, 1, d + 1)) ++d;
    return 1 << d;
  }

  // `shared_bytes` are what a block may have.
  template <class T>
  static sampling_plan by_levels(std::size_t num_columns, int blocks, std::size_t shared_bytes) {
    sampling_plan plan{};
    plan.num_blocks = static_cast<unsigned>(blocks);
    plan.by_levels = true;
    plan.dynamic_bytes = sizeof(level_memory);
    const std::size_t places = row_share<T, false>::most_places(num_columns, plan.num_blocks),
                      room = (shared_bytes - plan.dynamic_bytes) / sizeof(uint4);
    plan.num_held = static_cast<unsigned>(places < room ? places : room);
    plan.dynamic_bytes += plan.num_held * sizeof(uint4);
    return plan;
  }

  template <class T>
  static cudaError_t launch(const sampling_task<T>& task, std::size_t num_rows, const sampling_plan& plan,
                            cudaStream_t stream) {
    const auto with = [&](auto kernel) {
      if (plan.num_blocks == 1)
        return parts::launch_with_shared_memory(kernel, num_rows, weight_bins::block_threads, plan.dynamic_bytes,
                                                stream, task, plan);
      return cluster::parts::launch_clusters(
          kernel, num_rows,
          {static_cast<int>(plan.num_blocks), static_cast<int>(weight_bins::block_threads), plan.dynamic_bytes}, stream,
          task, plan);
    };
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      if (plan.by_patterns)
        return plan.num_blocks > 1 ? with(sample_pattern_clusters_kernel<T>) : with(sample_patterns_kernel<T>);
    }
    if (plan.by_list) return with(draw_from_lists_kernel<T>);
    if (plan.by_levels)
      return task.of_logits ? with(sample_levels_kernel<T, true>) : with(sample_levels_kernel<T, false>);
    if (task.of_logits)
      return plan.resident ? with(sample_rows_kernel<T, true, true>) : with(sample_rows_kernel<T, false, true>);
    return plan.resident ? with(sample_rows_kernel<T, true, false>) : with(sample_rows_kernel<T, false, false>);
  }
};

}  // namespace rungs::RUNGS_ABI::production
