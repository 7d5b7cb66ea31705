// Rung 1. Partial sums travel around a ring, and then the results do.
// Against 00_gather_to_one: every rank sends the same, 2 (num_ranks - 1) / num_ranks times the items, to one neighbour,
// so all links are busy. Items take 2 (num_ranks - 1) hops one after the other, each with a flag to wait for. A part is
// folded in the order of ranks from its own rank on, and halves are rounded at every hop.
#pragma once

#include "rungs/across/00_gather_to_one.cuh"

namespace rungs::RUNGS_ABI::across {

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads, 1)
    ring_kernel(const __grid_constant__ member me, const T* d_in, T* d_out, std::size_t num_items,
                ReductionOpT reduction_op, const __grid_constant__ parts::plan plan) {
  constexpr int in_flight = 2;
  const int num_ranks = me.num_ranks, num_hops = 2 * (num_ranks - 1);
  const int left = (me.rank + num_ranks - 1) % num_ranks, right = (me.rank + 1) % num_ranks;
  const parts::word first = parts::first_step(me);
  for (std::size_t k = 0; k < plan.num_steps; ++k) {
    const parts::word step = first + k;
    const parts::places here(me, plan, me.rank, parts::half_of(step)), there(me, plan, right, parts::half_of(step));
    // Hop h arrives in place h, and raises the flag of kind h. What hop h - 1 brought is folded with the own items as
    // long as items are missing, and is sent on by hop h; from hop num_ranks - 2 on it is a result.
    for (int hop = 0; hop <= num_hops; ++hop) {
      const bool is_first = hop == 0, is_folded = hop < num_ranks, is_result = hop >= num_ranks - 1;
      const bool is_sent = hop < num_hops;
      if (!is_first) {
        if (threadIdx.x == 0) parts::await(me, left, hop - 1, step);
        __syncthreads();
      }
      const parts::part_of_items part(plan, k, (me.rank + 2 * num_ranks - hop) % num_ranks, d_in, d_out, num_items);
      parts::with_wholeness(part, [&](auto whole) {
        const auto own = part.of<whole.value>(d_in), out = part.of<whole.value>(d_out);
        const auto received = here.of<whole.value, T>(hop - 1), sent = there.of<whole.value, T>(hop);
        constexpr int batch = whole.value ? in_flight : 1;
        parts::for_batches<block_threads, batch>(part.count, [&](std::size_t v, auto present) {
          parts::vector<T> held[batch] = {}, added[batch] = {};
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            if (!present(i)) continue;
            held[i] = is_first ? own.load(v + i * block_threads) : received.load(v + i * block_threads);
            if (is_folded && !is_first) added[i] = own.load(v + i * block_threads);
          }
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            if (!present(i)) continue;
            if (is_folded && !is_first) {
              parts::sums<T> sums;
              sums.begin(held[i]);
              sums.fold(added[i], reduction_op);
              held[i] = sums.rounded();
            }
            if (is_sent) sent.store(v + i * block_threads, held[i]);
            if (is_result) out.store(v + i * block_threads, held[i]);
          }
        });
      });
      if (is_sent) {
        __syncthreads();
        if (threadIdx.x == 0) parts::raise(me, right, hop, step);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) parts::leave(me, plan.num_steps);
}

struct ring {
  static constexpr auto idea = "partial sums travel around a ring, and then the results";
  static constexpr auto against = "gather_to_one", gains = "all links carry the same";
  static constexpr auto costs = "2 (num_ranks - 1) hops one after the other; halves are rounded at each";
  static constexpr int block_threads = 512;
  static constexpr std::size_t most_part_bytes = 64 << 10, least_part_vectors = 128;
  static constexpr bool deterministic = true, fixed_rank_order = false;

  // As gather_to_one::all_reduce, but for the order: the ranks of an item come one after the other around the ring,
  // and which of them is the first differs between items. The same bits on every rank and in every run.
  template <class T, class ReductionOpT>
  static cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items,
                                ReductionOpT reduction_op, cudaStream_t stream = nullptr) {
    const cudaError_t error = member.check();
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t num_vectors = rungs::parts::ceil_div(num_items, parts::vector<T>::num_items);
    const int num_places = 2 * parts::sources(member.num_ranks);
    const parts::plan plan =
        parts::plan_steps(member, num_vectors, member.num_ranks, num_places, most_part_bytes, least_part_vectors);
    return rungs::parts::launch(ring_kernel<block_threads, T, ReductionOpT>, plan.num_blocks, block_threads, stream,
                                member, d_in, d_out, num_items, reduction_op, plan);
  }
};

}  // namespace rungs::RUNGS_ABI::across
