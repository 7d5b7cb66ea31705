// An exactly rounded sum in one read of the input.
//
// A thread adds what it reads as integers, in a window of up to 104 bits in registers (window.cuh). Terms that do not
// fit it go, one by one, to integers in shared memory that the thread has for itself (counters.cuh). Nothing is rounded
// before the end, so that neither order nor grid nor alignment changes a bit.
//
// At the end a block writes its sum down, as digits. A second launch, which overlaps with the first, adds those up and
// rounds once. Where there is one block, it rounds itself. No block waits for another.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/exact/record.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/exact/counters.cuh"
#include "rungs/production/exact/terms.cuh"
#include "rungs/production/exact/window.cuh"

namespace rungs::RUNGS_ABI::production {

// How a kind of terms is added up.
template <class Terms>
struct exact_shape {
  using term = typename Terms::term;
  static constexpr bool is_float = std::is_same_v<term, float>;
  static constexpr bool has_window = is_float || std::is_same_v<term, double>;
  // Halves fit two levels of 23 bits, floats over 40 binades three, doubles over 48 two of 52.
  static constexpr int num_levels = is_float && sizeof(typename Terms::item) == 4 ? 3 : 2;
  static constexpr int num_vectors = sizeof(typename Terms::item) == 2 || !has_window ? 2 : is_float ? 4 : 8;
  // Items that are read one by one.
  static constexpr int num_singles = has_window ? 8 : 2;
  using counters = thread_counters<typename Terms::total, term>;
  static constexpr std::size_t thread_bytes = counters::num_counters * sizeof(long long);
  // One block a multiprocessor; where there is less shared memory, with fewer threads. Few items have smaller blocks.
  static constexpr int most_threads = is_float ? 1024 : thread_bytes < 256 ? 512 : has_window ? 384 : 192;
  static constexpr int least_threads = 128;
};

// What one thread adds up. All lanes of a warp call the same.
template <class Terms>
struct exact_share {
  using shape = exact_shape<Terms>;
  using total = typename Terms::total;
  using term = typename Terms::term;
  using window_type = exact_window<std::conditional_t<shape::has_window, term, float>, total, shape::num_levels>;
  static constexpr int num_parts = shape::has_window ? window_type::num_parts : 0;
  // After a tile that did not fit the window so many go straight to the digits, twice as many each time.
  static constexpr int most_patience = 16;

  block_total<total>& of_block;
  unsigned seen = 0;
  bool uses_counters = false, is_counted = false;  // whether a term went straight to the counters
  window_type window{};
  int skipped = 0, patience = 1, terms_in_window = 0;

  // Adds terms[0] to terms[count - 1], to the window or, where one of them does not fit, to the counters.
  template <int num_terms, class Values>
  __device__ void add(const Values& terms) {
    if constexpr (shape::has_window) {
      if (skipped > 0)
        --skipped;
      else if (add_to_window<num_terms>(terms))
        return;
    }
    count<num_terms>(terms);
  }

  template <int num_terms, class Values>
  __device__ void count(const Values& terms) {
    use_counters();
    seen |= shape::counters::template add_terms<num_terms>(terms);
    is_counted = true;
  }

  __device__ void finish() {
    if constexpr (shape::has_window) window.hand_over(of_block);
    if (threadIdx.x % parts::warp_threads == 0) {
      if (uses_counters) atomicOr(&of_block.counting_warps, 1u << threadIdx.x / parts::warp_threads);
      if (is_counted) of_block.touch_all();
    }
    if (seen != 0) atomicOr(&of_block.sum.flags, seen);
  }

 private:
  __device__ void use_counters() {
    if (!uses_counters) shape::counters::clear();
    uses_counters = true;
  }

  // False, and nothing is added, where one of the terms does not fit.
  template <int num_terms, class Values>
  __device__ bool add_to_window(const Values& terms) {
    if (!window.is_placed()) window.place(greatest_of_warp<num_terms>(terms));
    const bool fits = window.template add<num_terms>(terms);
    if (fits) {
      patience = 1;
      if constexpr (window_type::may_fill) terms_in_window += num_terms;
      if (terms_in_window + num_terms <= window.most_terms) return true;
    }
    use_counters();
    window.empty(of_block);
    terms_in_window = 0;
    if (fits) return true;
    window.place(greatest_of_warp<num_terms>(terms));
    skipped = patience;
    patience = patience < most_patience ? 2 * patience : patience;
    return false;
  }

  // Their greatest magnitude; all lanes have it.
  template <int num_terms, class Values>
  static __device__ auto greatest_of_warp(const Values& terms) {
    auto greatest = magnitude_of(terms[0]);
#pragma unroll
    for (int i = 1; i < num_terms; ++i) greatest = larger(greatest, magnitude_of(terms[i]));
#pragma unroll
    for (int lanes = parts::warp_threads / 2; lanes > 0; lanes /= 2)
      greatest = larger(greatest, __shfl_xor_sync(parts::full_mask, greatest, lanes));
    return greatest;
  }
};

// Several vectors as one list of their items.
template <class Terms, int num_vectors>
struct vectors_of {
  typename Terms::vector loaded[num_vectors];
  __device__ auto operator[](int i) const { return loaded[i / Terms::vector_items][i % Terms::vector_items]; }
};

// Whole vectors begin behind the first `before` items.
struct exact_plan {
  std::size_t num_items, before, whole_vectors;
};

// The whole vectors, several loads in flight, and then what lies before and behind them, item by item.
template <class Terms>
__device__ void add_share(const Terms& terms, const exact_plan& plan, block_total<typename Terms::total>& total) {
  using shape = exact_shape<Terms>;
  exact_share<Terms> share{total};
  if constexpr (Terms::in_vectors) {
    constexpr int num_vectors = shape::num_vectors, vector_items = Terms::vector_items;
    constexpr int tile_items = num_vectors * vector_items;
    const std::size_t tile = std::size_t{num_vectors} * blockDim.x;
    for (std::size_t first = blockIdx.x * tile; first < plan.whole_vectors; first += gridDim.x * tile) {
      vectors_of<Terms, num_vectors> vectors;
      const std::size_t mine = first + threadIdx.x;
      const auto load = [&](int k) {
        terms.load(plan.before + (mine + k * blockDim.x) * vector_items, vectors.loaded[k]);
      };
      if (first + tile <= plan.whole_vectors) {
#pragma unroll
        for (int k = 0; k < num_vectors; ++k) load(k);
      } else {
#pragma unroll
        for (int k = 0; k < num_vectors; ++k) {
          vectors.loaded[k] = {};
          if (mine + k * blockDim.x < plan.whole_vectors) load(k);
        }
      }
      share.template add<tile_items>(vectors);
    }
  }
  const std::size_t in_vectors = plan.whole_vectors * Terms::vector_items, singles = plan.num_items - in_vectors;
  constexpr int num_singles = Terms::in_vectors ? 1 : shape::num_singles;
  const std::size_t tile = std::size_t{num_singles} * blockDim.x;
  for (std::size_t first = blockIdx.x * tile; first < singles; first += gridDim.x * tile) {
    typename Terms::term values[num_singles] = {};
#pragma unroll
    for (int k = 0; k < num_singles; ++k) {
      const std::size_t i = first + threadIdx.x + k * blockDim.x;
      if (i < singles) values[k] = terms[i < plan.before ? i : i + in_vectors];
    }
    if constexpr (Terms::in_vectors)
      share.template count<num_singles>(values);
    else
      share.template add<num_singles>(values);
  }
  share.finish();
}

// What a block writes down: its digits, which of them were touched, and what it has seen.
template <class Total>
inline constexpr int notes_of_block = Total::num_digits + block_total<Total>::num_words + 1;

// The same note of all blocks lies together.
template <class Total>
__device__ void write_notes(const block_total<Total>& total, long long* notes) {
  constexpr int num_digits = Total::num_digits, last = notes_of_block<Total> - 1;
  for (int i = threadIdx.x; i <= last; i += blockDim.x)
    notes[static_cast<std::size_t>(i) * gridDim.x + blockIdx.x] = i < num_digits ? total.sum.digits[i]
                                                                  : i < last     ? total.touched[i - num_digits]
                                                                                 : total.sum.flags;
}

// All of one note, folded by the lanes of a warp.
template <class Op>
__device__ long long fold_notes(const long long* notes, std::size_t num_blocks, Op op) {
  constexpr int in_flight = 8;
  long long folded = 0;
  for (std::size_t first = threadIdx.x % parts::warp_threads; first < num_blocks;
       first += in_flight * parts::warp_threads) {
    long long held[in_flight] = {};
#pragma unroll
    for (int k = 0; k < in_flight; ++k)
      if (first + k * parts::warp_threads < num_blocks) held[k] = notes[first + k * parts::warp_threads];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) folded = op(folded, held[k]);
  }
  return parts::warp_reduce(folded, op);
}

// Adds to `total` what num_blocks blocks have written. A warp folds a note. Where there are more notes than warps,
// digits that nobody has touched are not read.
template <class Total>
__device__ void add_notes(const long long* notes, std::size_t num_blocks, block_total<Total>& total) {
  constexpr int num_digits = Total::num_digits, num_notes = notes_of_block<Total>;
  const int num_warps = blockDim.x / parts::warp_threads;
  const bool at_once = num_notes <= num_warps, is_first_lane = threadIdx.x % parts::warp_threads == 0;
  const auto either = [](long long a, long long b) { return a | b; };
  for (int i = threadIdx.x / parts::warp_threads + (at_once ? 0 : num_digits); i < num_notes; i += num_warps) {
    const long long* const note = notes + i * num_blocks;
    if (i < num_digits) {
      const long long sum = fold_notes(note, num_blocks, plus{});
      if (is_first_lane) total.sum.digits[i] = sum;
    } else {
      const auto bits = static_cast<unsigned>(fold_notes(note, num_blocks, either));
      if (is_first_lane) (i + 1 < num_notes ? total.touched[i - num_digits] : total.sum.flags) = bits;
    }
  }
  __syncthreads();
  if (at_once) return;
  for (int i = threadIdx.x / parts::warp_threads; i < num_digits; i += num_warps) {
    if (!total.is_touched(i)) continue;
    const long long sum = fold_notes(notes + i * num_blocks, num_blocks, plus{});
    if (is_first_lane) total.sum.digits[i] = sum;
  }
  __syncthreads();
}

// One thread rounds what `block` has, or writes it as it is.
template <class Total, class OutputIteratorT>
__device__ void write_total(block_total<Total>& block, OutputIteratorT d_out) {
  Total& total = block.sum;
  using written = device::value_or<OutputIteratorT, Total>;
  if constexpr (exact::is_total<written>) {
    total.carry();
    *d_out = total;
  } else {
    *d_out = total.template rounded_in_place<written>(block.first_touched(), block.last_touched());
  }
}

// Room for a T in shared memory, where nothing is constructed.
template <class T>
struct room_for {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ T& get() { return reinterpret_cast<T&>(bytes); }
};

template <class Terms, class OutputIteratorT>
__global__ void __launch_bounds__(exact_shape<Terms>::most_threads, 1)
    exact_kernel(Terms terms, exact_plan plan, OutputIteratorT d_out, long long* notes) {
  using total_type = typename Terms::total;
  __shared__ room_for<block_total<total_type>> room;
  block_total<total_type>& total = room.get();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  total.clear();
  __syncthreads();
  add_share(terms, plan, total);
  exact_shape<Terms>::counters::template sum_block<exact_share<Terms>::num_parts>(total);
  if (gridDim.x > 1)
    write_notes(total, notes);
  else if (threadIdx.x == 0)
    write_total(total, d_out);
}

inline constexpr int exact_finish_threads = 512;

template <class Total, class OutputIteratorT>
__global__ void __launch_bounds__(exact_finish_threads)
    exact_finish_kernel(const long long* notes, std::size_t num_blocks, OutputIteratorT d_out) {
  __shared__ room_for<block_total<Total>> room;
  block_total<Total>& total = room.get();
  total.clear();
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  add_notes(notes, num_blocks, total);
  if (threadIdx.x == 0) write_total(total, d_out);
}

template <class Terms, class OutputIteratorT>
cudaError_t add_exactly(void* d_temp_storage, std::size_t& temp_storage_bytes, const Terms& terms,
                        OutputIteratorT d_out, std::size_t num_items, cudaStream_t stream) {
  using shape = exact_shape<Terms>;
  using total = typename Terms::total;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  exact_plan plan{num_items, 0, 0};
  if constexpr (Terms::in_vectors) {
    plan.before = parts::at_most(terms.items_before_vectors(), num_items);
    plan.whole_vectors = (num_items - plan.before) / Terms::vector_items;
  }
  constexpr std::size_t of_the_block = 8192;  // shared memory beside the counters, or more
  const std::size_t fitting = (limits.shared_bytes - of_the_block) / shape::thread_bytes;
  if (fitting < parts::warp_threads) return cudaErrorInvalidConfiguration;
  constexpr int thread_items = Terms::in_vectors ? shape::num_vectors * Terms::vector_items : shape::num_singles;
  const std::size_t most_threads =
      parts::at_most(shape::most_threads, fitting / parts::warp_threads * parts::warp_threads);
  // What one block takes in at once is not spread: blocks that meet cost more. Of more, as many threads as give each
  // multiprocessor one tile, if not more.
  const std::size_t most_blocks = num_items <= most_threads * thread_items ? 1 : limits.multiprocessors;
  std::size_t block_threads = parts::ceil_div(num_items, most_blocks * thread_items * parts::warp_threads);
  block_threads = parts::at_most(block_threads * parts::warp_threads, most_threads);
  if (block_threads < shape::least_threads) block_threads = parts::at_most(shape::least_threads, most_threads);
  std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_items, block_threads * thread_items), most_blocks);
  const std::size_t least_blocks = 1 + num_items / (block_threads * most_terms_of_thread);
  if (grid_blocks < least_blocks) grid_blocks = least_blocks;

  char* region;
  const std::size_t bytes = grid_blocks * notes_of_block<total> * sizeof(long long);
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  auto* const notes = reinterpret_cast<long long*>(region);
  error = parts::launch_with_shared_memory(exact_kernel<Terms, OutputIteratorT>, grid_blocks,
                                           static_cast<int>(block_threads), block_threads * shape::thread_bytes, stream,
                                           terms, plan, d_out, notes);
  if (error != cudaSuccess || grid_blocks == 1) return error;
  return parts::launch_overlapped(exact_finish_kernel<total, OutputIteratorT>, 1, exact_finish_threads, 0,
                                  limits.overlaps(), stream, notes, grid_blocks, d_out);
}

}  // namespace rungs::RUNGS_ABI::production
