// Windows of levels in which cuts lie.
#pragma once

#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

// Neighbouring bins in which a cut lies: `first` to `last`, with the levels `least` to `greatest`. `before` is the mass
// of all bins before them.
struct level_window {
  unsigned first, last, least, greatest;
  token_mass before;

  __device__ bool has(unsigned level) const { return level - least <= greatest - least; }
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
