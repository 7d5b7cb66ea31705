// Which kernels find the greatest k of each row: a few lanes or a warp a row, a block or a cluster a row, blocks that
// read a row once, or a launch a digit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/top_k/cluster_rows.cuh"
#include "rungs/production/top_k/first_of_rows.cuh"
#include "rungs/production/top_k/gathered_rows.cuh"
#include "rungs/production/top_k/group_rows.cuh"
#include "rungs/production/top_k/long_results.cuh"
#include "rungs/production/top_k/ranked_rows.cuh"
#include "rungs/production/top_k/sampled_row.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"
#include "rungs/production/top_k/warp_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// Places behind the last chunk of a row are numbers of 32 bits, too.
inline constexpr std::size_t most_top_k_columns = 0xffffffff - 2 * chunk_items;

// The last way of a call, which all rows may go. For several rows of 64-bit keys it is the only one.
template <class Order, class Output>
cudaError_t long_top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const keys_of_rows<Order>& keys,
                       const Output& output, const parts::device_limits& limits, std::size_t num_rows,
                       std::size_t num_columns, std::size_t k, bool sorted, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  long_plan_of<Order> plan = plan_long_results<Order>(limits, num_rows, num_columns, k);
  const std::size_t bytes = place_long_results(nullptr, sorted, plan);
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  place_long_results(region, sorted, plan);
  return launch_long_results(keys, output, plan, sorted, stream);
}

// The way that suits the rows, of keys of up to 32 bits.
template <class Order, class Output>
cudaError_t top_k_by_shape(void* d_temp_storage, std::size_t& temp_storage_bytes, const keys_of_rows<Order>& keys,
                           const Output& output, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           bool sorted, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (num_columns <= warp_rows::most_columns && k <= warp_rows::most_k) {
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
    if constexpr (Order::bits > 8) {
      if (group_rows::fit(num_rows, num_columns, k))
        return launch_group_rows(keys, output, num_rows, num_columns, k, stream);
    }
    return launch_warp_rows(keys, output, num_rows, num_columns, k, stream);
  }
  if (num_columns <= ranked_rows::most_columns) {
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
    return launch_ranked_rows(keys, output, num_rows, num_columns, k, stream);
  }

  parts::device_limits limits;
  error = limits.ask();
  if (error != cudaSuccess) return error;
  const candidate_layout layout(num_columns, Order::bits);
  // Where the rows begin does not decide, since a call that asks for the size of the storage may have no keys yet.
  int blocks = 0;
  if (k == 1) {
    error = first_of_rows::fit<Order, Output>(limits, num_rows, num_columns, blocks);
    if (error != cudaSuccess) return error;
    if (blocks > 0) {
      if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
      return launch_first_of_rows(keys, output, num_rows, layout, static_cast<unsigned>(blocks), stream);
    }
  }
  cluster_rows_plan clusters{};
  error = cluster_rows::fit<Order, Output>(limits, layout, num_rows, num_columns, k, clusters);
  if (error == cudaSuccess && k > 1 &&
      (clusters.cluster_blocks == 0 || !cluster_rows::is_faster_than_gathered(num_rows, num_columns, k)))
    error = gathered_rows::fit<Order, Output>(limits, num_rows, num_columns, k, blocks);
  if (error != cudaSuccess) return error;
  if (blocks > 0) {
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
    constexpr std::size_t key_bytes = sizeof(typename Order::Storage);
    const bool is_aligned =
        reinterpret_cast<std::uintptr_t>(keys.data) % 16 == 0 && (num_rows == 1 || keys.stride * key_bytes % 16 == 0);
    return launch_gathered_rows(
        keys, output, num_rows,
        gathered_rows::of_blocks(layout, num_columns, k, static_cast<unsigned>(blocks), is_aligned), stream);
  }
  if (clusters.cluster_blocks > 0) {
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
    return launch_cluster_rows(keys, output, num_rows, clusters, stream);
  }
  streamed_plan streamed;
  if (streamed_rows::fit(limits, layout, num_rows, num_columns, k, sorted, streamed)) {
    const std::size_t bytes = streamed_rows::storage_bytes(streamed);
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    streamed.d_candidates = reinterpret_cast<candidate*>(region);
    return launch_streamed_rows(keys, output, streamed, limits.overlaps(), stream);
  }

  return long_top_k(d_temp_storage, temp_storage_bytes, keys, output, limits, num_rows, num_columns, k, sorted, stream);
}

// A call of the two-phase contract. k is at most num_columns.
template <class Order, class Output>
cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const keys_of_rows<Order>& keys,
                  const Output& output, std::size_t num_rows, std::size_t num_columns, std::size_t k, bool sorted,
                  cudaStream_t stream) {
  if (num_columns > most_top_k_columns) return cudaErrorInvalidValue;
  if (num_rows == 0 || k == 0) {
    char* region;
    cudaError_t error;
    parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error);
    return error;
  }
  if constexpr (Order::bits == 64) {
    parts::device_limits limits;
    const cudaError_t error = limits.ask();
    if (error != cudaSuccess) return error;
    if (num_rows == 1)
      return top_k_of_sampled_row(d_temp_storage, temp_storage_bytes, keys, output, limits, num_columns, k, sorted,
                                  stream);
    return long_top_k(d_temp_storage, temp_storage_bytes, keys, output, limits, num_rows, num_columns, k, sorted,
                      stream);
  } else {
    return top_k_by_shape(d_temp_storage, temp_storage_bytes, keys, output, num_rows, num_columns, k, sorted, stream);
  }
}

}  // namespace rungs::RUNGS_ABI::production
