// The greatest few of short rows, by groups of 8 or 16 lanes (lane_groups.cuh). A row has up to 512 columns, k is up to
// 12. A warp a row issues about three times as many instructions a row.
//
// A lane sees keys as floats. Their order is that of the keys, but some different keys may be equal: -0 and 0, and
// integers that differ in the last bit. So the threshold lets a few more keys pass. Their ranks are by their bits. A
// lane holds whole pieces of 16 bytes, so keys of one byte, of which these are too many, have no kernel here.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rungs/parts/launch.cuh"
#include "rungs/production/top_k/lane_groups.cuh"
#include "rungs/production/top_k/order.cuh"
#include "rungs/production/top_k/warp_rows.cuh"

namespace rungs::RUNGS_ABI::production {

struct group_rows {
  static constexpr std::size_t most_columns = 512, most_k = lane_group<8>::most_k;
  // Few rows of up to 64 columns take 0.1 to 0.2 us less with a warp each (H200).
  static bool fit(std::size_t num_rows, std::size_t num_columns, std::size_t k) {
    return num_columns <= most_columns && k <= most_k && (num_columns > 64 || num_rows > 1024);
  }
};

// has_pieces: whether rows are whole pieces at multiples of 16 bytes.
template <class Order, class Output, class Shape>
__global__ void __launch_bounds__(Shape::block_threads, Shape::resident_blocks)
    group_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                      const std::size_t num_rows, const unsigned num_columns, const unsigned k, const bool has_pieces) {
  using Storage = typename Order::Storage;
  using chooser = lane_group<Shape::lanes>;
  constexpr int lanes = Shape::lanes, items = Shape::items, parts_a_lane = chooser::parts_a_lane;
  constexpr int piece_items = 16 / sizeof(Storage), pieces = items / piece_items;
  constexpr int warp_lanes = parts::warp_threads, warp_rows = warp_lanes / lanes;
  __shared__ row_candidates<Storage> of_rows[Shape::block_rows];
  const unsigned warp = threadIdx.x / warp_lanes, lane = chooser::lane();
  const std::size_t first_row = std::size_t{blockIdx.x} * Shape::block_rows + warp * warp_rows;
  if (first_row >= num_rows) return;  // the whole warp
  const std::size_t row = first_row + threadIdx.x % warp_lanes / lanes;
  const bool exists = row < num_rows;
  const Storage* const from = keys.row(exists ? row : first_row);
  const auto column_of = [&](unsigned i) {
    return i / piece_items * (lanes * piece_items) + i % piece_items + lane * piece_items;
  };
  Storage raw[items] = {};
  if (has_pieces && num_columns == items * lanes) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      const uint4 piece = *reinterpret_cast<const uint4*>(from + column_of(p * piece_items));
      memcpy(raw + p * piece_items, &piece, sizeof(piece));
    }
  } else if (has_pieces) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      uint4 piece{0, 0, 0, 0};
      if (column_of(p * piece_items) < num_columns)
        piece = *reinterpret_cast<const uint4*>(from + column_of(p * piece_items));
      memcpy(raw + p * piece_items, &piece, sizeof(piece));
    }
  } else {
#pragma unroll
    for (int i = 0; i < items; ++i)
      if (column_of(i) < num_columns) raw[i] = from[column_of(i)];
  }

  float numbers[items], greatest[parts_a_lane], magnitude = 0;
#pragma unroll
  for (int i = 0; i < items; ++i) {
    numbers[i] = number_of_key(keys.order, raw[i]);
    if constexpr (Order::is_float && Order::bits == 16) magnitude = maximum_or_nan(magnitude, fabsf(numbers[i]));
  }
  if (num_columns < items * lanes) {
#pragma unroll
    for (int i = 0; i < items; ++i)
      if (column_of(i) >= num_columns) numbers[i] = -INFINITY;
  }
  chooser::template find_greatest<piece_items>(numbers, greatest);
  bool has_nan = false;
  if constexpr (Order::is_float && Order::bits == 32) {
#pragma unroll
    for (const float each : greatest) has_nan |= isnan(each);
  } else if constexpr (Order::is_float) {
    has_nan = !(magnitude <= __uint_as_float(keys.order.infinity));
  }

  row_candidates<Storage>& candidates = of_rows[threadIdx.x / lanes];
  const bool is_found = chooser::choose(
      candidates, numbers, greatest, has_nan, num_columns, k, column_of,
      [&](unsigned column, Storage& key) {
        key = from[column];
        return keys.order(key);
      },
      [&](unsigned rank, unsigned place) {
        if (exists) output.write(row, rank, candidates.column(place), candidates.items[place]);
      });
  unsigned others = __ballot_sync(parts::full_mask, !is_found && lane == 0 && exists);
  while (others != 0) {
    const int leader = __ffs(static_cast<int>(others)) - 1;
    others &= others - 1;
    const Storage* const of_leader = keys.row(first_row + leader / lanes);
    constexpr int warp_items = items * lanes / warp_lanes;
    const unsigned warp_lane = threadIdx.x % warp_lanes;
    unsigned ordered[warp_items];
#pragma unroll
    for (int i = 0; i < warp_items; ++i) {
      const unsigned column = i * warp_lanes + warp_lane;
      ordered[i] = column < num_columns ? keys.order(of_leader[column]) : 0;
    }
    const unsigned column = greatest_columns_by_rounds(ordered, num_columns, k);
    if (warp_lane < k) output.write(first_row + leader / lanes, warp_lane, column);
  }
}

template <class Order, class Output>
cudaError_t launch_group_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                              std::size_t num_columns, std::size_t k, cudaStream_t stream) {
  constexpr std::size_t key_bytes = sizeof(typename Order::Storage);
  const bool has_pieces = reinterpret_cast<std::uintptr_t>(keys.data) % 16 == 0 && num_columns * key_bytes % 16 == 0 &&
                          (num_rows <= 1 || keys.stride * key_bytes % 16 == 0);
  const auto with = [&](auto shape) {
    using Shape = decltype(shape);
    return parts::launch(group_rows_kernel<Order, Output, Shape>, parts::ceil_div(num_rows, Shape::block_rows),
                         Shape::block_threads, stream, keys, output, num_rows, static_cast<unsigned>(num_columns),
                         static_cast<unsigned>(k), has_pieces);
  };
  const bool are_few = num_rows <= group_rows_of_more_lanes;
  if (num_columns <= 64) return with(group_shape<8, 8>{});
  if (num_columns <= 128 && are_few) return with(group_shape<16, 8>{});
  if (num_columns <= 128) return with(group_shape<8, 16>{});
  if (num_columns <= 256 && are_few) return with(group_shape<16, 16>{});
  if (num_columns <= 256) return with(group_shape<8, 32>{});
  return with(group_shape<16, 32>{});
}

}  // namespace rungs::RUNGS_ABI::production
