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
  const auto next = [&seed](int below) {
    seed += 0x9e3779b97f4a7c15ull;
    std::uint64_t x = seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return static_cast<int>((x ^ x >> 31) % static_cast<std::uint64_t>(below));
  };
  std::vector<int> first_pair(levels.size() * levels.size(), 0);  // where the pairs of axes (a, b) begin in `covered`
  int num_pairs = 0;
  for (int a = 0; a < axes; ++a)
    for (int b = a + 1; b < axes; ++b) {
      first_pair[a * axes + b] = num_pairs;
      num_pairs += levels[a] * levels[b];
    }
  std::vector<char> covered(num_pairs, 0);
  const auto pair_of = [&](int a, int level_a, int b, int level_b) -> char& {
    if (a > b) return covered[first_pair[b * axes + a] + level_b * levels[a] + level_a];
    return covered[first_pair[a * axes + b] + level_a * levels[b] + level_b];
  };
  int left = num_pairs;
  std::vector<row> rows;

  while (left > 0) {
    row best;
    int best_gain = -1;
    for (int candidate = 0; candidate < 8; ++candidate) {
      row r(levels.size(), -1);
      // Begin with an uncovered pair, found from a random place on.
      int skip = next(left);
      for (int a = 0; a < axes && skip >= 0; ++a)
        for (int b = a + 1; b < axes && skip >= 0; ++b)
          for (int i = 0; i < levels[a] && skip >= 0; ++i)
            for (int j = 0; j < levels[b] && skip >= 0; ++j)
              if (!pair_of(a, i, b, j) && skip-- == 0) {
                r[a] = i;
                r[b] = j;
              }
      const int start = next(axes);
      for (int k = 0; k < axes; ++k) {
        const int axis = (start + k) % axes;
        if (r[axis] >= 0) continue;
        int most = -1;
        const int shift = next(levels[axis]);
        for (int l = 0; l < levels[axis]; ++l) {
          const int level = (l + shift) % levels[axis];
          int gain = 0;
          for (int other = 0; other < axes; ++other)
            if (other != axis && r[other] >= 0) gain += !pair_of(axis, level, other, r[other]);
          if (gain > most) {
            most = gain;
            r[axis] = level;
          }
        }
      }
      int gain = 0;
      for (int a = 0; a < axes; ++a)
        for (int b = a + 1; b < axes; ++b) gain += !pair_of(a, r[a], b, r[b]);
      if (gain > best_gain) {
        best_gain = gain;
        best = r;
      }
    }
    for (int a = 0; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b) pair_of(a, best[a], b, best[b]) = 1;
    left -= best_gain;
    rows.push_back(best);
  }
  return rows;
}

}  // namespace rungs::tests
