// The greatest few of a short row, by a warp that holds the row in registers. A row has up to 1,024 columns, k is up to
// 32, and the result of rank r comes to lane r.
//
// The k-th of the lanes' greatest keys is a threshold that at least k keys reach. Mostly a few more do: of 256 random
// keys and k = 8 about 9. So up to 32 candidates are left, one a lane, and each counts how many come before it.
// Where k is greater than 16, or more than 32 keys reach the threshold, there are rounds of arg max instead.
#pragma once

#include <cstddef>

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/top_k/order.cuh"

namespace rungs::RUNGS_ABI::production {

struct warp_rows {
  static constexpr int block_threads = 256, block_rows = block_threads / parts::warp_threads;
  static constexpr std::size_t most_columns = 1024, most_k = parts::warp_threads;
};

// The aggregate of the warp, in all lanes.
template <class T, class Op>
__device__ T warp_all_reduce(T value, Op op) {
  if constexpr (parts::has_redux) {
    return parts::warp_reduce(value, op);
  } else {
#pragma unroll
    for (int distance = 1; distance < parts::warp_threads; distance *= 2)
      value = op(value, __shfl_xor_sync(parts::full_mask, value, distance));
    return value;
  }
}

// Lane l holds the keys of columns l, l + 32 … Those that do not exist are 0. Returns the column of rank `lane` in
// lanes 0 to k - 1, k being at most num_columns and 32. In each round a lane knows the first of its best columns that
// are left, and the lane that held the greatest looks again.
template <int items>
__device__ unsigned greatest_columns_by_rounds(const unsigned (&keys)[items], unsigned num_columns, unsigned k) {
  static_assert(items <= 32, "a word says which are left");
  constexpr unsigned none = 0xffffffff;
  const unsigned lane = threadIdx.x % parts::warp_threads;
  unsigned left = 0, best = 0, best_column = none, result = none;
#pragma unroll
  for (int i = 0; i < items; ++i) left |= unsigned(lane + i * parts::warp_threads < num_columns) << i;
  bool looks = true;
#pragma unroll 1
  for (unsigned round = 0; round < k; ++round) {
    if (looks) {
      best = 0;
      best_column = none;
#pragma unroll
      for (int i = items - 1; i >= 0; --i) {
        const bool precedes = (left >> i & 1) && keys[i] >= best;
        best = precedes ? keys[i] : best;
        best_column = precedes ? i * parts::warp_threads + lane : best_column;
      }
    }
    __syncwarp();
    const unsigned greatest = warp_all_reduce(best, maximum{});
    const unsigned column = warp_all_reduce(best == greatest ? best_column : none, minimum{});
    looks = column == best_column;
    if (looks) left &= ~(1u << column / parts::warp_threads);
    if (lane == round) result = column;
  }
  return result;
}

// The same by a threshold, where it leaves one candidate a lane. All warps of the block call it once.
template <int items>
__device__ unsigned greatest_columns(const unsigned (&keys)[items], unsigned num_columns, unsigned k) {
  constexpr unsigned lanes = parts::warp_threads, most_k = 16;
  __shared__ unsigned candidate_keys[warp_rows::block_rows][lanes], candidate_columns[warp_rows::block_rows][lanes];
  __shared__ unsigned results[warp_rows::block_rows][lanes];
  if (k > most_k) return greatest_columns_by_rounds(keys, num_columns, k);
  const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;

  unsigned best = keys[0], threshold = 0;
#pragma unroll
  for (int i = 1; i < items; ++i) best = max(best, keys[i]);
#pragma unroll 1
  for (unsigned round = 0; round < k; ++round) {
    threshold = warp_all_reduce(best, maximum{});
    best = best == threshold ? 0 : best;
  }

  unsigned count = 0;  // of candidates, in the order of columns
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned column = i * lanes + lane;
    const bool reaches = column < num_columns && keys[i] >= threshold;
    const unsigned reaching = __ballot_sync(parts::full_mask, reaches);
    const unsigned place = count + __popc(reaching & ((1u << lane) - 1));
    if (reaches && place < lanes) {
      candidate_keys[warp][place] = keys[i];
      candidate_columns[warp][place] = column;
    }
    count += __popc(reaching);
  }
  if (count > lanes) return greatest_columns_by_rounds(keys, num_columns, k);

  __syncwarp();
  const unsigned key = lane < count ? candidate_keys[warp][lane] : 0;
  unsigned rank = 0;
  for (unsigned other = 0; other < count; ++other) {
    const unsigned other_key = candidate_keys[warp][other];
    rank += other_key > key || (other_key == key && other < lane);
  }
  if (lane < count && rank < k) results[warp][rank] = candidate_columns[warp][lane];
  __syncwarp();
  return lane < k ? results[warp][lane] : 0xffffffff;
}

template <int items, class Order, class Output>
__global__ void __launch_bounds__(warp_rows::block_threads)
    warp_rows_kernel(const __grid_constant__ keys_of_rows<Order> keys, const __grid_constant__ Output output,
                     std::size_t num_rows, unsigned num_columns, unsigned k) {
  const unsigned lane = threadIdx.x % parts::warp_threads;
  const std::size_t row = std::size_t{blockIdx.x} * warp_rows::block_rows + threadIdx.x / parts::warp_threads;
  if (row >= num_rows) return;  // the whole warp
  const auto* const from = keys.row(row);
  unsigned ordered[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const unsigned column = i * parts::warp_threads + lane;
    ordered[i] = column < num_columns ? keys.order(from[column]) : 0;
  }
  const unsigned column = greatest_columns(ordered, num_columns, k);
  if (lane < k) output.write(row, lane, column);
}

template <class Order, class Output>
cudaError_t launch_warp_rows(const keys_of_rows<Order>& keys, const Output& output, std::size_t num_rows,
                             std::size_t num_columns, std::size_t k, cudaStream_t stream) {
  const auto with = [&](auto kernel) {
    return parts::launch(kernel, parts::ceil_div(num_rows, warp_rows::block_rows), warp_rows::block_threads, stream,
                         keys, output, num_rows, static_cast<unsigned>(num_columns), static_cast<unsigned>(k));
  };
  if (num_columns <= 64) return with(warp_rows_kernel<2, Order, Output>);
  if (num_columns <= 256) return with(warp_rows_kernel<8, Order, Output>);
  return with(warp_rows_kernel<32, Order, Output>);
}

}  // namespace rungs::RUNGS_ABI::production
