// One cluster that one multiprocessor can hold, so that it can be placed wherever an ordinary block can.
// Against 00_remote_stores: eight blocks at most, of 256 threads with 32 registers each, and the hardware may put
// several on one multiprocessor (parts/launch.cuh). It does so only beside kernels that hold the others. The price:
// half the multiprocessors load, so inputs beyond 32 Ki floats take several tiles a block, and a grid is faster.
#pragma once

#include "rungs/cluster/reductions/00_remote_stores.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::cluster::reductions {

struct compact_cluster {
  static constexpr auto idea = "one cluster that one multiprocessor can hold, so that it can be placed anywhere";
  static constexpr int block_threads = 256, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int small_vectors_per_thread = 2;  // while eight such blocks hold it all
  static constexpr int many_block_threads = 128;      // several tiles, or two loads a vector, take more registers
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return parts::ceil_div(num_items, many_block_threads * vectors_per_thread) + 64;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr);
};

template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
cudaError_t compact_cluster::reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                                    cudaStream_t stream) {
  char* unused;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
  error = parts::require(min_cc);
  if (error != cudaSuccess) return error;
  const auto launch = [&](auto reader) {
    using tile = typename decltype(reader)::named;
    int cluster_blocks = parts::least_cluster_blocks;
    while (cluster_blocks < parts::blocks_on_one_multiprocessor &&
           std::size_t(cluster_blocks) * tile::tile_items < num_items)
      cluster_blocks *= 2;
    parts::cluster_shape shape{cluster_blocks, tile::block_threads};
    shape.balanced = true;
    return parts::launch_clusters(remote_stores_kernel<tile, OutputIteratorT, ReductionOpT, T>, 1, shape, stream, d_in,
                                  num_items, d_out, reduction_op, init);
  };
  using small = parts::one_tile_reader<block_threads, small_vectors_per_thread, InputIteratorT>;
  if constexpr (parts::is_vectorisable<InputIteratorT>) {
    if (reinterpret_cast<std::uintptr_t>(d_in) % 16 != 0)
      return launch(
          parts::type<
              parts::tile_reader<many_block_threads, vectors_per_thread, parts::reading::unaligned, InputIteratorT>>{});
  }
  if (num_items <= std::size_t(parts::blocks_on_one_multiprocessor) * small::tile_items)
    return launch(parts::type<small>{});
  using one_tile = parts::one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>;
  using tiles = parts::tile_reader<many_block_threads, vectors_per_thread, parts::reading::aligned, InputIteratorT>;
  if (num_items <= std::size_t(parts::blocks_on_one_multiprocessor) * one_tile::tile_items)
    return launch(parts::type<one_tile>{});
  return launch(parts::type<tiles>{});
}

}  // namespace rungs::RUNGS_ABI::cluster::reductions
