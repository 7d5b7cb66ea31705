// The frame around a block-wide reduction of a library: a grid-stride kernel that leaves one partial a block, and one
// block that adds those up. Four 16-byte loads in flight a thread.
//
// Item i always belongs to the same thread: an address that cannot be read 16 bytes at once is read item by item in the
// same order. So the bits do not depend on the address, only on the number of multiprocessors.
#pragma once

#include <cstdint>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

inline constexpr int two_kernels_threads = 256, two_kernels_unroll = 4, blocks_per_multiprocessor = 8;

// The aggregate of the items of one thread, identity where it has none.
template <class T, class ReductionOpT>
__device__ T thread_aggregate(const T* d_in, std::size_t num_items, T identity, ReductionOpT reduction_op) {
  constexpr int vector_items = 16 / sizeof(T), unroll = two_kernels_unroll;
  struct alignas(16) vector {
    T items[vector_items];
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0;
  const std::size_t num_vectors = num_items / vector_items, num_threads = std::size_t(gridDim.x) * blockDim.x;
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  T aggregate = identity;
  const auto load = [&](std::size_t i) {
    if (aligned) return reinterpret_cast<const vector*>(d_in)[i];
    vector loaded;
#pragma unroll
    for (int k = 0; k < vector_items; ++k) loaded.items[k] = d_in[i * vector_items + k];
    return loaded;
  };
  const auto add = [&](const vector& loaded) {
#pragma unroll
    for (int k = 0; k < vector_items; ++k) aggregate = reduction_op(aggregate, loaded.items[k]);
  };
  std::size_t i = thread;
  for (; i + (unroll - 1) * num_threads < num_vectors; i += unroll * num_threads) {
    vector loaded[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) loaded[u] = load(i + u * num_threads);
#pragma unroll
    for (int u = 0; u < unroll; ++u) add(loaded[u]);
  }
  for (; i < num_vectors; i += num_threads) add(load(i));
  const std::size_t last = num_vectors * vector_items + thread;
  if (last < num_items) aggregate = reduction_op(aggregate, d_in[last]);
  return aggregate;
}

// BlockReduce::combine(value, reduction_op): the aggregate of the block's values, valid in thread 0.
template <class BlockReduce, class T, class ReductionOpT>
__global__ void __launch_bounds__(two_kernels_threads)
    reduce_kernel(const T* d_in, std::size_t num_items, T* d_out, T init, T identity, ReductionOpT reduction_op) {
  const T aggregate = BlockReduce::combine(thread_aggregate(d_in, num_items, identity, reduction_op), reduction_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, aggregate);
}

// Most additions one item passes through: the chain of a thread, a block's tree (at most 31 in a row), twice, and init.
constexpr std::size_t two_kernels_height(std::size_t num_items) {
  const std::size_t chained = num_items / (two_kernels_threads * blocks_per_multiprocessor) + 128;
  return chained < num_items + 1 ? chained : num_items + 1;
}

template <class BlockReduce, class T, class ReductionOpT>
cudaError_t reduce_in_two_kernels(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                                  std::size_t num_items, ReductionOpT ours, T init, cudaStream_t stream) {
  using rungs::parts::at_most, rungs::parts::ceil_div, rungs::parts::launch;
  const auto reduction_op = library_operator<ReductionOpT, T, T>(ours);
  using library_op_t = std::remove_const_t<decltype(reduction_op)>;
  const T identity = ReductionOpT::template identity<T>();

  int num_multiprocessors = 0;
  cudaError_t error = rungs::parts::multiprocessors(num_multiprocessors);
  if (error != cudaSuccess) return error;
  const std::size_t max_blocks = std::size_t(num_multiprocessors) * blocks_per_multiprocessor;
  char* region;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, max_blocks * sizeof(T), region, error)) return error;

  constexpr std::size_t tile_bytes = std::size_t(16) * two_kernels_threads * two_kernels_unroll;
  const std::size_t grid_blocks = at_most(ceil_div(num_items * sizeof(T), tile_bytes), max_blocks);
  const auto kernel = reduce_kernel<BlockReduce, T, library_op_t>;
  if (grid_blocks <= 1)
    return launch(kernel, 1, two_kernels_threads, stream, d_in, num_items, d_out, init, identity, reduction_op);
  T* const partials = reinterpret_cast<T*>(region);
  error = launch(kernel, grid_blocks, two_kernels_threads, stream, d_in, num_items, partials, identity, identity,
                 reduction_op);
  if (error != cudaSuccess) return error;
  return launch(kernel, 1, two_kernels_threads, stream, partials, grid_blocks, d_out, init, identity, reduction_op);
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
