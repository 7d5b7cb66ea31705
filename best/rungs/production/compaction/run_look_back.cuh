// What precedes a tile within a run that began before it, added up in an order that no timing changes.
//
// A tile posts the aggregate of its last run: as a *whole* one where the run begins in the tile, else as a *part*. What
// precedes a tile is a whole aggregate and the parts behind it. A run of many tiles would make that a long chain. So 32
// tiles are a group, and the last of them posts the group's aggregate in the same way, and once more as a whole when it
// knows what precedes the group.
//
// Within a group, tiles are folded by a tree whose shape depends on which of them are whole, and so on the input alone.
// Groups are folded from left to right. A group that has become whole holds that very fold, so the bits do not depend
// on where a look-back meets it. The price is one operation after the other for each group of a run that is not whole
// yet: at most one for every 32 blocks that are resident at once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/gather.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// The aggregate of the values of lanes begin to end - 1, in order, the same bits in every lane; begin < end. The shape
// of its tree depends on begin and end alone.
template <class T, class Op>
__device__ T fold_lanes(T value, int begin, int end, Op op) {
  const int lane = threadIdx.x % parts::warp_threads;
#pragma unroll
  for (int offset = 1; offset < parts::warp_threads; offset *= 2) {
    const T right = parts::shuffle_down(value, offset);
    if (lane >= begin && lane + offset < end) value = op(value, right);
  }
  return parts::shuffle_from(value, begin);
}

template <class T>
struct run_mailboxes {
  static constexpr int group_tiles = parts::warp_threads;
  static constexpr auto whole = parts::posted::prefix, part = parts::posted::aggregate;

  parts::mailboxes<T> tiles, groups;

  static constexpr std::size_t bytes(std::size_t num_tiles) {
    return parts::mailboxes<T>::bytes(num_tiles) +
           parts::mailboxes<T>::bytes(parts::ceil_div(num_tiles, std::size_t{group_tiles}));
  }
  static run_mailboxes at(char* region, std::size_t num_tiles) {
    return {parts::mailboxes<T>(region), parts::mailboxes<T>(region + parts::mailboxes<T>::bytes(num_tiles))};
  }

  __device__ void post(unsigned tile, const T& value, bool is_whole, parts::tag tag) const {
    tiles.post(tile, value, tag, is_whole ? whole : part);
  }

  // What precedes tile `tile`, which is not 0, within the run that its first item continues or ends; in every lane of
  // the warp that calls it. The tile's own aggregate has been posted. The last tile of every group has to call it, and
  // tile 0 has to be whole.
  template <class Op>
  __device__ T before(unsigned tile, const T& of_tile, bool is_whole, parts::tag tag, Op op) const {
    const unsigned group = tile / group_tiles;
    const int place = static_cast<int>(tile % group_tiles), lane = threadIdx.x % parts::warp_threads;
    const bool ends_group = place == group_tiles - 1;
    const window in_group = read(tiles, std::size_t{group} * group_tiles, place, tag);
    T since = in_group.value, of_group = of_tile;
    if (place > 0) since = fold_lanes(in_group.value, in_group.begin, place, op);
    if (ends_group) {
      if (!is_whole) of_group = op(since, of_tile);
      if (lane == 0) groups.post(group, of_group, tag, is_whole || in_group.has_whole ? whole : part);
    }
    if (in_group.has_whole) return since;
    const T before_group = before_this(group, tag, op);
    if (ends_group && !is_whole && lane == 0) groups.post(group, op(before_group, of_group), tag, whole);
    return place > 0 ? op(before_group, since) : before_group;
  }

 private:
  // Of up to 32 mailboxes, one a lane: the last whole one, and all behind it.
  struct window {
    T value;
    int begin;  // the last whole one; 0 where there is none
    bool has_whole;
  };

  // Waits for what counts of `count` mailboxes from `first` on.
  static __device__ window read(const parts::mailboxes<T>& from, std::size_t first, int count, parts::tag tag) {
    const int lane = threadIdx.x % parts::warp_threads;
    const unsigned asked = count == parts::warp_threads ? parts::full_mask : (1u << count) - 1;
    typename parts::mailboxes<T>::letter letter{};
    bool is_here = false;
    unsigned wholes, needed;
    do {
      if (!is_here && lane < count) {
        letter = from.read(first + lane);
        is_here = letter.is_of(tag);
      }
      wholes = __ballot_sync(parts::full_mask, is_here && letter.what(tag) == whole);
      needed = wholes == 0 ? asked : asked & parts::full_mask << (31 - __clz(wholes));
    } while ((needed & ~__ballot_sync(parts::full_mask, is_here)) != 0);
    return {letter.value(), wholes == 0 ? 0 : 31 - __clz(wholes), wholes != 0};
  }

  // What precedes group `group`, which is not 0.
  template <class Op>
  __device__ T before_this(std::size_t group, parts::tag tag, Op op) const {
    // Back to a whole one: the first group is. Mostly it is among the last 32.
    std::size_t end = group, first = 0;
    window found;
    for (;; end = first) {
      first = end > parts::warp_threads ? end - parts::warp_threads : 0;
      found = read(groups, first, static_cast<int>(end - first), tag);
      if (found.has_whole) break;
    }
    // And forth again.
    T value = fold_from(parts::shuffle_from(found.value, found.begin), found, found.begin + 1,
                        static_cast<int>(end - first), op);
    while (end < group) {
      const int count = static_cast<int>(parts::at_most(group - end, parts::warp_threads));
      const window behind = read(groups, end, count, tag);
      if (behind.has_whole) value = parts::shuffle_from(behind.value, behind.begin);
      value = fold_from(value, behind, behind.has_whole ? behind.begin + 1 : 0, count, op);
      end += count;
    }
    return value;
  }

  // One after the other; some shuffles are on their way at once.
  template <class Op>
  static __device__ T fold_from(T value, const window& of, int begin, int end, Op op) {
#pragma unroll(sizeof(T) <= 8 ? 4 : 1)
    for (int i = begin; i < end; ++i) value = op(value, parts::shuffle_from(of.value, i));
    return value;
  }
};

// How many runs begin in the tiles before: 128 tiles are a group, whose last tile posts what the group adds, and then
// what all groups up to it add. While at most 4,096 tiles are under way, no tile waits for more than two reads.
struct count_mailboxes {
  static constexpr int reads_of_lane = 4;
  static constexpr unsigned group_tiles = reads_of_lane * parts::warp_threads;
  using mailboxes = parts::mailboxes<unsigned long long>;

  mailboxes tiles, groups;

  static constexpr std::size_t bytes(std::size_t num_tiles) {
    return mailboxes::bytes(num_tiles) + mailboxes::bytes(parts::ceil_div(num_tiles, std::size_t{group_tiles}));
  }
  static count_mailboxes at(char* region, std::size_t num_tiles) {
    return {mailboxes(region), mailboxes(region + mailboxes::bytes(num_tiles))};
  }

  // In every lane of the warp that calls it. The tiles before have posted their own counts, or will.
  __device__ unsigned long long before(unsigned tile, unsigned long long of_tile, parts::tag tag) const {
    const unsigned group = tile / group_tiles;
    const bool ends_group = tile % group_tiles == group_tiles - 1,
               is_first_lane = threadIdx.x % parts::warp_threads == 0;
    const auto in_group = parts::gather<reads_of_lane>(tiles, std::size_t{group} * group_tiles, tile, tag, plus{});
    if (ends_group && is_first_lane)
      groups.post(group, in_group + of_tile, tag, group == 0 ? parts::posted::prefix : parts::posted::aggregate);
    if (group == 0) return in_group;
    const unsigned long long before_group = scans::prefix_before(groups, group, tag, plus{});
    if (ends_group && is_first_lane) groups.post(group, before_group + in_group + of_tile, tag, parts::posted::prefix);
    return before_group + in_group;
  }
};

}  // namespace rungs::RUNGS_ABI::production
