// One core: a loop over the samples and an addition for each, as the definition reads.
#pragma once

#include "rungs/baselines/parts/host_bins.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_serial_histogram : parts::host_histogram_calls<host_serial_histogram> {
  static constexpr auto idea = "a loop on one core";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class Bins, class SampleT, class CounterT>
  static void count(const SampleT* samples, std::size_t num_samples, CounterT* histogram, Bins bins) {
    for (std::size_t i = 0; i < num_samples; ++i) {
      const std::size_t bin = bins.bin_of(samples[i]);
      if (bin < bins.num_bins) ++histogram[bin];
    }
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
