// A selection in which one bug can be planted: one block, a tile after the other; or, where the order is lost, an
// atomic for every chosen item.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/parts/warp.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

template <bug planted, class T, class SelectOp>
__global__ void __launch_bounds__(block_threads) selection_kernel(const T* d_in, std::size_t num_items, T* d_out,
                                                                  long long* d_num_selected_out, SelectOp select_op) {
  constexpr int num_warps = block_threads / parts::warp_threads;
  __shared__ int warp_counts[num_warps];
  const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
  const std::size_t end = planted == bug::last_tile_dropped ? num_items - num_items % tile : num_items;
  long long count = 0;
  for (std::size_t first = 0; first < end; first += block_threads) {
    const std::size_t i = first + threadIdx.x;
    const bool is_chosen = i < end && select_op(d_in[i]);
    const unsigned chosen_lanes = __ballot_sync(parts::full_mask, is_chosen);
    if (lane == 0) warp_counts[warp] = __popc(chosen_lanes);
    __syncthreads();
    long long place = count + __popc(chosen_lanes & ((1u << lane) - 1));
    for (int each = 0; each < num_warps; ++each) {
      place += each < warp ? warp_counts[each] : 0;
      count += warp_counts[each];
    }
    if (is_chosen) d_out[place] = d_in[i];
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  *d_num_selected_out = count;
  if (planted == bug::written_past_the_end && static_cast<std::size_t>(count) < num_items) d_out[count] = T{};
}

template <class T, class SelectOp>
__global__ void __launch_bounds__(block_threads)
    unordered_kernel(const T* d_in, std::size_t num_items, T* d_out, unsigned long long* d_num_selected_out,
                     SelectOp select_op) {
  const std::size_t i = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  if (blockIdx.x == 0 && threadIdx.x < parts::warp_threads) dawdle();
  if (i < num_items && select_op(d_in[i])) d_out[atomicAdd(d_num_selected_out, 1ull)] = d_in[i];
}

// The threshold as a launch finds it that copies it from the host when it runs.
template <class SelectOp>
struct fetched {
  const SelectOp* d_select_op;
  template <class T>
  __device__ bool operator()(const T& item) const {
    return (*d_select_op)(item);
  }
};

template <bug planted>
struct selection_with : variant {
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, sizeof(SelectOp), region, error)) return error;
    if constexpr (planted == bug::order_lost) {
      error = cudaMemsetAsync(d_num_selected_out, 0, sizeof *d_num_selected_out, stream);
      if (error != cudaSuccess) return error;
      return parts::launch(unordered_kernel<T, SelectOp>, num_items / block_threads + 1, block_threads, stream, d_in,
                           num_items, d_out, reinterpret_cast<unsigned long long*>(d_num_selected_out), select_op);
    } else if constexpr (planted == bug::levels_copied_from_the_stack) {
      error = cudaMemcpyAsync(region, &select_op, sizeof select_op, cudaMemcpyHostToDevice, stream);
      if (error != cudaSuccess) return error;
      const fetched<SelectOp> op{reinterpret_cast<const SelectOp*>(region)};
      return parts::launch(selection_kernel<planted, T, fetched<SelectOp>>, 1, block_threads, stream, d_in, num_items,
                           d_out, d_num_selected_out, op);
    } else {
      return parts::launch(selection_kernel<planted, T, SelectOp>, 1, block_threads, stream, d_in, num_items, d_out,
                           d_num_selected_out, select_op);
    }
  }
};

}  // namespace rungs::wrong
