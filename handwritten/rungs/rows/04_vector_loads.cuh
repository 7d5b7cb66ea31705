// Rung 4. Sixteen bytes a load, four loads in flight before the first addition.
// Against 03_final_warp: a quarter of the load instructions for floats, and four times the bytes on their way from a
// thread. Vectors are counted from the beginning of the row, so that a row has the same bits wherever it lies. Where it
// is not aligned to 16 bytes, the items of a vector are read one by one.
#pragma once

#include "rungs/parts/row_calls.cuh"
#include "rungs/parts/row_vectors.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/rows/03_final_warp.cuh"

namespace rungs::RUNGS_ABI::rows {

// Folds thread `thread`'s part of a row that num_threads share: the vectors thread, thread + num_threads …, and of the
// items behind the last whole vector one at most.
template <int num_threads, class T, class InputIteratorT, class ReductionOpT>
__device__ T fold_row(InputIteratorT row, std::size_t num_columns, unsigned thread, ReductionOpT reduction_op) {
  T value = ReductionOpT::template identity<T>();
  std::size_t behind = 0;
  if constexpr (rungs::parts::is_vectorisable<InputIteratorT>) {
    using vector = rungs::parts::vector<rungs::parts::item_of<InputIteratorT>>;
    const std::size_t num_vectors = num_columns / vector::num_items;
    const auto fold_vectors = [&](auto aligned) {
      const auto load = [&](std::size_t i) { return rungs::parts::row_vector<decltype(aligned)::value>(row, i); };
      const auto fold = [&](const vector& v) { return rungs::parts::fold_vector<T>(v, reduction_op); };
      std::size_t i = thread;
      for (; i + 3 * num_threads < num_vectors; i += 4 * num_threads) {
        const vector a = load(i), b = load(i + num_threads);
        const vector c = load(i + 2 * num_threads), d = load(i + 3 * num_threads);
        value = reduction_op(value, reduction_op(reduction_op(fold(a), fold(b)), reduction_op(fold(c), fold(d))));
      }
      for (; i < num_vectors; i += num_threads) value = reduction_op(value, fold(load(i)));
    };
    if (reinterpret_cast<std::uintptr_t>(row) % 16 == 0)
      fold_vectors(std::true_type{});
    else
      fold_vectors(std::false_type{});
    behind = num_vectors * vector::num_items;
  }
  for (std::size_t column = behind + thread; column < num_columns; column += num_threads)
    value = reduction_op(value, static_cast<T>(row[column]));
  return value;
}

template <int block_threads, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
__global__ void __launch_bounds__(block_threads)
    vector_loads_kernel(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_columns, ReductionOpT reduction_op,
                        T init) {
  const InputIteratorT row = d_in + blockIdx.x * num_columns;
  T value = fold_row<block_threads, T>(row, num_columns, threadIdx.x, reduction_op);
  value = fold_block<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) d_out[blockIdx.x] = reduction_op(init, value);
}

struct vector_loads : rungs::parts::row_calls<vector_loads> {
  static constexpr auto idea = "16-byte loads, four in flight per thread";
  static constexpr int block_threads = 512, items_per_thread = 16;
  static constexpr std::size_t summation_height(std::size_t num_columns) {
    return rungs::parts::ceil_div(num_columns, 4 * block_threads) + 16;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t enqueue(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_rows, std::size_t num_columns,
                             ReductionOpT reduction_op, T init, cudaStream_t stream) {
    return rungs::parts::launch(vector_loads_kernel<block_threads, InputIteratorT, OutputIteratorT, ReductionOpT, T>,
                                num_rows, block_threads, stream, d_in, d_out, num_columns, reduction_op, init);
  }
};

}  // namespace rungs::RUNGS_ABI::rows
