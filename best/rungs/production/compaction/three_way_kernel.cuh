// Items parted in three, each part in their order: the one pass of select_kernel.cuh with two counts in place of one.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"
#include "rungs/production/compaction/tiles.cuh"
#include "rungs/scans/09_warp_look_back.cuh"

namespace rungs::RUNGS_ABI::production {

// Items of the first and of the second part.
struct part_counts {
  unsigned long long first, second;
};
struct add_part_counts {
  template <class T>
  static __host__ __device__ constexpr T identity() {
    return {0, 0};
  }
  __host__ __device__ part_counts operator()(const part_counts& a, const part_counts& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

template <class InputIteratorT, class FirstOutputIteratorT, class SecondOutputIteratorT,
          class UnselectedOutputIteratorT, class NumSelectedIteratorT, class SelectFirstOp, class SelectSecondOp>
struct three_way_partition {
  using item = held_of<parts::item_of<InputIteratorT>>;
  using shape = tile_shape<sizeof(item), 8>;
  // Parts begin at a multiple of so many slots, from which words can be read.
  static constexpr int slot_step = 4;
  static constexpr std::size_t staged_bytes = sizeof(item) * (shape::tile_items + 2 * slot_step) + 16;
  static constexpr bool is_staged = staged_bytes <= 34 * 1024;
  static constexpr int least_blocks = sizeof(item) <= 8 ? 4 : 1;

  struct memory {
    alignas(16) unsigned char staged[is_staged ? staged_bytes : 16];
    warp_counts<shape::num_warps> first_counts, second_counts;
    part_counts before;
  };

  InputIteratorT d_in;
  FirstOutputIteratorT d_first_part_out;
  SecondOutputIteratorT d_second_part_out;
  UnselectedOutputIteratorT d_unselected_out;
  NumSelectedIteratorT d_num_selected_out;
  std::size_t num_items;
  SelectFirstOp select_first;
  SelectSecondOp select_second;
  bool by_vectors;

  __device__ void write_counts(const part_counts& counts) const {
    *d_num_selected_out = counts.first;
    *(d_num_selected_out + std::ptrdiff_t{1}) = counts.second;
  }
};

template <class Call>
__global__ void __launch_bounds__(Call::shape::block_threads, Call::least_blocks)
    three_way_kernel(Call call, parts::mailboxes<part_counts> mailboxes, parts::tag tag) {
  using shape = typename Call::shape;
  using item = typename Call::item;
  using parts::posted;
  __shared__ typename Call::memory shared;
  if (call.num_items == 0) {
    if (threadIdx.x == 0) call.write_counts({0, 0});
    return;
  }
  const int warp = parts::warp_of_block(), lane = threadIdx.x % parts::warp_threads;
  const unsigned tile = blockIdx.x;
  const bool is_last_tile = tile == gridDim.x - 1;
  const std::size_t begin = std::size_t{tile} * shape::tile_items;
  const int left = static_cast<int>(parts::at_most(call.num_items - begin, shape::tile_items));

  const auto items = read_tile<shape, item>(call.d_in, begin, call.num_items - 1, warp, call.by_vectors);
  const unsigned present = flags_present<shape>(warp, left);
  unsigned first = 0, second = 0;         // flags of the lane's items
  auto select_first = call.select_first;  // which may not promise to stay as they are
  auto select_second = call.select_second;
#pragma unroll
  for (int row = 0; row < shape::num_rows; ++row)
#pragma unroll
    for (int k = 0; k < shape::neighbours; ++k) {
      if ((present & shape::bit(row, k)) == 0) continue;
      if (static_cast<bool>(select_first(value_of(items(row, k)))))
        first |= shape::bit(row, k);
      else if (static_cast<bool>(select_second(value_of(items(row, k)))))
        second |= shape::bit(row, k);
    }
  const row_counts<shape> of_first(first), of_second(second);
  if (lane == 0) {
    shared.first_counts.of_warp[warp] = of_first.of_warp();
    shared.second_counts.of_warp[warp] = of_second.of_warp();
  }
  __syncthreads();
  const int num_first = shared.first_counts.before(shape::num_warps);
  const int num_second = shared.second_counts.before(shape::num_warps);
  const part_counts of_tile{static_cast<unsigned long long>(num_first), static_cast<unsigned long long>(num_second)};
  if (warp == 0) {
    parts::wait_until_cleared();
    if (lane == 0 && !is_last_tile) mailboxes.post(tile, of_tile, tag, tile > 0 ? posted::aggregate : posted::prefix);
  }

  const int first_of_warps = shared.first_counts.before(warp), second_of_warps = shared.second_counts.before(warp);
  const auto with_ranks = [&](auto take) {  // take(item, part, rank in the part)
#pragma unroll
    for (int row = 0; row < shape::num_rows; ++row) {
      int first_rank = first_of_warps + of_first.before(row), second_rank = second_of_warps + of_second.before(row);
#pragma unroll
      for (int k = 0; k < shape::neighbours; ++k) {
        const unsigned bit = shape::bit(row, k);
        if ((first & bit) != 0)
          take(items(row, k), 0, first_rank++);
        else if ((second & bit) != 0)
          take(items(row, k), 1, second_rank++);
        else if ((present & bit) != 0)
          take(items(row, k), 2, shape::position(warp, row) + k - first_rank - second_rank);
      }
    }
  };
  item* const staged = reinterpret_cast<item*>(shared.staged);
  constexpr int step = Call::slot_step;
  const int second_slot = (num_first + step - 1) / step * step;
  const int unselected_slot = second_slot + (num_second + step - 1) / step * step;
  if constexpr (Call::is_staged)
    with_ranks([&](const item& value, int part, int rank) {
      staged[(part == 0 ? 0 : part == 1 ? second_slot : unselected_slot) + rank] = value;
    });
  if (warp == 0) {
    part_counts before = add_part_counts::identity<part_counts>();
    if (tile > 0) before = scans::prefix_before(mailboxes, tile, tag, add_part_counts{});
    if (lane == 0) {
      const part_counts through = add_part_counts{}(before, of_tile);
      if (is_last_tile)
        call.write_counts(through);
      else if (tile > 0)
        mailboxes.post(tile, through, tag, posted::prefix);
      shared.before = before;
    }
  }
  __syncthreads();

  const part_counts before = shared.before;
  const auto d_first = call.d_first_part_out + static_cast<std::ptrdiff_t>(before.first);
  const auto d_second = call.d_second_part_out + static_cast<std::ptrdiff_t>(before.second);
  const auto d_unselected = call.d_unselected_out + static_cast<std::ptrdiff_t>(begin - before.first - before.second);
  if constexpr (Call::is_staged) {
    store_staged<shape::block_threads>(staged, d_first, num_first);
    store_staged<shape::block_threads>(staged + second_slot, d_second, num_second);
    store_staged<shape::block_threads>(staged + unselected_slot, d_unselected, left - num_first - num_second);
  } else {
    with_ranks([&](const item& value, int part, int rank) {
      if (part == 0)
        *(d_first + static_cast<std::ptrdiff_t>(rank)) = value_of(value);
      else if (part == 1)
        *(d_second + static_cast<std::ptrdiff_t>(rank)) = value_of(value);
      else
        *(d_unselected + static_cast<std::ptrdiff_t>(rank)) = value_of(value);
    });
  }
}

// Storage: 32 bytes for each tile.
template <class Call>
cudaError_t part_in_three(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call,
                          cudaStream_t stream) {
  using mailboxes = parts::mailboxes<part_counts>;
  using shape = typename Call::shape;
  const std::size_t num_tiles = parts::ceil_div(call.num_items, shape::tile_items);
  const std::size_t bytes = mailboxes::bytes(num_tiles);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
  parts::opened_storage storage;
  if (num_tiles > 0) error = storage.open(region, bytes, stream);
  if (error != cudaSuccess) return error;
  return parts::launch_overlapped(three_way_kernel<Call>, num_tiles > 0 ? num_tiles : 1, shape::block_threads, 0,
                                  storage.clears, stream, call, mailboxes(region), storage.of_call);
}

}  // namespace rungs::RUNGS_ABI::production
