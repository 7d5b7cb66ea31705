// The greatest k of each of few long rows, by a thread-block cluster a row.
//
// The blocks of a cluster copy the row into their shared memory. Warps of all blocks take turns, 512 bytes each, so the
// blocks' shares are alike. With C blocks, a block knows a bound that ceil(k / C) of its keys reach. The least of all
// blocks' bounds is reached by k keys of the row, and of random ones by few more: these are the candidates. Each block
// sorts its own, and all blocks get all. The rank of a candidate is the sum of its ranks among each block's.
//
// Bounds, counts and few candidates are stored into the peers' memory, by stores that announce themselves there. So
// blocks do not meet. Of more candidates each block copies those of its peers, behind a meeting.
//
// The bound is the greatest that a histogram tells, of the maxima of small groups of keys. Its bins widen with the
// distance from the block's greatest key: there are 64 for each power of two.
//
// Where many keys are equal, or the greatest lie in few blocks, too many keys may reach that bound. Then the cluster
// finds the k-th candidate digit by digit, from the top, by histograms over all blocks.
//
// Source: distributed shared memory for top-k is in flashinfer's fast_topk_clusters and in cub::DeviceBatchedTopK,
// which count digits there from the beginning. A bound from groups' maxima is the idea of warp_rows.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/parts/phase_barrier.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/segments/pieces.cuh"
#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/candidate_sort.cuh"
#include "rungs/production/top_k/distance_bins.cuh"

namespace rungs::RUNGS_ABI::production {

struct cluster_rows_plan {
  candidate_layout layout;
  unsigned num_columns, k;
  unsigned capacity;           // of a block's candidates
  unsigned gathered_capacity;  // of all blocks' candidates in place of the keys
  bool counts_vectors;         // a group is the 16 bytes of a load, else all keys of a thread
  int cluster_blocks;
  std::size_t dynamic_bytes;
};

// What a block keeps beside its keys and its candidates. Peers write thresholds, counts and few candidates.
struct cluster_row_memory {
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, few_of_all = 2048;

  block_selection selection;
  alignas(16) candidate few[few_of_all];  // of each block as many
  unsigned thresholds[most_blocks], counts[most_blocks];
  parts::phase_barrier has_thresholds, has_counts, has_few;
};

// A block's share of a row, in its shared memory as integers of the order. Places are in units of 16 bytes.
template <class Order>
class cluster_share {
  using Storage = typename Order::Storage;
  static constexpr unsigned lanes = parts::warp_threads, block_threads = block_selection::block_threads;

 public:
  static constexpr unsigned vector_items = 16 / sizeof(Storage);
  // Keys of one place.
  struct vector {
    uint4 held;

    __device__ unsigned operator[](unsigned index) const {
      Storage items[vector_items];
      memcpy(items, &held, sizeof(held));
      return items[index];
    }
    __device__ unsigned greatest() const {
      unsigned all = (*this)[0];
#pragma unroll
      for (unsigned i = 1; i < vector_items; ++i) all = max(all, (*this)[i]);
      return all;
    }
  };

  // `num_blocks` is a power of two.
  __device__ cluster_share(const keys_of_rows<Order>& keys, std::size_t row, unsigned num_columns, unsigned rank,
                           unsigned num_blocks, uint4* shared)
      : order_(keys.order),
        from_(keys.row(row)),
        size_(num_columns),
        rank_(rank),
        num_blocks_(num_blocks),
        shared_(shared) {
    before_ = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from_) % 16 / sizeof(Storage));
    const unsigned segments = (size_ + before_ + lanes * vector_items - 1) / (lanes * vector_items);
    const int bits = 31 - __clz(static_cast<int>(num_blocks));
    places_ = rank < segments ? ((segments - rank - 1) >> bits) * lanes + lanes : 0;
  }

  // Vectors that lie in the row as a whole come asynchronously. The others come by keys, and those that are not in the
  // row are 0, the least.
  __device__ void begin_copies() const {
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < places_; place += block_threads) {
      const unsigned first = column_of(place);
      if (is_whole(first)) {
        copy_16_bytes(shared_ + place, reinterpret_cast<const uint4*>(from_ + first));
      } else {
        Storage* const to = reinterpret_cast<Storage*>(shared_ + place);
#pragma unroll 1
        for (unsigned i = 0; i < vector_items; ++i)
          to[i] = first + i < size_ ? static_cast<Storage>(order_(from_[first + i])) : 0;
      }
    }
  }
  // Turns the thread's keys into the order's integers, and returns the greatest.
  __device__ unsigned end_copies() const {
    wait_for_copies();
    unsigned greatest = 0;
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < places_; place += block_threads) {
      if (is_whole(column_of(place))) {
        Storage items[vector_items];
        memcpy(items, shared_ + place, sizeof(uint4));
#pragma unroll
        for (unsigned i = 0; i < vector_items; ++i) items[i] = static_cast<Storage>(order_(items[i]));
        memcpy(shared_ + place, items, sizeof(uint4));
      }
      greatest = max(greatest, at(place).greatest());
    }
    return greatest;
  }

  // take(vector, column of its first key) for each of the thread's vectors.
  template <class Take>
  __device__ void for_each(Take take) const {
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < places_; place += block_threads) take(at(place), column_of(place));
  }
  __device__ bool has(unsigned column) const { return column < size_; }
  __device__ unsigned num_places() const { return places_; }

 private:
  // Of a vector's first key. Those before the row wrap to numbers beyond any size.
  __device__ unsigned column_of(unsigned place) const {
    return ((place / lanes * num_blocks_ + rank_) * lanes + place % lanes) * vector_items - before_;
  }
  __device__ bool is_whole(unsigned first) const { return first < size_ && size_ - first >= vector_items; }
  __device__ vector at(unsigned place) const { return {shared_[place]}; }

  const Order order_;
  const Storage* const from_;
  const unsigned size_, rank_, num_blocks_;
  uint4* const shared_;
  unsigned before_, places_;  // keys from a multiple of 16 bytes to the first; places that the block has
};

// A bound that at least `wanted` of the block's keys reach, or 0. All threads call it, with the greatest of their keys,
// having cleared the bins.
template <class Share>
__device__ unsigned bound_of_share(const Share& share, unsigned greatest, unsigned wanted, bool counts_vectors,
                                   block_selection& selection) {
  if (counts_vectors && share.num_places() < wanted) return 0;
  return distance_bins::bound(wanted, greatest, selection, [&](auto count) {
    if (counts_vectors)
      share.for_each([&](const typename Share::vector& read, unsigned) { count(read.greatest()); });
    else
      count(greatest);
  });
}

// The k-th candidate's upper bits: a bound that k candidates of the row reach. Digits from the top, counted by all
// blocks; each adds up its part of the bins, and writes the sums to all.
template <class Share>
__device__ candidate exact_bound(const Share& share, const cluster_rows_plan& plan, unsigned rank,
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
    share.for_each([&](const typename Share::vector& read, unsigned first) {
#pragma unroll
      for (unsigned i = 0; i < Share::vector_items; ++i) {
        if (!share.has(first + i)) continue;
        const candidate each = plan.layout.make(read[i], first + i);
        if (seen == bits || each >> seen == prefix)
          atomicAdd(selection.bins + (static_cast<unsigned>(each >> shift) & ((1u << width) - 1)), 1u);
      }
    });
    cluster::parts::meet();
    const unsigned part = (1u << block_selection::digit_bits) >> (31 - __clz(plan.cluster_blocks));
    if (threadIdx.x < part) {
      unsigned* const bin = selection.bins + rank * part + threadIdx.x;
      unsigned sum = 0;
#pragma unroll 1
      for (int peer = 0; peer < plan.cluster_blocks; ++peer) sum += *cluster::parts::of_rank(bin, peer);
#pragma unroll 1
      for (int peer = 0; peer < plan.cluster_blocks; ++peer) *cluster::parts::of_rank(bin, peer) = sum;
    }
    cluster::parts::meet();
    selection.find_digit(needed);
    prefix = prefix << width | selection.digit;
    needed -= selection.above;
  } while (selection.inside != needed);
  return prefix << shift;
}

// Appends the block's candidates from `bound` on to `held`; counts also those that it has no room for. All threads call
// it, and leave behind a barrier.
template <class Share>
__device__ void collect_candidates(const Share& share, const candidate_layout& layout, candidate bound, candidate* held,
                                   unsigned capacity, unsigned& size) {
  if (threadIdx.x == 0) size = 0;
  __syncthreads();
  const unsigned least = layout.key_of(bound);
  share.for_each([&](const typename Share::vector& read, unsigned first) {
    if (read.greatest() < least) return;
#pragma unroll
    for (unsigned i = 0; i < Share::vector_items; ++i) {
      const candidate each = layout.make(read[i], first + i);
      if (read[i] < least || each < bound || !share.has(first + i)) continue;
      const unsigned place = atomicAdd(&size, 1u);
      if (place < capacity) held[place] = each;
    }
  });
  __syncthreads();
}

template <class Order, class Output>
__global__ void __launch_bounds__(block_selection::block_threads, 2)
    cluster_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                        const __grid_constant__ cluster_rows_plan plan) {
#if __CUDA_ARCH__ >= 900
  using cluster::parts::of_rank;
  constexpr unsigned block_threads = block_selection::block_threads, lanes = parts::warp_threads;
  extern __shared__ __align__(16) unsigned char cluster_rows_memory[];
  auto& own = reinterpret_cast<cluster_row_memory&>(*cluster_rows_memory);
  auto* const held = reinterpret_cast<candidate*>(cluster_rows_memory + sizeof(cluster_row_memory));
  auto* const gathered = held + plan.capacity;  // where the keys lie before
  const unsigned rank = cluster::parts::block_rank(), num_blocks = plan.cluster_blocks;
  const int block_bits = 31 - __clz(static_cast<int>(num_blocks));
  const std::size_t row = blockIdx.x >> block_bits;
  const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;

  // The row comes, and a block's bound of it.
  const cluster_share<Order> share(keys, row, plan.num_columns, rank, num_blocks, reinterpret_cast<uint4*>(gathered));
  share.begin_copies();
  if (warp == 0) cluster::parts::expect(own.has_thresholds, num_blocks * sizeof(unsigned));
  if (warp == 1) cluster::parts::expect(own.has_counts, num_blocks * sizeof(unsigned));
  if (threadIdx.x == 2 * lanes) {
    own.has_few.initialise(1);
    parts::publish_barriers();
  }
  cluster::parts::arrive_started();
  distance_bins::clear(own.selection);
  const unsigned greatest = share.end_copies();
  const unsigned bound_of_block =
      bound_of_share(share, greatest, (plan.k + num_blocks - 1) >> block_bits, plan.counts_vectors, own.selection);

  // The least bound of all blocks.
  cluster::parts::wait();
  if (threadIdx.x < num_blocks)
    cluster::parts::store_remote(own.thresholds + rank, own.has_thresholds, threadIdx.x, bound_of_block);
  own.has_thresholds.wait_for_cluster(0);
  const unsigned least = warp_all_reduce(lane < num_blocks ? own.thresholds[lane] : 0xffffffff, minimum{});
  candidate bound = static_cast<candidate>(least) << plan.layout.index_bits;

  // Sorted candidates in all blocks. Where there is no room for all, the k of the exact bound.
  const unsigned peer = warp & (num_blocks - 1), peer_lane = (warp >> block_bits) * lanes + lane,
                 step = block_threads >> block_bits, most_few = cluster_row_memory::few_of_all >> block_bits;
  unsigned behind;  // the candidates of the lane's block and those before, as they are gathered
  bool are_few = false;
  for (bool is_exact = false;; is_exact = true) {
    collect_candidates(share, plan.layout, bound, held, plan.capacity, own.selection.size);
    const unsigned found = own.selection.size;
    if (found <= plan.capacity) sort_candidates(held, gathered, found);
    if (threadIdx.x < num_blocks) cluster::parts::store_remote(own.counts + rank, own.has_counts, threadIdx.x, found);
    if (!is_exact && found <= most_few) {
#pragma unroll 1
      for (unsigned i = peer_lane; i < found; i += step)
        cluster::parts::store_remote(own.few + rank * most_few + i, own.has_few, peer, held[i]);
    }
    own.has_counts.wait_for_cluster(is_exact);
    const unsigned count = lane < num_blocks ? own.counts[lane] : 0;
    behind = count + count % 2;  // copied by 16 bytes
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const unsigned before = __shfl_up_sync(parts::full_mask, behind, distance);
      if (lane >= distance) behind += before;
    }
    const unsigned total = __shfl_sync(parts::full_mask, behind, lanes - 1);
    if (is_exact) break;
    const unsigned num_sent = warp_all_reduce(count <= most_few ? count : 0, plus{});
    if (threadIdx.x == 0) own.has_few.arrive_and_expect(num_sent * sizeof(candidate));
    own.has_few.wait_for_cluster(0);
    const unsigned most = warp_all_reduce(count, maximum{});
    are_few = most <= most_few;
    if (are_few || (total <= plan.gathered_capacity && most <= plan.capacity)) break;
    share.begin_copies();
    share.end_copies();
    if (threadIdx.x == 0) own.has_counts.arrive_and_expect(num_blocks * sizeof(unsigned));
    bound = exact_bound(share, plan, rank, own.selection);
  }

  // All blocks' candidates come to each. A warp copies from one peer, with others where there are fewer peers.
  const unsigned size = own.counts[peer];
  const candidate* list = own.few + peer * most_few;
  if (!are_few) {
    cluster::parts::meet();
    candidate* const to = gathered + (__shfl_sync(parts::full_mask, behind, peer) - (size + size % 2));
    const auto* const there = reinterpret_cast<const uint4*>(of_rank(held, peer));
#pragma unroll 1
    for (unsigned i = peer_lane; i < (size + 1) / 2; i += step) reinterpret_cast<uint4*>(to)[i] = there[i];
    cluster::parts::arrive();  // when all have, peers may leave
    list = to;
  }

  // The rank of a candidate is the sum of those among each block's. A warp looks into what it has copied: neighbours
  // among sorted candidates take the same way there.
  const unsigned num_own = own.counts[rank];
  unsigned* const ranks = own.selection.bins;
  constexpr unsigned tile_items = 1 << block_selection::digit_bits;
#pragma unroll 1
  for (unsigned tile = 0; tile < num_own; tile += tile_items) {
    const unsigned in_tile = min(num_own - tile, tile_items);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < in_tile; i += block_threads) ranks[i] = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = peer_lane; i < in_tile; i += step) {
      const candidate value = held[tile + i];
      unsigned low = 0, high = size;
#pragma unroll 1
      while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (list[middle] > value)
          low = middle + 1;
        else
          high = middle;
      }
      atomicAdd(ranks + i, low);
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < in_tile; i += block_threads)
      if (ranks[i] < plan.k) output.write(row, ranks[i], plan.layout.column_of(held[tile + i]));
    __syncthreads();
  }
  if (!are_few) cluster::parts::wait();
#endif
}

// Which rows a cluster takes, and how.
struct cluster_rows {
  static constexpr std::size_t most_k = 4096, least_columns = 32 * 1024, most_columns = 1 << 20;
  // Rows of fewer columns have at most eight blocks, of which two share a multiprocessor.
  static constexpr std::size_t wide_columns = 64 * 1024;
  static constexpr int least_blocks = 4, resident_short_shares = 2;
  static constexpr std::size_t slack = 512;  // candidates of a block beyond k
  // More rows, or longer ones, take it only where they are not gathered (gathered_rows.cuh).
  static bool is_faster_than_gathered(std::size_t num_rows, std::size_t num_columns, std::size_t k) {
    constexpr std::size_t few_rows = 4, most_rows = 16, most_of_k = 256, most_of_columns = 128 * 1024;
    return num_rows <= few_rows || (num_rows <= most_rows && num_columns <= most_of_columns && k <= most_of_k);
  }

  // Whether it is worth it, and a block has room. plan.cluster_blocks is 0 where not.
  template <class Order, class Output>
  static cudaError_t fit(const parts::device_limits& limits, const candidate_layout& layout, std::size_t num_rows,
                         std::size_t num_columns, std::size_t k, cluster_rows_plan& plan) {
    plan.cluster_blocks = 0;
    if (limits.cc < 90 || k > most_k || num_columns < least_columns || num_columns > most_columns) return cudaSuccess;
    // The most blocks that are resident at once, and have enough to do. Sixteen need most of a GPC.
    using cluster::parts::greatest_cluster_blocks;
    const std::size_t multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
    const bool is_short = num_columns < wide_columns;
    int blocks = cluster::parts::portable_cluster_blocks;
    if (!is_short && num_rows * greatest_cluster_blocks <= multiprocessors / 2) blocks = greatest_cluster_blocks;
    while (num_rows * static_cast<std::size_t>(blocks) > multiprocessors * (is_short ? resident_short_shares : 1)) {
      blocks /= 2;
      if (blocks < least_blocks) return cudaSuccess;
    }
    const cudaError_t error =
        cluster::parts::fit_cluster(cluster_rows_kernel<Order, Output>, block_selection::block_threads, blocks);
    if (error != cudaSuccess) return error == cudaErrorNotSupported ? cudaSuccess : error;
    const cluster_rows_plan fitting = of_blocks(layout, num_columns, k, blocks);
    if (fitting.dynamic_bytes <= limits.shared_bytes) plan = fitting;
    return cudaSuccess;
  }

  static cluster_rows_plan of_blocks(const candidate_layout& layout, std::size_t num_columns, std::size_t k,
                                     int blocks) {
    constexpr std::size_t segment_bytes = parts::warp_threads * sizeof(uint4);
    const std::size_t key_bytes = static_cast<std::size_t>(layout.key_bits) / 8;
    const std::size_t row_bytes = (num_columns - 1) * key_bytes + sizeof(uint4);  // from a multiple of 16 on
    const std::size_t share_bytes = parts::ceil_div(parts::ceil_div(row_bytes, segment_bytes), blocks) * segment_bytes;
    const std::size_t capacity = (k + slack + 1) / 2 * 2;
    const std::size_t gathered_bytes = (capacity + k + slack) / 2 * 2 * sizeof(candidate);
    const std::size_t keys_bytes = share_bytes > gathered_bytes ? share_bytes : gathered_bytes;
    return {layout,
            static_cast<unsigned>(num_columns),
            static_cast<unsigned>(k),
            static_cast<unsigned>(capacity),
            static_cast<unsigned>(keys_bytes / sizeof(candidate)),
            4 * parts::ceil_div(k, blocks) > block_selection::block_threads,
            blocks,
            sizeof(cluster_row_memory) + capacity * sizeof(candidate) + keys_bytes};
  }
};

template <class Order, class Output>
cudaError_t launch_cluster_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                                const cluster_rows_plan& plan, cudaStream_t stream) {
  return cluster::parts::launch_clusters(cluster_rows_kernel<Order, Output>, num_rows,
                                         {plan.cluster_blocks, block_selection::block_threads, plan.dynamic_bytes},
                                         stream, keys, output, plan);
}

}  // namespace rungs::RUNGS_ABI::production
