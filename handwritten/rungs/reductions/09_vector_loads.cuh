// Rung 9. Sixteen bytes a load, four loads in flight before the first addition.
// Against 08_grid_stride: a quarter of the load instructions for 4-byte items, a sixteenth for bytes, and four times
// the bytes in flight per thread, which is what DRAM latency asks for. Only here do narrow types reach the bandwidth.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <class Tile, class T, class ReductionOpT>
__global__ void vector_loads_kernel(typename Tile::iterator d_in, std::size_t num_items, T* d_out,
                                    ReductionOpT reduction_op) {
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) parts::atomic_combine(d_out, value, reduction_op);
}

template <int block_threads_, int blocks_per_multiprocessor_>
struct vector_loads_shaped {
  static constexpr auto idea = "16-byte loads, four in flight per thread";
  static constexpr int block_threads = block_threads_, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    std::size_t grid_blocks;
    char* unused;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error =
        parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor, grid_blocks);
    if (error == cudaSuccess) error = parts::initialise(d_out, init, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    return parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return parts::launch(vector_loads_kernel<typename decltype(tile)::named, T, ReductionOpT>, grid_blocks,
                           block_threads, stream, d_in, num_items, d_out, reduction_op);
    });
  }
};

using vector_loads = vector_loads_shaped<256, 8>;

}  // namespace rungs::RUNGS_ABI::reductions
