// The greatest few of short rows, several rows a warp. Groups of 8, 16 or 32 neighbouring lanes hold a row each, so one
// shuffle serves all rows of the warp.
//
// The group sorts the greatest keys of 16 or 32 parts of its row. The k-th of them is a threshold that at least k keys
// reach. Mostly a few more do: of 256 random keys and k = 8 about 10. They go to a list in shared memory, and each
// counts how many come before it. A row whose list would be too long is left to rounds of arg max (warp_rows.cuh).
#pragma once

#include <cmath>
#include <cstddef>

#include "rungs/parts/warp.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/top_k/order.cuh"
#include "rungs/production/top_k/warp_rows.cuh"

namespace rungs::RUNGS_ABI::production {

// The greater one, or NaN where one is NaN.
__device__ inline float maximum_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float greater;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
  return greater;
#else
  return a >= b || a != a ? a : b;
#endif
}

// The order of a number among numbers: -0 equals 0.
__device__ inline unsigned order_of_number(float key) {
  const unsigned bits = __float_as_uint(__fadd_rn(key, 0));
  return bits ^ (static_cast<unsigned>(static_cast<int>(bits) >> 31) | 0x80000000);
}

// count += a > b, without the move that compilers add.
__device__ inline void count_greater(unsigned& count, candidate a, candidate b) {
  asm("{ .reg .pred p; setp.gt.u64 p, %1, %2; @p add.u32 %0, %0, 1; }" : "+r"(count) : "l"(a), "l"(b));
}

// Columns that may be among the first k of a row, and which of them has each rank. An item is what the caller computes
// with.
template <class Item>
struct row_candidates {
  static constexpr unsigned capacity = 32, at_once = 4;
  alignas(16) candidate keys[capacity + at_once];  // an order above the complement of the column; then zeros
  Item items[capacity];
  unsigned places[capacity];  // columns at first; then what the caller keeps: the place of each rank

  __device__ void set(unsigned place, unsigned order, unsigned column, Item item) {
    keys[place] = static_cast<candidate>(order) << 32 | ~column;
    items[place] = item;
  }
  __device__ unsigned column(unsigned place) const { return ~static_cast<unsigned>(keys[place]); }
};

// Up to so many rows of 65 to 256 columns have 16 lanes each: then all are resident at once, and a lane has less to do.
inline constexpr std::size_t group_rows_of_more_lanes = 4096;

// `lanes` neighbours hold a row, each of them `items`. Later rows are not brought to the L2 cache: that took 1.04
// to 1.1 times as long. (64 Ki rows of 256 and 512 floats on an H200.)
template <int lanes_, int items_>
struct group_shape {
  static constexpr int lanes = lanes_, items = items_, block_threads = 128, block_rows = block_threads / lanes;
  // Sums of 65 to 256 columns are added as by 16 lanes.
  static constexpr int sum_lanes = lanes == 8 && items > 8 ? 16 : lanes;
  static constexpr int resident_blocks = 8;
};

template <int lanes>
struct lane_group {
  static constexpr int parts_a_lane = lanes == 8 ? 2 : 1, num_parts = lanes * parts_a_lane;
  // The most k whose threshold mostly leaves no more than row_candidates::capacity, by simulation.
  static constexpr unsigned most_k = num_parts == 32 ? 18 : 12;

  static __device__ unsigned lane() { return threadIdx.x % lanes; }

  // The sum of the group's values. Lanes 8 apart come first, so 8 lanes that add two each have the same bits.
  static __device__ float sum(float value) {
    constexpr int later_lanes = lanes == 16 ? 8 : lanes;
    if constexpr (lanes == 16) value += __shfl_xor_sync(parts::full_mask, value, 8);
    return sum_of_lanes<later_lanes>(value);
  }

  // The greatest of the lane's keys, or of either half of its pieces, so that rows that fill few pieces have many
  // parts.
  template <int piece_items, int items>
  static __device__ void find_greatest(const float (&keys)[items], float (&greatest)[parts_a_lane]) {
    constexpr int part_items = piece_items / parts_a_lane;
#pragma unroll
    for (int i = 0; i < items; ++i) {
      float& of_part = greatest[i % piece_items / part_items];
      of_part = i < piece_items && i % part_items == 0 ? keys[i] : maximum_or_nan(of_part, keys[i]);
    }
  }

  // The k-th of the keys by which all lanes of the warp call it. Not for NaN. They are sorted by a bitonic network, the
  // greatest first, k being at most their number.
  static __device__ float kth(float (&keys)[parts_a_lane], unsigned k) {
    const unsigned first = lane() * parts_a_lane;
#pragma unroll
    for (unsigned size = 2; size <= num_parts; size *= 2) {
#pragma unroll
      for (unsigned distance = size / 2; distance > 0; distance /= 2) {
        const bool descends = (first & size) == 0 || size == num_parts;
        if (distance < parts_a_lane) {
          const float greater = fmaxf(keys[0], keys[parts_a_lane - 1]), less = fminf(keys[0], keys[parts_a_lane - 1]);
          keys[0] = descends ? greater : less;
          keys[parts_a_lane - 1] = descends ? less : greater;
        } else {
          const bool keeps_greater = descends == ((first & distance) == 0);
#pragma unroll
          for (float& key : keys) {
            const float other = __shfl_xor_sync(parts::full_mask, key, distance / parts_a_lane);
            key = keeps_greater ? fmaxf(key, other) : fminf(key, other);
          }
        }
      }
    }
    const float key = (k - 1) % parts_a_lane == 0 ? keys[0] : keys[parts_a_lane - 1];
    return __shfl_sync(parts::full_mask, key, static_cast<int>((k - 1) / parts_a_lane), lanes);
  }

  // The sum of what lanes before this one have, and that of all of the group.
  static __device__ unsigned sum_before(unsigned value, unsigned& total) {
    unsigned sum = value;
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
      const unsigned before = __shfl_up_sync(parts::full_mask, sum, distance, lanes);
      if (lane() >= static_cast<unsigned>(distance)) sum += before;
    }
    total = __shfl_sync(parts::full_mask, sum, lanes - 1, lanes);
    return sum - value;
  }

  // Ranks the first k columns of the group's row, or returns false in all its lanes: NaN, or too many candidates. Item
  // i of the lane has this key and is of column_of(i), if that is less than num_columns. `greatest` are those of parts
  // of the lane's keys; has_nan says whether it has one. read(column, item) returns the order of a column's key, and
  // what the list keeps of it. take(rank, place) is called where a rank is known. k is at most num_parts. All lanes of
  // the warp call it.
  template <class Item, int items, class ColumnOf, class Read, class Take>
  static __device__ bool choose(row_candidates<Item>& row, const float (&keys)[items], float (&greatest)[parts_a_lane],
                                bool has_nan, unsigned num_columns, unsigned k, ColumnOf column_of, Read read,
                                Take take) {
    static_assert(items <= 32, "a word says which are left");
    constexpr unsigned capacity = row_candidates<Item>::capacity;
    if (k > most_k && num_columns > capacity) return false;
    const unsigned have_nan =
        __ballot_sync(parts::full_mask, has_nan) >> threadIdx.x % parts::warp_threads / lanes * lanes;
    float threshold = kth(greatest, k);
    // Differences have the sign bit where a key does not reach the threshold, which must not be +0, as -0 reaches it.
    // Those of equal infinities are NaN without it. A difference does not take the pipe of the comparisons around.
    if (threshold == 0) threshold = -0.0f;
    unsigned left = 0, count;
#pragma unroll
    for (int i = items - 1; i >= 0; --i)
      left = __funnelshift_l(__float_as_uint(__fsub_rn(keys[i], threshold)), left, 1);
    left = ~left << (32 - items) >> (32 - items);
    if (num_columns < items * lanes) {
#pragma unroll
      for (unsigned i = 0; i < items; ++i) left &= ~(static_cast<unsigned>(column_of(i) >= num_columns) << i);
    }
    unsigned place = sum_before(__popc(left), count);
    const bool is_found = count <= capacity && (have_nan << (32 - lanes)) == 0;
    if (!is_found) left = count = 0;
    while (left != 0) {
      const unsigned i = 31 - static_cast<unsigned>(__clz(static_cast<int>(left)));
      row.places[place++] = column_of(i);
      left ^= 1u << i;
    }
    __syncwarp();
    rank(row, count, k, read, take);
    return is_found;
  }

 private:
  // Ranks the keys of columns places[0] to places[count - 1].
  template <class Item, class Read, class Take>
  static __device__ void rank(row_candidates<Item>& row, unsigned count, unsigned k, Read read, Take take) {
#pragma unroll 1
    for (unsigned i = lane(); i < count; i += lanes) {
      const unsigned column = row.places[i];
      Item item;
      const unsigned order = read(column, item);
      row.set(i, order, column, item);
    }
    constexpr unsigned at_once = row_candidates<Item>::at_once;
    if (lane() < at_once) row.keys[count + lane()] = 0;
    __syncwarp();
#pragma unroll 1
    for (unsigned first = lane(); first < count; first += lanes * parts_a_lane) {
      candidate own[parts_a_lane];
      unsigned ranks[parts_a_lane] = {};
#pragma unroll
      for (int i = 0; i < parts_a_lane; ++i) own[i] = row.keys[first + i * lanes];
#pragma unroll 1
      for (unsigned j = 0; j < count; j += at_once) {
#pragma unroll
        for (unsigned pair = 0; pair < at_once; pair += 2) {
          const auto others = *reinterpret_cast<const ulonglong2*>(row.keys + j + pair);
#pragma unroll
          for (int i = 0; i < parts_a_lane; ++i) {
            count_greater(ranks[i], others.x, own[i]);
            count_greater(ranks[i], others.y, own[i]);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < parts_a_lane; ++i)
        if (first + i * lanes < count && ranks[i] < k) take(ranks[i], first + i * lanes);
    }
  }
};

}  // namespace rungs::RUNGS_ABI::production
