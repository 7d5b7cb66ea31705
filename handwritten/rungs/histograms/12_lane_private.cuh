// Rung 12. Samples of one byte: a counter for each value and lane.
// Against 11_overlapped_clear: values are counted as they are, and only what was counted goes to its bin, once a value
// and not once a sample; so levels cost nothing, even those that have to be searched. With a counter for each of the 32
// lanes no two lanes share a bank, whatever the samples. Other samples are counted as before.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/histograms/11_overlapped_clear.cuh"
#include "rungs/parts/multi_histogram_calls.cuh"
#include "rungs/parts/value_counters.cuh"

namespace rungs::RUNGS_ABI::histograms {

// Channels: parts::active_channels; the first of num_channels that follow each other in turn.
template <int num_channels, int copies, class Rows, class Channels>
__global__ void __launch_bounds__(Rows::block_threads, 1)
    lane_private_kernel(typename Rows::iterator d_samples, std::size_t num_samples, Channels channels,
                        unsigned finder_at) {
  using value_counters = parts::value_counters<Channels::num_active, copies>;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ unsigned bin_of_value[value_counters::num_values], sum_of_bin[value_counters::num_values];
  const value_counters counters{reinterpret_cast<unsigned*>(shared_memory)};
  unsigned* const mine = counters.mine();
  Rows::for_each(
      d_samples, num_samples, blockIdx.x, gridDim.x,
      [&](auto) {
        counters.template clear<Rows::block_threads>();
        auto bins = channels.bins[0];
        bins.prepare(shared_memory + finder_at);
        __syncthreads();
        parts::find_bins<Rows::block_threads, typename Rows::sample>(bins, channels, bin_of_value, sum_of_bin);
      },
      [&](const auto& unit, std::size_t index) {
        unsigned channels_in_turn[num_channels];
        if constexpr (num_channels == 3)  // by which 2^24 leaves 1, as 4 does: no division of 64 bits
          channels_in_turn[0] = static_cast<unsigned>(index % (1 << 24) + (index >> 24)) % num_channels;
        else
          channels_in_turn[0] = static_cast<unsigned>(index % num_channels);
#pragma unroll
        for (int i = 1; i < num_channels; ++i) channels_in_turn[i] = (channels_in_turn[0] + i) % num_channels;
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i)
          counters.count(mine, channels_in_turn[i % num_channels], static_cast<unsigned char>(unit[i]));
      });
  __syncthreads();
  parts::wait_until_cleared();
  parts::send_values<Rows::block_threads>(counters, channels, bin_of_value, sum_of_bin);
}

struct lane_private : parts::histogram_calls<lane_private>, parts::multi_histogram_calls<lane_private> {
  static constexpr auto idea = "a counter for each value of a byte and each lane, sent to bins at the end";
  static constexpr int block_threads = 1024, rows_in_flight = 4, items_per_thread = 16 * rows_in_flight;
  static constexpr int small_block_threads = 512;  // with one row, where there is no more than that for each block
  static constexpr int blocks_per_multiprocessor = 1;
  static constexpr std::size_t most_finder_bytes = 8 * 1024;  // of edges; where there are more, they stay in memory
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream);

  // One to four channels of one byte, in even bins.
  template <int num_channels, class SampleIteratorT, class Channels>
  static cudaError_t count_pixels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                  std::size_t num_pixels, const Channels& channels, cudaStream_t stream,
                                  std::size_t finder_bytes = 0) {
    static_assert(parts::is_byte<parts::item_of<SampleIteratorT>>, "channels of one byte");
    static_assert(num_channels >= 1 && num_channels <= 4, "one to four channels");
    using small_rows = parts::sample_rows<small_block_threads, 1, SampleIteratorT>;
    // The channels of a vector among three take registers, which would be spilled.
    using large_rows = parts::sample_rows<block_threads, num_channels == 3 ? 2 : rows_in_flight, SampleIteratorT>;
    const std::size_t num_samples = num_pixels * num_channels;
    char* unused;
    parts::device_limits limits;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = limits.ask();
    if (error != cudaSuccess) return error;
    error = channels.launch_clear(stream);
    if (error != cudaSuccess || num_samples == 0) return error;
    const bool is_small = num_samples <= std::size_t(limits.multiprocessors) * small_rows::row_samples;
    const auto launch_counting = [&](auto num_copies, auto rows_type) {
      using rows = typename decltype(rows_type)::named;
      constexpr int copies = num_copies;
      constexpr std::size_t bytes = parts::value_counters<Channels::num_active, copies>::bytes;
      const std::size_t grid_blocks = parts::at_most(parts::ceil_div(num_samples, rows::row_samples),
                                                     std::size_t(limits.multiprocessors) * blocks_per_multiprocessor);
      return parts::launch_overlapped(lane_private_kernel<num_channels, copies, rows, Channels>, grid_blocks,
                                      rows::block_threads, bytes + finder_bytes, limits.overlaps(), stream, d_samples,
                                      num_samples, channels, static_cast<unsigned>(bytes));
    };
    // Few samples do not earn what it takes to clear and to add up a counter a lane.
    if (is_small) return launch_counting(std::integral_constant<int, 1>{}, parts::type<small_rows>{});
    if constexpr (Channels::num_active > 1)
      if (parts::value_counters<Channels::num_active, 32>::bytes > limits.shared_bytes - 16 * 1024u)
        return launch_counting(std::integral_constant<int, 8>{}, parts::type<large_rows>{});
    return launch_counting(std::integral_constant<int, 32>{}, parts::type<large_rows>{});
  }
};

template <class Bins, class SampleIteratorT, class CounterT>
cudaError_t lane_private::count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
  if constexpr (parts::is_byte<parts::item_of<SampleIteratorT>>)
    return parts::with_quick_finder(bins, most_finder_bytes, [&](const auto& finder, std::size_t finder_bytes) {
      using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
      return count_pixels<1>(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                             parts::active_channels<1, found, CounterT>{{finder}, {d_histogram}}, stream, finder_bytes);
    });
  else
    return overlapped_clear::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples, d_histogram, bins,
                                   stream);
}

}  // namespace rungs::RUNGS_ABI::histograms
