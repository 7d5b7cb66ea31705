#include "samples.hpp"

#include <cmath>
#include <cstring>

namespace rungs::bench {
namespace {

bool is_narrow(catalog::scalar type) {
  bool narrow = false;
  with_type(type, [&]<class T>(T) { narrow = is_number<T> && !is_floating<T> && sizeof(T) <= 2; });
  return narrow;
}

}  // namespace

bin_edges edges_of(catalog::scalar sample_type, std::size_t num_bins, bool even) {
  bin_edges edges{.num_bins = static_cast<unsigned>(num_bins), .even = even};
  with_type(sample_type, [&]<class T>(T) {
    if constexpr (is_number<T>) {
      edges.in_quarters = is_floating<T>;
      edges.span = edges.in_quarters || !even ? 4 * num_bins : num_bins;
      if constexpr (!is_floating<T> && sizeof(T) <= 2) {
        edges.lower = std::numeric_limits<T>::lowest();
        edges.span = std::uint64_t{1} << 8 * sizeof(T);
      }
    }
  });
  return edges;
}

bool has_outside(catalog::scalar sample_type) { return !is_narrow(sample_type); }

std::vector<std::uint64_t> levels_of(const bin_edges& edges, catalog::scalar level_type) {
  std::vector<double> levels = {edges.level(0), edges.level(edges.num_bins)};
  if (!edges.even) {
    levels.clear();
    for (std::uint64_t i = 0; i <= edges.num_bins; ++i) levels.push_back(edges.level(i));
  }
  std::vector<std::uint64_t> words(levels.size());
  with_type(level_type, [&]<class T>(T) {
    if constexpr (is_number<T>) {
      for (std::size_t i = 0; i < levels.size(); ++i) {
        T level;
        if constexpr (is_floating<T>)
          level = rounded<T>(levels[i]);
        else
          level = static_cast<T>(levels[i]);
        std::memcpy(reinterpret_cast<unsigned char*>(words.data()) + i * sizeof level, &level, sizeof level);
      }
    }
  });
  return words;
}

sample_source samples_from(catalog::scalar type, std::size_t num_items, std::uint64_t seed,
                           bench::distribution distribution, const bin_edges& edges) {
  return {.type = type,
          .num_items = num_items,
          .seed = seed,
          .distribution = distribution,
          .edges = edges,
          .log2_of_bins = static_cast<std::uint64_t>(std::ldexp(std::log2(edges.num_bins + 1.0), 24))};
}

void generate(const sample_source& from, void* samples) {
  with_type(from.type, [&]<class T>(T) {
    if constexpr (is_sample<T>)
      for (std::size_t i = 0; i < from.num_items; ++i) static_cast<T*>(samples)[i] = sample<T>(from, i);
  });
}

}  // namespace rungs::bench
