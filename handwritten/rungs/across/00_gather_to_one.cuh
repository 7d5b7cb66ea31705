// Rung 0. Everybody sends to rank 0, which folds and sends the result back.
// The links of rank 0 carry everything, (num_ranks - 1) times the items each way, and those of the others stand idle.
// What all rungs share is here: data lies in staging of the receiver's window, a flag announces it, and the flags count
// steps, so that nothing is cleared between calls and graphs replay.
#pragma once

#include "rungs/across/parts/spans.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::across {

template <int block_threads, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads, 1)
    gather_to_one_kernel(const __grid_constant__ member me, const T* d_in, T* d_out, std::size_t num_items,
                         ReductionOpT reduction_op, const __grid_constant__ parts::plan plan) {
  constexpr int in_flight = 4, data = 0, result = 1;  // kinds of flags
  const int num_ranks = me.num_ranks, result_place = parts::sources(num_ranks);
  const parts::word first = parts::first_step(me);
  for (std::size_t k = 0; k < plan.num_steps; ++k) {
    const parts::word step = first + k;
    const int half = parts::half_of(step);
    const parts::part_of_items part(plan, k, 0, d_in, d_out, num_items);
    const parts::places here(me, plan, me.rank, half);
    if (me.rank == 0) {
      parts::await_all(me, data, step);
      parts::with_wholeness(part, [&](auto whole) {
        const auto own = part.of<whole.value>(d_in), out = part.of<whole.value>(d_out);
        parts::for_batches<block_threads, 1>(part.count, [&](std::size_t v, auto) {
          parts::sums<T> sums;
          sums.begin(own.load(v));
          for (int r = 1; r < num_ranks; ++r)
            sums.fold(here.of<whole.value, T>(parts::place_of(r, 0)).load(v), reduction_op);
          const auto folded = sums.rounded();
          out.store(v, folded);
          for (int r = 1; r < num_ranks; ++r)
            parts::places(me, plan, r, half).of<whole.value, T>(result_place).store(v, folded);
        });
      });
      parts::raise_all(me, result, step);
    } else {
      const parts::places root(me, plan, 0, half);
      parts::with_wholeness(part, [&](auto whole) {
        const auto to = root.of<whole.value, T>(parts::place_of(me.rank, 0));
        parts::copy_vectors<block_threads, whole.value ? in_flight : 1>(part.count, part.of<whole.value>(d_in), to);
      });
      __syncthreads();
      if (threadIdx.x == 0) {
        parts::raise(me, 0, data, step);
        parts::await(me, 0, result, step);
      }
      __syncthreads();
      parts::with_wholeness(part, [&](auto whole) {
        const auto from = here.of<whole.value, T>(result_place);
        parts::copy_vectors<block_threads, whole.value ? in_flight : 1>(part.count, from, part.of<whole.value>(d_out));
      });
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) parts::leave(me, plan.num_steps);
}

struct gather_to_one {
  static constexpr auto idea = "all send to rank 0, which folds and sends the result back";
  static constexpr auto against = "", gains = "", costs = "the links of one rank carry everything";
  static constexpr int block_threads = 512;
  static constexpr std::size_t most_part_bytes = 64 << 10, least_part_vectors = 128;
  static constexpr bool deterministic = true, fixed_rank_order = true;

  // Reduces item i of all ranks to item i of d_out, of num_items items each, on every rank: in the order of ranks,
  // halves in float, rounded once. The same bits on every rank and in every run.
  //
  // All ranks make the same calls in the same order: num_items, the types and reduction_op are the same; pointers and
  // streams are their own. d_in may be d_out. Pointers are aligned to their type. One launch; nothing is allocated, and
  // calls may be captured and replayed. A rank that is late makes the others wait, on the device. A block waits only
  // for the block of the same index of other ranks, so ranks that share a GPU need streams and room to run at once.
  //
  // Returns cudaErrorInvalidValue for a member of no windows, cudaErrorInvalidDevice where its device is not current,
  // and what the launch returns.
  template <class T, class ReductionOpT>
  static cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items,
                                ReductionOpT reduction_op, cudaStream_t stream = nullptr) {
    const cudaError_t error = member.check();
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t num_vectors = rungs::parts::ceil_div(num_items, parts::vector<T>::num_items);
    const int num_places = parts::sources(member.num_ranks) + 1;
    const parts::plan plan = parts::plan_steps(member, num_vectors, 1, num_places, most_part_bytes, least_part_vectors);
    return rungs::parts::launch(gather_to_one_kernel<block_threads, T, ReductionOpT>, plan.num_blocks, block_threads,
                                stream, member, d_in, d_out, num_items, reduction_op, plan);
  }
};

}  // namespace rungs::RUNGS_ABI::across
