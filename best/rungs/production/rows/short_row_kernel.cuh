// Rows of more than 256 bytes and up to 2 KB: a warp holds a row as floats. Two merges by its lanes follow each other,
// so that what the first one finds is taken from the items before the second.
//
// An operation that takes such rows has, besides what row_kernel.cuh asks for:
//   short_rows_of                 itself. An operation derived from it, which may read and write otherwise, has none
//   most_short_pieces             how many pieces of 16 bytes a lane can hold: 2 or 4, that is rows of up to 1 or 2 KB
//   long_row_pieces               how many a thread holds of rows of 4 to 16 KB, which have the other kernel: 2 or 4
//   parameters<Group>             what a thread needs of weights and biases; they are read while rows are on their way
//   first_is, second_is           which merges it needs
//   first(group, values)          what a thread knows for the first merge
//   second(group, values, first)  the same for the second one; may change the values
//   finish(group, row, values, first, second, parameters)  called by all lanes
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"

namespace rungs::RUNGS_ABI::production {

enum class row_merge { none, sum, greatest };

template <class Op, class = void>
inline constexpr bool takes_short_rows = false;
template <class Op>
inline constexpr bool takes_short_rows<Op, std::void_t<typename Op::short_rows_of>> =
    std::is_same_v<typename Op::short_rows_of, Op>;

template <row_merge merge>
__device__ float merge_of_warp(float value) {
  if constexpr (merge == row_merge::sum) return sum_of_lanes<parts::warp_threads>(value);
  if constexpr (merge == row_merge::greatest) return greatest_of_lanes<parts::warp_threads>(value);
  return value;
}

template <class T, int pieces, bool whole>
struct short_row_group
    : row_group<T, parts::warp_threads, pieces, whole ? row_reach::block_of_whole_pieces : row_reach::block> {
  static constexpr int block_threads = pieces < 4 ? 256 : 128;
  static constexpr int block_rows = block_threads / parts::warp_threads;
  static constexpr bool reads_parameters_ahead = true;
  using piece = row_piece<T>;
  static constexpr int resident_threads = pieces * piece::items <= 16 ? 1024 : 768;
  using values = typename piece::floats[pieces];
};

template <class Op, class Group>
__global__ void __launch_bounds__(Group::block_threads, Group::resident_threads / Group::block_threads)
    short_row_kernel(const __grid_constant__ Op op) {
  const Group group{op.num_columns, op.aligned};
  const std::size_t row = std::size_t{blockIdx.x} * Group::block_rows + threadIdx.x / parts::warp_threads;
  if (row >= op.num_rows) return;
  typename Group::held pieces;
  op.template read<false>(group, row, 0, pieces);
  const typename Op::template parameters<Group> parameters(op, group);

  typename Group::values values;
#pragma unroll
  for (int p = 0; p < Group::pieces; ++p) pieces[p].get_once(values[p]);
  const float first = merge_of_warp<Op::first_is>(op.first(group, values));
  const float second = merge_of_warp<Op::second_is>(op.second(group, values, first));
  op.finish(group, row, values, first, second, parameters);
}

template <class Op, int pieces>
cudaError_t launch_short_rows(const Op& op, cudaStream_t stream) {
  using item = typename Op::item;
  using whole = short_row_group<item, pieces, true>;
  using any = short_row_group<item, pieces, false>;
  const bool is_whole = op.aligned && op.num_columns % whole::piece_items == 0;
  return parts::launch(is_whole ? short_row_kernel<Op, whole> : short_row_kernel<Op, any>,
                       parts::ceil_div(op.num_rows, whole::block_rows), whole::block_threads, stream, op);
}

}  // namespace rungs::RUNGS_ABI::production
