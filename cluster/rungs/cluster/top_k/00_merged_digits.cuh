// Rung 0. A cluster a row: its blocks count the digits of a part each, and the counts meet over distributed shared
// memory.
// Against top_k/02_radix_digits: up to sixteen multiprocessors read a row, so few rows keep a GPU busy. A digit costs
// two barriers of the cluster: one before the counts of the peers are read, and one before they are cleared. What is
// chosen goes to block 0, which sorts it.
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/top_k/02_radix_digits.cuh"

namespace rungs::RUNGS_ABI::cluster::top_k {

using parts::candidate, parts::top_k_rows;

// All threads of the cluster: the counts of all its blocks instead of the block's own.
template <int block_threads>
__device__ void merge_counts(unsigned* counts) {
  static_assert(block_threads >= rungs::top_k::num_digits);
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks();
  const bool has_count = threadIdx.x < rungs::top_k::num_digits;
  unsigned sum = 0;
  parts::meet();
  if (has_count) {
    sum = counts[threadIdx.x];
    for (unsigned i = 1; i < cluster_blocks; ++i)
      sum += *parts::of_rank(counts + threadIdx.x, (rank + i) % cluster_blocks);
  }
  parts::meet();
  if (has_count) counts[threadIdx.x] = sum;
  __syncthreads();
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) merged_digits_kernel(top_k_rows<T> rows, unsigned part_items) {
#if __CUDA_ARCH__ >= 900
  __shared__ rungs::top_k::digit_memory shared;
  const unsigned rank = parts::block_rank();
  const auto row = rows.from(blockIdx.x / parts::num_blocks());
  const unsigned begin = min(rank * part_items, row.num_columns), end = min(begin + part_items, row.num_columns);
  const auto each = [&](auto act) { row.template for_each<block_threads>(begin, end, act); };
  if (threadIdx.x == 0) shared.num_chosen = 0;
  const candidate bound = rungs::top_k::find_bound<block_threads>(
      shared, row.k, each, [](unsigned* counts) { merge_counts<block_threads>(counts); });
  auto* const first = rank == 0 ? &shared : parts::of_rank(&shared, 0);
  each([&](candidate of) {
    if (of >= bound) first->chosen[atomicAdd(&first->num_chosen, 1u)] = of;
  });
  parts::meet();
  if (rank == 0) parts::write_sorted<block_threads>(shared.chosen, row);
#endif
}

struct merged_digits : parts::top_k_calls<merged_digits> {
  static constexpr auto idea = "a cluster a row, the digits' counts merged over distributed shared memory";
  static constexpr int block_threads = 512, items_per_thread = 8, min_cc = 90;
  static constexpr std::size_t max_k = rungs::top_k::most_chosen, max_columns = std::size_t{1} << 26;
  static constexpr std::size_t most_rows = 0x7fffffff / parts::greatest_cluster_blocks, block_items = 4096;

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <class T>
  static cudaError_t enqueue(const top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    const auto kernel = merged_digits_kernel<block_threads, T>;
    int cluster_blocks;
    const cudaError_t error = parts::choose_cluster<parts::any_size>(
        kernel, block_threads, parts::ceil_div(rows.num_columns, block_items), cluster_blocks);
    if (error != cudaSuccess) return error;
    return parts::launch_clusters(kernel, num_rows, {cluster_blocks, block_threads}, stream, rows,
                                  static_cast<unsigned>(parts::ceil_div(rows.num_columns, cluster_blocks)));
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::top_k
