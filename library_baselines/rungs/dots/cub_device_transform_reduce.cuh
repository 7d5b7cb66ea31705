// CUB's dot product: a sum of what a functor makes of pairs, which come from a zip iterator.
#pragma once

#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::dots {

struct cub_device_transform_reduce {
  static constexpr auto idea = "cub::DeviceReduce::TransformReduce over a zip iterator";
  static constexpr int block_threads = 256, items_per_thread = 16;
  // CUB promises the same bits run to run; nothing is said of two addresses.
  static constexpr bool deterministic = false;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (5 * 128) + 256;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class T>
  struct product {
    template <class Pair>
    __host__ __device__ T operator()(const Pair& pair) const {
      return static_cast<T>(thrust::get<0>(pair)) * static_cast<T>(thrust::get<1>(pair));
    }
  };

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    return cub::DeviceReduce::TransformReduce(d_temp_storage, temp_storage_bytes,
                                              thrust::make_zip_iterator(thrust::make_tuple(d_x, d_y)), d_out, num_items,
                                              cuda::std::plus<>{}, product<T>{}, T{}, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::dots
