// Rung 16. Two launches, of which the second starts while the first still reduces, and waits only for the aggregates.
// Against 15_early_ticket: nothing is kept from call to call, so the workspace may hold anything, as CUB's may.
// Against 10_two_passes: the second launch reaches the device, and its instructions the cache, while the first one's
// loads are under way (programmatic dependent launch, sm_90 and later; elsewhere it follows the first one).
// Against both: from 64 tiles a multiprocessor on there are 64 blocks for each instead of two. Of an H200's 132
// multiprocessors 24 are served a third faster than the others; they idle at the end where two blocks on each share all
// tiles, and do more where blocks begin as others end: 4 GiB in 934 us instead of 941, and 930 is what reading takes.
// With fewer tiles it did not help, and sums of f64 lost 2 to 7 %.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/reduction_calls.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads)
    aggregates_kernel(typename Tile::iterator d_in, std::size_t num_items, T* aggregates, ReductionOpT reduction_op) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) aggregates[blockIdx.x] = value;
}

template <int block_threads, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    finish_kernel(const T* aggregates, unsigned num_aggregates, OutputIteratorT d_out, ReductionOpT reduction_op,
                  T init) {
  T value = threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  constexpr int loads_in_flight = sizeof(T) <= 16 ? 8 : 1;
  for (unsigned first = threadIdx.x; first < num_aggregates; first += loads_in_flight * block_threads) {
    T loaded[loads_in_flight];
#pragma unroll
    for (int k = 0; k < loads_in_flight; ++k) {
      const unsigned block = first + k * block_threads;
      loaded[k] = block < num_aggregates ? aggregates[block] : ReductionOpT::template identity<T>();
    }
    value = reduction_op(value, parts::fold<T, 0, loads_in_flight>(loaded, reduction_op));
  }
  value = parts::block_reduce<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) parts::store(d_out, value);
}

struct overlapped_finish : parts::lifts_operators<overlapped_finish> {
  static constexpr auto idea = "two launches; the second starts early and waits only for the aggregates";
  static constexpr int block_threads = 512, vectors_per_thread = 8;
  static constexpr int items_per_thread = 4 * vectors_per_thread;
  static constexpr int blocks_per_multiprocessor = 2, many_blocks_per_multiprocessor = 64;
  static constexpr bool deterministic = true;
  // Few blocks have up to 32 tiles each; where they would have more, there are many.
  static std::size_t summation_height(std::size_t num_items) {
    const auto height = [=](int blocks) {
      return parts::grid_height(num_items, block_threads, vectors_per_thread, blocks);
    };
    return parts::at_most(
        height(blocks_per_multiprocessor),
        height(many_blocks_per_multiprocessor) + many_blocks_per_multiprocessor / blocks_per_multiprocessor);
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce_lifted(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                                   cudaStream_t stream) {
    std::size_t grid_blocks;
    parts::device_limits limits;
    T* aggregates;
    cudaError_t error = parts::plan_grid<block_threads, vectors_per_thread>(
        d_in, num_items, many_blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = limits.ask();
    if (error != cudaSuccess) return error;
    if (grid_blocks < std::size_t(limits.multiprocessors) * many_blocks_per_multiprocessor)
      grid_blocks = parts::at_most(grid_blocks, std::size_t(limits.multiprocessors) * blocks_per_multiprocessor);
    if (parts::answered_array(d_temp_storage, temp_storage_bytes, grid_blocks, aggregates, error)) return error;
    error = parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(aggregates_kernel<typename decltype(tile)::named, ReductionOpT, T>, grid_blocks,
                           block_threads, stream, d_in, num_items, aggregates, reduction_op);
    });
    if (error != cudaSuccess) return error;
    return parts::launch_overlapped(finish_kernel<block_threads, OutputIteratorT, ReductionOpT, T>, 1, block_threads, 0,
                                    limits.overlaps(), stream, aggregates, grid_blocks, d_out, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::reductions
