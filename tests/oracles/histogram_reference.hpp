// What a histogram must count: a serial pass that puts each sample where the documentation says. Shares nothing with
// the code under test.
//
// Even levels: of integers, bin floor((s - lower) * bins / (upper - lower)), exactly; of floats, in the type that
// samples and levels have in common, int((s - lower) * (bins / (upper - lower))), but never beyond the last bin. Any
// edges: the last one that is not above the sample begins its bin. A sample counts if lower <= s < upper.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracles/histogram_levels.hpp"

namespace rungs::tests {

enum class whereabouts : unsigned char { inside, below, above, nan };
struct placed {
  whereabouts where = whereabouts::inside;
  int bin = -1;
};

class histogram_oracle {
 public:
  explicit histogram_oracle(const histogram_call& call);
  placed place(value sample) const;
  // As a number that has the sample's value.
  placed place(double x) const;
  placed place(__int128 x) const;
  bool in_floats() const { return in_floats_; }
  // The formula of even floats with nothing that keeps it from leaving the last bin; `x` is inside.
  int unclamped(double x) const;

 private:
  const histogram_call& call_;
  bool in_floats_, in_doubles_;
  std::vector<double> floats_;
  std::vector<__int128> integers_;
};

struct counted {
  std::vector<std::uint64_t> bins;  // of all channels that count, one after the other
  std::uint64_t inside = 0, below = 0, above = 0, nans = 0;
};
counted count(const histogram_call& call, const void* samples, std::size_t num_items);

// For the checker (histogram_check.hpp): num_bins + 1 keys, ascending. A sample belongs to the bin of the last key that
// is not above its own, unless that is the last key of all.
std::vector<std::uint64_t> boundaries(const histogram_call& call);

// Empty if those are the counters (modulo 2^32) of such samples, else what is wrong with them.
std::optional<std::string> disagreement(const histogram_call& call, const counted& expected,
                                        const std::uint32_t* counters);

}  // namespace rungs::tests
