// Pairwise covering arrays: rows over several axes in which every pair of levels of every two axes meets at least once.
#pragma once

#include <cstdint>
#include <vector>

namespace rungs::tests {

using row = std::vector<int>;  // one level per axis

// Greedy: each row is the best of a few candidates, each begun with an uncovered pair and filled axis by axis with the
// level that covers most. The same seed gives the same rows.
inline std::vector<row> covering_array(const std::vector<int>& levels, std::uint64_t seed) {
  const int axes = static_cast<int>(levels.size());
  const auto next = [&seed] {
    seed += 0x9e3779b97f4a7c15ull;
    std::uint64_t x = seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
  };
  std::vector<int> first_pair(static_cast<std::size_t>(axes * axes),
                              0);  // where the pairs of axes (a, b) begin in `covered`
  int num_pairs = 0;
  for (int a = 0; a < axes; ++a)
    for (int b = a + 1; b < axes; ++b) {
      first_pair[static_cast<std::size_t>(a * axes + b)] = num_pairs;
      num_pairs += levels[static_cast<std::size_t>(a)] * levels[static_cast<std::size_t>(b)];
    }
  const auto pair_index = [&](int a, int level_a, int b, int level_b) {
    if (a > b)
      return first_pair[static_cast<std::size_t>(b * axes + a)] + level_b * levels[static_cast<std::size_t>(a)] +
             level_a;
    return first_pair[static_cast<std::size_t>(a * axes + b)] + level_a * levels[static_cast<std::size_t>(b)] + level_b;
  };
  std::vector<char> covered(static_cast<std::size_t>(num_pairs), 0);
  int left = num_pairs;
  std::vector<row> rows;

  while (left > 0) {
    row best;
    int best_gain = -1;
    for (int candidate = 0; candidate < 8; ++candidate) {
      row r(static_cast<std::size_t>(axes), -1);
      // Begin with an uncovered pair, found from a random place on.
      int skip = static_cast<int>(next() % static_cast<std::uint64_t>(left));
      for (int a = 0; a < axes && skip >= 0; ++a)
        for (int b = a + 1; b < axes && skip >= 0; ++b)
          for (int i = 0; i < levels[static_cast<std::size_t>(a)] && skip >= 0; ++i)
            for (int j = 0; j < levels[static_cast<std::size_t>(b)] && skip >= 0; ++j)
              if (!covered[static_cast<std::size_t>(pair_index(a, i, b, j))] && skip-- == 0) {
                r[static_cast<std::size_t>(a)] = i;
                r[static_cast<std::size_t>(b)] = j;
              }
      const int start = static_cast<int>(next() % static_cast<std::uint64_t>(axes));
      for (int k = 0; k < axes; ++k) {
        const int axis = (start + k) % axes;
        if (r[static_cast<std::size_t>(axis)] >= 0) continue;
        int most = -1;
        const int num_levels = levels[static_cast<std::size_t>(axis)];
        const int shift = static_cast<int>(next() % static_cast<std::uint64_t>(num_levels));
        for (int l = 0; l < num_levels; ++l) {
          const int level = (l + shift) % num_levels;
          int gain = 0;
          for (int other = 0; other < axes; ++other)
            if (other != axis && r[static_cast<std::size_t>(other)] >= 0)
              gain += !covered[static_cast<std::size_t>(
                  pair_index(axis, level, other, r[static_cast<std::size_t>(other)]))];
          if (gain > most) {
            most = gain;
            r[static_cast<std::size_t>(axis)] = level;
          }
        }
      }
      int gain = 0;
      for (int a = 0; a < axes; ++a)
        for (int b = a + 1; b < axes; ++b)
          gain += !covered[static_cast<std::size_t>(
              pair_index(a, r[static_cast<std::size_t>(a)], b, r[static_cast<std::size_t>(b)]))];
      if (gain > best_gain) {
        best_gain = gain;
        best = r;
      }
    }
    for (int a = 0; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b)
        covered[static_cast<std::size_t>(
            pair_index(a, best[static_cast<std::size_t>(a)], b, best[static_cast<std::size_t>(b)]))] = 1;
    left -= best_gain;
    rows.push_back(best);
  }
  return rows;
}

}  // namespace rungs::tests
