// Rung 1. A warp keeps the best 64 candidates that it has met in registers, sorted, two a lane.
// Against 00_rounds_of_arg_max: the row is read once. A warp sorts a batch of 64 candidates by a bitonic network of
// shuffles and merges it into the best ones, if one of the batch is greater than the least of them. Few batches have
// one once a warp has met many. The warps' lists meet in shared memory. k is at most 64.
// Source: bitonic sorting, Batcher 1968; one list a warp, Johnson, Douze, Jegou 2017.
#pragma once

#include "rungs/parts/sorted_candidates.cuh"
#include "rungs/parts/top_k_calls.cuh"

namespace rungs::RUNGS_ABI::top_k {

// What a warp holds: place i is register i / 32 of lane i % 32.
inline constexpr int lane_places = 2, warp_places = lane_places * parts::warp_threads;

// One step of the network: places whose numbers differ in the bit `distance` are put in order, the greater one first
// where the bit `length` is 0.
template <int distance, int length>
__device__ void order_pairs(parts::candidate (&of)[lane_places], int lane) {
  static_assert(lane_places == 2);
  if constexpr (distance < parts::warp_threads) {
#pragma unroll
    for (int r = 0; r < lane_places; ++r) {
      const int place = r * parts::warp_threads + lane;
      const parts::candidate other = __shfl_xor_sync(parts::full_mask, of[r], distance);
      const bool keeps_greater = ((place & distance) == 0) == ((place & length) == 0);
      of[r] = keeps_greater ? maximum{}(of[r], other) : minimum{}(of[r], other);
    }
  } else if (of[0] < of[1]) {
    parts::swap(of[0], of[1]);
  }
}

// From pairs of runs of length / 2, one sorted each way, to sorted runs of `length`.
template <int length, int distance = length / 2>
__device__ void merge_runs(parts::candidate (&of)[lane_places], int lane) {
  order_pairs<distance, length>(of, lane);
  if constexpr (distance > 1) merge_runs<length, distance / 2>(of, lane);
}
template <int length = 2>
__device__ void sort_places(parts::candidate (&of)[lane_places], int lane) {
  merge_runs<length>(of, lane);
  if constexpr (length < warp_places) sort_places<2 * length>(of, lane);
}

// best = the greatest of both, sorted. Of two sorted lists, one turned round, the greater of each pair are the greatest
// ones, and they are first falling and then rising or the other way round, which one merge sorts.
__device__ inline void merge_best(parts::candidate (&best)[lane_places], const parts::candidate (&sorted)[lane_places],
                                  int lane) {
#pragma unroll
  for (int r = 0; r < lane_places; ++r)
    best[r] = maximum{}(best[r], __shfl_sync(parts::full_mask, sorted[lane_places - 1 - r], 31 - lane));
  merge_runs<warp_places>(best, lane);
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) bitonic_registers_kernel(parts::top_k_rows<T> rows) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ parts::candidate best_of_warps[num_warps][warp_places];
  const auto row = rows.from(blockIdx.x);
  const int lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  parts::candidate best[lane_places] = {}, batch[lane_places];
  for (unsigned first = warp * warp_places; first < row.num_columns; first += num_warps * warp_places) {
    const parts::candidate least = __shfl_sync(parts::full_mask, best[lane_places - 1], 31);
#pragma unroll
    for (int r = 0; r < lane_places; ++r) {
      const unsigned column = first + r * parts::warp_threads + lane;
      batch[r] = column < row.num_columns ? row.at(column) : 0;
    }
    if (!__any_sync(parts::full_mask, batch[0] > least || batch[1] > least)) continue;
    sort_places(batch, lane);
    merge_best(best, batch, lane);
  }
#pragma unroll
  for (int r = 0; r < lane_places; ++r) best_of_warps[warp][r * parts::warp_threads + lane] = best[r];
  __syncthreads();
  if (warp != 0) return;
  for (int other = 1; other < num_warps; ++other) {
#pragma unroll
    for (int r = 0; r < lane_places; ++r) batch[r] = best_of_warps[other][r * parts::warp_threads + lane];
    merge_best(best, batch, lane);
  }
#pragma unroll
  for (int r = 0; r < lane_places; ++r)
    if (const unsigned place = r * parts::warp_threads + lane; place < row.k) row.write(place, best[r]);
}

struct bitonic_registers : parts::top_k_calls<bitonic_registers> {
  static constexpr auto idea = "the best 64 of a warp sorted in registers, batches merged into them";
  static constexpr int block_threads = 256, items_per_thread = lane_places;
  static constexpr std::size_t max_k = warp_places, max_columns = std::size_t{1} << 22;

  template <class T>
  static cudaError_t enqueue(const parts::top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(bitonic_registers_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
