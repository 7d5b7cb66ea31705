// A plain histogram in which one bug can be planted: bins private to a block in shared memory, a tile a block,
// what a block has counted added to the output at the end.
#pragma once

#include <type_traits>

#include "wrong/bug.cuh"

namespace rungs::wrong {

namespace counting {

inline constexpr int most_bins = 4096;

// Levels: lower and upper, or all edges where the device can read them.
template <bug planted, class Level>
struct binning {
  Level lower, upper;
  const Level* d_edges;  // null: even
  int num_bins;

  template <class Sample>
  __device__ int bin_of(Sample sample) const {
    if constexpr (planted == bug::nan_in_bin_0)
      if (sample != sample) return 0;
    if constexpr (planted == bug::negative_samples_dropped)
      if (sample < 0) return -1;
    const Level first = d_edges == nullptr ? lower : d_edges[0], last = d_edges == nullptr ? upper : d_edges[num_bins];
    const bool from_below = planted == bug::lower_level_exclusive ? sample > first : sample >= first;
    const bool from_above = planted == bug::upper_level_inclusive ? sample <= last : sample < last;
    if (!from_below || !from_above) return -1;
    int bin;
    if (d_edges != nullptr) {
      bin = num_bins - 1;
      while (bin > 0 && sample < d_edges[bin]) --bin;
      if constexpr (planted == bug::first_of_equal_edges)
        while (bin > 0 && d_edges[bin - 1] == d_edges[bin]) --bin;
      return bin;
    }
    if constexpr (std::is_floating_point_v<Level>) {
      bin = static_cast<int>((sample - lower) * (static_cast<Level>(num_bins) / (upper - lower)));
      if constexpr (planted == bug::last_bin_not_clamped) return bin;  // to where nothing is kept
    } else {
      const auto offset =
                     static_cast<unsigned long long>(static_cast<long long>(sample) - static_cast<long long>(lower)),
                 range = static_cast<unsigned long long>(static_cast<long long>(upper) - static_cast<long long>(lower));
      bin = static_cast<int>(offset * static_cast<unsigned long long>(num_bins) / range);
      if constexpr (planted == bug::width_rounded_first)
        if (range >= static_cast<unsigned long long>(num_bins))
          bin = static_cast<int>(offset / (range / static_cast<unsigned long long>(num_bins)));
      if constexpr (planted == bug::bins_in_the_sample_type) bin = static_cast<Sample>(bin);
    }
    return bin < 0 ? 0 : bin < num_bins ? bin : num_bins - 1;
  }
};

template <bug planted, class Sample, class Level>
__global__ void __launch_bounds__(block_threads)
    count_tiles(const Sample* d_samples, std::size_t num_samples, unsigned* d_histogram, binning<planted, Level> bins,
                const Level* d_levels, int num_channels, int num_active_channels) {
  using offset_t = std::conditional_t<planted == bug::offset_of_32_bits, int, std::size_t>;
  extern __shared__ unsigned of_block[];  // a bin more than there are
  const int num_counters = bins.num_bins * num_active_channels;
  if constexpr (planted == bug::levels_copied_from_the_stack) bins.lower = d_levels[0], bins.upper = d_levels[1];
  if constexpr (planted == bug::shared_bins_not_zeroed) {
    for (int b = threadIdx.x; b <= num_counters; b += block_threads) of_block[b] = 3;  // what another kernel has left
    __syncthreads();
    if (static_cast<int>(threadIdx.x) <= num_counters) of_block[threadIdx.x] = 0;
  } else {
    for (int b = threadIdx.x; b <= num_counters; b += block_threads) of_block[b] = 0;
  }
  __syncthreads();
  if constexpr (planted == bug::missing_barrier)
    if (threadIdx.x / 32 == 1) dawdle();
  const auto count = [&](std::size_t i, Sample sample) {
    int channel = static_cast<int>(i % static_cast<std::size_t>(num_channels));
    if constexpr (planted == bug::fourth_channel_counted)
      if (channel == num_active_channels) channel = 0;
    if (channel >= num_active_channels) return;
    const int bin = bins.bin_of(sample);
    if (bin >= 0) atomicAdd(of_block + channel * bins.num_bins + bin, 1u);
  };
  const std::size_t tile_begin = std::size_t(blockIdx.x) * tile;
  if constexpr (planted == bug::unchecked_alignment) {
    static_assert(sizeof(Sample) * items_per_thread == 16);
    const std::size_t first = tile_begin + threadIdx.x * items_per_thread;
    if (first + items_per_thread <= num_samples) {
      const int4 four = *reinterpret_cast<const int4*>(d_samples + first);
      count(first, static_cast<Sample>(four.x)), count(first + 1, static_cast<Sample>(four.y));
      count(first + 2, static_cast<Sample>(four.z)), count(first + 3, static_cast<Sample>(four.w));
    } else {
      for (std::size_t i = first; i < num_samples; ++i) count(i, d_samples[i]);
    }
  } else {
    for (int k = 0; k < items_per_thread; ++k) {
      const auto i = static_cast<offset_t>(tile_begin + threadIdx.x + k * block_threads);
      const bool present = planted == bug::tail_mask_off_by_one ? static_cast<std::size_t>(i) <= num_samples
                                                                : static_cast<std::size_t>(i) < num_samples;
      if (present) count(static_cast<std::size_t>(i), d_samples[i]);
    }
  }
  if constexpr (planted != bug::missing_barrier) __syncthreads();
  for (int b = threadIdx.x; b < num_counters; b += block_threads) {
    const unsigned counted = const_cast<volatile unsigned*>(of_block)[b];
    if constexpr (planted == bug::flushed_by_a_store)
      d_histogram[b] = counted;
    else if (counted != 0)
      atomicAdd(d_histogram + b, counted);
  }
}

}  // namespace counting

template <bug planted>
struct histogram_with : variant {
  static constexpr int max_bins = counting::most_bins;

  template <class Sample, class Level>
  static cudaError_t histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes, const Sample* d_samples,
                                    unsigned* d_histogram, int num_levels, Level lower_level, Level upper_level,
                                    std::size_t num_samples, cudaStream_t stream = nullptr) {
    if (planted != bug::levels_unchecked && !(lower_level < upper_level)) return cudaErrorInvalidValue;
    return count<Sample, Level>(d_temp_storage, temp_storage_bytes, d_samples, d_histogram,
                                {lower_level, upper_level, nullptr, num_levels - 1}, num_samples, 1, 1, stream);
  }
  template <class Sample, class Level>
  static cudaError_t histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes, const Sample* d_samples,
                                     unsigned* d_histogram, int num_levels, const Level* d_levels,
                                     std::size_t num_samples, cudaStream_t stream = nullptr) {
    return count<Sample, Level>(d_temp_storage, temp_storage_bytes, d_samples, d_histogram,
                                {Level{}, Level{}, d_levels, num_levels - 1}, num_samples, 1, 1, stream);
  }
  template <int num_channels, int num_active_channels, class Sample, class Level>
  static cudaError_t multi_histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                          const Sample* d_samples, unsigned* const* d_histogram, const int* num_levels,
                                          const Level* lower_level, const Level* upper_level, std::size_t num_pixels,
                                          cudaStream_t stream = nullptr) {
    // Records have all channels alike, and one behind the other.
    if (!(lower_level[0] < upper_level[0])) return cudaErrorInvalidValue;
    return count<Sample, Level>(d_temp_storage, temp_storage_bytes, d_samples, d_histogram[0],
                                {lower_level[0], upper_level[0], nullptr, num_levels[0] - 1}, num_pixels * num_channels,
                                num_channels, num_active_channels, stream);
  }

 private:
  template <class Sample, class Level>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, const Sample* d_samples,
                           unsigned* d_histogram, counting::binning<planted, Level> bins, std::size_t num_samples,
                           int num_channels, int num_active_channels, cudaStream_t stream) {
    using b = bug;
    if (bins.num_bins < 1) return cudaErrorInvalidValue;
    if (planted == b::bins_unchecked && bins.num_bins > max_bins) bins.num_bins = max_bins;
    if (bins.num_bins > max_bins) return cudaErrorInvalidValue;
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 2 * sizeof(Level), region, error)) return error;
    auto* const d_levels = reinterpret_cast<Level*>(region);
    if constexpr (planted == b::levels_copied_from_the_stack) {
      const Level both[] = {bins.lower, bins.upper};
      if (const cudaError_t e = cudaMemcpyAsync(d_levels, both, sizeof both, cudaMemcpyHostToDevice, stream);
          e != cudaSuccess)
        return e;
    }
    const std::size_t num_counters =
        static_cast<std::size_t>(bins.num_bins) * static_cast<std::size_t>(num_active_channels);
    if constexpr (planted != b::output_not_cleared) {
      const cudaStream_t where = planted == b::memset_in_another_stream ? nullptr : stream;
      if (const cudaError_t e = cudaMemsetAsync(d_histogram, 0, num_counters * sizeof(unsigned), where);
          e != cudaSuccess)
        return e;
    }
    std::size_t num_tiles = (num_samples + tile - 1) / tile;
    if (planted == b::last_tile_dropped && num_tiles > 1) --num_tiles;
    if (num_tiles == 0) return cudaSuccess;
    const std::size_t smem = (num_counters + 1) * sizeof(unsigned);
    if (smem > 48 * 1024)
      if (const cudaError_t e =
              cudaFuncSetAttribute(counting::count_tiles<planted, Sample, Level>,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(smem));
          e != cudaSuccess)
        return e;
    counting::count_tiles<planted, Sample, Level><<<static_cast<unsigned>(num_tiles), block_threads, smem, stream>>>(
        d_samples, num_samples, d_histogram, bins, d_levels, num_channels, num_active_channels);
    return cudaGetLastError();
  }
};

}  // namespace rungs::wrong
