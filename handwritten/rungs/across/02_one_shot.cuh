// Rung 2. Every rank sends all its items to all others, as tagged lines: no flag, no fence, no barrier.
// Against 01_ring: one hop instead of 2 (num_ranks - 1), and a thread waits for its own lines only. It costs traffic:
// tags double the bytes, and each link carries the items of every peer, 2 (num_ranks - 1) times the items in all. So it
// is for few items. A rank folds in the order of ranks, whatever arrives first. Lines have two halves, used by turns:
// a rank that is ahead by a step does not overwrite what a late one still reads.
#pragma once

#include "rungs/across/01_ring.cuh"
#include "rungs/across/parts/line_steps.cuh"
#include "rungs/across/parts/lines.cuh"

namespace rungs::RUNGS_ABI::across {

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads, 1)
    one_shot_kernel(const __grid_constant__ member me, const T* d_in, T* d_out, std::size_t num_items,
                    ReductionOpT reduction_op, std::size_t lines_a_step, std::size_t num_steps) {
  constexpr int line_items = parts::line_of_items<T>::num_items;
  const int num_ranks = me.num_ranks;
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  const parts::word first = parts::first_step(me);
  for (std::size_t k = 0; k < num_steps; ++k) {
    const unsigned tag = parts::tag_of(first + k);
    const int half = parts::half_of(first + k);
    for (std::size_t i = thread; i < lines_a_step; i += num_threads) {
      parts::line_of_items<T> own;
      own.load(d_in, k * lines_a_step + i, num_items);
      for (int hop = 1; hop < num_ranks; ++hop) {
        const int peer = me.rank + hop < num_ranks ? me.rank + hop : me.rank + hop - num_ranks;
        parts::post(parts::lines_of(me, peer, me.rank, half) + i, own.words, tag);
      }
    }
    for (std::size_t i = thread; i < lines_a_step; i += num_threads) {
      const std::size_t index = k * lines_a_step + i;
      parts::line_of_items<T> own, received;
      own.load(d_in, index, num_items);
      parts::accumulator_of<T> values[line_items];
      for (int r = 0; r < num_ranks; ++r) {
        received = own;
        if (r != me.rank) parts::receive(parts::lines_of(me, me.rank, r, half) + i, received.words, tag);
#pragma unroll
        for (int j = 0; j < line_items; ++j) {
          const auto value = received.accumulator(j);
          values[j] = r == 0 ? value : reduction_op(values[j], value);
        }
      }
#pragma unroll
      for (int j = 0; j < line_items; ++j)
        if (index * line_items + j < num_items) d_out[index * line_items + j] = static_cast<T>(values[j]);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) parts::leave(me, num_steps);
}

struct one_shot {
  static constexpr auto idea = "all items to all ranks, as words that bring their own flag";
  static constexpr auto against = "ring", gains = "one hop, and no fence or barrier";
  static constexpr auto costs = "2 (num_ranks - 1) times the items leave each rank";
  static constexpr int block_threads = 512;
  static constexpr bool deterministic = true, fixed_rank_order = true;

  // As gather_to_one::all_reduce. Items beyond member.tagged_bytes take several steps, all in the one launch.
  template <class T, class ReductionOpT>
  static cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items,
                                ReductionOpT reduction_op, cudaStream_t stream = nullptr) {
    const cudaError_t error = member.check();
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t num_lines = rungs::parts::ceil_div(num_items, parts::line_of_items<T>::num_items);
    const parts::steps_of_lines made = parts::plan_lines(member, num_lines, block_threads);
    return rungs::parts::launch(one_shot_kernel<block_threads, T, ReductionOpT>, made.num_blocks, block_threads, stream,
                                member, d_in, d_out, num_items, reduction_op, made.lines, made.count);
  }
};

}  // namespace rungs::RUNGS_ABI::across
