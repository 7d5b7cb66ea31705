// A row of bfloat16 logits by its patterns (pattern_bins.cuh), by a thread-block cluster: for few rows.
//
// A block counts the patterns of neighbouring columns, and offers its greatest item. Behind a meeting each block adds
// up all blocks' counts of its part of the patterns, and tells the first block how much a warp's patterns have. Behind
// the next one a warp of the first block finds the cuts, one after the other: sums tell which warp's patterns a cut
// lies in, and the counts of these come from the block that has them. Blocks' counts of one pattern tell which of them
// has the token. The first block reads that one's columns again.
//
// So blocks meet three times, whatever is cut.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/row_blocks.cuh"

namespace rungs::RUNGS_ABI::production {

// The `number`th token of a pattern among a block's columns.
struct pattern_place {
  unsigned pattern, block, number;
};

// Of a block. Peers read counts and totals. They write maxima and what is found, and the groups of the first block.
struct pattern_cluster_memory {
  static constexpr unsigned most_blocks = cluster::parts::greatest_cluster_blocks, warps = pattern_bins::warps;
  alignas(16) unsigned counts[pattern_bins::num];                                         // of the block's columns
  alignas(16) unsigned totals[pattern_bins::num / cluster::parts::least_cluster_blocks];  // of the row, by position
  alignas(16) token_mass groups[most_blocks * warps];                                     // of each warp's positions
  int maxima[most_blocks], maxima_of_warps[warps];
  unsigned matches[warps], column, has_other_tiny;
  // What the first block has found.
  pattern_place kept, drawn;
  weight_sum up_to;
  candidate last;
  unsigned is_found, needs_zeros;
  row_blocks_memory blocks;
};

// All threads of the blocks of a cluster call what is called by all.
class pattern_cluster {
  using bins = pattern_bins;
  static constexpr unsigned lanes = parts::warp_threads, warps = bins::warps, block_threads = bins::block_threads;
  static constexpr unsigned at_once = 4;

 public:
  __device__ pattern_cluster(const void* row, unsigned num_columns, unsigned num_blocks, pattern_cluster_memory& own)
      : own_(own),
        row_(row, num_columns),
        num_blocks_(num_blocks),
        rank_(cluster::parts::block_rank()),
        share_((row_.num_vectors + num_blocks - 1) / num_blocks),
        per_thread_(bins::num / block_threads / num_blocks) {
    cluster::parts::arrive_started();
  }
  __device__ unsigned rank() const { return rank_; }

  // By all: counts the block's columns. Returns the row's greatest item, or the greatest NaN that has no sign.
  // `meanwhile` is called while the first items come.
  template <class Meanwhile>
  __device__ float count(Meanwhile meanwhile) {
    const unsigned first = rank_ * share_ + threadIdx.x, end = min((rank_ + 1) * share_, row_.num_vectors);
    uint4 vectors[at_once];
    read(first, end, vectors);
#pragma unroll
    for (unsigned i = 0; i < bins::per_thread / 4; ++i)
      reinterpret_cast<uint4*>(own_.counts)[threadIdx.x + i * block_threads] = {0, 0, 0, 0};
    meanwhile();
    __syncthreads();
    unsigned greatest = 0x80008000;  // two integers of the order
#pragma unroll 1
    for (unsigned tile = first; tile < end; tile += at_once * block_threads) {
      if (tile != first) read(tile, end, vectors);
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        if (tile + i * block_threads >= end) break;
        bins::count(own_.counts, vectors[i]);
        for (const unsigned two : {vectors[i].x, vectors[i].y, vectors[i].z, vectors[i].w})
          greatest = __vmaxs2(greatest, two ^ (two >> 15 & 0x00010001) * 0x7fff);
      }
    }
    const int low = static_cast<short>(greatest & 0xffff), high = static_cast<short>(greatest >> 16);
    const int of_warp = __reduce_max_sync(parts::full_mask, max(low, high));
    if (threadIdx.x % lanes == 0) own_.maxima_of_warps[threadIdx.x / lanes] = of_warp;
    __syncthreads();
    cluster::parts::wait();  // peers have started
    const unsigned lane = threadIdx.x % lanes;
    if (threadIdx.x < lanes) {
      const int of_block = __reduce_max_sync(parts::full_mask, own_.maxima_of_warps[lane % warps]);
      if (lane < num_blocks_) *cluster::parts::of_rank(own_.maxima + rank_, lane) = of_block;
    }
    cluster::parts::meet();
    const int of_row = __reduce_max_sync(parts::full_mask, own_.maxima[lane % num_blocks_]);
    return rounded::of_bits(static_cast<unsigned>(of_row < 0 ? of_row ^ 0x7fff : of_row) << 16);
  }

  // By all: adds up counts and weights of the block's positions.
  __device__ void weigh(const row_levels<true>& levels, unsigned least_level) {
    const unsigned first = threadIdx.x * per_thread_;
    token_mass mass{0, 0};
#pragma unroll 1
    for (unsigned i = first; i < first + per_thread_; ++i) {
      const unsigned position = rank_ * per_thread_ * block_threads + i, bin = bins::bin_at(position);
      unsigned count = position == bins::of_sign ? 0 : count_of(bin);
      if (position == bins::of_sign - 1) count += count_of(bins::of_sign);
      own_.totals[i] = count;
      add(mass, mass_of(position, count, levels, least_level));
    }
    mass.count = parts::warp_reduce(mass.count, plus{});
    mass.sum = row_blocks::sum_of_lanes<lanes>(mass.sum);
    if (threadIdx.x % lanes == 0) *cluster::parts::of_rank(own_.groups + rank_ * warps + threadIdx.x / lanes, 0) = mass;
    cluster::parts::meet();
  }

  // By the first block's first warp, as are those up to place_of. False where bins do not tell. `needs_zeros`: where
  // they do only if what is next to zero is zero.
  __device__ bool tells(float greatest, const row_levels<true>& levels, bool& needs_zeros) const {
    if (!(greatest > -0x1.fep6f)) return false;  // NaN too
    if (greatest >= 0x1.fep6f && total_at(0) > 1) return false;
    constexpr float least_value = 0x1p-25f, beyond = 0x1.fep6f;
    needs_zeros = levels.level(least_value) != levels.level(-least_value) && total_at(bins::of_sign - 1) > 0;
    const unsigned not_in_row = row_.num_vectors * bins::vector_items - row_.size;
    return levels.level(-beyond) == 0 || total_at(bins::num - 1) <= not_in_row;
  }
  // How much all tokens have. Sums up what comes before each lane's groups.
  __device__ token_mass sum_groups() {
    const unsigned lane = threadIdx.x % lanes, of_lane = num_blocks_ * warps / lanes;
    of_lane_ = {0, 0};
#pragma unroll 1
    for (unsigned i = 0; i < of_lane; ++i) add(of_lane_, own_.groups[lane * of_lane + i]);
    const token_mass up_to = mass_up_to(of_lane_);
    before_lane_ = {up_to.sum - of_lane_.sum, up_to.count - of_lane_.count};
    return {__shfl_sync(parts::full_mask, up_to.sum, lanes - 1), __shfl_sync(parts::full_mask, up_to.count, lanes - 1)};
  }
  // The cut that reaches `target`, from 1 to the total, of weights or of tokens.
  __device__ pattern_cut find(bool by_count, weight_sum target, const row_levels<true>& levels,
                              unsigned least_level) const {
    const unsigned lane = threadIdx.x % lanes;
    token_mass before = before_lane_;
    unsigned index = lane * (num_blocks_ * warps / lanes);  // of the group
    unsigned owner = first_to_reach(before, of_lane_, by_count, target);
    if (lane == owner) skip(before, index, by_count, target, [&](unsigned i) { return own_.groups[i]; });
    index = __shfl_sync(parts::full_mask, index, owner);
    before = of_lane(before, owner);

    const unsigned block = index / warps, start = (index % warps * lanes + lane) * per_thread_;
    const unsigned* const totals = cluster::parts::of_rank(own_.totals, block);
    const auto mass_at = [&](unsigned i) {
      return mass_of(block * per_thread_ * block_threads + i, totals[i], levels, least_level);
    };
    token_mass mass{0, 0};
#pragma unroll 1
    for (unsigned i = 0; i < per_thread_; ++i) add(mass, mass_at(start + i));
    const token_mass up_to = mass_up_to(mass);
    add(before, {up_to.sum - mass.sum, up_to.count - mass.count});
    owner = first_to_reach(before, mass, by_count, target);
    index = start;
    if (lane == owner) {
      skip(before, index, by_count, target, mass_at);
      mass = mass_at(index);
    }
    index = __shfl_sync(parts::full_mask, index, owner);
    before = of_lane(before, owner);
    mass = of_lane(mass, owner);
    const weight_sum needed = target - before.measure(by_count), weight = mass.sum / mass.count;
    const auto number = static_cast<unsigned>(by_count ? needed : (needed + weight - 1) / weight);
    return {bins::bin_at(block * per_thread_ * block_threads + index), number, mass.count,
            before.sum + number * weight};
  }
  // Where a cut's last token is, if what is next to zero is zero.
  __device__ pattern_place place_of(const pattern_cut& cut, float greatest) const {
    const unsigned lane = threadIdx.x % lanes;
    unsigned count = lane < num_blocks_ ? *cluster::parts::of_rank(own_.counts + cut.bin, lane) : 0;
    if (cut.bin == 0 && lane < num_blocks_) count += *cluster::parts::of_rank(own_.counts + bins::of_sign, lane);
    const unsigned up_to = parts::warp_scan(count, plus{});
    const unsigned owner = first_lane(up_to >= cut.number);
    const unsigned pattern = cut.bin == 0                   ? 0
                             : cut.bin == bins::of_sign - 1 ? rounded::bits_of(greatest) >> 16
                                                            : bins::pattern_of(cut.bin);
    return {pattern, owner, cut.number - __shfl_sync(parts::full_mask, up_to - count, owner)};
  }

  // By the first block. Reads the row again: whether all that is next to zero is zero.
  __device__ bool has_zeros_alone() {
    outer_patterns outer = outer_patterns::none();
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < row_.num_vectors; i += block_threads) outer.take(row_.read(i));
    if (threadIdx.x == 0) own_.has_other_tiny = 0;
    __syncthreads();
    if (!outer.has_zeros_alone()) own_.has_other_tiny = 1;
    __syncthreads();
    return own_.has_other_tiny == 0;
  }

  // By the first block.
  __device__ unsigned column_of(const pattern_place& place) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const unsigned of_warp = (share_ + block_threads - 1) / block_threads * lanes;
    const unsigned first = place.block * share_ + warp * of_warp;
    const unsigned end = min(min(first + of_warp, (place.block + 1) * share_), row_.num_vectors);
    const auto mask_at = [&](unsigned i) { return i < end ? row_.mask_of(row_.read(i), place.pattern) : 0; };
    unsigned matches = 0;
#pragma unroll 4
    for (unsigned i = first; i < end; i += lanes) matches += static_cast<unsigned>(__popc(mask_at(i + lane)));
    matches = parts::warp_reduce(matches, plus{});
    if (lane == 0) own_.matches[warp] = matches;
    __syncthreads();
    const unsigned each = lane < warps ? own_.matches[lane] : 0, up_to = parts::warp_scan(each, plus{});
    const unsigned owner = first_lane(up_to >= place.number);
    unsigned number = place.number - __shfl_sync(parts::full_mask, up_to - each, owner);
    if (warp == owner) {
#pragma unroll 1
      for (unsigned i = first; i < end; i += lanes) {
        const unsigned mask = mask_at(i + lane), own = static_cast<unsigned>(__popc(mask)),
                       behind = parts::warp_scan(own, plus{});
        if (behind - own < number && number <= behind)
          own_.column = row_.column_of(i + lane, mask, number - (behind - own));
        const unsigned all = __shfl_sync(parts::full_mask, behind, lanes - 1);
        if (number <= all) break;
        number -= all;
      }
    }
    __syncthreads();
    return own_.column;
  }

  // By all: tells all blocks whether the first one has found the cuts, and `last`. Peers may leave behind it.
  __device__ bool agree(bool is_found, candidate last) {
    if (rank_ == 0 && threadIdx.x < num_blocks_) {
      *cluster::parts::of_rank(&own_.is_found, threadIdx.x) = is_found;
      *cluster::parts::of_rank(&own_.last, threadIdx.x) = last;
    }
    cluster::parts::meet();
    return own_.is_found;
  }

 private:
  __device__ void read(unsigned first, unsigned end, uint4 (&vectors)[at_once]) const {
#pragma unroll
    for (unsigned i = 0; i < at_once; ++i)
      if (first + i * block_threads < end) vectors[i] = row_.read(first + i * block_threads);
  }
  __device__ unsigned count_of(unsigned bin) const {
    unsigned count = 0;
#pragma unroll 8
    for (unsigned i = 0; i < num_blocks_; ++i)  // each block begins with another one
      count += *cluster::parts::of_rank(own_.counts + bin, (rank_ + i) & (num_blocks_ - 1));
    return count;
  }
  __device__ unsigned total_at(unsigned position) const {
    const unsigned of_block = per_thread_ * block_threads;
    return *cluster::parts::of_rank(own_.totals + position % of_block, position / of_block);
  }
  static __device__ token_mass mass_of(unsigned position, unsigned count, const row_levels<true>& levels,
                                       unsigned least_level) {
    if (position == bins::num - 1) return {0, 0};
    // All of the first position are the greatest item.
    const unsigned level = levels.level(position == 0 ? levels.greatest : bins::value_of(bins::bin_at(position)));
    if (level < least_level || count == 0) return {0, 0};
    return {static_cast<weight_sum>(weight_of_level<true>(level)) * count, count};
  }

  static __device__ void add(token_mass& to, const token_mass& other) {
    to.sum += other.sum;
    to.count += other.count;
  }
  static __device__ unsigned first_lane(bool is_wanted) {
    return static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(parts::full_mask, is_wanted)))) - 1;
  }
  // The lane whose mass reaches the target.
  static __device__ unsigned first_to_reach(const token_mass& before, const token_mass& mass, bool by_count,
                                            weight_sum target) {
    return first_lane(target <= before.measure(by_count) + mass.measure(by_count));
  }
  // Goes on to the index whose mass reaches the target.
  template <class MassAt>
  static __device__ void skip(token_mass& before, unsigned& index, bool by_count, weight_sum target, MassAt mass_at) {
#pragma unroll 1
    for (;; ++index) {
      const token_mass each = mass_at(index);
      if (target <= before.measure(by_count) + each.measure(by_count)) return;
      add(before, each);
    }
  }
  static __device__ token_mass of_lane(const token_mass& mass, unsigned lane) {
    return {__shfl_sync(parts::full_mask, mass.sum, lane), __shfl_sync(parts::full_mask, mass.count, lane)};
  }
  static __device__ token_mass mass_up_to(token_mass mass) {
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const weight_sum sum = __shfl_up_sync(parts::full_mask, mass.sum, distance);
      const unsigned count = __shfl_up_sync(parts::full_mask, mass.count, distance);
      if (threadIdx.x % lanes >= distance) add(mass, {sum, count});
    }
    return mass;
  }

  pattern_cluster_memory& own_;
  const pattern_row row_;
  const unsigned num_blocks_, rank_, share_, per_thread_;  // vectors of a block's columns, positions of a thread
  token_mass of_lane_, before_lane_;
};

}  // namespace rungs::RUNGS_ABI::production
