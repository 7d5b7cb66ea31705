// Histograms that run on the host, right ones and wrong ones, as records without a catalog.
#pragma once

#include <algorithm>

#include "fake_records.hpp"

namespace rungs::bench::fakes {

enum class miscount {
  none,
  drops_the_last,
  adds_to_what_was_there,
  counts_strays,
  upper_edge,
  even_instead,
  tires,
  one_channel
};

// The bin by walking the edges from below: of even bins the edges are counted out.
template <class Sample, class Level>
int bin_of(Sample sample, const Level* levels, int num_bins, bool even) {
  const auto value = static_cast<double>(sample);
  if (even) {
    const double lower = static_cast<double>(levels[0]), upper = static_cast<double>(levels[1]);
    if (!(value >= lower && value < upper)) return -1;
    int bin = 0;
    while ((value - lower) * num_bins >= (bin + 1) * (upper - lower)) ++bin;
    return bin;
  }
  if (!(value >= static_cast<double>(levels[0]) && value < static_cast<double>(levels[num_bins]))) return -1;
  int bin = 0;
  while (value >= static_cast<double>(levels[bin + 1])) ++bin;
  return bin;
}

template <class Sample, class Level, miscount planted = miscount::none, bool even = true, int channels = 1,
          int active = 1>
cudaError_t histogram(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  const auto* const samples = static_cast<const Sample*>(a.d_in);
  const auto* const levels = static_cast<const Level*>(a.levels);
  auto* const counters = static_cast<unsigned*>(a.d_out);
  const int num_bins = a.num_levels - 1;
  if (planted != miscount::adds_to_what_was_there) std::fill(counters, counters + num_bins * active, 0u);
  const Level ends[] = {levels[0], levels[even ? 1 : num_bins]};
  const std::size_t end = a.num_items / channels * channels - (planted == miscount::drops_the_last);
  for (std::size_t i = 0; i < end; ++i) {
    const int channel = static_cast<int>(i % channels);
    if (channel >= active) continue;
    int bin = planted == miscount::even_instead ? bin_of(samples[i], ends, num_bins, true)
                                                : bin_of(samples[i], levels, num_bins, even);
    if (planted == miscount::upper_edge && samples[i] == ends[1]) bin = num_bins - 1;
    if (planted == miscount::counts_strays && bin < 0) bin = 0;
    if (bin >= 0) ++counters[(planted == miscount::one_channel ? 0 : channel) * num_bins + bin];
  }
  if (planted == miscount::tires && calls > 30) --counters[0];
  return cudaSuccess;
}

inline catalog::record a_histogram(std::string_view rung, catalog::call_t call,
                                   catalog::scalar type = catalog::scalar::i32,
                                   catalog::scalar levels = catalog::scalar::i32,
                                   catalog::operation operation = catalog::operation::histogram_even,
                                   executor where = executor::host) {
  catalog::record about = record(rung, call, catalog::scalar::u32, where);
  about.ladder = "histograms";
  about.operation = operation;
  about.op = catalog::op::none;
  about.input_type = type;
  about.level_type = levels;
  if (operation == catalog::operation::multi_histogram_even) {
    about.num_channels = 4;
    about.num_active_channels = 3;
  }
  return about;
}

}  // namespace rungs::bench::fakes
