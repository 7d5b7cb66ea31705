// The first key of each row in the order, by a block a row, or by a cluster where rows are few. A thread keeps the
// first of its keys. Warps store theirs in the first block, which finds the first of all.
#pragma once

#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/production/top_k/row_parts.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// The greatest candidate of the warp, in all lanes.
__device__ inline candidate greatest_of_warp(candidate value) {
#pragma unroll
  for (int distance = 1; distance < parts::warp_threads; distance *= 2)
    value = max(value, __shfl_xor_sync(parts::full_mask, value, distance));
  return value;
}

template <class Order, class Output>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    first_of_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                         const __grid_constant__ candidate_layout layout, const unsigned num_blocks) {
  constexpr unsigned lanes = parts::warp_threads, warps = block_selection::warps;
  using stream_type = key_stream<Order>;
  __shared__ candidate of_warps[cluster::parts::greatest_cluster_blocks * warps];
  const unsigned rank = blockIdx.x % num_blocks, warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const std::size_t row = blockIdx.x / num_blocks;
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) cluster::parts::arrive_started();
#endif

  const unsigned num_columns = layout.last + 1;
  const stream_type stream = part_of_row(keys, layout, row, rank, num_blocks);
  const unsigned num_chunks = stream.num_chunks();
  constexpr int on_their_way = stream_type::chunks_on_their_way;
  typename stream_type::chunk pending[on_their_way];
#pragma unroll
  for (int i = 0; i < on_their_way; ++i)
    if (static_cast<unsigned>(i) < num_chunks) pending[i] = stream.load(i);
  unsigned best = 0, best_column = num_columns;
  for (unsigned index = 0; index < num_chunks; ++index) {
    const typename stream_type::chunk loaded = pending[0];
#pragma unroll
    for (int i = 1; i < on_their_way; ++i) pending[i - 1] = pending[i];
    if (index + on_their_way < num_chunks) pending[on_their_way - 1] = stream.load(index + on_their_way);
    stream.improve(loaded, index, best, best_column);
  }
  const candidate own = greatest_of_warp(best_column < num_columns ? layout.make(best, best_column) : 0);

#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) cluster::parts::wait();
#endif
  if (lane == 0) store_in_block(of_warps + rank * warps + warp, 0, num_blocks, own);
  meet_blocks(num_blocks);
  if (rank > 0 || warp > 0) return;
  candidate first = 0;
  for (unsigned i = lane; i < num_blocks * warps; i += lanes) first = max(first, of_warps[i]);
  first = greatest_of_warp(first);
  if (lane == 0) row_writer<Order, Output>{keys.order, output, layout, row}(0, first);
}

struct first_of_rows {
  // Longer rows stream, since their parts are on more multiprocessors (H200).
  static constexpr std::size_t most_columns_of_block = 32 * 1024, most_columns_of_eight = 160 * 1024,
                               most_columns = 256 * 1024;

  // The blocks of a row, or 0 where it is not worth it.
  template <class Order, class Output>
  static cudaError_t fit(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                         int& blocks) {
    blocks = 0;
    if (num_columns > most_columns) return cudaSuccess;
    const std::size_t multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    int most = 1;
    if (limits.cc >= 90 && num_rows <= multiprocessors) {
      most = cluster::parts::greatest_cluster_blocks;
      while (most > 2 && static_cast<std::size_t>(most) * num_rows > multiprocessors) most /= 2;
      while (static_cast<std::size_t>(most) * chunk_items > num_columns && most > 1) most /= 2;
    }
    if (most > 1) {
      const cudaError_t error =
          cluster::parts::fit_cluster(first_of_rows_kernel<Order, Output>, block_selection::block_threads, most);
      if (error != cudaSuccess) return error == cudaErrorNotSupported ? cudaSuccess : error;
    }
    const std::size_t limit = most == 1 ? most_columns_of_block : most <= 8 ? most_columns_of_eight : most_columns;
    if (num_columns < limit) blocks = most;
    return cudaSuccess;
  }
};

template <class Order, class Output>
cudaError_t launch_first_of_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                                 const candidate_layout& layout, unsigned num_blocks, cudaStream_t stream) {
  const auto kernel = first_of_rows_kernel<Order, Output>;
  if (num_blocks == 1)
    return parts::launch(kernel, num_rows, block_selection::block_threads, stream, keys, output, layout, num_blocks);
  return cluster::parts::launch_clusters(kernel, num_rows,
                                         {static_cast<int>(num_blocks), block_selection::block_threads, 0}, stream,
                                         keys, output, layout, num_blocks);
}

}  // namespace rungs::RUNGS_ABI::production
