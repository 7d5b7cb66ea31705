// The kernel of gathered rows (gathered_rows.cuh): a bound of each block, one bound of the row, the keys that reach it,
// and their ranks in the first block.
#pragma once

#include <cstddef>

#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/distance_bins.cuh"
#include "rungs/production/top_k/gathered_again.cuh"
#include "rungs/production/top_k/gathered_plan.cuh"
#include "rungs/production/top_k/ranked_bins.cuh"
#include "rungs/production/top_k/row_parts.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Order, class Output, bool is_held>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    gathered_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                         const __grid_constant__ gathered_plan plan) {
  using stream_type = key_stream<Order>;
  constexpr unsigned vector_items = stream_type::sampled_items;
  constexpr unsigned num_chunks_held = is_held ? stream_type::chunks_on_their_way : stream_type::chunks_shared;
  extern __shared__ __align__(16) unsigned char gathered_rows_memory[];
  auto& own = reinterpret_cast<gathered_memory&>(*gathered_rows_memory);
  auto* const held = reinterpret_cast<candidate*>(gathered_rows_memory + sizeof(gathered_memory));
  block_selection& selection = own.selection;
  const unsigned num_blocks = plan.cluster_blocks, rank = blockIdx.x % num_blocks;
  const unsigned row = blockIdx.x / num_blocks;
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) cluster::parts::arrive_started();
#endif

  // Phase 1: the block's bound. Blocks take turns at the row.
  const stream_type stream(keys, plan.layout, row, 0, plan.num_columns, rank, num_blocks);
  const unsigned num_chunks = stream.num_chunks();
  typename stream_type::chunk pending[num_chunks_held];
  if constexpr (is_held) stream.begin_reading(pending);
  distance_bins::clear(selection);
  if (threadIdx.x == 0) selection.size = 0;
  unsigned bound;
  if constexpr (is_held) {
    const auto for_each_vector = [&](auto take) {
#pragma unroll
      for (unsigned i = 0; i < num_chunks_held; ++i)
        if (i < num_chunks) stream.for_each_vector(pending[i], i, take);
    };
    unsigned greatest = 0;
    for_each_vector([&](const auto& of_vector, unsigned) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) greatest = max(greatest, of_vector[i]);
    });
    bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
      if (plan.counts_threads) {
        count(greatest);
        return;
      }
      for_each_vector([&](const auto& of_vector, unsigned first) {
        if (plan.counts_vectors) {
          unsigned of_all = of_vector[0];
#pragma unroll
          for (unsigned i = 1; i < vector_items; ++i) of_all = max(of_all, of_vector[i]);
          if (stream.has(first) || stream.has(first + vector_items - 1)) count(of_all);
        } else {
#pragma unroll
          for (unsigned i = 0; i < vector_items; ++i)
            if (stream.has(first + i)) count(of_vector[i]);
        }
      });
    });
  } else {
    constexpr unsigned most_vectors = gathered_plan::most_sampled / vector_items;
    unsigned sampled[most_vectors][vector_items], greatest = 0;
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) sampled[v][i] = 0;
      if (v == 0 || v < plan.vectors_per_thread) stream.sample(v, plan.vectors_per_thread, sampled[v]);
    }
    stream.begin_reading(pending);
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v)
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) greatest = max(greatest, sampled[v][i]);
    bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
#pragma unroll
      for (unsigned v = 0; v < most_vectors; ++v) {
        if (v >= plan.vectors_per_thread) continue;
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i) count(sampled[v][i]);
      }
    });
  }

  // Phase 2: the row's bound, chosen among those of all blocks.
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    cluster::parts::wait();
    if (threadIdx.x < num_blocks) *cluster::parts::of_rank(own.bounds + rank, threadIdx.x) = bound;
    cluster::parts::meet();
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const unsigned of_lane = lane < num_blocks ? own.bounds[lane] : 0xffffffff;
    unsigned less = 0;
#pragma unroll 1
    for (unsigned other = 0; other < num_blocks; ++other) {
      const unsigned there = own.bounds[other];
      less += there < of_lane || (there == of_lane && other < lane);
    }
    const unsigned chosen = __ballot_sync(parts::full_mask, less == (is_held ? 0 : (num_blocks - 1) / 2));
    bound = __shfl_sync(parts::full_mask, of_lane, __ffs(static_cast<int>(chosen)) - 1);
  }
#endif

  // Phase 3: the block holds its keys that reach the bound.
  if constexpr (is_held) {
    float number = 0;
    if constexpr (stream_type::compares_numbers) number = stream.number_below(bound);
#pragma unroll
    for (unsigned i = 0; i < num_chunks_held; ++i)
      if (i < num_chunks) stream.hold_ordered(pending[i], i, bound, number, held, plan.capacity, selection.size);
  } else {
    const typename stream_type::screen screen = stream.screen_of(bound);
    stream.for_each_chunk(pending, [&](const auto& loaded, unsigned index) {
      return stream.hold_reaching(loaded, index, screen, held, plan.capacity, selection.size);
    });
    __syncthreads();
    if (selection.size <= plan.capacity) stream.order_held(held, selection.size);
  }

  // Phase 4: blocks tell each other how many keys they hold. If there is no room for all, or there are fewer than k,
  // blocks read their parts again.
  unsigned total, first;
  candidate least = plan.layout.make(bound, plan.layout.last);
  const auto add_counts = [&] {
    __syncthreads();
    const unsigned found = selection.size;
    if (threadIdx.x < num_blocks) store_in_block(own.counts + rank, threadIdx.x, num_blocks, found);
    meet_blocks(num_blocks);
    total = first = 0;
#pragma unroll 1
    for (unsigned block = 0; block < num_blocks; ++block) {
      const unsigned count = min(own.counts[block], plan.capacity + 1);
      first += block < rank ? count : 0;
      total += count;
    }
  };
  add_counts();
  if (total < plan.k || total > plan.capacity) {
    const stream_type part = part_of_row(keys, plan.layout, row, rank, num_blocks);
    unsigned above = 0, equal = 0, equal_before = 0;
    if (total > plan.capacity) {
      count_beside(part, bound, rank, num_blocks, own);
#pragma unroll 1
      for (unsigned block = 0; block < num_blocks; ++block) {
        above += own.above[block];
        equal += own.equal[block];
        equal_before += block < rank ? own.equal[block] : 0;
      }
    }
    if (above < plan.k && above + equal >= plan.k) {
      const unsigned wanted = plan.k - above;
      const unsigned of_part = wanted > equal_before ? min(wanted - equal_before, own.equal[rank]) : 0;
      hold_above(part, bound, own.above[rank] > 0, of_part, held, own);
    } else {
      least = bound_of_digits(part, plan, rank, selection);
      hold_from(part, least, held, selection);
    }
    add_counts();
  }

  // Phase 5: keys gather in the first block.
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    if (rank > 0) {
      candidate* const there = cluster::parts::of_rank(held, 0) + first;
      for (unsigned i = threadIdx.x; i < own.counts[rank]; i += block_selection::block_threads) there[i] = held[i];
    }
    cluster::parts::meet();
    if (rank > 0) return;
  }
#endif
  // Phase 6: the first block ranks them.
  const row_writer<Order, Output> write{keys.order, output, plan.layout, row};
  if (total + ranked_bins::room_for(plan.k) <= plan.capacity &&
      ranked_bins::write(held, held + total, total, plan.k, least, plan.layout.bits(), selection, write))
    return;
  __syncthreads();
  if (total > plan.k) selection.keep(held, total, plan.k, plan.layout.bits());
  write_kept(held, plan.k, true, write);
}

}  // namespace rungs::RUNGS_ABI::production
