// The greatest k of rows for a k that no block holds, or of several rows of 64-bit keys: several launches, which read
// the row for each digit of the k-th.
//
//   count, choose   for each digit of eight bits, from the top: histograms of parts of the row, then the bin of the
//                   k-th. What comes after the digit that decides returns at once.
//   collect         the candidates from the k-th on
//   sort, merge     where sorted: tiles in shared memory, then runs of twice the length until there is one
//   write           keys and values
//
// A launch is needed for each step since nobody waits for other blocks. The number of launches depends on the shape
// alone, so a call may be captured.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

struct long_results {
  static constexpr int block_threads = block_selection::block_threads;
  static constexpr int digit_bits = 8, num_bins = 1 << digit_bits;
  template <class Candidate>
  static constexpr unsigned tile_items = 32 * 1024 / sizeof(Candidate);  // that a block sorts in shared memory
  static constexpr int writing_threads = 256;
};

// What is known of the k-th candidate of a row.
template <class Candidate>
struct kth_candidate {
  Candidate prefix;           // its digits so far
  unsigned long long needed;  // how many of those with this prefix belong to the k
  unsigned long long collected;
  int shift;     // bits below the prefix
  bool decided;  // whether all with this prefix belong
};

template <class Candidate>
struct long_plan {
  using candidate_type = Candidate;
  candidate_layout layout;
  std::size_t num_rows, k;
  unsigned num_columns, num_parts;
  kth_candidate<Candidate>* d_kth;  // of each row
  unsigned* d_counts;               // of each bin, of each part, of each row
  Candidate* d_candidates;
  Candidate* d_others;  // room for as many, where they are to be sorted

  __device__ unsigned begin_of(unsigned part) const {
    return static_cast<unsigned>(static_cast<unsigned long long>(num_columns) * part / num_parts);
  }
};

template <class Order>
using long_plan_of = long_plan<typename Order::candidate_type>;

template <class Order>
__device__ key_stream<Order> stream_of_block(const keys_of_rows<Order>& keys, const long_plan_of<Order>& plan) {
  const unsigned part = blockIdx.x % plan.num_parts;
  return {keys, plan.layout, blockIdx.x / plan.num_parts, plan.begin_of(part), plan.begin_of(part + 1)};
}

// Counts the digit of `width` bits above `shift`, of candidates with the prefix. The first digit has none.
template <class Order>
__global__ void __launch_bounds__(long_results::block_threads, 2)
    count_digits_kernel(const __grid_constant__ keys_of_rows<Order> keys,
                        const __grid_constant__ long_plan_of<Order> plan, int shift, int width) {
  using candidate_type = typename Order::candidate_type;
  __shared__ unsigned bins[long_results::num_bins];
  const bool is_first = shift + width == plan.layout.bits();
  const kth_candidate<candidate_type>* const kth = plan.d_kth + blockIdx.x / plan.num_parts;
  if (!is_first && kth->decided) return;
  const candidate_type prefix = is_first ? 0 : kth->prefix;
  if (threadIdx.x < long_results::num_bins) bins[threadIdx.x] = 0;
  __syncthreads();
  const key_stream<Order> stream = stream_of_block(keys, plan);
  const typename key_stream<Order>::threshold none{0, false};
  for (unsigned index = 0; index < stream.num_chunks(); ++index)
    stream.select(stream.load(index), index, none, [&](bool exists, candidate_type each) {
      if (exists && (is_first || each >> (shift + width) == prefix))
        atomicAdd(bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
    });
  __syncthreads();
  if (threadIdx.x < long_results::num_bins)
    plan.d_counts[std::size_t{blockIdx.x} * long_results::num_bins + threadIdx.x] = bins[threadIdx.x];
}

// One block a row, one thread a bin, from the greatest on. (A template, so that many files may define it.)
template <class Plan>
__global__ void __launch_bounds__(long_results::num_bins)
    choose_digit_kernel(const __grid_constant__ Plan plan, int shift, int width) {
  constexpr int warps = long_results::num_bins / parts::warp_threads;
  __shared__ unsigned of_warps[warps];
  auto* const kth = plan.d_kth + blockIdx.x;
  const bool is_first = shift + width == plan.layout.bits();
  if (!is_first && kth->decided) return;
  const typename Plan::candidate_type prefix = is_first ? 0 : kth->prefix;
  const unsigned long long needed = is_first ? plan.k : kth->needed;

  const unsigned digit = long_results::num_bins - 1 - threadIdx.x;
  const unsigned* const counts = plan.d_counts + std::size_t{blockIdx.x} * plan.num_parts * long_results::num_bins;
  unsigned count = 0;
  for (unsigned part = 0; part < plan.num_parts; ++part) count += counts[part * long_results::num_bins + digit];

  const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  unsigned up_to = count;
#pragma unroll
  for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
    const unsigned below = __shfl_up_sync(parts::full_mask, up_to, distance);
    if (lane >= static_cast<unsigned>(distance)) up_to += below;
  }
  if (lane == parts::warp_threads - 1) of_warps[warp] = up_to;
  __syncthreads();  // all have read what is known so far, too
  unsigned above = up_to - count;
  for (unsigned w = 0; w < warp; ++w) above += of_warps[w];
  if (above < needed && needed <= above + count)
    *kth = {prefix << width | digit, needed - above, 0, shift, needed - above == count};
}

template <class Order>
__global__ void __launch_bounds__(long_results::block_threads, 2)
    collect_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ long_plan_of<Order> plan) {
  using candidate_type = typename Order::candidate_type;
  __shared__ unsigned num_of_chunk;
  __shared__ unsigned long long first_of_chunk;
  const std::size_t row = blockIdx.x / plan.num_parts;
  kth_candidate<candidate_type>* const kth = plan.d_kth + row;
  const candidate_type prefix = kth->prefix;
  const int shift = kth->shift;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  const key_stream<Order> stream = stream_of_block(keys, plan);
  const typename key_stream<Order>::threshold none{0, false};
  const auto belongs = [&](bool exists, candidate_type each) { return exists && each >> shift >= prefix; };
  for (unsigned index = 0; index < stream.num_chunks(); ++index) {
    const auto chunk = stream.load(index);
    if (threadIdx.x == 0) num_of_chunk = 0;
    __syncthreads();
    unsigned own = 0;
    stream.select(chunk, index, none, [&](bool exists, candidate_type each) { own += belongs(exists, each); });
    unsigned up_to = own;
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
      const unsigned below = __shfl_up_sync(parts::full_mask, up_to, distance);
      if (lane >= static_cast<unsigned>(distance)) up_to += below;
    }
    unsigned of_warp = 0;
    if (lane == parts::warp_threads - 1) of_warp = atomicAdd(&num_of_chunk, up_to);
    const unsigned place = __shfl_sync(parts::full_mask, of_warp, parts::warp_threads - 1) + up_to - own;
    __syncthreads();
    if (threadIdx.x == 0)
      first_of_chunk = num_of_chunk > 0 ? atomicAdd(&kth->collected, static_cast<unsigned long long>(num_of_chunk)) : 0;
    __syncthreads();
    candidate_type* to = plan.d_candidates + row * plan.k + first_of_chunk + place;
    stream.select(chunk, index, none, [&](bool exists, candidate_type each) {
      if (belongs(exists, each)) *to++ = each;
    });
  }
}

// Sorts tiles of the rows' candidates, the greatest first.
template <class Plan>
__global__ void __launch_bounds__(long_results::block_threads)
    sort_tiles_kernel(const __grid_constant__ Plan plan, unsigned row_tiles) {
  constexpr unsigned tile_items = long_results::tile_items<typename Plan::candidate_type>;
  __shared__ typename Plan::candidate_type held[tile_items];
  const std::size_t row = blockIdx.x / row_tiles, first = std::size_t{blockIdx.x % row_tiles} * tile_items;
  auto* const tile = plan.d_candidates + row * plan.k + first;
  const unsigned size = static_cast<unsigned>(parts::at_most(plan.k - first, tile_items));
  for (unsigned i = threadIdx.x; i < size; i += long_results::block_threads) held[i] = tile[i];
  __syncthreads();
  block_selection::sort(held, size);
  for (unsigned i = threadIdx.x; i < size; i += long_results::block_threads) tile[i] = held[i];
}

// Merges neighbouring runs of `run` candidates: each goes behind those before it in its run, and those of the other run
// that are greater. No two are equal.
template <class Plan>
__global__ void __launch_bounds__(long_results::writing_threads)
    merge_runs_kernel(const __grid_constant__ Plan plan, const typename Plan::candidate_type* from,
                      typename Plan::candidate_type* to, unsigned row_blocks, std::size_t run) {
  const std::size_t row = blockIdx.x / row_blocks;
  const std::size_t own = std::size_t{blockIdx.x % row_blocks} * long_results::writing_threads + threadIdx.x;
  if (own >= plan.k) return;
  from += row * plan.k;
  to += row * plan.k;
  const auto value = from[own];
  const std::size_t own_run = own / run, other_begin = (own_run ^ 1) * run;
  std::size_t low = parts::at_most(other_begin, plan.k), high = parts::at_most(other_begin + run, plan.k);
  const std::size_t begin = low;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (from[middle] > value)
      low = middle + 1;
    else
      high = middle;
  }
  to[own_run / 2 * 2 * run + own % run + (low - begin)] = value;
}

template <class Output, class Plan>
__global__ void __launch_bounds__(long_results::writing_threads)
    write_results_kernel(const __grid_constant__ Output output, const __grid_constant__ Plan plan,
                         const typename Plan::candidate_type* from, unsigned row_blocks) {
  const std::size_t row = blockIdx.x / row_blocks;
  const std::size_t own = std::size_t{blockIdx.x % row_blocks} * long_results::writing_threads + threadIdx.x;
  if (own < plan.k) output.write(row, own, plan.layout.column_of(static_cast<candidate>(from[row * plan.k + own])));
}

// Lays the storage of a plan out behind `region`, and returns its size.
template <class Plan>
std::size_t place_long_results(char* region, bool sorted, Plan& plan) {
  std::size_t bytes = 0;
  const auto take = [&](auto*& array, std::size_t num_items) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(region + bytes);
    bytes += parts::ceil_div(num_items * sizeof(*array), parts::storage_alignment) * parts::storage_alignment;
  };
  take(plan.d_candidates, plan.num_rows * plan.k);
  take(plan.d_others, sorted ? plan.num_rows * plan.k : 0);
  take(plan.d_counts, plan.num_rows * plan.num_parts * long_results::num_bins);
  take(plan.d_kth, plan.num_rows);
  return bytes;
}

template <class Order>
long_plan_of<Order> plan_long_results(const parts::device_limits& limits, std::size_t num_rows, std::size_t num_columns,
                                      std::size_t k) {
  const std::size_t resident = resident_streams * static_cast<std::size_t>(limits.multiprocessors);
  const std::size_t num_parts = parts::at_most(resident / num_rows, num_columns / chunk_items);
  return {candidate_layout(num_columns, Order::bits),
          num_rows,
          k,
          static_cast<unsigned>(num_columns),
          static_cast<unsigned>(num_parts < 1 ? 1 : num_parts),
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}

// Sorts all rows' candidates. `sorted` is where they lie then. A template, so that its kernels are in those programs
// alone that call it.
template <class Plan>
cudaError_t sort_long_results(const Plan& plan, const typename Plan::candidate_type*& sorted, cudaStream_t stream) {
  using candidate_type = typename Plan::candidate_type;
  constexpr std::size_t tile_items = long_results::tile_items<candidate_type>;
  const std::size_t row_tiles = parts::ceil_div(plan.k, tile_items);
  const std::size_t row_blocks = parts::ceil_div(plan.k, long_results::writing_threads);
  cudaError_t error = parts::launch(sort_tiles_kernel<Plan>, plan.num_rows * row_tiles, long_results::block_threads,
                                    stream, plan, static_cast<unsigned>(row_tiles));
  candidate_type *from = plan.d_candidates, *to = plan.d_others;
  for (std::size_t run = tile_items; error == cudaSuccess && run < plan.k; run *= 2) {
    error = parts::launch(merge_runs_kernel<Plan>, plan.num_rows * row_blocks, long_results::writing_threads, stream,
                          plan, static_cast<const candidate_type*>(from), to, static_cast<unsigned>(row_blocks), run);
    candidate_type* const merged = to;
    to = from;
    from = merged;
  }
  sorted = from;
  return error;
}

// Writes the candidates that are left, in their order or in any.
template <class Output, class Plan>
cudaError_t write_long_results(const Output& output, const Plan& plan, bool sorted, cudaStream_t stream) {
  const typename Plan::candidate_type* results = plan.d_candidates;
  if (sorted) {
    const cudaError_t error = sort_long_results(plan, results, stream);
    if (error != cudaSuccess) return error;
  }
  const std::size_t row_blocks = parts::ceil_div(plan.k, long_results::writing_threads);
  return parts::launch(write_results_kernel<Output, Plan>, plan.num_rows * row_blocks, long_results::writing_threads,
                       stream, output, plan, results, static_cast<unsigned>(row_blocks));
}

template <class Order, class Output>
cudaError_t launch_long_results(const keys_of_rows<Order>& keys, const Output& output, const long_plan_of<Order>& plan,
                                bool sorted, cudaStream_t stream) {
  const std::size_t blocks = plan.num_rows * plan.num_parts;
  cudaError_t error = cudaSuccess;
  for (int above = plan.layout.bits(); error == cudaSuccess && above > 0;) {
    const int width = above < long_results::digit_bits ? above : long_results::digit_bits, shift = above - width;
    error = parts::launch(count_digits_kernel<Order>, blocks, long_results::block_threads, stream, keys, plan, shift,
                          width);
    if (error == cudaSuccess)
      error = parts::launch(choose_digit_kernel<long_plan_of<Order>>, plan.num_rows, long_results::num_bins, stream,
                            plan, shift, width);
    above = shift;
  }
  if (error == cudaSuccess)
    error = parts::launch(collect_kernel<Order>, blocks, long_results::block_threads, stream, keys, plan);
  if (error != cudaSuccess) return error;
  return write_long_results(output, plan, sorted, stream);
}

}  // namespace rungs::RUNGS_ABI::production
