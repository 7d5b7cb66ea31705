#include "histogram_oracle.hpp"

namespace rungs::bench {

bool has_oracle_of_histograms(const catalog::record& record) {
  bool counts = false;
  with_type(record.input_type, [&]<class T>(T) { counts = is_sample<T>; });
  return counts && (record.output_type == catalog::scalar::u32 || record.output_type == catalog::scalar::u64);
}

histogram_question question_of(const catalog::record& record, const sample_source& from) {
  const auto channels = static_cast<std::size_t>(record.num_channels);
  histogram_question of{.type = from.type,
                        .num_items = from.num_items / channels * channels,
                        .num_channels = record.num_channels,
                        .num_active_channels = record.num_active_channels,
                        .num_bins = from.edges.num_bins,
                        .even = from.edges.even,
                        .first = from.edges.level(0),
                        .last = from.edges.level(from.edges.num_bins)};
  if (from.type == catalog::scalar::f64)
    of.scale = of.num_bins / (of.last - of.first);
  else
    of.scale = static_cast<float>(of.num_bins) / (static_cast<float>(of.last) - static_cast<float>(of.first));
  return of;
}

std::vector<double> edges_for(const histogram_question& of, const sample_source& from) {
  std::vector<double> edges;
  for (std::uint64_t i = 0; !of.even && i <= of.num_bins; ++i) edges.push_back(from.edges.level(i));
  return edges;
}

counted count_samples(const histogram_question& of, const void* samples) {
  counted found;
  found.counters.resize(of.num_counters());
  with_type(of.type, [&]<class T>(T) {
    if constexpr (is_sample<T>) {
      for (std::size_t i = 0; i < of.num_items; ++i) {
        const T sample = static_cast<const T*>(samples)[i];
        if (!is_active(of, i) || !is_inside(of, sample)) continue;
        ++found.inside;
        ++found.counters[first_counter(of, i) + bin_of(of, sample)];
      }
    }
  });
  return found;
}

}  // namespace rungs::bench
