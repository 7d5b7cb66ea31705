// Sums of token masses across the lanes of a warp. All lanes of a warp call each function but add().
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

__device__ inline void add(token_mass& to, const token_mass& other) {
  to.sum += other.sum;
  to.count += other.count;
}
// The sum up to the lane, its own mass included.
__device__ inline token_mass mass_up_to(token_mass mass) {
#pragma unroll
  for (unsigned distance = 1; distance < parts::warp_threads; distance *= 2) {
    const weight_sum sum = __shfl_up_sync(parts::full_mask, mass.sum, distance);
    const unsigned count = __shfl_up_sync(parts::full_mask, mass.count, distance);
    if (threadIdx.x % parts::warp_threads >= distance) add(mass, {sum, count});
  }
  return mass;
}
__device__ inline weight_sum sum_up_to(weight_sum sum) {
#pragma unroll
  for (unsigned distance = 1; distance < parts::warp_threads; distance *= 2) {
    const weight_sum left = __shfl_up_sync(parts::full_mask, sum, distance);
    if (threadIdx.x % parts::warp_threads >= distance) sum += left;
  }
  return sum;
}
__device__ inline token_mass mass_of_lane(const token_mass& mass, unsigned lane) {
  return {__shfl_sync(parts::full_mask, mass.sum, lane), __shfl_sync(parts::full_mask, mass.count, lane)};
}
// The sum of all lanes' masses, in all of them. A piece of 22 bits takes one instruction, where a sum of 64 bits is
// shuffled in five steps of several.
__device__ inline token_mass sum_of_lanes(const token_mass& mass) {
  constexpr unsigned bits = 22, piece = (1u << bits) - 1;
  const auto sum_of = [](weight_sum each) {
    return static_cast<weight_sum>(parts::warp_aggregate(static_cast<unsigned>(each), plus{}));
  };
  return {sum_of(mass.sum & piece) + (sum_of(mass.sum >> bits & piece) << bits) +
              (sum_of(mass.sum >> 2 * bits) << 2 * bits),
          parts::warp_aggregate(mass.count, plus{})};
}
// The first lane for which it is true.
__device__ inline unsigned first_lane(bool is_wanted) {
  return static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(parts::full_mask, is_wanted)))) - 1;
}

}  // namespace rungs::RUNGS_ABI::production
