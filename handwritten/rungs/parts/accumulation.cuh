// Sums of floats that differ only in how a thread accumulates. Loads, grid and finish are the same for all.
//
// The order of the additions follows from the number of items alone: neither the address, nor the alignment, nor the
// device has a say in it. An Accumulator is a thread's sum:
//
//   using partial                        what threads hand to each other
//   void add(const float (&items)[n])    the thread's items of one tile
//   partial total() const
//   static partial merge(partial, partial)
//   static partial of(float)
//   static float rounded(partial)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/compensated.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// What the compensated accumulators have in common: how partial sums meet.
struct compensated_partials {
  using partial = compensated;
  static __device__ partial of(float x) { return partial(x); }
  static __device__ partial merge(const partial& a, const partial& b) { return add_compensated()(a, b); }
  static __device__ float rounded(const partial& a) { return a; }
};

// A thread's part of it. Accumulator has a static function step(compensated, float). Infinities, NaN and overflow turn
// the compensation into NaN: then the tile is added once more, without it.
template <class Accumulator>
struct compensated_accumulator : compensated_partials {
  compensated sums = compensated(-0.0f);

  template <int num_items>
  __device__ void add(const float (&items)[num_items]) {
    compensated next = sums;
#pragma unroll
    for (const float item : items) next = Accumulator::step(next, item);
    if (!is_finite(next.sum)) {
      next = compensated(sums.sum);
#pragma unroll
      for (const float item : items) next.sum = rounded_sum(next.sum, item);
    }
    sums = next;
  }
  __device__ compensated total() const { return sums; }
};

// Partial sums that are numbers.
template <class T>
struct plain_partials {
  using partial = T;
  static __device__ T of(float x) { return x; }
  static __device__ T merge(T a, T b) { return a + b; }
  static __device__ float rounded(T a) { return static_cast<float>(a); }
};

struct accumulation_shape {
  static constexpr int block_threads = 256, vectors_per_thread = 8, items_per_thread = 4 * vectors_per_thread;
  static constexpr int tile_items = block_threads * items_per_thread;
  static constexpr int most_blocks = 2048;  // a constant, for the bits are not to depend on the device

  static constexpr std::size_t blocks(std::size_t num_items) {
    return num_items == 0 ? 1 : at_most(ceil_div(num_items, tile_items), most_blocks);
  }
  static constexpr std::size_t tiles_of_a_thread(std::size_t num_items) {
    return ceil_div(ceil_div(num_items, tile_items), most_blocks);
  }
  // Additions behind a thread's own: its warp and block, those of the finish, and init.
  static constexpr std::size_t height_of_finish = 5 + 3 + 4 + 5 + 4 + 1;
};

// Thread t owns the vectors t, t + block_threads ... of a tile, as four items each. Items that are absent are -0.
template <class InputIteratorT>
__device__ void load_items(InputIteratorT d_in, std::size_t num_items, std::size_t tile, bool by_vectors,
                           float (&items)[accumulation_shape::items_per_thread]) {
  using shape = accumulation_shape;
  const std::size_t first = tile * shape::tile_items + threadIdx.x * 4;
  if constexpr (std::is_convertible_v<InputIteratorT, const float*>) {
    if (by_vectors && (tile + 1) * shape::tile_items <= num_items) {
      const float* const from = d_in + first;
#pragma unroll
      for (int k = 0; k < shape::vectors_per_thread; ++k) {
        float* const vector = items + 4 * k;
        asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"  // volatile: all loads before the first addition
                     : "=f"(vector[0]), "=f"(vector[1]), "=f"(vector[2]), "=f"(vector[3])
                     : "l"(from + 4 * k * shape::block_threads));
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < shape::items_per_thread; ++i) {
    const std::size_t at = first + i / 4 * 4 * shape::block_threads + i % 4;
    items[i] = at < num_items ? static_cast<float>(d_in[at]) : -0.0f;
  }
}

template <class Accumulator>
struct merging {
  using partial = typename Accumulator::partial;
  __device__ partial operator()(const partial& a, const partial& b) const { return Accumulator::merge(a, b); }
};

template <class Accumulator, class InputIteratorT>
__global__ void __launch_bounds__(accumulation_shape::block_threads, 4)
    accumulate_kernel(InputIteratorT d_in, std::size_t num_items, typename Accumulator::partial* aggregates,
                      bool by_vectors) {
  let_next_launch_start();
  using shape = accumulation_shape;
  Accumulator accumulator;
  for (std::size_t tile = blockIdx.x; tile * shape::tile_items < num_items; tile += gridDim.x) {
    float items[shape::items_per_thread];
    load_items(d_in, num_items, tile, by_vectors, items);
    accumulator.add(items);
  }
  const auto of_block = block_reduce<shape::block_threads>(accumulator.total(), merging<Accumulator>{});
  if (threadIdx.x == 0) aggregates[blockIdx.x] = of_block;
}

inline constexpr int finishing_threads = 512;

template <class Accumulator, class OutputIteratorT>
__global__ void __launch_bounds__(finishing_threads)
    finish_accumulation_kernel(const typename Accumulator::partial* aggregates, unsigned num_aggregates,
                               OutputIteratorT d_out, float init) {
  constexpr merging<Accumulator> merge;
  auto value = Accumulator::of(threadIdx.x == 0 ? init : -0.0f);
  wait_for_launch_before();
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < num_aggregates; i += finishing_threads) value = merge(value, aggregates[i]);
  value = block_reduce<finishing_threads>(value, merge);
  if (threadIdx.x == 0) *d_out = Accumulator::rounded(value);
}

// A rung derives from accumulating_sum<its accumulator>. Sums of floats only.
template <class Accumulator>
struct accumulating_sum : accumulation_shape {
  static constexpr bool deterministic = true;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT, T init,
                            cudaStream_t stream = nullptr) {
    static_assert(std::is_same_v<ReductionOpT, plus> && std::is_same_v<T, float>, "sums of floats only");
    using partial = typename Accumulator::partial;
    const std::size_t grid_blocks = blocks(num_items);
    char* region;
    device_limits limits;
    cudaError_t error;
    if (answered(d_temp_storage, temp_storage_bytes, grid_blocks * sizeof(partial), region, error)) return error;
    error = limits.ask();
    if (error != cudaSuccess) return error;
    const auto aggregates = reinterpret_cast<partial*>(region);
    bool by_vectors = false;
    if constexpr (std::is_pointer_v<InputIteratorT>) by_vectors = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0;
    error = launch(accumulate_kernel<Accumulator, InputIteratorT>, grid_blocks, block_threads, stream, d_in, num_items,
                   aggregates, by_vectors);
    if (error != cudaSuccess) return error;
    return launch_overlapped(finish_accumulation_kernel<Accumulator, OutputIteratorT>, 1, finishing_threads, 0,
                             limits.overlaps(), stream, aggregates, static_cast<unsigned>(grid_blocks), d_out, init);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
