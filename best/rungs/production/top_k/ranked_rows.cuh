// The greatest k of a short row for a k that no warp holds: a thread has a key, and counts how many come before it.
#pragma once

#include <cstddef>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/top_k/order.cuh"

namespace rungs::RUNGS_ABI::production {

struct ranked_rows {
  static constexpr int most_columns = 256;  // and threads of a block
};

// A block a row, with at least as many threads as columns.
template <class Order, class Output>
__global__ void __launch_bounds__(ranked_rows::most_columns)
    ranked_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                       const __grid_constant__ candidate_layout layout, const unsigned k) {
  constexpr unsigned at_once = 4;
  __shared__ alignas(16) candidate candidates[ranked_rows::most_columns];
  const std::size_t row = blockIdx.x;
  const unsigned num_columns = layout.last + 1, column = threadIdx.x;
  const candidate own = column < num_columns ? layout.make(keys.order(keys.row(row)[column]), column) : 0;
  candidates[column] = own;
  __syncthreads();
  unsigned rank = 0;
  for (unsigned first = 0; first < num_columns; first += at_once) {
#pragma unroll
    for (unsigned pair = 0; pair < at_once; pair += 2) {
      const auto others = *reinterpret_cast<const ulonglong2*>(candidates + first + pair);
      rank += others.x > own;
      rank += others.y > own;
    }
  }
  if (column < num_columns && rank < k) output.write(row, rank, column);
}

template <class Order, class Output>
cudaError_t launch_ranked_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                               std::size_t num_columns, std::size_t k, cudaStream_t stream) {
  const int threads = static_cast<int>(parts::ceil_div(num_columns, parts::warp_threads)) * parts::warp_threads;
  return parts::launch(ranked_rows_kernel<Order, Output>, num_rows, threads, stream, keys, output,
                       candidate_layout(num_columns, Order::bits), static_cast<unsigned>(k));
}

}  // namespace rungs::RUNGS_ABI::production
