// A row of bfloat16 logits by its patterns (pattern_bins.cuh), by a thread-block cluster: for few rows.
//
// A block counts the patterns of neighbouring columns, and keeps these in shared memory. Each block adds up all blocks'
// counts of a part of the bins, and tells the others what its part weighs. So all know in which part a cut lies. The
// block that has the part finds the bin, and the block among whose columns the token is. It tells all blocks. The one
// named finds the column.
//
// What passes between blocks are stores that announce themselves on a barrier of the receiver. So nobody waits for an
// answer, and blocks do not meet: behind a meeting, all memory has to be in order, which takes half a microsecond.
#pragma once

#include <cuda_runtime.h>

#include "rungs/cluster/parts/block_bits.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/phase_barrier.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/pattern_cuts.cuh"
#include "rungs/production/sampling/row_blocks.cuh"
#include "rungs/production/sampling/warp_masses.cuh"
#include "rungs/production/sampling/weights.cuh"
#include "rungs/production/segments/pieces.cuh"

namespace rungs::RUNGS_ABI::production {

// The `number`th token of a pattern among a block's columns, and the sum of weights up to it.
struct alignas(16) pattern_place {
  weight_sum up_to;
  unsigned number;
  unsigned short pattern, block;
};

// The tokens of a position, all of one weight.
struct pattern_tokens {
  unsigned count, weight;

  __device__ token_mass mass() const { return {static_cast<weight_sum>(weight) * count, weight > 0 ? count : 0}; }
};

// What a block's part of the bins has, and whether bins tell.
struct alignas(16) pattern_part {
  weight_sum sum;
  unsigned count, doubts;
};

// Of a block. Peers write what is received, parts, maxima, what is found, and whether they have other tiny ones.
struct pattern_cluster_memory {
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, warps = pattern_bins::warps,
                            vectors_at_once = 4, num_cuts = 3;
  union {
    alignas(16) unsigned counts[pattern_bins::num];  // of the block's columns
    pattern_tokens tokens[pattern_bins::num / 2];    // once counts are sent: of the part's positions
  };
  alignas(16) unsigned short received[pattern_bins::num];        // of the block's part: one block's after the other's
  uint4 columns[vectors_at_once * pattern_bins::block_threads];  // those of the block, if they are no more
  pattern_part of_blocks[most_blocks];
  pattern_place found[num_cuts];
  candidate last;
  token_mass of_warps[warps];
  int maxima[most_blocks], maxima_of_warps[warps];
  unsigned has_other_tiny[most_blocks];
  alignas(8) unsigned matches[vectors_at_once * warps];
  unsigned doubts, column;
  row_blocks_memory blocks;
};

// Of a block, apart: where bins do not tell, other searches use the memory.
struct pattern_cluster_barriers {
  parts::phase_barrier counted, weighed, cut[pattern_cluster_memory::num_cuts];
};

// All threads of the blocks of a cluster call what is called by all.
class pattern_cluster {
  using bins = pattern_bins;
  using memory = pattern_cluster_memory;
  static constexpr unsigned lanes = parts::warp_threads, warps = bins::warps, block_threads = bins::block_threads;
  static constexpr unsigned at_once = memory::vectors_at_once, tile_vectors = at_once * block_threads;
  // Doubts: bins do not tell, or only if what is next to zero is zero.
  static constexpr unsigned untold = 1, told_by_zeros = 2;

 public:
  __device__ pattern_cluster(const void* row, unsigned num_columns, unsigned num_blocks, pattern_cluster_memory& own,
                             pattern_cluster_barriers& barriers)
      : own_(own),
        barriers_(barriers),
        row_(row, num_columns),
        num_blocks_(num_blocks),
        rank_(cluster::parts::block_rank()),
        share_((row_.num_vectors + num_blocks - 1) >> cluster::parts::block_bits(num_blocks)),
        part_bits_(bins_bits - cluster::parts::block_bits(num_blocks)) {}
  __device__ unsigned rank() const { return rank_; }

  // By all: counts the block's columns, and sends the counts. Returns the row's greatest item, or the greatest NaN that
  // has no sign. `meanwhile` is called by the first warp while counts are on their way.
  template <class Meanwhile>
  __device__ float count(Meanwhile meanwhile) {
    read(0);
    expect_peers();
#pragma unroll
    for (unsigned i = 0; i < bins::per_thread / 4; ++i)
      reinterpret_cast<uint4*>(own_.counts)[threadIdx.x + i * block_threads] = {0, 0, 0, 0};
    if (threadIdx.x == 0) own_.doubts = 0;
    __syncthreads();
    unsigned greatest = 0x80008000;  // two integers of the order
#pragma unroll 1
    for (unsigned tile = 0; tile < share_; tile += tile_vectors) {
      if (tile > 0) read(tile);
      wait_for_copies();
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        if (!is_here(tile, i)) break;
        const uint4 vector = held(i);
        bins::count(own_.counts, vector);
        for (const unsigned two : {vector.x, vector.y, vector.z, vector.w})
          greatest = __vmaxs2(greatest, two ^ (two >> 15 & 0x00010001) * 0x7fff);
      }
    }
    const int low = static_cast<short>(greatest & 0xffff), high = static_cast<short>(greatest >> 16);
    const int of_warp = parts::warp_aggregate(max(low, high), maximum{});
    const unsigned lane = threadIdx.x % lanes;
    if (lane == 0) own_.maxima_of_warps[threadIdx.x / lanes] = of_warp;
    __syncthreads();
    cluster::parts::wait();  // peers have started
    send_counts();
    if (threadIdx.x < lanes) {
      const int of_block = parts::warp_aggregate(own_.maxima_of_warps[lane % warps], maximum{});
      if (lane < num_blocks_) cluster::parts::store_remote(own_.maxima + rank_, barriers_.counted, lane, of_block);
      meanwhile();
    }
    barriers_.counted.wait_for_cluster(0);
    const int of_row = parts::warp_aggregate(own_.maxima[lane & (num_blocks_ - 1)], maximum{});
    greatest_ = static_cast<unsigned>(of_row < 0 ? of_row ^ 0x7fff : of_row) & 0xffff;
    return rounded::of_bits(greatest_ << 16);
  }

  // By all: sums up the weights of all tokens from a level on. False where bins do not tell. `needs_zeros`: where they
  // do only if what is next to zero is zero.
  __device__ bool weigh(const row_levels<true>& levels, unsigned least_level, bool& needs_zeros) {
    const unsigned lane = threadIdx.x % lanes, num = positions_of_thread();
    token_mass mass{0, 0};
    __syncthreads();  // the block's own counts have been read
#pragma unroll 1
    for (unsigned i = threadIdx.x * num; i < (threadIdx.x + 1) * num; ++i) {
      const unsigned position = (rank_ << part_bits_) + i, count = count_at(position);
      unsigned weight = 0;
      if (count > 0) {
        weight = weight_at(position, levels, least_level);
        if (const unsigned doubts = doubts_of(position, count, levels); doubts != 0) atomicOr(&own_.doubts, doubts);
      }
      const pattern_tokens tokens{count, weight};
      own_.tokens[i] = tokens;
      add(mass, tokens.mass());
    }
    mass = sum_of_lanes(mass);
    if (lane == 0) own_.of_warps[threadIdx.x / lanes] = mass;
    __syncthreads();
    if (threadIdx.x < lanes) {
      of_warp_ = lane < warps ? own_.of_warps[lane] : token_mass{0, 0};
      before_warp_ = mass_up_to(of_warp_);
      const token_mass of_part = mass_of_lane(before_warp_, lanes - 1);
      if (lane < num_blocks_)
        cluster::parts::store_remote(own_.of_blocks + rank_, barriers_.weighed, lane,
                                     pattern_part{of_part.sum, of_part.count, own_.doubts});
    }
    barriers_.weighed.wait_for_cluster(0);
    const pattern_part part = lane < num_blocks_ ? own_.of_blocks[lane] : pattern_part{0, 0, 0};
    needs_zeros = __any_sync(parts::full_mask, (part.doubts & told_by_zeros) != 0);
    const bool is_untold = __any_sync(parts::full_mask, (part.doubts & untold) != 0);
    // NaN is not greater. Where a temperature is next to 0, the greatest item of an outer bin may be without a weight.
    return !is_untold && levels.greatest > -beyond && __any_sync(parts::full_mask, part.count > 0);
  }

  // By the first warp, as is find(): how much all tokens have.
  __device__ token_mass total() {
    const unsigned lane = threadIdx.x % lanes;
    const pattern_part part = lane < num_blocks_ ? own_.of_blocks[lane] : pattern_part{0, 0, 0};
    const token_mass up_to = mass_up_to({part.sum, part.count});
    const token_mass before = mass_of_lane({up_to.sum - part.sum, up_to.count - part.count}, rank_);
    before_warp_ = {before_warp_.sum - of_warp_.sum + before.sum, before_warp_.count - of_warp_.count + before.count};
    return mass_of_lane(up_to, lanes - 1);
  }
  // Finds the cut that reaches `target`, from 1 to the total, of weights or of tokens. If it lies in the block's part,
  // all blocks are told where its last token is. That holds if what is next to zero is zero. Each cut of a row has its
  // `slot`.
  __device__ void find(unsigned slot, bool by_count, weight_sum target) const {
    const weight_sum reached = before_warp_.measure(by_count);
    const unsigned warp = first_lane(reached < target && target <= reached + of_warp_.measure(by_count));
    if (warp >= lanes) return;
    const unsigned lane = threadIdx.x % lanes, num = positions_of_thread(), first = (warp * lanes + lane) * num;
    token_mass own{0, 0};
#pragma unroll 1
    for (unsigned i = first; i < first + num; ++i) add(own, own_.tokens[i].mass());
    token_mass before = mass_up_to(own);
    before = {before.sum - own.sum, before.count - own.count};
    add(before, mass_of_lane(before_warp_, warp));
    const unsigned finder = first_lane(target <= before.measure(by_count) + own.measure(by_count));
    before = mass_of_lane(before, finder);
    // All lanes go through the positions of the one that has the target.
    unsigned position = (warp * lanes + finder) * num;
    pattern_tokens tokens = own_.tokens[position];
    while (target > before.measure(by_count) + tokens.mass().measure(by_count)) {
      add(before, tokens.mass());
      tokens = own_.tokens[++position];
    }
    const weight_sum needed = target - before.measure(by_count);
    const unsigned number = by_count ? static_cast<unsigned>(needed) : tokens_that_reach(needed, tokens.weight);
    const unsigned bin = bins::bin_at((rank_ << part_bits_) + position);
    const unsigned count = lane < num_blocks_ ? own_.received[place_of(lane, bin)] : 0,
                   up_to = parts::warp_scan(count, plus{}), block = first_lane(up_to >= number);
    const unsigned of_others = __shfl_sync(parts::full_mask, up_to - count, block);
    const unsigned pattern = bin == 0 ? 0 : bin == bins::of_sign - 1 ? greatest_ : bins::pattern_of(bin);
    const pattern_place place{before.sum + static_cast<weight_sum>(tokens.weight) * number, number - of_others,
                              static_cast<unsigned short>(pattern), static_cast<unsigned short>(block)};
    if (lane < num_blocks_) cluster::parts::store_remote(own_.found + slot, barriers_.cut[slot], lane, place);
  }
  // By all: what has been found.
  __device__ pattern_place found(unsigned slot) const {
    barriers_.cut[slot].wait_for_cluster(0);
    return own_.found[slot];
  }

  // By all: whether all that is next to zero is zero.
  __device__ __forceinline__ bool has_zeros_alone() {
    outer_patterns outer = outer_patterns::none();
#pragma unroll 1
    for (unsigned tile = 0; tile < share_; tile += tile_vectors) {
      if (share_ > tile_vectors) {
        read(tile);
        wait_for_copies();
      }
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i)
        if (is_here(tile, i)) outer.take(held(i));
    }
    const int has_other = __syncthreads_or(!outer.has_zeros_alone());
    if (threadIdx.x < num_blocks_) *cluster::parts::of_rank(own_.has_other_tiny + rank_, threadIdx.x) = has_other;
    cluster::parts::meet();
    const unsigned lane = threadIdx.x % lanes;
    return !__any_sync(parts::full_mask, lane < num_blocks_ && own_.has_other_tiny[lane] != 0);
  }

  // By all threads of the block that a place names: the token's column.
  __device__ __forceinline__ unsigned column_of(const pattern_place& place) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    unsigned number = place.number;
#pragma unroll 1
    for (unsigned tile = 0;; tile += tile_vectors) {
      if (share_ > tile_vectors) {
        read(tile);
        wait_for_copies();
      }
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        const unsigned matches = parts::warp_reduce(is_here(tile, i) ? row_.num_of(held(i), place.pattern) : 0, plus{});
        if (lane == 0) own_.matches[i * warps + warp] = matches;
      }
      __syncthreads();
      static_assert(at_once * warps == 2 * lanes);
      const uint2 two = reinterpret_cast<const uint2*>(own_.matches)[lane];
      const unsigned up_to = parts::warp_scan(two.x + two.y, plus{}), owner = first_lane(up_to >= number);
      if (owner >= lanes) {
        number -= __shfl_sync(parts::full_mask, up_to, lanes - 1);
        __syncthreads();
        continue;
      }
      number -= __shfl_sync(parts::full_mask, up_to - two.x - two.y, owner);
      const unsigned of_first = __shfl_sync(parts::full_mask, two.x, owner);
      const unsigned index = 2 * owner + (number > of_first);
      if (number > of_first) number -= of_first;
      if (warp == index % warps) {
        const unsigned i = index / warps;
        const unsigned mask = is_here(tile, i) ? row_.mask_of(held(i), place.pattern) : 0,
                       here = static_cast<unsigned>(__popc(mask)), behind = parts::warp_scan(here, plus{});
        if (behind - here < number && number <= behind)
          own_.column = row_.column_of(place_in(tile, i), mask, number - (behind - here));
      }
      __syncthreads();
      return own_.column;
    }
  }

  // By all: what a block tells about the last token. Peers may leave behind it.
  __device__ candidate tell_last(unsigned block, candidate last) {
    if (rank_ == block && threadIdx.x < num_blocks_) *cluster::parts::of_rank(&own_.last, threadIdx.x) = last;
    cluster::parts::meet();
    return own_.last;
  }

 private:
  // What comes from peers, and that this block has started.
  __device__ void expect_peers() const {
    const unsigned warp = threadIdx.x / lanes;
    if (warp == 0)
      cluster::parts::expect(barriers_.counted, sizeof(own_.received) + num_blocks_ * sizeof(*own_.maxima));
    if (warp == 1) cluster::parts::expect(barriers_.weighed, num_blocks_ * sizeof(pattern_part));
    if (warp - 2 < memory::num_cuts) cluster::parts::expect(barriers_.cut[warp - 2], sizeof(pattern_place));
    cluster::parts::arrive_started();
  }

  static constexpr float beyond = 0x1.fep6f, least_value = 0x1p-25f;  // the outer bins'
  static constexpr unsigned bins_bits = 13;
  static_assert(bins::num == 1u << bins_bits);
  // The thread's vectors of a tile.
  __device__ unsigned place_in(unsigned tile, unsigned i) const {
    return rank_ * share_ + tile + i * block_threads + threadIdx.x;
  }
  __device__ bool is_here(unsigned tile, unsigned i) const {
    return tile + i * block_threads + threadIdx.x < share_ && place_in(tile, i) < row_.num_vectors;
  }
  // The thread alone looks at what it reads.
  __device__ void read(unsigned tile) const {
#pragma unroll 1
    for (unsigned i = 0; i < at_once && is_here(tile, i); ++i) {
      const unsigned place = place_in(tile, i);
      if (row_.is_whole(place))
        copy_16_bytes(&held(i), row_.from + place);
      else
        held(i) = row_.read(place);
    }
  }
  __device__ uint4& held(unsigned i) const { return own_.columns[i * block_threads + threadIdx.x]; }

  // In 16 bits, for a block has fewer columns. Tokens next to zero of both signs count as one bin, the positive one.
  // Blocks begin with different ones, so that none is sent all at once.
  __device__ void send_counts() const {
    const unsigned lane = threadIdx.x % lanes, warp = (threadIdx.x / lanes + rank_) % warps;
#pragma unroll
    for (unsigned i = 0; i < bins::per_thread / 8; ++i) {
      const unsigned eights = (warp * (bins::per_thread / 8) + i) * lanes + lane, bin = 8 * eights;
      const auto* const from = reinterpret_cast<const uint4*>(own_.counts) + 2 * eights;
      uint4 first = from[0], second = from[1];
      if (bin == 0) first.x += own_.counts[bins::of_sign];
      if (bin == bins::of_sign) first.x = 0;
      const uint4 packed{two_of(first.x, first.y), two_of(first.z, first.w), two_of(second.x, second.y),
                         two_of(second.z, second.w)};
      cluster::parts::store_remote(reinterpret_cast<uint4*>(own_.received + place_of(rank_, bin)), barriers_.counted,
                                   bins::bin_at(bin) >> part_bits_, packed);
    }
  }
  static __device__ unsigned two_of(unsigned low, unsigned high) { return __byte_perm(low, high, 0x5410); }
  __device__ unsigned positions_of_thread() const { return (1u << part_bits_) / block_threads; }
  // Where a block has what another one counted in a bin. Those of the first one are where positions are, too.
  __device__ unsigned place_of(unsigned block, unsigned bin) const {
    return (block << part_bits_) + (bin & ((1u << part_bits_) - 1));
  }
  __device__ unsigned count_at(unsigned position) const {
    const unsigned short* from = own_.received + place_of(0, bins::bin_at(position));
    unsigned count = 0;
#pragma unroll 4
    for (unsigned block = 0; block < num_blocks_; ++block, from += 1u << part_bits_) count += *from;
    return count;
  }
  __device__ unsigned doubts_of(unsigned position, unsigned count, const row_levels<true>& levels) const {
    const unsigned not_in_row = row_.num_vectors * bins::vector_items - row_.size;
    switch (position) {
      case 0:
        return levels.greatest >= beyond && count > 1 ? untold : 0;
      case bins::of_sign - 1:
        return levels.level(least_value) != levels.level(-least_value) ? told_by_zeros : 0;
      case bins::num - 1:
        return levels.level(-beyond) > 0 && count > not_in_row ? untold : 0;
    }
    return 0;
  }

  pattern_cluster_memory& own_;
  pattern_cluster_barriers& barriers_;
  const pattern_row row_;
  const unsigned num_blocks_, rank_;
  const unsigned share_;              // vectors of a block's columns
  const unsigned part_bits_;          // a part has 2^part_bits bins
  unsigned greatest_;                 // pattern
  token_mass of_warp_, before_warp_;  // of the first warp's lanes: of each warp's positions
};

}  // namespace rungs::RUNGS_ABI::production
