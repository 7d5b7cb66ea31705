// Windows of levels in which cuts lie.
#pragma once

#include <cmath>

#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// Neighbouring bins in which a cut lies, with the levels `least` to `greatest`. `before` is the mass of all bins before
// them.
struct level_window {
  unsigned least, greatest;
  token_mass before;
  unsigned shift;  // how many low bits of a level its 512 finer bins leave out

  static __device__ level_window of(unsigned least, unsigned greatest, const token_mass& before) {
    constexpr int digit_bits = 9;
    const int bits = 32 - __clz(static_cast<int>(greatest - least));
    return {least, greatest, before, static_cast<unsigned>(max(bits - digit_bits, 0))};
  }
  // Where a call has no such cut.
  static __device__ level_window none() { return {most_level + 1, most_level + 1, {0, 0}, 0}; }

  __device__ bool has(unsigned level) const { return level - least <= greatest - least; }
  __device__ unsigned fine_bin(unsigned level) const { return (greatest - level) >> shift; }
};

// What the blocks that have a window's first and its last bin tell about it. Its values are from `low` to `high`, as
// few others are. They are NaN or infinite where floats do not tell.
struct alignas(16) window_start {
  token_mass before;
  unsigned greatest;
  float high;
};
struct alignas(16) window_end {
  unsigned least;
  float low;
};

// A level of a window is in it. Values that are far from it are not.
struct window_test {
  unsigned least, width;
  float middle, reach;

  static __device__ window_test none() { return {most_level + 1, 0, 0, -1}; }
  static __device__ window_test between(const window_start& start, const window_end& end) {
    const float middle = 0.5f * end.low + 0.5f * start.high, reach = (start.high - middle) * 1.0001f;
    const bool is_told = reach < INFINITY;
    return {end.least, start.greatest - end.least, is_told ? middle : 0, is_told ? reach : INFINITY};
  }
  __device__ bool may_have(float value) const { return fabsf(value - middle) <= reach; }
  __device__ bool has(unsigned level) const { return level - least <= width; }
};

// Some windows of a row. An index need not be known to the compiler.
template <unsigned num, bool of_logits>
struct windows_of_levels {
  level_window windows[num];
  row_levels<of_logits> levels;

  // Whether any of them has the value, or one does.
  __device__ bool has(float value) const {
    const unsigned level = levels.level(value);
    bool is_in = false;
#pragma unroll
    for (unsigned i = 0; i < num; ++i) is_in |= windows[i].has(level);
    return is_in;
  }
  __device__ bool has(unsigned index, float value) const {
    const unsigned level = levels.level(value);
    bool is_in = false;
#pragma unroll
    for (unsigned i = 0; i < num; ++i) is_in |= i == index && windows[i].has(level);
    return is_in;
  }
  __device__ token_mass before(unsigned index) const {
    token_mass mass{0, 0};
#pragma unroll
    for (unsigned i = 0; i < num; ++i)
      if (i == index) mass = windows[i].before;
    return mass;
  }
};

}  // namespace rungs::RUNGS_ABI::production
