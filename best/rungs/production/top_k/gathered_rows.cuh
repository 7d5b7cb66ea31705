// The greatest k of a row by the blocks of a cluster, which read it once. One of them ranks what all have found.
//
// Blocks take turns at the chunks of a row, so their shares are alike. Where a share fits registers, a block knows a
// bound that k / C of its keys reach, C being the number of blocks. At least k keys of the row reach the least bound.
// Otherwise a bound comes from a sample of each block, and they agree on the middle one. Each block holds its keys that
// reach the bound. They gather in the first block, which ranks them (ranked_bins.cuh).
//
// Where many keys equal the bound, there is no room for all. Then the blocks count those above it and those equal to
// it. They hold those above, and of the equal ones the first in the row. In all other cases they find a bound digit by
// digit, from the top, by histograms over all blocks.
//
// One block is no cluster. Then everything stays in its memory.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/candidate_sort.cuh"
#include "rungs/production/top_k/distance_bins.cuh"
#include "rungs/production/top_k/ranked_bins.cuh"
#include "rungs/production/top_k/streamed_rows.cuh"

namespace rungs::RUNGS_ABI::production {

struct gathered_plan {
  static constexpr unsigned most_sampled = 16;  // keys of a thread
  candidate_layout layout;
  unsigned num_columns, k;
  unsigned capacity;  // of the candidates of a block, and of all of them
  unsigned cluster_blocks;
  bool is_held;                         // whether a block's share fits its registers
  unsigned wanted;                      // so many of a block's keys, or of its sample, reach its bound
  unsigned vectors_per_thread;          // of the sample
  bool counts_threads, counts_vectors;  // whether keys are counted by the greatest of a thread's, or of a vector
};

// What a block keeps beside its candidates. Peers write what it knows of them.
struct gathered_memory {
  static constexpr int most_blocks = cluster::parts::greatest_cluster_blocks;
  block_selection selection;
  unsigned bounds[most_blocks], counts[most_blocks];  // of each block
  unsigned above[most_blocks], equal[most_blocks];    // its keys above the bound, and equal to it
  unsigned num_above, num_equal;
};

// All blocks of the cluster meet, or the threads of the only block.
__device__ inline void meet_blocks(unsigned num_blocks) {
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    cluster::parts::meet();
    return;
  }
#endif
  __syncthreads();
}
// Stores `value` where block `to` has `place`.
template <class T>
__device__ void store_in_block(T* place, unsigned to, unsigned num_blocks, T value) {
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    *cluster::parts::of_rank(place, to) = value;
    return;
  }
#endif
  *place = value;
}

// The part of a row that a block has. Parts begin at multiples of 16 bytes.
template <class Order>
__device__ key_stream<Order> part_of_row(const keys_of_rows<Order>& keys, const candidate_layout& layout,
                                         std::size_t row, unsigned part, unsigned num_parts) {
  using Storage = typename Order::Storage;
  constexpr unsigned vector_items = 16 / sizeof(Storage);
  const unsigned before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(keys.row(row)) % 16 / sizeof(Storage));
  const unsigned num_columns = layout.last + 1, vectors = (num_columns + before + vector_items - 1) / vector_items;
  const auto begin_of = [&](unsigned index) {
    const unsigned place =
        static_cast<unsigned>(static_cast<unsigned long long>(vectors) * index / num_parts) * vector_items;
    return place > before ? min(place - before, num_columns) : 0;
  };
  return {keys, layout, row, begin_of(part), begin_of(part + 1)};
}

// A candidate that at least k of the row reach, and at most chunk_items more. Digits from the top, counted by all
// blocks; each adds up its part of the bins, and writes the sums to all.
template <class Order>
__device__ candidate bound_of_digits(const key_stream<Order>& part, const gathered_plan& plan, unsigned rank,
                                     block_selection& selection) {
  candidate prefix = 0;
  const int bits = plan.layout.bits();
  int shift = bits;
  unsigned needed = plan.k;
  do {
    const int seen = shift, width = min(shift, block_selection::digit_bits);
    shift -= width;
    distance_bins::clear(selection);
    __syncthreads();
    for (unsigned index = 0; index < part.num_chunks(); ++index)
      part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
        const candidate each = part.candidate_of(key, place);
        if (seen == bits || each >> seen == prefix)
          atomicAdd(selection.bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
      });
    meet_blocks(plan.cluster_blocks);
#if __CUDA_ARCH__ >= 900
    if (plan.cluster_blocks > 1) {
      const unsigned share = (1u << block_selection::digit_bits) / plan.cluster_blocks;
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < share; i += block_selection::block_threads) {
        unsigned* const bin = selection.bins + rank * share + i;
        unsigned sum = 0;
#pragma unroll 1
        for (unsigned peer = 0; peer < plan.cluster_blocks; ++peer) sum += *cluster::parts::of_rank(bin, peer);
#pragma unroll 1
        for (unsigned peer = 0; peer < plan.cluster_blocks; ++peer) *cluster::parts::of_rank(bin, peer) = sum;
      }
      cluster::parts::meet();
    }
#endif
    selection.find_digit(needed);
    prefix = prefix << width | selection.digit;
    needed -= selection.above;
  } while (selection.inside - needed > chunk_items);
  return prefix << shift;
}

// Holds the part's candidates from `bound` on, for which there is room. Leaves their number in selection.size.
template <class Order>
__device__ void hold_from(const key_stream<Order>& part, candidate bound, candidate* held, block_selection& selection) {
  if (threadIdx.x == 0) selection.size = 0;
  __syncthreads();
  for (unsigned index = 0; index < part.num_chunks(); ++index)
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
      const candidate each = part.candidate_of(key, place);
      if (each >= bound) held[atomicAdd(&selection.size, 1u)] = each;
    });
}

// Tells all blocks how many keys of the part are above the bound, and how many are equal to it.
template <class Order>
__device__ void count_beside(const key_stream<Order>& part, unsigned bound, unsigned rank, unsigned num_blocks,
                             gathered_memory& own) {
  if (threadIdx.x == 0) own.num_above = own.num_equal = 0;
  __syncthreads();
  unsigned above = 0, equal = 0;
  for (unsigned index = 0; index < part.num_chunks(); ++index)
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned) {
      above += key > bound;
      equal += key == bound;
    });
#pragma unroll
  for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
    above += __shfl_xor_sync(parts::full_mask, above, distance);
    equal += __shfl_xor_sync(parts::full_mask, equal, distance);
  }
  if (threadIdx.x % parts::warp_threads == 0) {
    atomicAdd(&own.num_above, above);
    atomicAdd(&own.num_equal, equal);
  }
  __syncthreads();
  if (threadIdx.x < num_blocks) {
    store_in_block(own.above + rank, threadIdx.x, num_blocks, own.num_above);
    store_in_block(own.equal + rank, threadIdx.x, num_blocks, own.num_equal);
  }
  meet_blocks(num_blocks);
}

// Holds the part's keys above the bound, and the first of those equal to it: `num_equal` and at most chunk_items more.
// Leaves their number in selection.size.
template <class Order>
__device__ void hold_above(const key_stream<Order>& part, unsigned bound, bool has_above, unsigned num_equal,
                           candidate* held, gathered_memory& own) {
  if (threadIdx.x == 0) own.selection.size = own.num_equal = 0;
  __syncthreads();
  unsigned taken = 0;
  for (unsigned index = 0; index < part.num_chunks() && (has_above || taken < num_equal); ++index) {
    const bool takes_equal = taken < num_equal;
    unsigned equal = 0;
    part.for_each_key(part.load(index), index, [&](unsigned key, unsigned place) {
      if (key < bound + !takes_equal) return;
      equal += key == bound;
      held[atomicAdd(&own.selection.size, 1u)] = part.candidate_of(key, place);
    });
    if (!takes_equal) continue;
    if (equal > 0) atomicAdd(&own.num_equal, equal);
    __syncthreads();
    taken = own.num_equal;
    __syncthreads();  // all have read it
  }
}

template <class Order, class Output, bool is_held>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    gathered_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                         const __grid_constant__ gathered_plan plan) {
  using stream_type = key_stream<Order>;
  constexpr unsigned vector_items = stream_type::sampled_items;
  constexpr unsigned num_chunks_held = stream_type::chunks_on_their_way;
  extern __shared__ __align__(16) unsigned char gathered_rows_memory[];
  auto& own = reinterpret_cast<gathered_memory&>(*gathered_rows_memory);
  auto* const held = reinterpret_cast<candidate*>(gathered_rows_memory + sizeof(gathered_memory));
  block_selection& selection = own.selection;
  const unsigned num_blocks = plan.cluster_blocks, rank = blockIdx.x % num_blocks;
  const std::size_t row = blockIdx.x / num_blocks;
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) cluster::parts::arrive_started();
#endif

  // The block's bound. It has every num_blocks-th chunk of the row.
  const stream_type stream(keys, plan.layout, row, 0, plan.num_columns);
  const unsigned num_chunks = stream.num_chunks();
  typename stream_type::chunk pending[num_chunks_held];
  const auto begin_reading = [&] {
#pragma unroll
    for (unsigned i = 0; i < num_chunks_held; ++i)
      if (rank + i * num_blocks < num_chunks) pending[i] = stream.load(rank + i * num_blocks);
  };
  if constexpr (is_held) begin_reading();
  distance_bins::clear(selection);
  if (threadIdx.x == 0) selection.size = 0;
  unsigned bound;
  if constexpr (is_held) {
    const auto for_each_vector = [&](auto take) {
#pragma unroll
      for (unsigned i = 0; i < num_chunks_held; ++i)
        if (rank + i * num_blocks < num_chunks) stream.for_each_vector(pending[i], rank + i * num_blocks, take);
    };
    unsigned greatest = 0;
    for_each_vector([&](const auto& of_vector, unsigned) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) greatest = max(greatest, of_vector[i]);
    });
    bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
      if (plan.counts_threads) {
        count(greatest);
        return;
      }
      for_each_vector([&](const auto& of_vector, unsigned first) {
        if (plan.counts_vectors) {
          unsigned of_all = of_vector[0];
#pragma unroll
          for (unsigned i = 1; i < vector_items; ++i) of_all = max(of_all, of_vector[i]);
          if (stream.has(first) || stream.has(first + vector_items - 1)) count(of_all);
        } else {
#pragma unroll
          for (unsigned i = 0; i < vector_items; ++i)
            if (stream.has(first + i)) count(of_vector[i]);
        }
      });
    });
  } else {
    constexpr unsigned most_vectors = gathered_plan::most_sampled / vector_items;
    unsigned sampled[most_vectors][vector_items], greatest = 0;
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) sampled[v][i] = 0;
      if (v < plan.vectors_per_thread) stream.sample(v, plan.vectors_per_thread, sampled[v], rank, num_blocks);
    }
    begin_reading();
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v)
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) greatest = max(greatest, sampled[v][i]);
    bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
#pragma unroll
      for (unsigned v = 0; v < most_vectors; ++v) {
        if (v >= plan.vectors_per_thread) continue;
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i) count(sampled[v][i]);
      }
    });
  }

  // The row's bound.
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    cluster::parts::wait();
    if (threadIdx.x < num_blocks) *cluster::parts::of_rank(own.bounds + rank, threadIdx.x) = bound;
    cluster::parts::meet();
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const unsigned of_lane = lane < num_blocks ? own.bounds[lane] : 0xffffffff;
    unsigned less = 0;
#pragma unroll 1
    for (unsigned other = 0; other < num_blocks; ++other) {
      const unsigned there = own.bounds[other];
      less += there < of_lane || (there == of_lane && other < lane);
    }
    const unsigned chosen = __ballot_sync(parts::full_mask, less == (is_held ? 0 : (num_blocks - 1) / 2));
    bound = __shfl_sync(parts::full_mask, of_lane, __ffs(static_cast<int>(chosen)) - 1);
  }
#endif

  // The keys that reach it.
  float number = 0;
  if constexpr (stream_type::compares_numbers) number = stream.number_below(bound);
  if constexpr (is_held) {
#pragma unroll
    for (unsigned i = 0; i < num_chunks_held; ++i)
      if (rank + i * num_blocks < num_chunks)
        stream.hold_reaching(pending[i], rank + i * num_blocks, bound, number, held, plan.capacity, selection.size);
  } else {
    bool has_room = true;
    for (unsigned index = rank; has_room && index < num_chunks; index += num_blocks) {
      const typename stream_type::chunk loaded = pending[0];
#pragma unroll
      for (unsigned i = 1; i < num_chunks_held; ++i) pending[i - 1] = pending[i];
      const unsigned next = index + num_chunks_held * num_blocks;
      if (next < num_chunks) pending[num_chunks_held - 1] = stream.load(next);
      has_room = stream.hold_reaching(loaded, index, bound, number, held, plan.capacity, selection.size);
    }
  }

  // How many each block holds. Where there is no room for all, or they are too few, they begin anew.
  unsigned total, first;
  candidate least = plan.layout.make(bound, plan.layout.last);
  const auto add_counts = [&] {
    __syncthreads();
    const unsigned found = selection.size;
    if (threadIdx.x < num_blocks) store_in_block(own.counts + rank, threadIdx.x, num_blocks, found);
    meet_blocks(num_blocks);
    total = first = 0;
#pragma unroll 1
    for (unsigned block = 0; block < num_blocks; ++block) {
      const unsigned count = min(own.counts[block], plan.capacity + 1);
      first += block < rank ? count : 0;
      total += count;
    }
  };
  add_counts();
  if (total < plan.k || total > plan.capacity) {
    const stream_type part = part_of_row(keys, plan.layout, row, rank, num_blocks);
    unsigned above = 0, equal = 0, equal_before = 0;
    if (total > plan.capacity) {
      count_beside(part, bound, rank, num_blocks, own);
#pragma unroll 1
      for (unsigned block = 0; block < num_blocks; ++block) {
        above += own.above[block];
        equal += own.equal[block];
        equal_before += block < rank ? own.equal[block] : 0;
      }
    }
    if (above < plan.k && above + equal >= plan.k) {
      const unsigned wanted = plan.k - above;
      const unsigned of_part = wanted > equal_before ? min(wanted - equal_before, own.equal[rank]) : 0;
      hold_above(part, bound, own.above[rank] > 0, of_part, held, own);
    } else {
      least = bound_of_digits(part, plan, rank, selection);
      hold_from(part, least, held, selection);
    }
    add_counts();
  }

  // They gather in the first block.
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    if (rank > 0) {
      candidate* const there = cluster::parts::of_rank(held, 0) + first;
      for (unsigned i = threadIdx.x; i < own.counts[rank]; i += block_selection::block_threads) there[i] = held[i];
    }
    cluster::parts::meet();
    if (rank > 0) return;
  }
#endif
  const row_writer<Order, Output> write{keys.order, output, plan.layout, row};
  if (total + ranked_bins::room_for(plan.k) <= plan.capacity &&
      ranked_bins::write(held, held + total, total, plan.k, least, plan.layout.bits(), selection, write))
    return;
  __syncthreads();
  if (total > plan.k) selection.keep(held, total, plan.k, plan.layout.bits());
  write_kept(held, plan.k, true, write);
}
// Which rows are gathered, and how.
struct gathered_rows {
  static constexpr unsigned block_threads = block_selection::block_threads;
  static constexpr int held_vectors = 4;  // of a thread, in registers
  // What is not worth it: parts of less than a chunk, rows of fewer columns, and fewer columns for each of the k. The
  // other limits are those from which other kernels take less time (H200).
  static constexpr std::size_t least_columns = 2048, columns_of_result = 8;
  static constexpr std::size_t most_k = 4096, least_k_of_long = 256, least_k_of_block = 2048;
  static constexpr std::size_t long_columns = 32 * 1024, most_columns = 1 << 20, most_columns_of_block = 96 * 1024;

  // The blocks of a row, or 0 where it is not worth it. k is at least 2.
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

  // is_aligned: whether rows begin at multiples of 16 bytes.
  static gathered_plan of_blocks(const candidate_layout& layout, std::size_t num_columns, std::size_t k,
                                 unsigned blocks, bool is_aligned) {
    const unsigned vector_items = 128 / static_cast<unsigned>(layout.key_bits);
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
