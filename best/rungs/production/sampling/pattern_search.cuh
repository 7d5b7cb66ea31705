// A row of bfloat16 logits by its patterns (pattern_bins.cuh), by one block.
//
// The row is read once, and counted before its greatest item is known. Each thread has four loads on their way. The
// items of vectors that are not whole are counted one by one, out of the loop. Tokens of a pattern have one weight. So
// each cut is a pattern, and a number of its tokens, in the order of columns. Counts are also noted a few times on the
// way. They tell in which part of the row a token is, and that part alone is read again.
#pragma once

#include <cuda_runtime.h>

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/pattern_bins.cuh"
#include "rungs/production/sampling/pattern_cuts.cuh"
#include "rungs/production/sampling/warp_masses.cuh"

namespace rungs::RUNGS_ABI::production {

// The last token of a cut: the `number`th one of a bin, from 1 on. `up_to` is the sum of weights up to it.
struct pattern_cut {
  unsigned bin, number, count;  // tokens in the bin
  weight_sum up_to;
};

struct pattern_memory {
  alignas(16) unsigned counts[pattern_bins::num];
  // Lower halves of counts, as they were behind each part but the last one.
  alignas(16) unsigned short behind_parts[pattern_bins::most_parts - 1][pattern_bins::num];
  token_mass of_warps[pattern_bins::warps];
  unsigned first_of_warps[pattern_bins::warps];
  outer_patterns outer_of_warps[pattern_bins::warps];
  pattern_cut found[3];
  alignas(16) unsigned short edges[3 * pattern_bins::vector_items];  // the last eight are NaN
  unsigned matches[pattern_bins::most_tiles_of_part * pattern_bins::warps], column;
};

// All threads of a block call it. The row's outer patterns are in the place of the first warp then. It is rare, and out
// of the way of others.
__device__ __noinline__ inline void read_outer_patterns(const void* items, unsigned num_columns, pattern_memory& own) {
  const pattern_row row(items, num_columns);
  const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  outer_patterns outer = outer_patterns::none();
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < row.num_vectors; i += pattern_bins::block_threads) outer.take(row.read(i));
  outer.merge_lanes();
  if (lane == 0) own.outer_of_warps[warp] = outer;
  __syncthreads();
  outer = own.outer_of_warps[lane % pattern_bins::warps];
  outer.merge_lanes();
  __syncthreads();
  if (threadIdx.x == 0) own.outer_of_warps[0] = outer;
  __syncthreads();
}

// All threads of a block call each function.
class pattern_search {
  using bins = pattern_bins;
  static constexpr unsigned lanes = parts::warp_threads;

 public:
  __device__ pattern_search(const void* row, unsigned num_columns, pattern_memory& own)
      : own_(own), row_(row, num_columns) {
    num_tiles_ = (row_.before + row_.size + bins::tile_items - 1) / bins::tile_items;
    const unsigned least_tiles = (num_tiles_ + bins::most_parts - 1) / bins::most_parts;
    tiles_of_part_ = (least_tiles + bins::tiles_at_once - 1) / bins::tiles_at_once * bins::tiles_at_once;
  }

  // Counts the row. False where its greatest item is beyond what bins tell apart. `meanwhile` is called while the first
  // items come.
  template <class Meanwhile>
  __device__ bool count(float& greatest, Meanwhile meanwhile) {
    uint4 ahead[bins::tiles_at_once];
#pragma unroll
    for (unsigned i = 0; i < bins::tiles_at_once; ++i) ahead[i] = row_.read_whole(place_in(i));
#pragma unroll
    for (unsigned i = 0; i < bins::per_thread / 4; ++i)
      reinterpret_cast<uint4*>(own_.counts)[threadIdx.x + i * bins::block_threads] = {0, 0, 0, 0};
    unsigned edge_item = 0;
    if (threadIdx.x < 3 * bins::vector_items) {
      edge_item = row_.edge_item(threadIdx.x);
      own_.edges[threadIdx.x] = static_cast<unsigned short>(edge_item);
    }
    meanwhile();
    __syncthreads();
    if (threadIdx.x < bins::vector_items) bins::count_one(own_.counts, edge_item);
    unsigned part = 0, end_of_part = tiles_of_part_;
#pragma unroll 1
    for (unsigned tile = 0; tile < num_tiles_;) {
#pragma unroll
      for (unsigned i = 0; i < bins::tiles_at_once; ++i, ++tile) {
        // NaN by a mask: with a branch, ptxas moves all loads behind the counts, where they are waited for.
        const unsigned is_none = row_.is_whole(place_in(tile)) ? 0 : 0xffffffff;
        const uint4& now = ahead[i];
        bins::count(own_.counts, {now.x | is_none, now.y | is_none, now.z | is_none, now.w | is_none});
        ahead[i] = row_.read_whole(place_in(tile + bins::tiles_at_once));
      }
      if (tile == end_of_part && tile < num_tiles_) {
        note_counts(part++);
        end_of_part += tiles_of_part_;
      }
    }
    if (threadIdx.x / bins::vector_items == 1) bins::count_one(own_.counts, edge_item);
    __syncthreads();
    return find_greatest(greatest);
  }

  // Sums up the weights of all tokens from a level on. False where some have one bin and several weights.
  __device__ bool weigh(const row_levels<true>& levels, unsigned least_level, token_mass& total) {
    constexpr float least_value = 0x1p-25f, beyond = 0x1.fep6f;
    if (own_.counts[0] + own_.counts[bins::of_sign] > 0 && levels.level(least_value) != levels.level(-least_value) &&
        !outer().has_zeros_alone())
      return false;
    const unsigned read_tiles = (num_tiles_ + bins::tiles_at_once - 1) / bins::tiles_at_once * bins::tiles_at_once;
    const unsigned not_in_row = read_tiles * bins::tile_items + 2 * bins::vector_items - row_.size;
    if (own_.counts[bins::num - 1] > not_in_row && levels.level(-beyond) > 0 &&
        levels.level(outer().greatest_below()) > 0)
      return false;
    own_mass_ = {0, 0};
#pragma unroll 1
    for (unsigned i = 0; i < bins::per_thread / 4; ++i) {
      // Neighbours begin at different fours, so that their loads are from different banks.
      const unsigned first = threadIdx.x * bins::per_thread + (i + threadIdx.x / 2) % (bins::per_thread / 4) * 4;
      const unsigned bin = min(bins::bin_at(first), bins::bin_at(first + 3));
      uint4 four = reinterpret_cast<const uint4*>(own_.counts)[bin / 4];
      if (bin == 0) four.x += own_.counts[bins::of_sign];
      if (bin == bins::of_sign) four.x = 0;
      if (bin == bins::num - 4) four.w = 0;
      if ((four.x | four.y | four.z | four.w) == 0) continue;
      const unsigned bits = bins::pattern_of(bin) << 16;
      const auto take = [&](unsigned count, float value) {
        unsigned level;
        const unsigned weight = levels.weight(value, level);
        if (level >= least_level) add(own_mass_, {static_cast<weight_sum>(weight) * count, count});
      };
      take(four.x, bin == 0 ? 0 : rounded::of_bits(bits));
      take(four.y, rounded::of_bits(bits + 0x10000));
      take(four.z, rounded::of_bits(bits + 0x20000));
      // All of the first position are the greatest item.
      take(four.w, first == 0 ? levels.greatest : rounded::of_bits(bits + 0x30000));
    }
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    const token_mass up_to = mass_up_to(own_mass_);
    if (lane == lanes - 1) own_.of_warps[warp] = up_to;
    __syncthreads();
    const token_mass of_warp = lane < bins::warps ? own_.of_warps[lane] : token_mass{0, 0},
                     of_warps = mass_up_to(of_warp);
    total = mass_of_lane(of_warps, lanes - 1);
    before_own_ = mass_of_lane({of_warps.sum - of_warp.sum, of_warps.count - of_warp.count}, warp);
    add(before_own_, {up_to.sum - own_mass_.sum, up_to.count - own_mass_.count});
    return true;
  }

  // The cut that reaches `target`, from 1 to the total, of weights or of tokens. Each call of a row has its own `slot`.
  __device__ pattern_cut find(unsigned slot, bool by_count, weight_sum target, const row_levels<true>& levels,
                              unsigned least_level) {
    const weight_sum reached = before_own_.measure(by_count);
    const unsigned owners =
        __ballot_sync(parts::full_mask, reached < target && target <= reached + own_mass_.measure(by_count));
    if (owners != 0) {  // the lanes share the positions of the thread that the target lies in
      const unsigned lane = threadIdx.x % lanes, owner = static_cast<unsigned>(__ffs(static_cast<int>(owners))) - 1;
      const unsigned position = (threadIdx.x - lane + owner) * bins::per_thread + lane % bins::per_thread;
      const unsigned count = lane < bins::per_thread ? count_at_position(position) : 0;
      const unsigned weight = count > 0 ? weight_at(position, levels, least_level) : 0;
      const token_mass each{static_cast<weight_sum>(weight) * count, weight > 0 ? count : 0};
      token_mass up_to = mass_up_to(each);
      add(up_to, mass_of_lane(before_own_, owner));
      if (lane == first_lane(target <= up_to.measure(by_count))) {
        const weight_sum needed = target - (up_to.measure(by_count) - each.measure(by_count));
        const unsigned number = by_count ? static_cast<unsigned>(needed) : tokens_that_reach(needed, weight);
        own_.found[slot] = {bins::bin_at(position), number, each.count,
                            up_to.sum - each.sum + static_cast<weight_sum>(weight) * number};
      }
    }
    __syncthreads();
    return own_.found[slot];
  }

  // The value of a cut's last token. Of the outer bins it is known once column_of has told where that is.
  __device__ float value_of(const pattern_cut& cut) const { return rounded::of_bits(pattern_of(cut.bin) << 16); }
  // The column of a cut's last token. False where bins do not tell.
  __device__ bool column_of(const pattern_cut& cut, unsigned& column) {
    if (cut.bin == 0 && !outer().has_zeros_alone()) return false;
    const unsigned pattern = pattern_of(cut.bin), warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    unsigned part = 0, number = cut.number, counted = 0;
#pragma unroll 1
    for (; (part + 1) * tiles_of_part_ < num_tiles_; ++part) {
      unsigned behind = own_.behind_parts[part][cut.bin];
      if (cut.bin == 0) behind += own_.behind_parts[part][bins::of_sign];
      unsigned of_part = (behind - counted) & 0xffff;
      if (of_part == 0 && cut.count > 0xffff && is_full_of(part, pattern)) of_part = 0x10000;
      if (number <= of_part) break;
      number -= of_part;
      counted = behind;
    }
    const unsigned first = part * tiles_of_part_, num = min(tiles_of_part_, num_tiles_ - first);
#pragma unroll 1
    for (unsigned tile = 0; tile < num; tile += bins::tiles_of_part_at_once) {
      uint4 vectors[bins::tiles_of_part_at_once];
#pragma unroll
      for (unsigned i = 0; i < bins::tiles_of_part_at_once; ++i)
        vectors[i] = tile + i < num ? read(place_in(first + tile + i)) : uint4{~0u, ~0u, ~0u, ~0u};
#pragma unroll
      for (unsigned i = 0; i < bins::tiles_of_part_at_once; ++i) {
        const unsigned matches = parts::warp_reduce(row_.num_of(vectors[i], pattern), plus{});
        if (lane == 0) own_.matches[(tile + i) * bins::warps + warp] = matches;
      }
    }
    __syncthreads();
    // All warps look for the one that has the token; the same in each.
    constexpr unsigned each = bins::most_tiles_of_part * bins::warps / lanes;
    unsigned sum = 0;
    if (lane * each < num * bins::warps) {
#pragma unroll
      for (unsigned i = 0; i < each; ++i) sum += own_.matches[lane * each + i];
    }
    const unsigned up_to = parts::warp_scan(sum, plus{});
    const int owner = __ffs(static_cast<int>(__ballot_sync(parts::full_mask, up_to >= number))) - 1;
    number -= __shfl_sync(parts::full_mask, up_to - sum, owner);
    unsigned place = static_cast<unsigned>(owner) * each;
#pragma unroll 1
    for (; number > own_.matches[place]; ++place) number -= own_.matches[place];
    if (place % bins::warps == warp) {
      const unsigned vector = place_in(first + place / bins::warps);
      const unsigned mask = row_.mask_of(read(vector), pattern);
      const auto own = static_cast<unsigned>(__popc(mask)), behind = parts::warp_scan(own, plus{});
      if (behind - own < number && number <= behind)
        own_.column = row_.column_of(vector, mask, number - (behind - own));
    }
    __syncthreads();
    column = own_.column;
    __syncthreads();
    return true;
  }

 private:
  // The thread's vector of a tile.
  static __device__ unsigned place_in(unsigned tile) { return tile * bins::block_threads + threadIdx.x; }
  __device__ uint4 read(unsigned place) const {
    if (row_.is_whole(place)) return __ldg(row_.from + place);
    const unsigned edge = place == 0 ? 0 : place == row_.first_whole + row_.num_whole ? 1 : 2;
    return reinterpret_cast<const uint4*>(own_.edges)[edge];
  }

  __device__ void note_counts(unsigned part) {
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < bins::per_thread / 4; ++i) {
      const unsigned place = threadIdx.x + i * bins::block_threads;
      const uint4 four = reinterpret_cast<const uint4*>(own_.counts)[place];
      reinterpret_cast<uint2*>(own_.behind_parts[part])[place] = {(four.x & 0xffff) | four.y << 16,
                                                                  (four.z & 0xffff) | four.w << 16};
    }
    __syncthreads();
  }

  // Of a part that has no item of a pattern, or 2^16 and no other ones.
  __device__ bool is_full_of(unsigned part, unsigned pattern) const {
    return row_.mask_of(read(part * tiles_of_part_ * bins::block_threads), pattern) & 1;
  }
  // Reads the row again, at the first call. All threads of the block get the same.
  __device__ const outer_patterns& outer() {
    if (!knows_outer_) read_outer_patterns(row_.first_item(), row_.size, own_);
    knows_outer_ = true;
    return own_.outer_of_warps[0];
  }
  __device__ unsigned pattern_of(unsigned bin) const {
    return bin == 0 ? 0 : bin == bins::of_sign - 1 ? pattern_above_ : bins::pattern_of(bin);
  }

  // Both bins of zeros and of what is next to them count as one, the positive one's.
  __device__ unsigned count_at_position(unsigned position) const {
    if (position == bins::of_sign) return 0;
    const unsigned count = own_.counts[bins::bin_at(position)];
    return position == bins::of_sign - 1 ? count + own_.counts[bins::of_sign] : count;
  }
  __device__ bool find_greatest(float& greatest) {
    constexpr unsigned none = bins::num / 4, steps = bins::per_thread / 4;
    const auto* const fours = reinterpret_cast<const uint4*>(own_.counts);
    const auto four_at = [&](unsigned i) { return fours[i < none / 2 ? none / 2 - 1 - i : i]; };
    unsigned first = none;  // of four positions each
#pragma unroll
    for (unsigned i = steps; i-- > 0;) {
      const uint4 four = four_at(threadIdx.x + i * bins::block_threads);
      if ((four.x | four.y | four.z | four.w) != 0) first = threadIdx.x + i * bins::block_threads;
    }
    first = parts::warp_reduce(first, minimum{});
    if (threadIdx.x % lanes == 0) own_.first_of_warps[threadIdx.x / lanes] = first;
    __syncthreads();
    first = parts::warp_aggregate(own_.first_of_warps[threadIdx.x % bins::warps], minimum{});
    const uint4 four = four_at(first);
    const bool is_negative = first >= none / 2;
    if (is_negative)
      first = 4 * first + (four.x != 0 ? 0 : four.y != 0 ? 1 : four.z != 0 ? 2 : 3);
    else
      first = 4 * first + (four.w != 0 ? 0 : four.z != 0 ? 1 : four.y != 0 ? 2 : 3);
    if (first == bins::of_sign) --first;  // the place of zeros
    if (first == bins::num - 1) return false;
    if (first == 0) {
      if (!outer().is_one_above(pattern_above_)) return false;
      greatest = rounded::of_bits(pattern_above_ << 16);
      return true;
    }
    if (first == bins::of_sign - 1 && !outer().has_zeros_alone()) return false;
    greatest = bins::value_of(bins::bin_at(first));
    return true;
  }

  pattern_memory& own_;
  const pattern_row row_;
  unsigned num_tiles_, tiles_of_part_;
  token_mass before_own_, own_mass_;
  bool knows_outer_ = false;
  unsigned pattern_above_ = 0;
};

}  // namespace rungs::RUNGS_ABI::production
