// Random draws of rungs/rows/sampling.cuh on the host, bit by bit.
#pragma once

#include <rungs/production/sampling/random.cuh>

#include "sampling/oracle.hpp"

namespace rungs::tests {

// The token of the greatest score, the smaller of equals.
inline int gumbel_draw(const host_row& row, unsigned index, std::uint64_t seed, std::uint64_t offset) {
  int drawn = -1;
  unsigned greatest = 0;
  for (std::size_t i = 0; i < row.num_kept; ++i) {
    const int token = row.order[i];
    const auto column = static_cast<std::uint32_t>(token);
    const philox_words random = host_philox(
        {{column / 4, index, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)}}, seed);
    const unsigned level = row.levels[column], word = random.words[column % 4];
    const unsigned score = row.from_probabilities ? production::gumbel_score<false>(level, word)
                                                  : production::gumbel_score<true>(level, word);
    if (drawn < 0 || score > greatest || (score == greatest && token < drawn)) {
      greatest = score;
      drawn = token;
    }
  }
  return drawn;
}
inline std::uint64_t random_fraction(unsigned index, std::uint64_t seed, std::uint64_t offset) {
  const auto [words] = host_philox(
      {{0xffffffff, index, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)}}, seed);
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

}  // namespace rungs::tests
