// Segments that adjoin each other, scanned in one launch: segment s has the items offsets[s] to offsets[s + 1] - 1.
//
// Blocks look at evenly spaced offsets. If none of them lies far behind the one before, a block takes a group of whole
// segments (whole_segments.cuh), and nobody waits. All blocks look at the same offsets, so they agree. Offsets that
// they have not looked at may be anything: a block scans segments of any length.
//
// Else, and of very few or many segments, they take shares. Where an item lies says which segment it belongs to, so
// nobody lists segments. A block takes an equal share of all items, looks up the first segment that begins there, and
// flags where segments begin. A share is one tile where that suffices for all items: the block posts what the tile's
// last segment has there. Else it first adds that up, where the next share goes on with it. Then it folds what blocks
// before have posted of its first segment.
//
// Nothing of shares is written before it is known that no offset is less than the one before. The first blocks, the
// scouts, see to that, or every block where it has a thread for each offset. If one is less, blocks scan whole
// segments, one after the other.
//
// Helpers wait for scouts, and for helpers of lower indices. These start first.
#pragma once

#include <cstddef>
#include <type_traits>

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/segments/whole_segments.cuh"

namespace rungs::RUNGS_ABI::production {

// Offsets whose segments adjoin each other: known where ends are the begins' array from its second offset on.
template <class Segments>
struct adjoining_offsets {
  static constexpr bool may_be = false;
};
template <class Offset>
struct adjoining_offsets<placed_segments<Offset*, Offset*, as_the_items>> {
  static constexpr bool may_be = true;
  using offset = std::remove_cv_t<Offset>;
  static bool are(const placed_segments<Offset*, Offset*, as_the_items>& segments) {
    return segments.begins != nullptr && segments.ends == segments.begins + 1;
  }
};

// For a block of so many threads.
template <unsigned block_threads, class Offset>
struct adjoining_list {
  const Offset* offsets;
  std::size_t num_segments;
  long long first;    // index of the first item
  std::size_t items;  // of all
  Offset probe;       // the first offset that the thread looks at in a search
  Offset beyond;      // of a warp's last lane, that of the next thread

  // All that is read here is on its way at once.
  static __device__ adjoining_list of(const Offset* offsets, std::size_t num_segments) {
    const std::size_t step = parts::ceil_div(num_segments, block_threads);
    const std::size_t at = parts::at_most(threadIdx.x * step, num_segments);
    const Offset probe = offsets[at];
    Offset beyond = 0;
    if (is_last_lane()) beyond = offsets[parts::at_most(at + step, num_segments)];
    const auto begin = static_cast<long long>(offsets[0]), end = static_cast<long long>(offsets[num_segments]);
    return {offsets, num_segments, begin, end > begin ? static_cast<std::size_t>(end - begin) : 0, probe, beyond};
  }
  static __device__ bool is_last_lane() { return threadIdx.x % parts::warp_threads == parts::warp_threads - 1; }
  // What the next thread looks at first. All lanes call it: if each read that, too, a warp would look up more lines.
  __device__ Offset next_probe() const {
    const Offset next = parts::shuffle_down(probe, 1);
    return is_last_lane() ? beyond : next;
  }
  // Whether that is not less. Of no more than block_threads segments, it is where the thread's own segment ends.
  __device__ bool ascends() const { return static_cast<long long>(probe) <= static_cast<long long>(next_probe()); }
  __device__ std::size_t place_of(Offset offset) const {
    return static_cast<std::size_t>(static_cast<long long>(offset) - first);
  }
  // Of the first item; of segment num_segments, the number of all items.
  __device__ std::size_t begin(std::size_t segment) const { return place_of(offsets[segment]); }

  // A number of segments that begin before `place`, of which there are at most block_threads more. All threads of the
  // block call it; they look at one segment each at once.
  __device__ std::size_t about_before(std::size_t place) const {
    std::size_t low = 0, high = num_segments;
    for (bool is_first = true; high - low > block_threads; is_first = false) {
      const std::size_t step = parts::ceil_div(high - low, block_threads), own = low + threadIdx.x * step;
      bool is_before = own < high;
      if (is_before) is_before = (is_first ? place_of(probe) : begin(own)) < place;
      const std::size_t number = __syncthreads_count(is_before);
      if (number == 0) return low;
      high = parts::at_most(high, low + number * step);
      low += (number - 1) * step + 1;
    }
    return low;
  }
  __device__ std::size_t num_before(std::size_t place) const {
    const std::size_t low = about_before(place), own = low + threadIdx.x;
    return low + __syncthreads_count(own < num_segments && begin(own) < place);
  }
};

// Reads where the next segments begin, some of each thread at once, and flags those of a tile.
template <unsigned block_threads, class Offset>
struct heads_ahead {
  static constexpr unsigned most_at_once = 4;

  const adjoining_list<block_threads, Offset>& list;
  unsigned at_once;
  Offset read[most_at_once];

  __device__ void fetch(std::size_t segment) {
#pragma unroll
    for (unsigned k = 0; k < most_at_once; ++k)
      if (k < at_once)
        read[k] = list.offsets[parts::at_most(segment + k * block_threads + threadIdx.x, list.num_segments)];
  }
  // How many of the first block_threads segments that have been fetched begin before the tile.
  __device__ std::size_t num_before(std::size_t tile) const {
    return __syncthreads_count(list.place_of(read[0]) < tile);
  }
  // How many segments from `segment` on, which have been fetched, begin before tile_end. All threads of the block call
  // it, and see the flags behind it.
  __device__ std::size_t flag(unsigned* flags, std::size_t segment, std::size_t tile, std::size_t tile_end) {
    for (std::size_t all = 0;;) {
      unsigned found = 0;
#pragma unroll
      for (unsigned k = 0; k < most_at_once; ++k) {
        if (k >= at_once) continue;
        const std::size_t begin = list.place_of(read[k]);
        if (begin >= tile && begin < tile_end) {
          const auto at = static_cast<unsigned>(begin - tile);
          atomicOr(&flags[at / 32], 1u << at % 32);
        }
        found += __syncthreads_count(begin < tile_end);
      }
      all += found;
      if (found < at_once * block_threads) return all;
      fetch(segment + all);
    }
  }
};

template <class T>
struct adjoining_mailboxes {
  parts::mailboxes<T> aggregates;     // of helpers
  parts::mailboxes<unsigned> ascend;  // of scouts: whether no offset is less than the one before

  static constexpr std::size_t bytes(std::size_t num_helpers, std::size_t num_scouts) {
    return parts::mailboxes<T>::bytes(num_helpers) + parts::mailboxes<unsigned>::bytes(num_scouts);
  }
  static adjoining_mailboxes at(char* region, std::size_t num_helpers) {
    return {parts::mailboxes<T>(region), parts::mailboxes<unsigned>(region + parts::mailboxes<T>::bytes(num_helpers))};
  }
  __device__ T wait_for(std::size_t helper, parts::tag tag) const {
    T aggregate;
    while (!aggregates.peek(helper, aggregate, tag)) continue;
    return aggregate;
  }
  // Whether all of the threads' own and the scouts' offsets ascend. All threads of the block call it.
  __device__ bool all_ascend(bool all, unsigned num_scouts, parts::tag tag) const {
    unsigned own;
    parts::wait_until_cleared();
    for (unsigned scout = threadIdx.x; scout < num_scouts; scout += blockDim.x) {
      while (!ascend.peek(scout, own, tag)) continue;
      all = all && own != 0;
    }
    return __syncthreads_and(static_cast<int>(all)) != 0;
  }
};

// Whether a scout's offsets ascend.
template <unsigned block_threads, class Offset>
__device__ bool offsets_ascend(const Offset* offsets, std::size_t num_segments, unsigned num_scouts) {
  constexpr unsigned at_once = 8;
  const std::size_t of_scout = parts::ceil_div(num_segments, num_scouts), begin = blockIdx.x * of_scout;
  const std::size_t end = parts::at_most(num_segments, begin + of_scout);
  bool ascend = true;
  for (std::size_t first = begin + threadIdx.x; first < end; first += at_once * block_threads) {
    Offset here[at_once], next[at_once];
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k) {
      const std::size_t i = parts::at_most(first + k * block_threads, end - 1);
      here[k] = offsets[i];
      next[k] = offsets[i + 1];
    }
#pragma unroll
    for (unsigned k = 0; k < at_once; ++k)
      ascend = ascend && static_cast<long long>(here[k]) <= static_cast<long long>(next[k]);
  }
  return ascend;
}

// A helper's share where that is one tile. Returns whether offsets ascend, and writes nothing if they do not.
template <class Call, class Offset>
__device__ bool scan_one_tile(const Call& call, const adjoining_list<Call::shape::block_threads, Offset>& list,
                              unsigned helper, unsigned num_scouts,
                              const adjoining_mailboxes<typename Call::accumulator>& mailboxes, parts::tag tag) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  __shared__ typename share_tiles<Call>::memory shared;
  __shared__ T of_shares[shape::num_warps];
  const share_tiles<Call> tiles{call, shared};
  const int warp = tiles.warp;
  const std::size_t tile = helper * std::size_t{shape::tile_items};
  if (tile >= list.items) return mailboxes.all_ascend(list.ascends(), num_scouts, tag);
  const std::size_t tile_end = parts::at_most(list.items, tile + shape::tile_items);
  const int left = static_cast<int>(tile_end - tile);
  const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(list.first);
  const auto items = read_tile<shape, typename Call::value>(d_in, tile, list.items - 1, warp,
                                                            is_aligned_here<shape::neighbours>(d_in));
  tiles.clear_heads();
  __syncthreads();

  // Where segments begin.
  constexpr unsigned at_once = shape::num_rows < 3 ? shape::num_rows + 1 : 4;
  heads_ahead<shape::block_threads, Offset> next{list, at_once, {}};
  const std::size_t low = list.about_before(tile);
  next.fetch(low);
  const std::size_t begun = low + next.num_before(tile);  // before the tile
  next.flag(shared.heads[0], low, tile, tile_end);
  const unsigned heads = heads_of_lane<shape>(shared.heads[0], warp), present = flags_present<shape>(warp, left);
  const bool continues = (shared.heads[0][0] & 1) == 0;  // whether the tile begins within a segment

  warp_runs<shape, T> runs;
  tiles.take(runs, items);
  runs.scan(heads | ~present, call.op);
  if (tiles.lane == 0) {
    shared.of_warp[warp] = runs.of_warp;
    shared.begins[warp] = runs.begins;
  }
  if (!mailboxes.all_ascend(list.ascends(), num_scouts, tag)) return false;
  unsigned warps_beginning = 0;
#pragma unroll
  for (int i = 0; i < shape::num_warps; ++i) warps_beginning |= shared.begins[i] << i;
  if (threadIdx.x == 0 && tile_end < list.items)
    mailboxes.aggregates.post(helper, before_warp_in_tile(shared, warps_beginning, shape::num_warps, call.op), tag);
  T before = runs.of_warp;  // nobody asks for this one
  if (continues) {
    const T carry = fold_shares(call, of_shares, list.begin(begun - 1) / shape::tile_items, helper,
                                [&](std::size_t i) { return mailboxes.wait_for(i, tag); });
    if (threadIdx.x == 0) shared.carry[0] = carry;
    __syncthreads();
    before = shared.carry[0];
  }
  if (warp > 0) {
    const T in_tile = before_warp_in_tile(shared, warps_beginning, warp, call.op);
    before = (warps_beginning & ((1u << warp) - 1)) == 0 ? static_cast<T>(call.op(before, in_tile)) : in_tile;
  }
  const auto d_out = call.d_out + static_cast<std::ptrdiff_t>(list.first);
  const bool by_vectors = is_aligned_here<shape::neighbours>(d_out);
  complete_tile(call, runs, heads | ~present, present, before, [&](int row, const T(&values)[shape::neighbours]) {
    write_neighbours<shape, true>(values, d_out, tile, shape::position(warp, row), left, by_vectors);
  });
  return true;
}

// Scans the items from `first` to end - 1, where the segments from `begun` on begin; shared.carry[0] has what precedes
// them in segment begun - 1, and shared.heads[0] no flags.
template <class Call, class Offset>
__device__ void scan_tiles(const share_tiles<Call>& tiles,
                           const adjoining_list<Call::shape::block_threads, Offset>& list, std::size_t first,
                           std::size_t end, std::size_t begun) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  const Call& call = tiles.call;
  auto& shared = tiles.shared;
  const int warp = tiles.warp;
  const auto d_in = call.d_in + static_cast<std::ptrdiff_t>(list.first);
  const auto d_out = call.d_out + static_cast<std::ptrdiff_t>(list.first);
  const bool reads_by_vectors = is_aligned_here<shape::neighbours>(d_in),
             by_vectors = is_aligned_here<shape::neighbours>(d_out);
  heads_ahead<shape::block_threads, Offset> next{list, 1, {}};
  __syncthreads();
  int turn = 0;
  for (std::size_t tile = first; tile < end; tile += shape::tile_items, turn ^= 1) {
    const std::size_t tile_end = parts::at_most(end, tile + shape::tile_items);
    const int left = static_cast<int>(tile_end - tile);
    warp_runs<shape, T> runs;
    tiles.take(runs, read_tile<shape, typename Call::value>(d_in, tile, list.items - 1, warp, reads_by_vectors));
    next.fetch(begun);
    const std::size_t begins = next.flag(shared.heads[turn], begun, tile, tile_end);
    begun += begins;
    next.at_once = static_cast<unsigned>(parts::at_most(begins / shape::block_threads + 1, next.most_at_once));
    const unsigned heads = heads_of_lane<shape>(shared.heads[turn], warp), present = flags_present<shape>(warp, left);
    for (int i = threadIdx.x; i < Call::flag_words; i += shape::block_threads) shared.heads[turn ^ 1][i] = 0;
    const T before = tiles.scan(runs, heads | ~present, turn);
    complete_tile(call, runs, heads | ~present, present, before, [&](int row, const T(&values)[shape::neighbours]) {
      write_neighbours<shape, true>(values, d_out, tile, shape::position(warp, row), left, by_vectors);
    });
  }
}

// A helper's share of several tiles; or whole segments, where offsets do not ascend.
template <class Call, class Offset>
__device__ void scan_several_tiles(const Call& call, const adjoining_list<Call::shape::block_threads, Offset>& list,
                                   bool ascend, unsigned helper, unsigned num_helpers,
                                   const adjoining_mailboxes<typename Call::accumulator>& mailboxes, parts::tag tag) {
  using shape = typename Call::shape;
  using T = typename Call::accumulator;
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  const share_place share = place_of_share<shape>({0, list.items, 0}, helper, num_helpers);
  std::size_t begun = 0;
  if (ascend) {
    if (share.first >= list.items) return;
    if (share.end < list.items) {
      const std::size_t next = list.num_before(share.end), begin = list.begin(next - 1);
      if (list.begin(next) != share.end) {
        const T aggregate = aggregate_between(tiles, call.d_in + static_cast<std::ptrdiff_t>(list.first),
                                              begin > share.first ? begin : share.first, share.end);
        if (threadIdx.x == 0) mailboxes.aggregates.post(helper, aggregate, tag);
      }
    }
    if (helper > 0) begun = list.num_before(share.first);
    if (list.begin(begun) != share.first) {
      const T carry = fold_shares(call, shared.of_warp, list.begin(begun - 1) / share.items, helper,
                                  [&](std::size_t i) { return mailboxes.wait_for(i, tag); });
      if (threadIdx.x == 0) shared.carry[0] = carry;
    }
  }
  std::size_t segment = helper;
  do {
    if (!ascend && segment >= list.num_segments) return;
    const auto scanned = ascend ? list : adjoining_list<shape::block_threads, Offset>::of(list.offsets + segment, 1);
    tiles.clear_heads();
    scan_tiles(tiles, scanned, ascend ? share.first : 0, ascend ? parts::at_most(list.items, share.end) : scanned.items,
               begun);
    __syncthreads();
    segment += num_helpers;
  } while (!ascend);
}

// When blocks take whole segments instead of shares, a group of consecutive ones each.
struct group_plan {
  unsigned group;               // segments
  unsigned long long one_tile;  // items up to which a share is one tile
  // So many items between one offset that a block looks at and the next are few enough, and so many shares' items.
  unsigned most_items_of_one_tile, most_items, most_shares;

  // All threads of the block call it.
  template <unsigned block_threads, class Offset>
  __device__ bool suits(const adjoining_list<block_threads, Offset>& list, unsigned num_helpers) const {
    const auto here = static_cast<long long>(list.probe), next = static_cast<long long>(list.next_probe());
    const auto between = static_cast<unsigned long long>(next - here);
    const unsigned long long always = list.items <= one_tile ? most_items_of_one_tile : most_items;
    // Where offsets are so great that a product wraps, a block may scan long segments: slower, and as right.
    const bool are_few = between <= always || between * num_helpers <= most_shares * list.items;
    return __syncthreads_and(here <= next && are_few) != 0;
  }
};

// Scans a group, whose places the first lanes of each warp have.
template <class Segments, class Call>
__device__ void scan_whole_group(const Call& call, const typename Segments::place& of_lane, unsigned group) {
  __shared__ typename share_tiles<Call>::memory shared;
  const share_tiles<Call> tiles{call, shared};
  const bool by_teams = are_by_teams<Call>(group);
  if (by_teams) scan_by_teams<Segments>(tiles, of_lane);
  if (!by_teams || __any_sync(parts::full_mask, of_lane.size > Call::shape::warp_items))
    scan_by_warps_or_block<Segments>(tiles, of_lane, by_teams);
}

template <class Call, class Offset, bool may_group>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks_of_few)
    adjoining_segments_kernel(const __grid_constant__ Call call, const Offset* offsets, std::size_t num_segments,
                              unsigned num_scouts, const __grid_constant__ group_plan plan,
                              adjoining_mailboxes<typename Call::accumulator> mailboxes, parts::tag tag) {
  constexpr int num_rows = Call::shape::num_rows, row_items = Call::shape::tile_items / num_rows;
  constexpr unsigned block_threads = Call::shape::block_threads;
  if (blockIdx.x < num_scouts) {
    const bool ascend = __syncthreads_and(offsets_ascend<block_threads>(offsets, num_segments, num_scouts)) != 0;
    parts::wait_until_cleared();
    if (threadIdx.x == 0) mailboxes.ascend.post(blockIdx.x, ascend, tag);
    return;
  }
  const unsigned helper = blockIdx.x - num_scouts, num_helpers = gridDim.x - num_scouts;
  const auto list = adjoining_list<block_threads, Offset>::of(offsets, num_segments);
  if constexpr (may_group) {
    using segments = placed_segments<const Offset*, const Offset*, as_the_items>;
    const unsigned lane = threadIdx.x % parts::warp_threads, segment = helper * plan.group + lane;
    typename segments::place of_lane{0, 0, 0};
    if (lane < plan.group && segment < num_segments) of_lane = segments{offsets, offsets + 1, {}}(segment);
    if (plan.suits(list, num_helpers)) return scan_whole_group<segments>(call, of_lane, plan.group);
  }
  bool ascend;
  if (num_rows > 1 && list.items <= std::size_t{num_helpers} * row_items) {
    ascend = scan_one_tile(call.template with_rows<1>(), list, helper, num_scouts, mailboxes, tag);
    if (ascend) return;
  } else if (num_rows > 2 && list.items <= std::size_t{num_helpers} * (2 * row_items)) {
    ascend = scan_one_tile(call.template with_rows<(num_rows > 2 ? 2 : 1)>(), list, helper, num_scouts, mailboxes, tag);
    if (ascend) return;
  } else {
    ascend = mailboxes.all_ascend(list.ascends(), num_scouts, tag);
  }
  scan_several_tiles(call, list, ascend, helper, num_helpers, mailboxes, tag);
}

// So few segments go by shares in any case. So do more than a group for each helper.
inline constexpr std::size_t most_by_shares = 32;

// Helpers take shares; a scout looks at so many offsets at least.
template <class Call>
struct adjoining_plan {
  static constexpr std::size_t least_of_scout = 2048, most_scouts = 1024;
  static constexpr bool can_group = Call::least_blocks_of_few > 2;  // or a block would scan too many tiles

  std::size_t num_helpers, num_scouts;
  group_plan groups{};

  adjoining_plan(std::size_t num_segments, const parts::device_limits& limits)
      : num_helpers(std::size_t{Call::least_blocks_of_few} * limits.multiprocessors),
        num_scouts(num_segments <= Call::shape::block_threads
                       ? 0
                       : parts::at_most(parts::ceil_div(num_segments, least_of_scout), most_scouts)) {
    using shape = typename Call::shape;
    constexpr unsigned tile_items = shape::tile_items, one_tile_rows = shape::num_rows > 2 ? 2 : shape::num_rows - 1;
    groups = {static_cast<unsigned>(parts::ceil_div(num_segments, num_helpers)),
              num_helpers * one_tile_rows * (tile_items / shape::num_rows), 2 * tile_items, 4 * tile_items, 6};
  }
  bool may_group(std::size_t num_segments) const {
    return can_group && num_segments > most_by_shares && num_segments <= num_helpers * Call::shape::num_warps;
  }
  std::size_t bytes() const { return adjoining_mailboxes<typename Call::accumulator>::bytes(num_helpers, num_scouts); }
};

// Scans segments that adjoin each other, at least one. `region` has room for the plan.
template <class Call, class Offset>
cudaError_t scan_adjoining_segments(char* region, const adjoining_plan<Call>& plan, const Call& call,
                                    const Offset* offsets, std::size_t num_segments, cudaStream_t stream) {
  parts::opened_storage storage;
  const cudaError_t error = storage.open(region, plan.bytes(), stream);
  if (error != cudaSuccess) return error;
  constexpr bool can_group = adjoining_plan<Call>::can_group;
  return parts::launch_overlapped(
      plan.may_group(num_segments) ? adjoining_segments_kernel<Call, Offset, can_group>
                                   : adjoining_segments_kernel<Call, Offset, false>,
      plan.num_scouts + plan.num_helpers, Call::shape::block_threads, 0, storage.clears, stream, call, offsets,
      num_segments, static_cast<unsigned>(plan.num_scouts), plan.groups,
      adjoining_mailboxes<typename Call::accumulator>::at(region, plan.num_helpers), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
