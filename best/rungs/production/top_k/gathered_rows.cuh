// The greatest k of a row by the blocks of a cluster, which read it once. One of them ranks what all have found.
//
// Each block has a part of the row, and tells a bound. Where the parts fit registers, a block knows a bound that k / C
// of its keys reach, C being the number of blocks. At least k keys of the row reach the least bound. Otherwise a bound
// comes from a sample of the block's keys, and the blocks agree on the middle one. Each block holds the keys that reach
// the bound. They gather in the first block, which ranks them (ranked_bins.cuh).
//
// Where fewer than k keys reach the bound, or more than there is room for, the blocks find the k-th candidate digit by
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
  candidate_layout layout;
  unsigned num_columns, k;
  unsigned capacity;  // of the candidates of a block, and of all of them
  unsigned cluster_blocks;
  bool is_held;                         // whether a block's part fits its registers
  unsigned wanted;                      // so many of a block's keys, or of its sample, reach its bound
  unsigned vectors_per_thread;          // of the sample
  bool counts_threads, counts_vectors;  // whether keys are counted by the greatest of a thread's, or of a vector
};

// What a block keeps beside its candidates. Peers write bounds and counts.
struct gathered_memory {
  block_selection selection;
  unsigned bounds[cluster::parts::greatest_cluster_blocks], counts[cluster::parts::greatest_cluster_blocks];
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

// The k-th candidate's upper bits: a bound that k candidates of the row reach. Digits from the top, counted by all
// blocks; each adds up its part of the bins, and writes the sums to all.
template <class Order>
__device__ candidate exact_bound_of_blocks(const key_stream<Order>& stream, const gathered_plan& plan, unsigned rank,
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
    for (unsigned index = 0; index < stream.num_chunks(); ++index)
      stream.for_each_vector(stream.load(index), index, [&](const auto& keys, unsigned first) {
#pragma unroll
        for (unsigned i = 0; i < key_stream<Order>::sampled_items; ++i) {
          if (!stream.has(first + i)) continue;
          const candidate each = stream.candidate_of(keys[i], first + i);
          if (seen == bits || each >> seen == prefix)
            atomicAdd(selection.bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
        }
      });
    meet_blocks(plan.cluster_blocks);
#if __CUDA_ARCH__ >= 900
    if (plan.cluster_blocks > 1) {
      const unsigned part = (1u << block_selection::digit_bits) / plan.cluster_blocks;
#pragma unroll 1
      for (unsigned i = threadIdx.x; i < part; i += block_selection::block_threads) {
        unsigned* const bin = selection.bins + rank * part + i;
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
  } while (selection.inside != needed);
  return prefix << shift;
}

// Holds the block's candidates from `bound` on. All threads call it.
template <class Order>
__device__ void hold_from(const key_stream<Order>& stream, candidate bound, candidate* held, unsigned capacity,
                          unsigned& size) {
  for (unsigned index = 0; index < stream.num_chunks(); ++index)
    stream.for_each_vector(stream.load(index), index, [&](const auto& keys, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < key_stream<Order>::sampled_items; ++i) {
        const candidate each = stream.candidate_of(keys[i], first + i);
        if (!stream.has(first + i) || each < bound) continue;
        const unsigned to = atomicAdd(&size, 1u);
        if (to < capacity) held[to] = each;
      }
    });
}

template <class Order, class Output, bool is_held>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    gathered_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                         const __grid_constant__ gathered_plan plan) {
  using stream_type = key_stream<Order>;
  constexpr unsigned lanes = parts::warp_threads, vector_items = stream_type::sampled_items;
  constexpr int num_chunks_held = stream_type::chunks_on_their_way;
  extern __shared__ __align__(16) unsigned char gathered_rows_memory[];
  auto& own = reinterpret_cast<gathered_memory&>(*gathered_rows_memory);
  auto* const held = reinterpret_cast<candidate*>(gathered_rows_memory + sizeof(gathered_memory));
  block_selection& selection = own.selection;
  const unsigned num_blocks = plan.cluster_blocks, lane = threadIdx.x % lanes;
  const unsigned rank = blockIdx.x % num_blocks;
  const std::size_t row = blockIdx.x / num_blocks;
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) cluster::parts::arrive_started();
#endif

  const stream_type stream = part_of_row(keys, plan.layout, row, rank, num_blocks);
  const unsigned num_chunks = stream.num_chunks();

  // The block's bound.
  typename stream_type::chunk pending[num_chunks_held];
  const auto begin_reading = [&] {
#pragma unroll
    for (int i = 0; i < num_chunks_held; ++i)
      if (static_cast<unsigned>(i) < num_chunks) pending[i] = stream.load(i);
  };
  constexpr bool prefetches = vector_items == 4;  // a sample of smaller keys leaves no registers
  if constexpr (is_held) begin_reading();
  distance_bins::clear(selection);
  if (threadIdx.x == 0) selection.size = 0;
  unsigned bound;
  if constexpr (is_held) {
    const auto for_each_vector = [&](auto take) {
#pragma unroll
      for (int i = 0; i < num_chunks_held; ++i)
        if (static_cast<unsigned>(i) < num_chunks) stream.for_each_vector(pending[i], i, take);
    };
    unsigned greatest = 0;
    for_each_vector([&](const auto& of_vector, unsigned) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) greatest = max(greatest, of_vector[i]);
    });
    bound = plan.wanted > stream.size() ? 0 : distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
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
    constexpr unsigned most_vectors = 4;
    unsigned sampled[most_vectors][vector_items], greatest = 0;
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v) {
#pragma unroll
      for (unsigned i = 0; i < vector_items; ++i) sampled[v][i] = 0;
      if (v < plan.vectors_per_thread) stream.sample(v, plan.vectors_per_thread, sampled[v]);
    }
    if constexpr (prefetches) begin_reading();
    unsigned greatest_of[most_vectors];
#pragma unroll
    for (unsigned v = 0; v < most_vectors; ++v) {
      greatest_of[v] = sampled[v][0];
#pragma unroll
      for (unsigned i = 1; i < vector_items; ++i) greatest_of[v] = max(greatest_of[v], sampled[v][i]);
      greatest = max(greatest, greatest_of[v]);
    }
    bound = distance_bins::bound(plan.wanted, greatest, selection, [&](auto count) {
#pragma unroll
      for (unsigned v = 0; v < most_vectors; ++v) {
        if (v >= plan.vectors_per_thread) continue;
        if (plan.counts_vectors) {
          count(greatest_of[v]);
        } else {
#pragma unroll
          for (unsigned i = 0; i < vector_items; ++i) count(sampled[v][i]);
        }
      }
    });
  }

  if constexpr (!is_held && !prefetches) begin_reading();

    // The row's bound.
#if __CUDA_ARCH__ >= 900
  if (num_blocks > 1) {
    cluster::parts::wait();
    if (threadIdx.x < num_blocks) *cluster::parts::of_rank(own.bounds + rank, threadIdx.x) = bound;
    cluster::parts::meet();
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
    for (int i = 0; i < num_chunks_held; ++i)
      if (static_cast<unsigned>(i) < num_chunks)
        stream.hold_reaching(pending[i], i, bound, number, held, plan.capacity, selection.size);
  } else {
    bool has_room = bound != 0;
    for (unsigned index = 0; has_room && index < num_chunks; ++index) {
      const typename stream_type::chunk loaded = pending[0];
#pragma unroll
      for (int i = 1; i < num_chunks_held; ++i) pending[i - 1] = pending[i];
      if (index + num_chunks_held < num_chunks) pending[num_chunks_held - 1] = stream.load(index + num_chunks_held);
      has_room = stream.hold_reaching(loaded, index, bound, number, held, plan.capacity, selection.size);
    }
  }

  // They gather in the first block. Where there is no room for all, or they are too few, the k of the exact bound do.
  unsigned total, first;
  candidate least = plan.layout.make(bound, plan.layout.last);
  for (bool is_exact = false;; is_exact = true) {
    __syncthreads();
    const unsigned found = selection.size;
    if (threadIdx.x < num_blocks) store_in_block(own.counts + rank, threadIdx.x, num_blocks, found);
    meet_blocks(num_blocks);
    total = first = 0;
    bool fits = true;
#pragma unroll 1
    for (unsigned block = 0; block < num_blocks; ++block) {
      const unsigned count = own.counts[block];
      first += block < rank ? count : 0;
      total += count;
      fits = fits && count <= plan.capacity;
    }
    if (is_exact || (fits && total >= plan.k && total <= plan.capacity)) break;
    least = exact_bound_of_blocks(stream, plan, rank, selection);
    if (threadIdx.x == 0) selection.size = 0;
    __syncthreads();
    hold_from(stream, least, held, plan.capacity, selection.size);
  }
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
      ranked_bins::write(held, held + total, total, plan.k, least, selection, write))
    return;
  __syncthreads();
  if (total > plan.k) selection.keep(held, total, plan.k, plan.layout.bits());
  write_kept(held, plan.k, true, write);
}

// Which rows are gathered, and how.
struct gathered_rows {
  static constexpr std::size_t most_k = 4096;
  static constexpr unsigned block_threads = block_selection::block_threads;

  // C blocks a row.
  static gathered_plan of_blocks(const candidate_layout& layout, std::size_t num_columns, std::size_t k,
                                 unsigned blocks, bool is_aligned, unsigned vectors_per_thread = 0) {
    const unsigned vector_items = 128 / static_cast<unsigned>(layout.key_bits);
    const std::size_t of_vectors = std::size_t{block_threads} * vector_items;
    const std::size_t vectors = parts::ceil_div(num_columns + (is_aligned ? 0 : vector_items - 1), vector_items);
    gathered_plan plan{
        layout, static_cast<unsigned>(num_columns), static_cast<unsigned>(k), 0, blocks, false, 0, 0, false, false};
    plan.is_held = parts::ceil_div(vectors, blocks) <= 4 * block_threads;
    double most;  // candidates
    if (plan.is_held) {
      plan.wanted = static_cast<unsigned>(parts::ceil_div(k, blocks));
      plan.counts_threads = 4 * plan.wanted <= block_threads && num_columns >= blocks * (of_vectors + vector_items);
      plan.counts_vectors = 2 * plan.wanted <= vectors / blocks;
      most = 2.5 * static_cast<double>(k) + 512;
      if (most > static_cast<double>(num_columns)) most = static_cast<double>(num_columns);
    } else {
      std::size_t sampled = parts::at_most(num_columns / blocks / (of_vectors * 64), std::size_t{4});
      plan.vectors_per_thread =
          vectors_per_thread > 0 ? vectors_per_thread : static_cast<unsigned>(sampled < 1 ? 1 : sampled);
      const double ratio =
          static_cast<double>(num_columns) / static_cast<double>(blocks * plan.vectors_per_thread * of_vectors);
      const double expected = static_cast<double>(k) / ratio;
      const double all_wanted = std::ceil(expected + 4 * std::sqrt(expected) + 4);
      plan.wanted = static_cast<unsigned>(std::ceil(all_wanted / blocks)) + (blocks > 1);
      plan.counts_vectors = 4 * plan.wanted <= plan.vectors_per_thread * block_threads;
      const double wanted = static_cast<double>(plan.wanted * blocks);
      most = (wanted + 5 * std::sqrt(wanted) + 4) * ratio * 1.1;
    }
    const std::size_t least = 2 * k + 64;
    std::size_t room = static_cast<std::size_t>(most);
    room = (room < least ? least : room) + ranked_bins::room_for(static_cast<unsigned>(k));
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
