// An exactly rounded sum in one read of the input. Up to about a million floats, halves or pairs of them are added up
// by another kernel (levels_kernel.cuh).
//
// A thread adds what it reads as integers, in a window of up to 104 bits in registers (window.cuh). Terms that do not
// fit it go, one by one, to integers in shared memory that the thread has for itself (counters.cuh). Nothing is rounded
// before the end, so that neither order nor grid nor alignment changes a bit.
//
// At the end a block posts its sum to a mailbox (mailboxes.cuh), in a few words where all of it is in windows that
// begin almost alike (short_sum.cuh). Else it writes digits down, its notes, and posts where they are. The block of the
// highest index adds up what others post, and rounds once. It waits only for blocks of lower indices, which start
// first. Of captured calls, whose tags would repeat, a second launch does that, which overlaps with the first.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/types.cuh"
#include "rungs/exact/record.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/overlap.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/exact/counters.cuh"
#include "rungs/production/exact/levels_kernel.cuh"
#include "rungs/production/exact/short_sum.cuh"
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
  // As many as take in the mailboxes of most devices at once. One block alone takes in what several threads do at once.
  static constexpr int least_threads = 192, lone_threads = 512;

  using window = exact_window<std::conditional_t<has_window, term, float>, typename Terms::total, num_levels>;
  // Sums of a warp, of a block, of the blocks whose posts a warp reads, and of all. Each has a word more than those it
  // adds up, and that of many blocks one for carries.
  using of_warp = short_sum<window::num_words>;
  using of_block = short_sum<window::num_words + 1>;
  using of_blocks = short_sum<window::num_words + 3>;
  using of_all = short_sum<window::num_words + 4>;
  using block = block_total<typename Terms::total, window::num_words>;
};

// What one thread adds up. All lanes of a warp call the same.
template <class Terms>
struct exact_share {
  using shape = exact_shape<Terms>;
  using total = typename Terms::total;
  using term = typename Terms::term;
  using window_type = typename shape::window;
  // After a tile that did not fit the window so many go straight to the digits, twice as many each time.
  static constexpr int most_patience = 64;

  bool uses_counters = false;
  long_part counted = long_part::nothing();  // what the counters have
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
    counted.seen |= shape::counters::template add_terms<num_terms>(terms);
    counted.touch(0, total::num_digits - 1);
  }

  // Writes down what the warp has.
  __device__ void finish(typename shape::block& block) {
    const auto total = window.total_of_warp();
    if (uses_counters) counted = parts::warp_reduce(counted, either_part{});
    const unsigned warp = threadIdx.x / parts::warp_threads;
    if (threadIdx.x % parts::warp_threads > 0) return;
    block.of_warp[warp] = total;
    block.counts[warp] = uses_counters;
    block.counted[warp] = counted;
  }

 private:
  __device__ void use_counters() {
    if (!uses_counters) shape::counters::clear();
    uses_counters = true;
  }

  // False, and nothing is added, where one of the terms does not fit.
  template <int num_terms, class Values>
  __device__ bool add_to_window(const Values& terms) {
    if (!window.is_placed()) {
      const unsigned greatest = greatest_of_warp<num_terms>(terms);
      if (greatest == 0 && all_zero<num_terms>(terms)) return true;
      window.place(greatest);
    }
    const bool fits = window.template add<num_terms>(terms);
    if (fits) {
      patience = 1;
      if constexpr (window_type::may_fill) terms_in_window += num_terms;
      if (terms_in_window + num_terms <= window.most_terms) return true;
    }
    use_counters();
    window.empty();
    counted.touch(window.first_digit(), window.last_digit());
    terms_in_window = 0;
    if (fits) return true;
    window.place(greatest_of_warp<num_terms>(terms));
    skipped = patience;
    patience = patience < most_patience ? 2 * patience : patience;
    return false;
  }

  // The upper bits of their greatest magnitude; all lanes have it.
  template <int num_terms, class Values>
  static __device__ unsigned greatest_of_warp(const Values& terms) {
    auto greatest = magnitude_of(terms[0]);
#pragma unroll
    for (int i = 1; i < num_terms; ++i) greatest = larger(greatest, magnitude_of(terms[i]));
    return warp_total(upper_bits_of(greatest), maximum{});
  }
  template <int num_terms, class Values>
  static __device__ bool all_zero(const Values& terms) {
    using bits = typename window_type::bits;
    bits any = 0;
#pragma unroll
    for (int i = 0; i < num_terms; ++i) any |= bits_of<bits>(terms[i]);
    return __all_sync(parts::full_mask, static_cast<bits>(any << 1) == 0);
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

// The whole vectors, several loads in flight, and what lies before and behind them, item by item. The first of those is
// on its way before, as mostly there are no others.
template <class Terms>
__device__ void add_share(const Terms& terms, const exact_plan& plan, typename exact_shape<Terms>::block& block) {
  using shape = exact_shape<Terms>;
  exact_share<Terms> share;
  const std::size_t in_vectors = plan.whole_vectors * Terms::vector_items, singles = plan.num_items - in_vectors;
  constexpr int num_singles = Terms::in_vectors ? 1 : shape::num_singles;
  const std::size_t tile_singles = std::size_t{num_singles} * blockDim.x;
  typename Terms::term values[num_singles];
  std::size_t first_single = blockIdx.x * tile_singles;
  const auto load_singles = [&] {
#pragma unroll
    for (int k = 0; k < num_singles; ++k) {
      const std::size_t i = first_single + threadIdx.x + k * blockDim.x;
      values[k] = {};
      if (i < singles) values[k] = terms[i < plan.before ? i : i + in_vectors];
    }
  };
  load_singles();
  if constexpr (Terms::in_vectors) {
    constexpr int num_vectors = shape::num_vectors, vector_items = Terms::vector_items;
    constexpr int tile_items = num_vectors * vector_items;
    // A tile is a warp's, and neighbours belong to different blocks: so the last round is spread over all of them.
    constexpr std::size_t tile = num_vectors * parts::warp_threads;
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const std::size_t num_warps = std::size_t{gridDim.x} * (blockDim.x / parts::warp_threads);
    for (std::size_t first = (std::size_t{gridDim.x} * warp + blockIdx.x) * tile; first < plan.whole_vectors;
         first += num_warps * tile) {
      vectors_of<Terms, num_vectors> vectors;
      const std::size_t mine = first + lane;
      const auto load = [&](int k) {
        terms.load(plan.before + (mine + k * parts::warp_threads) * vector_items, vectors.loaded[k]);
      };
      if (first + tile <= plan.whole_vectors) {
#pragma unroll
        for (int k = 0; k < num_vectors; ++k) load(k);
      } else {
#pragma unroll
        for (int k = 0; k < num_vectors; ++k) {
          vectors.loaded[k] = {};
          if (mine + k * parts::warp_threads < plan.whole_vectors) load(k);
        }
      }
      share.template add<tile_items>(vectors);
    }
  }
  for (; first_single < singles;) {
    share.template add<num_singles>(values);
    first_single += gridDim.x * tile_singles;
    if (first_single < singles) load_singles();
  }
  share.finish(block);
}

// What a block writes down where its sum is not short: its digits, and what else of them it has seen.
template <class Total>
inline constexpr int notes_of_block = Total::num_digits + 1;

// The second, so that the greater halves of the lower word cover both of two parts; 0 is nothing.
template <class Total>
__device__ long long as_note(const long_part& part) {
  const unsigned from_top = part.first < Total::num_digits ? Total::num_digits - part.first : 0;
  return static_cast<long long>(part.seen) << 32 | (part.last + 1u) << 16 | from_top;
}
template <class Total>
__device__ long_part part_of(long long note) {
  const auto ends = static_cast<unsigned>(note);
  return {Total::num_digits - static_cast<int>(ends & 0xffff), static_cast<int>(ends >> 16) - 1,
          static_cast<unsigned>(note >> 32)};
}

// The same note of all blocks lies together.
template <class Total, int num_words>
__device__ void write_notes(const block_total<Total, num_words>& total, long long* notes) {
  for (int i = threadIdx.x; i <= Total::num_digits; i += blockDim.x)
    notes[static_cast<std::size_t>(i) * gridDim.x + blockIdx.x] =
        i < Total::num_digits ? total.sum.digits[i] : as_note<Total>(total.part);
}
// By one thread, the notes of block b, whose sum is short.
template <class Total, int num_words>
__device__ void write_notes(const short_sum<num_words>& sum, long long* notes, std::size_t num_blocks, std::size_t b) {
  constexpr int num_digits = Total::num_digits;
  for (int i = 0; i < num_digits; ++i) notes[i * num_blocks + b] = sum.template in_digit<Total>(i);
  long_part part = long_part::nothing();
  if (sum.first < num_digits)
    part.touch(sum.first, static_cast<int>(parts::at_most(sum.first + num_words + 1, num_digits - 1)));
  notes[num_digits * num_blocks + b] = as_note<Total>(part);
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
  if constexpr (std::is_same_v<Op, plus>) return total_of_lanes(folded);
  return parts::warp_reduce(folded, op);
}

// total = what num_blocks blocks have written. A warp folds a note. Where there are more notes than warps, digits that
// nobody has touched are not read.
template <class Total, int num_words>
__device__ void add_notes(const long long* notes, std::size_t num_blocks, block_total<Total, num_words>& total) {
  constexpr int num_digits = Total::num_digits;
  const int num_warps = blockDim.x / parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const bool at_once = num_digits < num_warps, is_first_lane = threadIdx.x % parts::warp_threads == 0;
  if (warp == (at_once ? num_digits : 0)) {
    const auto cover = [](long long a, long long b) {
      return (a | b) >> 32 << 32 | __vmaxu2(static_cast<unsigned>(a), static_cast<unsigned>(b));
    };
    const long_part part = part_of<Total>(fold_notes(notes + num_digits * num_blocks, num_blocks, cover));
    if (is_first_lane) total.part = part;
  }
  if (!at_once) __syncthreads();
  for (int i = warp; i < num_digits; i += num_warps) {
    long long sum = 0;
    if (at_once || total.is_touched(i)) sum = fold_notes(notes + i * num_blocks, num_blocks, plus{});
    if (is_first_lane) total.sum.digits[i] = sum;
  }
  __syncthreads();
}

// Digits before they are carried, in words.
template <int num_words>
__device__ short_sum<num_words> words_of(const long long* digits) {
  short_sum<num_words> sum;
  long long carried = 0;
#pragma unroll
  for (int i = 0; i < num_words; ++i) {
    if (i + 1 < num_words) carried += digits[i];
    sum.words[i] = static_cast<unsigned>(carried);
    carried >>= 32;
  }
  sum.first = 0;
  return sum;
}

// One thread rounds what `block` has in its digits, or writes it as it is.
template <class Total, int num_words, class OutputIteratorT>
__device__ void write_total(block_total<Total, num_words>& block, OutputIteratorT d_out) {
  Total& total = block.sum;
  using written = device::value_or<OutputIteratorT, Total>;
  total.flags = block.part.seen;
  total.unused = 0;
  if constexpr (exact::is_total<written>) {
    total.carry();
    *d_out = total;
  } else {
    if constexpr (Total::num_digits <= 12) {
      if (total.flags == 0) {
        *d_out = words_of<Total::num_digits + 1>(total.digits).template rounded<written, Total>();
        return;
      }
    }
    constexpr int top = Total::num_digits - 1;  // is zero where no digit was touched
    const bool is_any = block.part.last >= 0;
    *d_out = total.template rounded_in_place<written>(is_any ? block.part.first : top, is_any ? block.part.last : top);
  }
}
// The same of a sum in words, which the first lane of the calling warp has.
template <class Total, int num_words, int num_sum_words, class OutputIteratorT>
__device__ void write_total(const short_sum<num_sum_words>& sum, block_total<Total, num_words>& block,
                            OutputIteratorT d_out) {
  using written = device::value_or<OutputIteratorT, Total>;
  if (threadIdx.x % parts::warp_threads > 0) return;
  if constexpr (exact::is_total<written>) {
    for (int i = 0; i < Total::num_digits; ++i) block.sum.digits[i] = sum.template in_digit<Total>(i);
    block.part = long_part::nothing();
    write_total(block, d_out);
  } else {
    *d_out = sum.template rounded<written, Total>();
  }
}

// Room for a T in shared memory, where nothing is constructed.
template <class T>
struct room_for {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ T& get() { return reinterpret_cast<T&>(bytes); }
};

// Where blocks post their sums.
template <class Terms>
struct exact_posts {
  using shape = exact_shape<Terms>;
  using mailboxes = parts::mailboxes<typename shape::of_block>;
  mailboxes posted;
  long long* notes;
  parts::tag tag;  // of captured calls any: they are read by a second launch

  static constexpr std::size_t bytes(std::size_t num_blocks) {
    return mailboxes::bytes(num_blocks) + num_blocks * notes_of_block<typename Terms::total> * sizeof(long long);
  }
  static exact_posts at(char* region, std::size_t num_blocks, parts::tag tag) {
    return {mailboxes(region), reinterpret_cast<long long*>(region + mailboxes::bytes(num_blocks)), tag};
  }
};

// The sum of the first num_posts blocks' posts and, where it is not elsewhere, of the calling block's own sum, which
// the first lane of its first warp has. Each thread waits for one post.
template <class Terms, class OutputIteratorT>
__device__ void gather_posts(const exact_posts<Terms>& posts, std::size_t num_blocks, std::size_t num_posts,
                             typename exact_shape<Terms>::of_block own, typename exact_shape<Terms>::block& total,
                             OutputIteratorT d_out) {
  using shape = exact_shape<Terms>;
  using record = typename Terms::total;
  constexpr int own_place = parts::warp_threads - 1;
  __shared__ room_for<typename shape::of_blocks> gathered[parts::warp_threads];
  const int lane = threadIdx.x % parts::warp_threads, warp = threadIdx.x / parts::warp_threads;
  const auto wait_for_post = [&](std::size_t b) {
    auto letter = posts.posted.read(b);
    while (!letter.bears(posts.tag)) letter = posts.posted.read(b);
    return letter.value();
  };
  // One warp takes in the posts of few blocks: a lane each, and the first has the block's own sum.
  if (num_posts < parts::warp_threads) {
    __shared__ bool is_done;
    if (warp == 0) {
      auto mine = lane == 0 ? own : shape::of_block::nothing();
      if (lane > 0 && lane <= static_cast<int>(num_posts)) mine = wait_for_post(lane - 1);
      __syncwarp();
      const auto sum = sum_of_lanes<shape::of_blocks::num_words>(mine);
      if (sum.fits()) write_total(sum, total, d_out);
      if (lane == 0) is_done = sum.fits();
    }
    __syncthreads();
    if (is_done) return;
  }
  const bool at_once = num_posts <= parts::at_most(blockDim.x, own_place * parts::warp_threads);
  if (at_once && warp < own_place) {
    const auto mine = threadIdx.x < num_posts ? wait_for_post(threadIdx.x) : shape::of_block::nothing();
    __syncwarp();
    const auto sum = sum_of_lanes<shape::of_blocks::num_words>(mine);
    if (lane == 0) gathered[warp].get() = sum;
  }
  if (threadIdx.x == 0) gathered[own_place].get() = own.template widened<shape::of_blocks::num_words>();
  __syncthreads();
  if (at_once) {
    const bool has_sum = lane == own_place || lane < static_cast<int>(blockDim.x) / parts::warp_threads;
    const auto mine = has_sum ? gathered[lane].get() : shape::of_blocks::nothing();
    const auto sum = sum_of_lanes<shape::of_all::num_words>(mine);
    if (sum.fits()) {
      if (warp == 0) write_total(sum, total, d_out);
      return;
    }
  }
  // Who has posted words writes notes of them.
  for (std::size_t b = threadIdx.x; b < num_posts; b += blockDim.x) {
    const auto sum = wait_for_post(b);
    if (sum.fits()) write_notes<record>(sum, posts.notes, num_blocks, b);
  }
  if (threadIdx.x == 0 && num_posts < num_blocks && own.fits())
    write_notes<record>(own, posts.notes, num_blocks, num_posts);
  __threadfence();  // notes of others are read behind their posts
  __syncthreads();
  add_notes(posts.notes, num_blocks, total);
  if (threadIdx.x == 0) write_total(total, d_out);
}

template <class Terms, class OutputIteratorT>
__global__ void __launch_bounds__(exact_shape<Terms>::most_threads, 1)
    exact_kernel(Terms terms, exact_plan plan, OutputIteratorT d_out, exact_posts<Terms> posts, bool gathers) {
  using shape = exact_shape<Terms>;
  __shared__ room_for<typename shape::block> room;
  typename shape::block& total = room.get();
  parts::let_next_launch_start();
  const bool is_alone = gridDim.x == 1, is_first = threadIdx.x == 0;
  if (is_first && !is_alone) posts.posted.prefetch(blockIdx.x);
  add_share(terms, plan, total);
  __syncthreads();
  // Every warp adds up what all have, and so all know whether it is short.
  const int lane = threadIdx.x % parts::warp_threads;
  const bool is_warp = lane < static_cast<int>(blockDim.x) / parts::warp_threads;
  const auto of_warp = is_warp ? total.of_warp[lane] : shape::of_warp::nothing();
  auto sum = sum_of_lanes<shape::of_block::num_words>(of_warp);
  if (__any_sync(parts::full_mask, is_warp && total.counts[lane])) sum.first = sum.elsewhere;
  if (!sum.fits()) {
    shape::counters::sum_block(total);
    if (!is_alone) {
      write_notes(total, posts.notes);
      __syncthreads();
      if (is_first) __threadfence();
    } else if (is_first) {
      write_total(total, d_out);
    }
  } else if (is_alone && threadIdx.x < parts::warp_threads) {
    write_total(sum, total, d_out);
  }
  if (is_alone) return;
  if (gathers && blockIdx.x + 1 == gridDim.x)
    gather_posts(posts, gridDim.x, blockIdx.x, sum, total, d_out);
  else if (is_first)
    posts.posted.post(blockIdx.x, sum, posts.tag);
}

inline constexpr int exact_finish_threads = 512;

template <class Terms, class OutputIteratorT>
__global__ void __launch_bounds__(exact_finish_threads)
    exact_finish_kernel(exact_posts<Terms> posts, std::size_t num_blocks, OutputIteratorT d_out) {
  using shape = exact_shape<Terms>;
  __shared__ room_for<typename shape::block> room;
  parts::wait_for_launch_before();
  gather_posts(posts, num_blocks, num_blocks, shape::of_block::nothing(), room.get(), d_out);
}

template <class Terms, class OutputIteratorT>
cudaError_t add_exactly(void* d_temp_storage, std::size_t& temp_storage_bytes, const Terms& terms,
                        OutputIteratorT d_out, std::size_t num_items, cudaStream_t stream) {
  using shape = exact_shape<Terms>;
  using total = typename Terms::total;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  if constexpr (exact_levels<Terms>::fit)
    if (num_items <= most_level_items(limits))
      return add_levels(d_temp_storage, temp_storage_bytes, terms, d_out, num_items, limits, stream);
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
  // What few threads take in at once is not spread: blocks that meet cost more. Of more, as many threads as give each
  // multiprocessor one tile, if not more.
  const std::size_t most_alone = parts::at_most(shape::lone_threads, most_threads) * thread_items;
  const std::size_t most_blocks = num_items <= most_alone ? 1 : limits.multiprocessors;
  std::size_t block_threads = parts::ceil_div(num_items, most_blocks * thread_items * parts::warp_threads);
  block_threads = parts::at_most(block_threads * parts::warp_threads, most_threads);
  if (block_threads < shape::least_threads) block_threads = parts::at_most(shape::least_threads, most_threads);
  std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_items, block_threads * thread_items), most_blocks);
  const std::size_t least_blocks = 1 + num_items / (block_threads * most_terms_of_thread);
  if (grid_blocks < least_blocks) grid_blocks = least_blocks;

  char* region;
  if (parts::answered(d_temp_storage, temp_storage_bytes, exact_posts<Terms>::bytes(grid_blocks), region, error))
    return error;
  bool finishes = false;  // by a second launch
  if (grid_blocks > 1) error = parts::is_captured(stream, finishes);
  if (error != cudaSuccess) return error;
  if (grid_blocks - 1 > block_threads) finishes = true;
  const parts::tag tag = grid_blocks == 1 || finishes ? parts::tag{} : parts::draw_tag();
  const auto posts = exact_posts<Terms>::at(region, grid_blocks, tag);
  // Counters of less than 48 KB are more with what else the block has. So that they are allowed, more is asked for.
  std::size_t dynamic_bytes = block_threads * shape::thread_bytes;
  if (dynamic_bytes <= parts::plain_shared_bytes && dynamic_bytes + of_the_block > parts::plain_shared_bytes)
    dynamic_bytes = parts::plain_shared_bytes + 1;
  error = parts::launch_with_shared_memory(exact_kernel<Terms, OutputIteratorT>, grid_blocks,
                                           static_cast<int>(block_threads), dynamic_bytes, stream, terms, plan, d_out,
                                           posts, !finishes);
  if (error != cudaSuccess || !finishes) return error;
  return parts::launch_overlapped(exact_finish_kernel<Terms, OutputIteratorT>, 1, exact_finish_threads, 0,
                                  limits.overlaps(), stream, posts, grid_blocks, d_out);
}

}  // namespace rungs::RUNGS_ABI::production
