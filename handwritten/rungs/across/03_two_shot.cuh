// Rung 3. Each rank folds a part of the items and sends the result to all: two hops, whatever the number of ranks.
// Against 02_one_shot: 2 (num_ranks - 1) / num_ranks times the items leave each rank, without tags, in stores of 16
// bytes; each part costs two flags and the fences before them. Parts are small, and a block sends the next one before
// it folds this one: while some blocks wait for a flag, others fill the link.
#pragma once

#include "rungs/across/02_one_shot.cuh"
#include "rungs/across/parts/route.cuh"

namespace rungs::RUNGS_ABI::across {

// Parts lie in the window of who reads them.
struct pushed {
  __device__ bool is_pulled() const { return false; }
};

template <int block_threads, class Way, class T, class ReductionOpT>
__global__ void __launch_bounds__(block_threads, 1)
    two_shot_kernel(const __grid_constant__ member me, const T* d_in, T* d_out, std::size_t num_items,
                    ReductionOpT reduction_op, const __grid_constant__ parts::plan plan) {
  constexpr int in_flight = 4, data = 0, result = 1;  // kinds of flags
  const int num_ranks = me.num_ranks;
  const parts::route<Way> route{{}, me.num_ranks};
  const parts::word first = parts::first_step(me);

  const auto send = [&](std::size_t k) {
    for (int hop = 1; hop < num_ranks; ++hop) {
      const int to = (me.rank + hop) % num_ranks;
      const parts::part_of_items part(plan, k, to, d_in, d_out, num_items);
      const parts::places places(me, plan, route.window(me.rank, to), parts::half_of(first + k));
      parts::with_wholeness(part, [&](auto whole) {
        parts::copy_vectors<block_threads, whole.value ? in_flight : 1>(
            part.count, part.of<whole.value>(d_in), places.of<whole.value, T>(route.place_of_data(me.rank, to)));
      });
    }
    parts::raise_all(me, data, first + k);
  };

  const auto fold_own_part = [&](std::size_t k) {
    const int half = parts::half_of(first + k);
    const parts::part_of_items part(plan, k, me.rank, d_in, d_out, num_items);
    parts::with_wholeness(part, [&](auto whole) {
      const auto own = part.of<whole.value>(d_in), out = part.of<whole.value>(d_out);
      const auto from_rank = [&](int r) {
        if (r == me.rank) return own;
        return parts::places(me, plan, route.window(r, me.rank), half)
            .template of<whole.value, T>(route.place_of_data(r, me.rank));
      };
      constexpr int batch = whole.value ? in_flight : 1;
      parts::for_batches<block_threads, batch>(part.count, [&](std::size_t v, auto present) {
        parts::vector<T> loaded[batch] = {};
        parts::sums<T> sums[batch];
        for (int r = 0; r < num_ranks; ++r) {
          const auto from = from_rank(r);
#pragma unroll
          for (int i = 0; i < batch; ++i)
            if (present(i)) loaded[i] = from.load(v + i * block_threads);
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            if (r == 0)
              sums[i].begin(loaded[i]);
            else
              sums[i].fold(loaded[i], reduction_op);
          }
        }
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          loaded[i] = sums[i].rounded();
          if (present(i)) out.store(v + i * block_threads, loaded[i]);
        }
        for (int hop = 1; hop < num_ranks && !(route.way.is_pulled() && hop > 1); ++hop) {
          const int to = (me.rank + hop) % num_ranks;
          const auto sent = parts::places(me, plan, route.window(me.rank, to), half)
                                .template of<whole.value, T>(route.place_of_result(me.rank, to));
#pragma unroll
          for (int i = 0; i < batch; ++i)
            if (present(i)) sent.store(v + i * block_threads, loaded[i]);
        }
      });
    });
    parts::raise_all(me, result, first + k);
  };

  const auto take_results = [&](std::size_t k) {
    for (int hop = 1; hop < num_ranks; ++hop) {
      const int from = (me.rank + hop) % num_ranks;
      const parts::part_of_items part(plan, k, from, d_in, d_out, num_items);
      const parts::places places(me, plan, route.window(from, me.rank), parts::half_of(first + k));
      parts::with_wholeness(part, [&](auto whole) {
        parts::copy_vectors<block_threads, whole.value ? in_flight : 1>(
            part.count, places.of<whole.value, T>(route.place_of_result(from, me.rank)), part.of<whole.value>(d_out));
      });
    }
  };

  send(0);
  for (std::size_t k = 0; k < plan.num_steps; ++k) {
    parts::await_all(me, data, first + k);
    if (k + 1 < plan.num_steps) send(k + 1);  // peers have ended step k - 1, whose half it takes
    fold_own_part(k);
    parts::await_all(me, result, first + k);
    take_results(k);
  }
  __syncthreads();
  if (threadIdx.x == 0) parts::leave(me, plan.num_steps);
}

// The host's side of both rungs that this kernel is of.
template <class Way>
struct two_shot_calls {
  static constexpr int block_threads = 512;
  static constexpr std::size_t most_part_bytes = 32 << 10, least_part_vectors = 128;
  static constexpr bool deterministic = true, fixed_rank_order = true;

  // As gather_to_one::all_reduce.
  template <class T, class ReductionOpT>
  static cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items,
                                ReductionOpT reduction_op, cudaStream_t stream = nullptr) {
    const cudaError_t error = member.check();
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t num_vectors = rungs::parts::ceil_div(num_items, parts::vector<T>::num_items);
    const int num_places = 2 * parts::sources(member.num_ranks);
    const parts::plan plan =
        parts::plan_steps(member, num_vectors, member.num_ranks, num_places, most_part_bytes, least_part_vectors);
    return rungs::parts::launch(two_shot_kernel<block_threads, Way, T, ReductionOpT>, plan.num_blocks, block_threads,
                                stream, member, d_in, d_out, num_items, reduction_op, plan);
  }
};

struct two_shot : two_shot_calls<pushed> {
  static constexpr auto idea = "each rank folds a part and sends the result to all, a flag a part";
  static constexpr auto against = "one_shot", gains = "the least bytes that every rank can send";
  static constexpr auto costs = "two hops, each with a flag and a fence";
};

}  // namespace rungs::RUNGS_ABI::across
