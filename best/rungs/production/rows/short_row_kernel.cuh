// Rows of more than 256 bytes that registers hold as floats: lanes of a warp, or warps of a block, have a row. Two
// merges by its threads follow each other, so that what the first one finds is taken from the items before the second.
//
// An operation that takes such rows has, besides what row_kernel.cuh asks for:
//   short_rows_of                 itself. An operation derived from it, which may read and write otherwise, has none
//   shapes_of(pieces)             the shapes for rows of up to so many pieces of 16 bytes, and more than half of them
//   may_pack                      whether values may be pieces, too (get_floats)
//   long_row_pieces               how many a thread holds of rows of 4 to 16 KB that have none: 2 or 4
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

// How threads share a row. Of no threads: row_kernel.cuh has such rows.
struct row_shape {
  int row_threads = 0, pieces = 0;     // pieces of a thread
  int resident_threads = 1024;         // of a multiprocessor, at least
  bool reads_parameters_ahead = true;  // of all pieces, before the first merge
  int folds = 1;                       // of row_group
};
// Few rows may have another shape than many, where a row has the same bits in both: `many` has as many threads, or it
// folds those of `few` in two.
struct row_shapes {
  row_shape many, few = {};
};

template <class Op, class = void>
inline constexpr bool takes_short_rows = false;
template <class Op>
inline constexpr bool takes_short_rows<Op, std::void_t<typename Op::short_rows_of>> =
    std::is_same_v<typename Op::short_rows_of, Op>;

template <class Op, int row_pieces>
constexpr row_shapes shapes_of_rows() {
  if constexpr (takes_short_rows<Op>)
    return Op::shapes_of(row_pieces);
  else
    return {};
}
template <class Op, int row_pieces>
inline constexpr bool are_short_rows = shapes_of_rows<Op, row_pieces>().many.row_threads != 0;

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
template <row_merge merge>
__device__ float merge_of_two(float a, float b) {
  return merge == row_merge::sum ? a + b : fmaxf(a, b);
}

template <int folds>
__device__ float sum_of_folds(const float (&sums)[folds]) {
  static_assert(folds <= 2);
  return folds == 1 ? sums[0] : sums[0] + sums[folds - 1];
}

template <class Op, int row_pieces, bool few>
inline constexpr row_shape shape_of_rows = few ? shapes_of_rows<Op, row_pieces>().few
                                               : shapes_of_rows<Op, row_pieces>().many;

template <class Op, int row_pieces, bool few, bool whole>
using group_of_shape =
    row_group<typename Op::item, shape_of_rows<Op, row_pieces, few>.row_threads,
              shape_of_rows<Op, row_pieces, few>.pieces, whole ? row_reach::block_of_whole_pieces : row_reach::block,
              shape_of_rows<Op, row_pieces, few>.folds>;

template <class Op, int row_pieces, bool few, bool whole>
struct short_row_group : group_of_shape<Op, row_pieces, few, whole> {
  using base = group_of_shape<Op, row_pieces, few, whole>;
  using base::row_threads, base::row_warps, base::folds;
  static constexpr row_shape shape = shape_of_rows<Op, row_pieces, few>;
  static_assert(row_threads * base::pieces == row_pieces && row_threads >= parts::warp_threads && folds <= 2);
  static constexpr int block_threads = row_threads >= 128 ? row_threads : base::pieces < 4 ? 256 : 128;
  static constexpr int block_rows = block_threads / row_threads;
  static constexpr int resident_blocks = most_resident_threads<whole>(shape.resident_threads) / block_threads;
  static constexpr bool reads_parameters_ahead =
      shape.reads_parameters_ahead && (whole || (row_threads == parts::warp_threads && base::pieces < 4));
  // Where registers do not suffice for floats, halves stay packed until they are used.
  static constexpr bool packs =
      Op::may_pack && base::piece_items == 8 &&
      (base::pieces == 8 || (base::pieces == 4 && !whole) || (base::pieces == 2 && shape.resident_threads > 1536));
  using values = std::conditional_t<packs, typename base::held, typename base::floats[base::pieces]>;

  // What all threads of the row know together, in each of them. All threads of the block call it, once for each turn.
  // Lanes that a folded thread stands for are merged first.
  template <int turn, row_merge merge>
  __device__ static float merge_row(float known) {
    constexpr int warp_threads = parts::warp_threads;
    if constexpr (merge == row_merge::none) return known;
    if constexpr (row_warps > 1 && folds == 1) {
      const float folded = __shfl_xor_sync(parts::full_mask, known, warp_threads / 2);
      known = merge_of_lanes<merge, warp_threads / 2>(merge_of_two<merge>(known, folded));
    } else {
      known = merge_of_lanes<merge, warp_threads>(known);
    }
    if constexpr (row_warps > 1) {
      __shared__ float of_warps[block_threads / warp_threads];
      const int warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
      if (lane == 0) of_warps[warp] = known;
      __syncthreads();
      known = merge_of_lanes<merge, row_warps>(of_warps[warp / row_warps * row_warps + lane % row_warps]);
    }
    return known;
  }
};

// Values of a thread as floats, packed or not.
template <class T>
__device__ void get_floats(const row_piece<T>& values, typename row_piece<T>::floats& floats) {
  values.get(floats);
}
template <int items>
__device__ void get_floats(const float (&values)[items], float (&floats)[items]) {
#pragma unroll
  for (int i = 0; i < items; ++i) floats[i] = values[i];
}

template <class Op, class Group>
__global__ void __launch_bounds__(Group::block_threads, Group::resident_blocks)
    short_row_kernel(const __grid_constant__ Op op) {
  const Group group{op.num_columns, op.aligned};
  const std::size_t row = std::size_t{blockIdx.x} * Group::block_rows + threadIdx.x / Group::row_threads;
  if (Group::row_warps == 1 && row >= op.num_rows) return;
  // Else it merges alone. Of a block's only row this is known, but the question saves registers of halves.
  constexpr bool asks = Group::block_rows > 1 || (Group::piece_items == 8 && Group::pieces < 8) || !Group::is_whole;
  const bool exists = Group::row_warps == 1 || !asks || row < op.num_rows;
  typename Group::held pieces;
  if (exists) op.template read<false>(group, row, 0, pieces);
  typename Op::template parameters<Group> parameters(op, group);

  typename Group::values values;
#pragma unroll
  for (int p = 0; p < Group::pieces; ++p) {
    if constexpr (Group::packs)
      values[p] = pieces[p];
    else
      pieces[p].get_once(values[p]);
  }
  const float first = Group::template merge_row<0, Op::first_is>(op.first(group, values));
  const float second = Group::template merge_row<1, Op::second_is>(op.second(group, values, first));
  if (exists) op.finish(group, row, values, first, second, parameters);
}

template <class Op, class Group>
cudaError_t launch_short_rows_as(const Op& op, cudaStream_t stream) {
  return parts::launch(short_row_kernel<Op, Group>, parts::ceil_div(op.num_rows, Group::block_rows),
                       Group::block_threads, stream, op);
}

// Few rows: a multiprocessor has four of them at most, and 1,024 of their threads.
inline cudaError_t are_few_rows(std::size_t num_rows, int row_threads, bool& are_few) {
  int num_multiprocessors = 0;
  const cudaError_t error = parts::multiprocessors(num_multiprocessors);
  are_few = num_rows <= num_multiprocessors * parts::at_most(4, 1024 / row_threads);
  return error;
}

// Rows of up to row_pieces, and of more than half as many.
template <class Op, int row_pieces>
cudaError_t launch_short_rows(const Op& op, cudaStream_t stream) {
  constexpr row_shape many = shapes_of_rows<Op, row_pieces>().many, few = shapes_of_rows<Op, row_pieces>().few;
  constexpr bool has_few = few.row_threads != 0, many_fit = many.pieces <= 4;
  // At odd addresses a thread reads its pieces one after another, and should have few: those of the shape for few rows.
  // A block of 1,024 threads is too large, unless registers have no room for the pieces of the other shape.
  constexpr bool prefers_few = has_few && (few.row_threads <= 512 || !many_fit);
  // Many rows of halves have their own shape where they stay packed and a block has one row. With that of few rows,
  // 4,096 layer norms of 8,191 bf16 took 93 us on an H200, with this one 80.
  using many_at_odd = short_row_group<Op, row_pieces, false, false>;
  constexpr bool packs = many_fit && many_at_odd::packs && many_at_odd::block_rows == 1;
  using few_any = short_row_group<Op, row_pieces, prefers_few, false>;
  using any = short_row_group<Op, row_pieces, prefers_few && !packs, false>;
  const bool is_whole = op.aligned && op.num_columns % row_piece<typename Op::item>::items == 0;
  if constexpr (has_few) {
    bool are_few = false;
    if (const cudaError_t error = are_few_rows(op.num_rows, few.row_threads, are_few)) return error;
    if (are_few && is_whole) return launch_short_rows_as<Op, short_row_group<Op, row_pieces, true, true>>(op, stream);
    if (are_few) return launch_short_rows_as<Op, few_any>(op, stream);
  }
  if (!is_whole) return launch_short_rows_as<Op, any>(op, stream);
  return launch_short_rows_as<Op, short_row_group<Op, row_pieces, false, true>>(op, stream);
}

}  // namespace rungs::RUNGS_ABI::production
