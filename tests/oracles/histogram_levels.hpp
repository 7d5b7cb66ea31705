// The levels that the cases ask for: a call of a histogram without its samples.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "catalog.hpp"
#include "oracles/bits.hpp"

namespace rungs::tests {

struct histogram_call {
  catalog::scalar sample{}, level{};
  bool even = true;  // else any edges
  int num_bins = 1;
  int num_channels = 1, num_active_channels = 1;
  std::vector<unsigned char> levels{};  // of the level's type: the lower and the upper one, or all num_bins + 1

  std::size_t num_levels_given() const { return even ? 2 : static_cast<std::size_t>(num_bins) + 1; }
  value level_at(std::size_t i) const;
};

//   unit        from 0, integers with a bin each    ragged    widths that are no integers
//   broad       widths of several, through both signs    whole     everything that the sample's type holds
//   crowded     more bins than there are samples to tell apart    narrow    most samples lie outside
//   negative    below 0, but for unsigned samples    duplicated   any edges, of which three are alike
// Any edges are uneven, and ascend from the same lower level to the same upper one.
enum class levels_kind : int { unit, ragged, broad, whole, crowded, narrow, negative, duplicated };
inline constexpr int num_even_levels = 7, num_range_levels = 8;
constexpr std::string_view name(levels_kind value) {
  constexpr std::string_view names[] = {"unit",    "ragged", "broad",    "whole",
                                        "crowded", "narrow", "negative", "duplicated"};
  return names[static_cast<int>(value)];
}
inline constexpr std::array<int, 10> bins_asked{1, 2, 64, 255, 256, 257, 1000, 4096, 65536, 1 << 20};

histogram_call make_levels(levels_kind kind, bool even, catalog::scalar sample, catalog::scalar level, int num_bins);

}  // namespace rungs::tests
