// The call of reductions by one cluster, made of a kernel.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// A rung derives from one_cluster<rung, cluster_blocks> and names its kernel,
//
//   template <class Tile, class OutputIteratorT, class ReductionOpT, class T>
//   static constexpr auto kernel = …;  // of (d_in, num_items, d_out, reduction_op, init)
//
// whose block `rank` reduces the tiles rank, rank + cluster_blocks … of the input, and which writes
// reduction_op(init, all of them) to *d_out. The operator names an identity for T. cluster_blocks is 1, 2, 4, 8, 16 or
// any_size. The call needs no workspace; it returns cudaErrorNotSupported where the device does not hold such a
// cluster.
template <class Rung, int asked_blocks>
struct one_cluster {
  static constexpr int block_threads = 512, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int wide_block_threads = 1024;  // of any size, where blocks of fewer would take several tiles each
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return rungs::parts::ceil_div(num_items, block_threads * vectors_per_thread) + 64;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    char* unused;
    int cluster_blocks;
    cudaError_t error;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    const auto choose = [&](auto reader) {
      using tile = typename decltype(reader)::named;
      return choose_cluster<asked_blocks>(Rung::template kernel<tile, OutputIteratorT, ReductionOpT, T>,
                                          tile::block_threads, rungs::parts::ceil_div(num_items, tile::tile_items),
                                          cluster_blocks);
    };
    const auto launch = [&](auto reader) {
      using tile = typename decltype(reader)::named;
      return launch_clusters(Rung::template kernel<tile, OutputIteratorT, ReductionOpT, T>, 1,
                             {cluster_blocks, tile::block_threads}, stream, d_in, num_items, d_out, reduction_op, init);
    };
    using usual = rungs::parts::one_tile_reader<block_threads, vectors_per_thread, InputIteratorT>;
    using wide = rungs::parts::one_tile_reader<wide_block_threads, vectors_per_thread, InputIteratorT>;
    error = choose(rungs::parts::type<usual>{});
    if (error != cudaSuccess) return error;
    if constexpr (asked_blocks == any_size) {
      if (num_items > std::size_t(cluster_blocks) * usual::tile_items) {
        error = choose(rungs::parts::type<wide>{});
        if (error != cudaSuccess) return error;
        return rungs::parts::with_quick_reader<wide_block_threads, vectors_per_thread>(d_in, num_items, cluster_blocks,
                                                                                       launch);
      }
      return rungs::parts::with_one_tile_reader<block_threads, vectors_per_thread>(d_in, launch);
    } else {
      return rungs::parts::with_quick_reader<block_threads, vectors_per_thread>(d_in, num_items, cluster_blocks,
                                                                                launch);
    }
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::parts
