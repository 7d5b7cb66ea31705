// Rung 2. The k-th candidate is found digit by digit, by histograms of eight bits in shared memory.
// Against 01_bitonic_registers: k may be large, and no list is kept in order while the row is read. Each read counts
// the next digit of the candidates whose first digits are those of the k-th. Reads end once all candidates of a digit
// are among the first k: after three digits for most rows of random floats, after eight for equal items, whose columns
// decide. One more read collects what is not less, and the block sorts that in shared memory.
// Source: Alabi et al. 2012; several digits of a whole row, AIR top-k, Zhang et al. 2023.
#pragma once

#include "rungs/parts/sorted_candidates.cuh"
#include "rungs/parts/top_k_calls.cuh"
#include "rungs/parts/warp_scan.cuh"

namespace rungs::RUNGS_ABI::top_k {

inline constexpr int digit_bits = 8, num_digits = 1 << digit_bits, most_chosen = 1024;

struct digit_memory {
  unsigned counts[num_digits];
  unsigned digit, before, num_chosen;  // the digit of the k-th, and how many greater ones there are
  parts::candidate chosen[most_chosen];
};

// The first warp: in which digit the candidate of that rank lies, the greatest having rank 1.
__device__ inline void find_digit(digit_memory& shared, unsigned rank) {
  constexpr int lane_digits = num_digits / parts::warp_threads;
  const int greatest = num_digits - 1 - lane_digits * static_cast<int>(threadIdx.x);
  unsigned sum = 0;
  for (int i = 0; i < lane_digits; ++i) sum += shared.counts[greatest - i];
  unsigned before = parts::warp_scan(sum, plus{}) - sum;
  if (rank <= before || rank > before + sum) return;
  int digit = greatest;
  while (rank > before + shared.counts[digit]) before += shared.counts[digit--];
  shared.digit = digit;
  shared.before = before;
}

// All threads: a bound that just `rank` candidates reach. each(act) calls act() for the thread's candidates. Once they
// are counted, meet(counts) returns when the counts are those of all.
template <int block_threads, class Each, class Meet>
__device__ parts::candidate find_bound(digit_memory& shared, unsigned rank, Each each, Meet meet) {
  parts::candidate bound = 0;
  for (int shift = 64 - digit_bits;; shift -= digit_bits) {
    for (int i = threadIdx.x; i < num_digits; i += block_threads) shared.counts[i] = 0;
    __syncthreads();
    each([&](parts::candidate of) {
      if (((of ^ bound) >> shift) < num_digits) atomicAdd(&shared.counts[of >> shift & (num_digits - 1)], 1u);
    });
    meet(shared.counts);
    if (threadIdx.x < parts::warp_threads) find_digit(shared, rank);
    __syncthreads();
    const unsigned digit = shared.digit;
    bound |= static_cast<parts::candidate>(digit) << shift;
    rank -= shared.before;
    const bool is_found = rank == shared.counts[digit];
    __syncthreads();
    if (is_found) return bound;
  }
}

// All threads: the first k of what each() brings, to the row's outputs.
template <int block_threads, class T, class Each>
__device__ void choose_by_digits(digit_memory& shared, const parts::top_k_rows<T>& row, Each each) {
  if (threadIdx.x == 0) shared.num_chosen = 0;
  const auto bound = find_bound<block_threads>(shared, row.k, each, [](unsigned*) { __syncthreads(); });
  each([&](parts::candidate of) {
    if (of >= bound) shared.chosen[atomicAdd(&shared.num_chosen, 1u)] = of;
  });
  __syncthreads();
  parts::write_sorted<block_threads>(shared.chosen, row);
}

template <int block_threads, class T>
__global__ void __launch_bounds__(block_threads) radix_digits_kernel(parts::top_k_rows<T> rows) {
  __shared__ digit_memory shared;
  const auto row = rows.from(blockIdx.x);
  choose_by_digits<block_threads>(shared, row,
                                  [&](auto act) { row.template for_each<block_threads>(0, row.num_columns, act); });
}

struct radix_digits : parts::top_k_calls<radix_digits> {
  static constexpr auto idea = "a block a row, the k-th by histograms of its digits in shared memory";
  static constexpr int block_threads = 512, items_per_thread = 8;
  static constexpr std::size_t max_k = most_chosen, max_columns = std::size_t{1} << 22;

  template <class T>
  static cudaError_t enqueue(const parts::top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream) {
    return parts::launch(radix_digits_kernel<block_threads, T>, num_rows, block_threads, stream, rows);
  }
};

}  // namespace rungs::RUNGS_ABI::top_k
