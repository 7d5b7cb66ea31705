// Rung 3. A sample tells a bound that a little more than k candidates reach; one read keeps these in shared memory.
// Against 02_radix_digits: the row is read once, and a sample of 2,048 items before it, where rung 2 reads it four
// times or more. Digits are counted among the candidates that are kept. Where too few or too many reach the bound, as
// where many items are equal, the block falls back on rung 2.
#pragma once

#include "rungs/top_k/02_radix_digits.cuh"

namespace rungs::RUNGS_ABI::top_k {

inline constexpr unsigned most_kept = 4096, num_samples = 2048;

struct kept_memory {
  digit_memory digits;
  unsigned num_kept;
  parts::candidate kept[most_kept];
};

// The rank in a sample whose candidate at least k of a row reach: three deviations of a Poisson distribution beyond
// what is to be expected, and four where little is.
inline __device__ unsigned rank_in_sample(unsigned k, unsigned num_columns) {
  const float expected = static_cast<float>(k) * num_samples / static_cast<float>(num_columns);
  return static_cast<unsigned>(expected + 3 * sqrtf(expected)) + 4;
}

// All threads: a bound for what is to be kept. A row of few columns is kept whole.
template <int block_threads, class T>
__device__ parts::candidate bound_from_sample(kept_memory& shared, const parts::top_k_rows<T>& row) {
  if (row.num_columns <= most_kept) return 0;
  const unsigned step = row.num_columns / num_samples, rank = rank_in_sample(row.k, row.num_columns);
  for (unsigned i = threadIdx.x; i < num_samples; i += block_threads) shared.kept[i] = row.at(i * step);
  const auto each = [&](auto act) {
    for (unsigned i = threadIdx.x; i < num_samples; i += block_threads) act(shared.kept[i]);
  };
  return find_bound<block_threads>(shared.digits, rank, each, [](unsigned*) { __syncthreads(); });
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) sampled_bound_kernel(parts::top_k_rows<T> rows) {
  __shared__ kept_memory shared;
  const auto row = rows.from(blockIdx.x);
  const parts::candidate bound = bound_from_sample<block_threads>(shared, row);
  if (threadIdx.x == 0) shared.num_kept = 0;
  __syncthreads();
  row.template for_each<block_threads>(0, row.num_columns, [&](parts::candidate of) {
    if (of < bound) return;
    if (const unsigned place = atomicAdd(&shared.num_kept, 1u); place < most_kept) shared.kept[place] = of;
  });
  __syncthreads();
  const unsigned num_kept = shared.num_kept;
  const bool suffices = row.k <= num_kept && num_kept <= most_kept;
  choose_by_digits<block_threads>(shared.digits, row, [&](auto act) {
    if (!suffices) return row.template for_each<block_threads>(0, row.num_columns, act);
    for (unsigned i = threadIdx.x; i < num_kept; i += block_threads) act(shared.kept[i]);
  });
}

struct sampled_bound : parts::top_k_calls<sampled_bound> {
  static constexpr auto idea = "a block a row, one read behind a bound that a sample tells";
  static constexpr int block_threads = 512, items_per_thread = 8;
  // Of longer rows more than most_kept candidates reach any bound that so small a sample tells.
  static constexpr std::size_t max_k = most_chosen, max_columns = std::size_t{1} << 20;

  template <class T>
  static cudaError_t enqueue(const parts::top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(sampled_bound_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
