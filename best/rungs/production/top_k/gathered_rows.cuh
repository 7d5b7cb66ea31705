// The greatest k of a row by the blocks of a cluster, which read it once. One of them ranks what all have found.
//
// Warps of all blocks take turns at a row, 512 bytes each, so the blocks' shares are alike. Where a share fits
// registers, a block knows a bound that k / C of its keys reach, C being the number of blocks. At least k keys of the
// row reach the least bound. Otherwise a bound comes from a sample of each block, and they agree on the middle one.
// Each block holds its keys that reach the bound. They gather in the first block, which ranks them (ranked_bins.cuh).
//
// Where many keys equal the bound, there is no room for all. Then the blocks count those above it and those equal to
// it. They hold those above, and of the equal ones the first in the row. In all other cases they find a bound digit by
// digit, from the top, by histograms over all blocks.
//
// Where one block has a row alone, there is no cluster, and everything stays in its memory.
#pragma once

#include <cmath>
#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/gathered_plan.cuh"
#include "rungs/production/top_k/gathered_rows_kernel.cuh"
#include "rungs/production/top_k/ranked_bins.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// Which rows are gathered, and how.
struct gathered_rows {
  static constexpr unsigned block_threads = block_selection::block_threads;
  static constexpr int held_vectors = 4;  // of a thread, in registers
  // Limits of this kernel. Parts of less than a chunk are not worth it, nor shorter rows, nor fewer columns for each of
  // the k results. Beyond the other limits, other kernels take less time (H200).
  static constexpr std::size_t least_columns = 2048, columns_of_result = 8;
  static constexpr std::size_t most_k = 4096, least_k_of_long = 256, least_k_of_block = 2048;
  static constexpr std::size_t long_columns = 32 * 1024, most_columns = 1 << 20, most_columns_of_block = 96 * 1024;

  // Sets the blocks of a row, or 0 where other kernels should take it. k is at least 2.
  template <class Order, class Output>
  static cudaError_t fit(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                         std::size_t k, int& blocks) {
    blocks = 0;
    if (k > most_k || num_columns < least_columns || num_columns > most_columns || columns_of_result * k > num_columns)
      return cudaSuccess;
    if (num_columns <= 2 * chunk_items) {
      blocks = 1;
      return cudaSuccess;
    }
    const std::size_t multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    if (limits.cc < 90 || (num_columns >= long_columns && k < least_k_of_long)) return cudaSuccess;
    if (num_rows > multiprocessors) {
      const bool is_worth_it =
          k >= least_k_of_block && num_columns > 2 * long_columns && num_columns <= 8 * long_columns;
      blocks = is_worth_it ? 1 : 0;
      return cudaSuccess;
    }
    int most = 2;
    if (4 * num_rows <= multiprocessors) most = 4;
    if (16 * num_rows <= multiprocessors) most = num_columns > 8 * long_columns ? 16 : 8;
    while (static_cast<std::size_t>(most) * chunk_items > num_columns) most /= 2;
    const cudaError_t error =
        cluster::parts::fit_cluster(gathered_rows_kernel<Order, Output, false>, block_selection::block_threads, most);
    if (error != cudaSuccess) return error == cudaErrorNotSupported ? cudaSuccess : error;
    if (num_columns <= static_cast<std::size_t>(most) * most_columns_of_block) blocks = most;
    return cudaSuccess;
  }

  // The plan for rows of so many blocks. is_aligned: whether rows begin at multiples of 16 bytes.
  static gathered_plan of_blocks(const candidate_layout& layout, std::size_t num_columns, std::size_t k,
                                 unsigned blocks, bool is_aligned) {
    const unsigned vector_items = keys_at_once(layout.key_bits);
    const std::size_t of_vectors = std::size_t{block_threads} * vector_items;  // keys, with one for each thread
    const std::size_t chunks = parts::ceil_div(num_columns + (is_aligned ? 0 : vector_items - 1), chunk_items);
    gathered_plan plan{
        layout, static_cast<unsigned>(num_columns), static_cast<unsigned>(k), 0, blocks, false, 0, 0, false, false};
    plan.is_held = parts::ceil_div(chunks, blocks) * chunk_items <= held_vectors * of_vectors;
    double most;  // candidates
    if (plan.is_held) {
      plan.wanted = static_cast<unsigned>(parts::ceil_div(k, blocks));
      plan.counts_threads = 4 * plan.wanted <= block_threads && num_columns >= blocks * (of_vectors + vector_items);
      plan.counts_vectors = 4 * plan.wanted <= num_columns / (blocks * vector_items);
      most = parts::at_most(static_cast<std::size_t>(2.5 * static_cast<double>(k)) + 512, num_columns);
    } else {
      // As for streamed rows. A greater k is worth a greater sample: two blocks have room on a multiprocessor.
      const std::size_t most_vectors = gathered_plan::most_sampled / vector_items;
      const std::size_t sampled = k > 1024 ? most_vectors : num_columns / (blocks * of_vectors * 64);
      plan.vectors_per_thread = static_cast<unsigned>(sampled < 1 ? 1 : parts::at_most(sampled, most_vectors));
      const double ratio =
          static_cast<double>(num_columns) / static_cast<double>(blocks * plan.vectors_per_thread * of_vectors);
      const double expected = static_cast<double>(k) / ratio;
      const double all_wanted = std::ceil(expected + 4 * std::sqrt(expected) + 4);
      plan.wanted = static_cast<unsigned>(std::ceil(all_wanted / blocks)) + (blocks > 1);
      const double wanted = static_cast<double>(plan.wanted * blocks);
      most = (wanted + 5 * std::sqrt(wanted) + 4) * ratio * 1.1;
    }
    std::size_t room = static_cast<std::size_t>(most);
    for (const std::size_t least : {2 * k + 64, k + chunk_items}) room = room < least ? least : room;
    room += ranked_bins::room_for(static_cast<unsigned>(k));
    plan.capacity = static_cast<unsigned>((room + 1) / 2 * 2);
    return plan;
  }
  static std::size_t dynamic_bytes(const gathered_plan& plan) {
    return sizeof(gathered_memory) + plan.capacity * sizeof(candidate);
  }
};

template <class Order, class Output>
cudaError_t launch_gathered_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                                 const gathered_plan& plan, cudaStream_t stream) {
  const auto kernel =
      plan.is_held ? gathered_rows_kernel<Order, Output, true> : gathered_rows_kernel<Order, Output, false>;
  const std::size_t dynamic_bytes = gathered_rows::dynamic_bytes(plan);
  if (plan.cluster_blocks == 1)
    return parts::launch_with_shared_memory(kernel, num_rows, block_selection::block_threads, dynamic_bytes, stream,
                                            keys, output, plan);
  return cluster::parts::launch_clusters(
      kernel, num_rows, {static_cast<int>(plan.cluster_blocks), block_selection::block_threads, dynamic_bytes}, stream,
      keys, output, plan);
}

}  // namespace rungs::RUNGS_ABI::production
