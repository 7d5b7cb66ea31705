// Rung 6. Eight or sixteen lanes a row where rows are short.
// Against 05_warp_a_row: a row of 32 floats is eight vectors, so eight lanes read it by one load each, and no lane of
// the warp is idle. A row ends after three or four shuffles, not five. Lanes whose row is absent join the shuffles.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/rows/04_vector_loads.cuh"

namespace rungs::RUNGS_ABI::rows {

template <int lanes, int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    lanes_a_row_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                       ReductionOpT reduction_op, T init) {
  constexpr int block_rows = block_threads / lanes;
  const std::size_t row = std::size_t(blockIdx.x) * block_rows + threadIdx.x / lanes;
  const unsigned lane = threadIdx.x % lanes;
  T value = ReductionOpT::template identity<T>();
  if (row < num_rows) value = fold_row<lanes, T>(d_in + row * num_columns, num_columns, lane, reduction_op);
  value = rungs::parts::warp_reduce<lanes>(value, reduction_op);  // of each group: what lane 0 takes is its group's
  if (lane == 0 && row < num_rows) d_out[row] = reduction_op(init, value);
}

struct lanes_a_row : rungs::parts::row_calls<lanes_a_row> {
  static constexpr auto idea = "eight or sixteen lanes a row where rows are short";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr std::size_t eight_lanes_bytes = 256, sixteen_lanes_bytes = 1024;  // of the longest such row
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * rungs::parts::warp_threads) + 24;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    const auto launch = [&](auto lanes) {
      const auto kernel = lanes_a_row_kernel<lanes(), block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>;
      return rungs::parts::launch(kernel, rungs::parts::ceil_div(num_rows, block_threads / lanes()), block_threads,
                                  stream, d_in, d_out, num_rows, num_columns, reduction_op, init);
    };
    const std::size_t row_bytes = num_columns * sizeof(*d_in);
    if (row_bytes <= eight_lanes_bytes) return launch(std::integral_constant<int, 8>{});
    if (row_bytes <= sixteen_lanes_bytes) return launch(std::integral_constant<int, 16>{});
    return launch(std::integral_constant<int, 32>{});
  }
};

}  // namespace rungs::RUNGS_ABI::rows
