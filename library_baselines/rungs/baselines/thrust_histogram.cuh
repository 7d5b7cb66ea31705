// A histogram of Thrust's algorithms: sort the samples, search the edges of the bins among them, subtract neighbours.
// No allocation (scratch comes from d_temp_storage) and, by par_nosync, no wait for the device. The samples are sorted
// in a copy, so with the sort's own second one it takes three times their memory.
#pragma once

#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>
#include <cub/device/device_radix_sort.cuh>

#include <new>
#include <type_traits>

#include "rungs/baselines/parts/workspace_allocator.cuh"
#include "rungs/contract.cuh"
#include "rungs/parts/bins.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines {

// The smallest sample that is not below bin k.
struct even_edge {
  long long lower, range, num_bins;
  __host__ __device__ long long operator()(int k) const { return lower + (k * range + num_bins - 1) / num_bins; }
};

// Whether a sample is below an edge, of whatever integers.
struct below_edge {
  template <class SampleT, class EdgeT>
  __host__ __device__ bool operator()(SampleT sample, EdgeT edge) const {
    return static_cast<long long>(sample) < static_cast<long long>(edge);
  }
};

struct thrust_histogram {
  static constexpr auto idea = "Thrust by sort and search: thrust::sort, lower_bound of the edges, and differences";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = true;

  template <class SampleT, class CounterT, class LevelT>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                                    CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                    std::size_t num_samples, cudaStream_t stream = nullptr) {
    static_assert(std::is_integral_v<SampleT> && std::is_integral_v<LevelT> && sizeof(LevelT) <= 4);
    if (num_levels < 2 || !(lower_level < upper_level)) return cudaErrorInvalidValue;
    const even_edge edge{lower_level, static_cast<long long>(upper_level) - lower_level, num_levels - 1};
    return run(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, num_levels,
               thrust::make_transform_iterator(thrust::make_counting_iterator(0), edge), num_samples, stream);
  }

  template <class SampleT, class CounterT, class LevelT>
  static cudaError_t histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                                     CounterT* d_histogram, int num_levels, const LevelT* d_levels,
                                     std::size_t num_samples, cudaStream_t stream = nullptr) {
    static_assert(std::is_integral_v<SampleT> && std::is_integral_v<LevelT> && sizeof(LevelT) <= 4);
    if (num_levels < 2) return cudaErrorInvalidValue;
    return run(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, num_levels, d_levels, num_samples, stream);
  }

 private:
  template <class SampleT, class CounterT, class EdgeIteratorT>
  static cudaError_t run(void* d_temp_storage, std::size_t& temp_storage_bytes, const SampleT* d_samples,
                         CounterT* d_histogram, int num_levels, EdgeIteratorT edges, std::size_t num_samples,
                         cudaStream_t stream) {
    using rungs::parts::ceil_div, rungs::parts::storage_alignment;
    const auto rounded_up = [](std::size_t bytes) { return ceil_div(bytes, storage_alignment) * storage_alignment; };
    // The allocator hands Thrust's sort a second copy of the samples and CUB's own scratch.
    std::size_t sort_bytes = 0;
    cub::DoubleBuffer<SampleT> buffers;
    cudaError_t error =
        cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, buffers, static_cast<std::ptrdiff_t>(num_samples), 0,
                                       static_cast<int>(8 * sizeof(SampleT)), stream);
    if (error != cudaSuccess) return error;
    const std::size_t copy_bytes = rounded_up(num_samples * sizeof(SampleT));
    const std::size_t position_bytes = rounded_up(num_levels * sizeof(std::size_t));
    const std::size_t thrust_bytes = copy_bytes + rounded_up(sort_bytes) + 2 * storage_alignment;
    char* region;
    if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, copy_bytes + position_bytes + thrust_bytes, region,
                               error))
      return error;
    if (num_samples == 0) return rungs::parts::clear(d_histogram, static_cast<unsigned>(num_levels - 1), stream);

    const auto sorted = reinterpret_cast<SampleT*>(region);
    const auto positions = reinterpret_cast<std::size_t*>(region + copy_bytes);
    error = cudaMemcpyAsync(sorted, d_samples, num_samples * sizeof(SampleT), cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    try {
      parts::workspace_allocator allocator{region + copy_bytes + position_bytes, thrust_bytes};
      const auto policy = thrust::cuda::par_nosync(allocator).on(stream);
      thrust::sort(policy, sorted, sorted + num_samples);
      thrust::lower_bound(policy, sorted, sorted + num_samples, edges, edges + num_levels, positions, below_edge{});
      thrust::transform(policy, positions + 1, positions + num_levels, positions, d_histogram,
                        thrust::minus<std::size_t>{});
      return cudaSuccess;
    } catch (const thrust::system_error& failure) {
      cudaGetLastError();
      return static_cast<cudaError_t>(failure.code().value());
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
