// Rung 12. Samples of one byte: a counter for each value and lane.
// Against 11_overlapped_clear: values are counted as they are, and only what was counted goes to its bin, once a value
// and not once a sample; so levels cost nothing, even those that have to be searched. With a counter for each of the 32
// lanes no two lanes share a bank, whatever the samples. Other samples are counted as before.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/histograms/11_overlapped_clear.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::v0::histograms {

// What is counted of pixels of several channels: the first ones of each pixel, each with its own bins and counters.
template <int num_active_, class Bins, class CounterT>
struct active_channels {
  using counter = CounterT;
  static constexpr int num_active = num_active_;
  Bins bins[num_active];
  CounterT* d_histograms[num_active];
};

inline constexpr int byte_values = 256;

// Counters of a block: `copies` for each value of each active channel, and as many that nobody reads.
__host__ __device__ constexpr int lane_private_counters(int num_active, int copies) {
  return (num_active * byte_values + 1) * copies;
}

template <int num_channels, int copies, class Rows, class Channels>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    lane_private_kernel(typename Rows::iterator d_samples, std::size_t num_samples, Channels channels,
                        unsigned finder_at) {
  using sample = typename Rows::sample;
  using counter = typename Channels::counter;
  constexpr int num_values = Channels::num_active * byte_values;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ unsigned bin_of_value[num_values], sum_of_bin[num_values];
  const auto counters = reinterpret_cast<unsigned*>(shared_memory);
  unsigned* const mine = counters + threadIdx.x % copies;
  Rows::for_each(
      d_samples, num_samples, blockIdx.x, gridDim.x,
      [&](auto) {
        constexpr int num_vectors = (lane_private_counters(Channels::num_active, copies) + 3) / 4;
        for (int i = threadIdx.x; i < num_vectors; i += Rows::block_threads)
          reinterpret_cast<uint4*>(counters)[i] = uint4{0, 0, 0, 0};
        auto bins = channels.bins[0];
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
#pragma unroll
        for (int channel = 0; channel < Channels::num_active; ++channel) {
          if (channel > 0) bins = channels.bins[channel];
          for (int i = threadIdx.x; i < byte_values; i += Rows::block_threads) {
            bin_of_value[channel * byte_values + i] = bins.bin_of(static_cast<sample>(static_cast<unsigned char>(i)));
            sum_of_bin[channel * byte_values + i] = 0;
          }
        }
      },
      [&](const auto& unit, std::size_t index) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) {
          const unsigned channel = static_cast<unsigned>(index + i) % num_channels;
          const unsigned value = channel * byte_values + static_cast<unsigned char>(unit[i]);
          atomicAdd(&mine[(channel < Channels::num_active ? value : num_values) * copies], 1u);
        }
      });
  __syncthreads();
  parts::wait_until_cleared();
#pragma unroll
  for (int channel = 0; channel < Channels::num_active; ++channel)
    for (int i = threadIdx.x; i < byte_values; i += Rows::block_threads) {
      const int value = channel * byte_values + i, lane = threadIdx.x % parts::warp_threads;
      unsigned total = 0;
#pragma unroll
      for (int copy = 0; copy < copies; ++copy) total += counters[value * copies + (copy + lane) % copies];
      // Values of one bin are neighbours, and those in a warp are added up before memory sees them.
      const unsigned bin = bin_of_value[value];
      const unsigned bin_before = __shfl_up_sync(parts::full_mask, bin, 1);
      const bool is_first = lane == 0 || bin != bin_before;
      const unsigned firsts = __ballot_sync(parts::full_mask, is_first) & (parts::full_mask >> (31 - lane));
      atomicAdd(&sum_of_bin[value - lane + 31 - __clz(firsts)], total);
      __syncwarp();
      const unsigned sum = sum_of_bin[value];
      if (is_first && sum != 0 && bin < channels.bins[channel].num_bins)
        atomicAdd(&channels.d_histograms[channel][bin], counter(sum));
    }
}

struct lane_private : parts::histogram_calls<lane_private> {
  static constexpr auto idea = "a counter for each value of a byte and each lane, sent to bins at the end";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 16 * rows_in_flight;
  static constexpr int small_block_threads = 512;  // with one row, where there is no more than that for each block
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr std::size_t most_finder_bytes = 8 * 1024;  // of edges; where there are more, they stay in memory
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    if constexpr (sizeof(parts::item_of<SampleIteratorT>) == 1)
      return parts::with_quick_finder(bins, most_finder_bytes, [&](const auto& finder, std::size_t finder_bytes) {
        using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
        return count_channels<1>(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                                 active_channels<1, found, CounterT>{{finder}, {d_histogram}}, finder_bytes, stream);
      });
    else
      return overlapped_clear::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins,
                                     stream);
  }

  // CUB's call for pixels of num_channels samples, of which the first num_active are counted. One, two or four channels
  // of one byte.
  template <int num_channels, int num_active, class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t multi_histogram_even(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                          SampleIteratorT d_samples, CounterT* const (&d_histogram)[num_active],
                                          const int (&num_levels)[num_active], const LevelT (&lower_level)[num_active],
                                          const LevelT (&upper_level)[num_active], std::size_t num_pixels,
                                          cudaStream_t stream = nullptr) {
    using sample = parts::item_of<SampleIteratorT>;
    static_assert(sizeof(sample) == 1, "channels of one byte");
    static_assert(num_channels == 1 || num_channels == 2 || num_channels == 4, "one, two or four channels");
    static_assert(num_active <= num_channels);
    active_channels<num_active, parts::even_bins<sample, LevelT>, CounterT> channels{};
    for (int i = 0; i < num_active; ++i) {
      channels.d_histograms[i] = d_histogram[i];
      if (const cudaError_t error = channels.bins[i].set(num_levels[i], lower_level[i], upper_level[i])) return error;
    }
    return count_channels<num_channels>(d_temp_storage, temp_storage_bytes, d_samples, num_pixels * num_channels,
                                        channels, 0, stream);
  }

 private:
  template <int num_channels, class SampleIteratorT, class Channels>
  static cudaError_t count_channels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    std::size_t num_samples, const Channels& channels, std::size_t finder_bytes,
                                    cudaStream_t stream) {
    using small_rows = parts::sample_rows<small_block_threads, 1, SampleIteratorT>;
    using large_rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
    char* unused;
    parts::device_limits limits;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = limits.ask();
    parts::counters_to_clear<typename Channels::counter, Channels::num_active> to_clear{};
    for (int i = 0; i < Channels::num_active; ++i) {
      to_clear.d_histograms[i] = channels.d_histograms[i];
      to_clear.num_bins[i] = channels.bins[i].num_bins;
    }
    if (error == cudaSuccess) error = parts::launch_clear(to_clear, stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    // Few samples do not earn what it takes to clear and to add up a counter a lane.
    if (num_samples <= std::size_t(limits.multiprocessors) * small_rows::row_samples)
      return launch_counting<num_channels, 1, small_rows>(d_samples, num_samples, channels, finder_bytes, limits,
                                                          stream);
    if constexpr (Channels::num_active > 1)
      if (lane_private_counters(Channels::num_active, 32) * sizeof(unsigned) > limits.shared_bytes - 16 * 1024u)
        return launch_counting<num_channels, 8, large_rows>(d_samples, num_samples, channels, finder_bytes, limits,
                                                            stream);
    return launch_counting<num_channels, 32, large_rows>(d_samples, num_samples, channels, finder_bytes, limits,
                                                         stream);
  }

  template <int num_channels, int copies, class Rows, class Channels>
  static cudaError_t launch_counting(typename Rows::iterator d_samples, std::size_t num_samples,
                                     const Channels& channels, std::size_t finder_bytes,
                                     const parts::device_limits& limits, cudaStream_t stream) {
    constexpr std::size_t bytes =
        (lane_private_counters(Channels::num_active, copies) * sizeof(unsigned) + 15) / 16 * 16;
    const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, Rows::row_samples),
                                                   std::size_t(limits.multiprocessors) * blocks_per_multiprocessor);
    return parts::launch_overlapped(lane_private_kernel<num_channels, copies, Rows, Channels>, grid_blocks,
                                    Rows::block_threads, bytes + finder_bytes, limits.overlaps(), stream, d_samples,
                                    num_samples, channels, static_cast<unsigned>(bytes));
  }
};

}  // namespace rungs::v0::histograms
