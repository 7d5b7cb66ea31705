// cg::memcpy_async into two buffers: while a block reduces one tile out of shared memory, the next is on its way into
// the other buffer, without passing through registers. Against the plain loads of cg_tile_reduce it is shared memory
// that holds what is in flight, at the price of writing and reading it there and of two barriers a tile. Where d_in is
// not aligned to 16 bytes the copies are of 4 bytes each; before sm_80 they are loads and stores.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include <cuda/barrier>

#include "rungs/baselines/parts/tiles.cuh"
#include "rungs/baselines/parts/two_kernels.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

template <int block_threads, int vectors_per_thread, class T, class LibraryOpT>
__global__ void __launch_bounds__(block_threads)
    cg_memcpy_async_kernel(const T* d_in, std::size_t num_items, T* d_out, T init, T identity, LibraryOpT library_op) {
  namespace cg = cooperative_groups;
  constexpr int vector_items = 16 / sizeof(T), tile_vectors = block_threads * vectors_per_thread;
  constexpr int tile_items = tile_vectors * vector_items;
  struct alignas(16) vector {
    T items[vector_items];
  };
  __shared__ vector buffers[2][tile_vectors];
  const auto block = cg::this_thread_block();
  const bool aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0;
  const auto fetch = [&](vector* buffer, std::size_t tile) {
    const auto to = reinterpret_cast<T*>(buffer);
    const T* const from = d_in + tile * tile_items;
    if (aligned)
      cg::memcpy_async(block, to, from, cuda::aligned_size_t<16>(sizeof(vector) * tile_vectors));
    else
      cg::memcpy_async(block, to, from, sizeof(vector) * tile_vectors);
  };

  const std::size_t num_tiles = num_items / tile_items;
  T aggregate = identity;
  if (blockIdx.x < num_tiles) fetch(buffers[0], blockIdx.x);
  int current = 0;
  for (std::size_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    if (tile + gridDim.x < num_tiles) {
      fetch(buffers[1 - current], tile + gridDim.x);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
#pragma unroll
    for (int k = 0; k < vectors_per_thread; ++k) {
      const vector loaded = buffers[current][k * block_threads + threadIdx.x];
#pragma unroll
      for (int i = 0; i < vector_items; ++i) aggregate = library_op(aggregate, loaded.items[i]);
    }
    block.sync();  // the buffer is filled again next
    current = 1 - current;
  }
  // What fills no tile.
  if (blockIdx.x == gridDim.x - 1)
    for (std::size_t i = num_tiles * tile_items + threadIdx.x; i < num_items; i += block_threads)
      aggregate = library_op(aggregate, d_in[i]);
  aggregate = parts::reduce_by_tiles<32, block_threads>(aggregate, library_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = library_op(init, aggregate);
}

struct cg_memcpy_async {
  static constexpr auto idea =
      "cg::memcpy_async into two buffers in shared memory: one fills while the other is reduced";
  static constexpr int block_threads = 256, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = 4;  // 128 KiB of buffers
  static constexpr bool deterministic = true;
  static constexpr bool propagates_nan = false;
  // The chain of a thread, a block's tree, twice, and init.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (block_threads * blocks_per_multiprocessor) + 128;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    using rungs::parts::at_most, rungs::parts::ceil_div, rungs::parts::launch;
    const auto library_op = parts::library_operator<ReductionOpT, T, T>(reduction_op);
    using library_op_t = std::remove_const_t<decltype(library_op)>;
    const auto kernel = cg_memcpy_async_kernel<block_threads, vectors_per_thread, T, library_op_t>;
    const T identity = ReductionOpT::template identity<T>();
    int num_multiprocessors;
    cudaError_t error = rungs::parts::multiprocessors(num_multiprocessors);
    if (error != cudaSuccess) return error;
    const std::size_t most_blocks = std::size_t(num_multiprocessors) * blocks_per_multiprocessor;
    char* region;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, most_blocks * sizeof(T), region, error))
      return error;

    const std::size_t tile_items = 16 / sizeof(T) * block_threads * vectors_per_thread;
    const std::size_t grid_blocks = at_most(ceil_div(num_items, tile_items), most_blocks);
    if (grid_blocks <= 1)
      return launch(kernel, 1, block_threads, stream, d_in, num_items, d_out, init, identity, library_op);
    T* const aggregates = reinterpret_cast<T*>(region);
    error =
        launch(kernel, grid_blocks, block_threads, stream, d_in, num_items, aggregates, identity, identity, library_op);
    if (error != cudaSuccess) return error;
    return launch(kernel, 1, block_threads, stream, aggregates, grid_blocks, d_out, init, identity, library_op);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
