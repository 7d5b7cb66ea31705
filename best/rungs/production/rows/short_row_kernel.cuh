// Rows of more than 256 bytes that registers hold between two merges: lanes of a warp, or warps of a block, have a row
// as floats. What the first merge finds is taken from the items before the second.
//
// An operation that takes such rows has, besides what row_kernel.cuh asks for:
//   short_rows_of                 itself. An operation derived from it, which may read and write otherwise, has none
//   most_short_pieces             of how many pieces of 16 bytes a row is short: a power of two, 32 or more
//   shape_of(pieces)              the shape for rows of up to so many pieces, and more than half of them
//   parameters<Group>             what a thread needs of weights and biases; best read while rows are on their way
//   first_is, second_is           which merges it needs
//   first(group, values)          what a thread knows for the first merge
//   second(group, values, first)  the same for the second one; may change the values
//   finish(group, row, values, first, second, parameters)  called by all threads of the row
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/production/rows/row_group.cuh"

namespace rungs::RUNGS_ABI::production {

enum class row_merge { none, sum, greatest };

// How threads share short rows.
struct row_shape {
  int row_threads, pieces;  // of a row; pieces of a thread
  int resident_threads;     // of a multiprocessor, at least
  bool reads_parameters_ahead = true;
  int rows_at_once = 1;
};

template <class Op, class = void>
inline constexpr int most_short_pieces = 0;
template <class Op>
inline constexpr int most_short_pieces<Op, std::enable_if_t<std::is_same_v<typename Op::short_rows_of, Op>>> =
    Op::most_short_pieces;

// Odd addresses take registers: 64 are left for a thread. Some multiprocessors hold 1,024 or 1,536 threads at most.
template <bool whole>
constexpr int most_resident_threads(int threads) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
  return threads < 1024 ? threads : 1024;
#else
  return whole || threads < 1024 ? threads : 1024;
#endif
}

template <row_merge merge, int num_lanes>
__device__ float merge_of_lanes(float value) {
  if constexpr (merge == row_merge::sum) return sum_of_lanes<num_lanes>(value);
  return greatest_of_lanes<num_lanes>(value);
}

template <class Op, int row_pieces, bool whole>
struct short_row_group
    : row_group<typename Op::item, Op::shape_of(row_pieces).row_threads, Op::shape_of(row_pieces).pieces,
                whole ? row_reach::block_of_whole_pieces : row_reach::block> {
  using base = row_group<typename Op::item, Op::shape_of(row_pieces).row_threads, Op::shape_of(row_pieces).pieces,
                         whole ? row_reach::block_of_whole_pieces : row_reach::block>;
  using base::row_threads, base::row_warps;
  static constexpr row_shape shape = Op::shape_of(row_pieces);
  static_assert(row_threads * base::pieces == row_pieces && row_threads >= parts::warp_threads);
  static constexpr int block_threads = row_threads >= 128 ? row_threads : base::pieces < 4 ? 256 : 128;
  static constexpr int block_rows = block_threads / row_threads, rows_at_once = shape.rows_at_once;
  static constexpr int resident_blocks = most_resident_threads<whole>(shape.resident_threads) / block_threads;
  static constexpr bool reads_parameters_ahead =
      shape.reads_parameters_ahead && (whole || row_threads == parts::warp_threads);
  using values = typename base::floats[base::pieces];

  // What all threads of each row know together, in each of them. All threads of the block call it, once for each turn.
  template <int turn, row_merge merge>
  __device__ static void merge_rows(float (&known)[rows_at_once]) {
    if constexpr (merge != row_merge::none) {
#pragma unroll
      for (float& of_row : known) of_row = merge_of_lanes<merge, parts::warp_threads>(of_row);
      if constexpr (row_warps > 1) {
        __shared__ float of_warps[rows_at_once][block_threads / parts::warp_threads];
        const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
        if (lane == 0) {
#pragma unroll
          for (int r = 0; r < rows_at_once; ++r) of_warps[r][warp] = known[r];
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r)
          known[r] = merge_of_lanes<merge, row_warps>(of_warps[r][warp / row_warps * row_warps + lane % row_warps]);
      }
    }
  }
};

template <class Op, class Group>
__global__ void __launch_bounds__(Group::block_threads, Group::resident_blocks)
    short_row_kernel(const __grid_constant__ Op op) {
  constexpr int rows_at_once = Group::rows_at_once;
  const Group group{op.num_columns, op.aligned};
  const std::size_t first_row =
      std::size_t{blockIdx.x} * (Group::block_rows * rows_at_once) + threadIdx.x / Group::row_threads;
  if (Group::row_warps == 1 && first_row >= op.num_rows) return;
  const auto row = [&](int r) { return first_row + r * Group::block_rows; };

  typename Group::held pieces[rows_at_once];
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r)
    if (row(r) < op.num_rows) op.template read<false>(group, row(r), 0, pieces[r]);
  const typename Op::template parameters<Group> parameters(op, group);

  typename Group::values values[rows_at_once];
  float first[rows_at_once], second[rows_at_once];
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r) {
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) pieces[r][p].get_once(values[r][p]);
    first[r] = op.first(group, values[r]);
  }
  Group::template merge_rows<0, Op::first_is>(first);
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r) second[r] = op.second(group, values[r], first[r]);
  Group::template merge_rows<1, Op::second_is>(second);
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r)
    if (row(r) < op.num_rows) op.finish(group, row(r), values[r], first[r], second[r], parameters);
}

// The row has more than half of row_pieces.
template <class Op, int row_pieces = parts::warp_threads>
cudaError_t launch_short_rows(const Op& op, std::size_t pieces, cudaStream_t stream) {
  if constexpr (row_pieces < Op::most_short_pieces)
    if (pieces > row_pieces) return launch_short_rows<Op, 2 * row_pieces>(op, pieces, stream);
  using whole = short_row_group<Op, row_pieces, true>;
  using any = short_row_group<Op, row_pieces, false>;
  const bool is_whole = op.aligned && op.num_columns % whole::piece_items == 0;
  return parts::launch(is_whole ? short_row_kernel<Op, whole> : short_row_kernel<Op, any>,
                       parts::ceil_div(op.num_rows, whole::block_rows * whole::rows_at_once), whole::block_threads,
                       stream, op);
}

}  // namespace rungs::RUNGS_ABI::production
