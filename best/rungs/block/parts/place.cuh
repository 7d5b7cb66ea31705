// Which thread of its block the caller is, counted with x first, and which lanes of its warp are there; and shared
// memory where the caller brings none.
#pragma once

#include "rungs/warp/parts/lanes.cuh"

namespace rungs::RUNGS_ABI::device {

template <int dim_x, int dim_y, int dim_z>
struct place_in_block {
  static constexpr int num_threads = dim_x * dim_y * dim_z;
  static constexpr int num_warps = (num_threads + parts::warp_threads - 1) / parts::warp_threads;
  static constexpr bool has_whole_warps = num_threads % parts::warp_threads == 0;
  static_assert(dim_x > 0 && dim_y > 0 && dim_z > 0 && num_threads <= 1024, "threads of one block");

  static __device__ unsigned thread() {
    if constexpr (dim_y == 1 && dim_z == 1)
      return threadIdx.x;
    else
      return (threadIdx.z * dim_y + threadIdx.y) * dim_x + threadIdx.x;
  }
  static __device__ int warp() { return static_cast<int>(thread() / parts::warp_threads); }

  static __device__ lanes<parts::warp_threads, has_whole_warps> warp_lanes() {
    const bool is_cut = !has_whole_warps && warp() == num_warps - 1;
    const unsigned mask = is_cut ? (1u << num_threads % parts::warp_threads) - 1 : parts::full_mask;
    return {mask, 0, static_cast<int>(thread() % parts::warp_threads)};
  }
};

// Of the block, one for each type.
template <class TempStorage>
__device__ TempStorage& own_storage() {
  __shared__ TempStorage storage;
  return storage;
}

}  // namespace rungs::RUNGS_ABI::device
