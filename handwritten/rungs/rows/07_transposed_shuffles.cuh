// Rung 7. Several rows at once: the lanes of a row fold four rows by transposed shuffles.
// Against 06_lanes_a_row: each lane has a load of each of four rows on its way, where a short row gives it one. At each
// of the first two steps a lane hands the sums of half of its rows to a partner, and takes the other half's in return.
// Four rows over eight lanes take 4 shuffles instead of 12, and their results are written side by side.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/rows/04_vector_loads.cuh"

namespace rungs::RUNGS_ABI::rows {

inline constexpr int rows_at_once = 4;

// Folds values[r] over a group of lanes for every r. The result of row r is valid in lane r * (lanes / num_rows).
template <int lanes, int num_rows, class T, class ReductionOpT>
__device__ T transposed_fold(T (&values)[num_rows], ReductionOpT reduction_op) {
  int distance = lanes / 2;
#pragma unroll
  for (int kept = num_rows / 2; kept > 0; kept /= 2, distance /= 2) {
    const bool upper = threadIdx.x & distance;
#pragma unroll
    for (int r = 0; r < kept; ++r) {
      const T given = upper ? values[r] : values[r + kept];
      values[r] = reduction_op(upper ? values[r + kept] : values[r], rungs::parts::shuffle_xor(given, distance));
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2)
    values[0] = reduction_op(values[0], rungs::parts::shuffle_xor(values[0], distance));
  return values[0];
}

template <int lanes, int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    transposed_shuffles_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows,
                               std::size_t num_columns, ReductionOpT reduction_op, T init) {
  const std::size_t first = (std::size_t(blockIdx.x) * block_threads + threadIdx.x) / lanes * rows_at_once;
  const unsigned lane = threadIdx.x % lanes;
  T values[rows_at_once];
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r) values[r] = ReductionOpT::template identity<T>();
  std::size_t behind = 0;
  if constexpr (rungs::parts::is_vectorisable<InputIteratorT>) {
    using vector = rungs::parts::vector<rungs::parts::item_of<InputIteratorT>>;
    const std::size_t num_vectors = num_columns / vector::num_items;
    const auto fold_vectors = [&](auto aligned) {
      for (std::size_t i = lane; i < num_vectors; i += lanes) {
        vector loaded[rows_at_once];
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r)
          if (first + r < num_rows)
            loaded[r] = rungs::parts::row_vector<decltype(aligned)::value>(d_in + (first + r) * num_columns, i);
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r)
          if (first + r < num_rows)
            values[r] = reduction_op(values[r], rungs::parts::fold_vector<T>(loaded[r], reduction_op));
      }
    };
    if (reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0 && num_columns % vector::num_items == 0)
      fold_vectors(std::true_type{});
    else
      fold_vectors(std::false_type{});
    behind = num_vectors * vector::num_items;
  }
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r)
    for (std::size_t column = behind + lane; first + r < num_rows && column < num_columns; column += lanes)
      values[r] = reduction_op(values[r], static_cast<T>(d_in[(first + r) * num_columns + column]));

  const T value = transposed_fold<lanes>(values, reduction_op);
  constexpr unsigned lanes_a_result = lanes / rows_at_once;
  const std::size_t row = first + lane / lanes_a_result;
  if (lane % lanes_a_result == 0 && row < num_rows) d_out[row] = reduction_op(init, value);
}

struct transposed_shuffles : rungs::parts::row_calls<transposed_shuffles> {
  static constexpr auto idea = "four rows at once over the same lanes, folded by transposed shuffles";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr std::size_t eight_lanes_bytes = 256, sixteen_lanes_bytes = 1024;  // of the longest such row
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * rungs::parts::warp_threads) + 24;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    const auto launch = [&](auto lanes) {
      const auto kernel =
          transposed_shuffles_kernel<lanes(), block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
      return rungs::parts::launch(kernel, rungs::parts::ceil_div(num_rows, block_threads / lanes() * rows_at_once),
                                  block_threads, stream, d_in, d_out, num_rows, num_columns, reduction_op, init);
    };
    const std::size_t row_bytes = num_columns * sizeof(*d_in);
    if (row_bytes <= eight_lanes_bytes) return launch(std::integral_constant<int, 8>{});
    if (row_bytes <= sixteen_lanes_bytes) return launch(std::integral_constant<int, 16>{});
    return launch(std::integral_constant<int, 32>{});
  }
};

}  // namespace rungs::RUNGS_ABI::rows
