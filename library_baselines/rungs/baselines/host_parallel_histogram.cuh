// Every core and the standard library: std::for_each with par over as many chunks as there are cores, each counting for
// itself, as libstdc++ runs it on oneTBB (host_parallel says why); then the chunks' counters are added up, bin by bin.
#pragma once

#include <algorithm>
#include <execution>
#include <functional>
#include <thread>
#include <vector>

#include "rungs/baselines/host_serial_histogram.cuh"

namespace rungs::RUNGS_ABI::baselines {

struct host_parallel_histogram : parts::host_histogram_calls<host_parallel_histogram> {
  static constexpr auto idea =
      "std::for_each with std::execution::par over a chunk a core, counters of its own for each";
  static constexpr int block_threads = 1, items_per_thread = 1;
  static constexpr bool deterministic = true;
  static constexpr bool waits_for_host = true;
  static constexpr contents temp_storage = contents::none;
  static constexpr executor executes_on = executor::host;

  template <class Bins, class SampleT, class CounterT>
  static void count(const SampleT* samples, std::size_t num_samples, CounterT* histogram, Bins bins) {
    std::vector<std::vector<CounterT>> counted(std::max(1u, std::thread::hardware_concurrency()));
    const std::size_t chunk_items = num_samples / counted.size() + 1;
    std::for_each(std::execution::par, counted.begin(), counted.end(), [&](std::vector<CounterT>& counters) {
      counters.resize(bins.num_bins);
      const std::size_t first = std::min((&counters - counted.data()) * chunk_items, num_samples);
      const std::size_t items = std::min(chunk_items, num_samples - first);
      host_serial_histogram::count(samples + first, items, counters.data(), bins);
    });
    for (const auto& counters : counted)
      std::transform(counters.begin(), counters.end(), histogram, histogram, std::plus<CounterT>{});
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
