// The front door of histograms: for each call the rung that the tables name. Users call it by rungs::DeviceHistogram;
// what stands here has the arguments of a rung, so that it is tested and measured like one. None of the rungs keeps
// anything in the storage, so it is the same for both contracts.
#pragma once

#include "rungs/cluster/histograms/05_compact_cluster.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/channels.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/device/parts/pitched.cuh"
#include "rungs/histograms/10_one_block.cuh"
#include "rungs/histograms/11_overlapped_clear.cuh"
#include "rungs/histograms/12_lane_private.cuh"
#include "rungs/histograms/13_split_bins.cuh"
#include "rungs/histograms/14_hot_bins.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/multi_histogram_calls.cuh"
#include "rungs/tuning/histogram.cuh"

namespace rungs::RUNGS_ABI::histograms {

struct front_door : parts::histogram_calls<front_door>, parts::multi_histogram_calls<front_door> {
  static constexpr auto idea = "the rung that the tables name for a call";
  static constexpr int block_threads = overlapped_clear::block_threads;
  static constexpr int items_per_thread = overlapped_clear::items_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    using choice = chooser<SampleIteratorT, Bins::has_edges>;
    using tuning::histogram_rung;
    histogram_rung rung{};
    // Many bins may be counted by a kernel that takes sample by sample.
    constexpr unsigned most_bins_of_vectors = 8192;
    if (bins.num_bins <= most_bins_of_vectors) num_samples = device::samples_to_read(d_samples, num_samples);
    if (const cudaError_t error = choice::ask(bins.num_bins, num_samples, rung)) return error;
    return device::call_chosen<choice, device::storage_is::callers>(
        rung, d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                                                 d_histogram, bins, stream);
        },
        device::candidate<histogram_rung::one_block, one_block>{},
        device::candidate<histogram_rung::overlapped_clear, overlapped_clear>{},
        device::candidate<histogram_rung::lane_private, lane_private>{},
        device::candidate<histogram_rung::split_bins, split_bins>{},
        device::candidate<histogram_rung::hot_bins, hot_bins>{},
        device::candidate<histogram_rung::compact_cluster, cluster::histograms::compact_cluster>{});
  }

  // Even bins: bytes in two, three or four channels go to the rung for bytes. Vectors of rows apart from each other do
  // not tell in which of three channels they begin.
  template <int num_channels, class SampleIteratorT, class Channels>
  static cudaError_t count_pixels(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                  std::size_t num_pixels, const Channels& channels, cudaStream_t stream) {
    constexpr bool is_for_bytes =
        device::is_read_by_vectors<SampleIteratorT> && parts::is_byte<parts::item_of<SampleIteratorT>> &&
        (num_channels == 2 || num_channels == 4 || (num_channels == 3 && parts::is_vectorisable<SampleIteratorT>));
    if constexpr (is_for_bytes)
      return lane_private::count_pixels<num_channels>(
          d_temp_storage, temp_storage_bytes, d_samples,
          device::samples_to_read(d_samples, num_pixels * num_channels) / num_channels, channels, stream);
    else
      return device::count_pixels<num_channels>(d_temp_storage, temp_storage_bytes, d_samples, num_pixels, channels,
                                                stream);
  }

  template <int num_channels, int num_active, class SampleIteratorT, class CounterT, class LevelT>
  static cudaError_t multi_histogram_range(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                           SampleIteratorT d_samples, CounterT* const (&d_histogram)[num_active],
                                           const int (&num_levels)[num_active],
                                           const LevelT* const (&d_levels)[num_active], std::size_t num_pixels,
                                           cudaStream_t stream = nullptr) {
    using bins = parts::range_bins<parts::item_of<SampleIteratorT>, LevelT>;
    parts::active_channels<num_active, bins, CounterT> channels{};
    if (const cudaError_t error = channels.set(d_histogram, num_levels, d_levels)) return error;
    for (const LevelT* const levels : d_levels)
      if (d_temp_storage != nullptr && levels == nullptr) return cudaErrorInvalidValue;
    return device::count_pixels<num_channels>(d_temp_storage, temp_storage_bytes, d_samples, num_pixels, channels,
                                              stream);
  }

 private:
  // Samples that are read by vectors were measured; all others take the rows of compute capability 0.
  template <class SampleIteratorT, bool has_edges>
  struct chooser {
    static constexpr bool is_measured = device::is_read_by_vectors<SampleIteratorT>;
    static constexpr int greatest_cc = is_measured ? device::greatest_cc : 0;
    static constexpr std::size_t sample_bytes = sizeof(parts::item_of<SampleIteratorT>);

    template <tuning::histogram_rung rung>
    static constexpr bool names = tuning::names(tuning::histogram_rows, rung, has_edges, greatest_cc, sample_bytes);

    static cudaError_t ask(unsigned num_bins, std::size_t num_samples, tuning::histogram_rung& rung) {
      int cc = 0;
      const cudaError_t error = is_measured ? device::capability(cc) : cudaSuccess;
      rung = tuning::choose(tuning::histogram_rows, has_edges, cc, sample_bytes, num_bins, num_samples);
      return error;
    }
  };
};

}  // namespace rungs::RUNGS_ABI::histograms
