// The frame of reductions/06_warp_shuffle around a block-wide reduction of cooperative groups: two items a thread, a
// tile of 512 items a block, in passes.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "rungs/baselines/cg_tile_reduce.cuh"
#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/parts/passes.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

inline constexpr int shuffle_threads = 256, shuffle_items = 2;

// Blocks have Block::block_threads threads. Block::leave(value, present, d_out, library_op, init, identity) writes
// library_op(init, aggregate of the block's values) to *d_out. The threads whose value is present come before those
// without one, whose value is the identity.
template <class Block, class InputIteratorT, class T, class LibraryOpT>
__global__ void __launch_bounds__(Block::block_threads)
    shuffle_pass_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out, LibraryOpT library_op, T init,
                        T identity) {
  const std::size_t i = std::size_t(blockIdx.x) * Block::block_threads * shuffle_items + threadIdx.x;
  T value = identity;
  if (i < num_items) value = static_cast<T>(d_in[i]);
  if (i + Block::block_threads < num_items) value = library_op(value, static_cast<T>(d_in[i + Block::block_threads]));
  Block::leave(value, i < num_items, d_out + blockIdx.x, library_op, init, identity);
}

constexpr std::size_t shuffle_passes_height(std::size_t num_items, int block_threads = shuffle_threads) {
  return rungs::parts::height_in_passes(num_items, block_threads * shuffle_items, 12);
}

template <class Block, class InputIteratorT, class T, class ReductionOpT>
cudaError_t reduce_in_shuffle_passes(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                     T* d_out, std::size_t num_items, ReductionOpT ours, T init, cudaStream_t stream) {
  const auto library_op = library_operator<ReductionOpT, T, T>(ours);
  using library_op_t = std::remove_const_t<decltype(library_op)>;
  const auto pass = [&](auto d_in, std::size_t num_items, T* d_out, T init, std::size_t grid_blocks) {
    return rungs::parts::launch(shuffle_pass_kernel<Block, decltype(d_in), T, library_op_t>, grid_blocks,
                                Block::block_threads, stream, d_in, num_items, d_out, library_op, init,
                                ReductionOpT::template identity<T>());
  };
  return rungs::parts::reduce_in_passes<Block::block_threads * shuffle_items>(d_temp_storage, temp_storage_bytes, d_in,
                                                                              d_out, num_items, ours, init, pass);
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
