// Rung 14. One block, for inputs so small that a second block costs more than it saves.
// Against 13_cooperative_grid: no barrier between blocks, no workspace, no state. The whole call is a launch, one round
// trip to DRAM and a block reduction.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads)
    one_block_kernel(typename Tile::iterator d_in, std::size_t num_items, OutputIteratorT d_out,
                     ReductionOpT reduction_op, T init) {
  T value = threadIdx.x == 0 ? init : ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, 0, 1, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) *d_out = value;
}

struct one_block {
  static constexpr auto idea = "one block and nothing else, for small inputs";
  static constexpr int block_threads = 512, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, block_threads * vectors_per_thread) + 32;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr);
};

template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
cudaError_t one_block::reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                              OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                              cudaStream_t stream) {
  char* unused;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  return parts::with_quick_reader<block_threads, vectors_per_thread>(d_in, num_items, 1, [&](auto tile) {
    const auto kernel = one_block_kernel<typename decltype(tile)::named, OutputIteratorT, ReductionOpT, T>;
    return parts::launch(kernel, 1, block_threads, stream, d_in, num_items, d_out, reduction_op, init);
  });
}

}  // namespace rungs::RUNGS_ABI::reductions
