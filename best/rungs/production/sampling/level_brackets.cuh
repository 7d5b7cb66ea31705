// Where a cut and a draw of a row will lie, guessed from a sample of its items. Only time depends on the guess: what
// is added up outside the brackets tells whether they hold the cut.
#pragma once

#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Two ranges of bins, the second behind the first or empty. The bins in them have exact sums.
struct bin_brackets {
  unsigned first[2], last[2];

  __device__ bool has(unsigned bin) const {
    return bin - first[0] <= last[0] - first[0] || (first[1] <= last[1] && bin - first[1] <= last[1] - first[1]);
  }
};

// What is known of the cuts before any sum is: tokens that are kept, or the shares of the sum that a draw and a cut
// reach. Negative: there is none.
struct expected_cuts {
  float kept_tokens, drawn_share, kept_share;
};

// All threads of a block share it.
struct bracket_guess {
  struct sampled_mass {
    float sum, squares;
    unsigned count;
  };
  sampled_mass of_warps[weight_bins::warps];
  unsigned first[2], last_reversed[2];

  __device__ void clear() {
    if (threadIdx.x < 2) first[threadIdx.x] = last_reversed[threadIdx.x] = 0;
  }

  // Of sampled tokens' numbers in bins, one of `stride` of the row. All threads call it behind a barrier.
  __device__ bin_brackets guess(const unsigned* counts, unsigned stride, const expected_cuts& cuts) {
    constexpr unsigned bins = weight_bins::bins_per_thread, last_bin = weight_bins::num_bins - 1;
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    const float scale = exp2f(-static_cast<float>(threadIdx.x * bins) / bins_of_power);
    sampled_mass own{0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < bins; ++i) add(own, counts[threadIdx.x * bins + i], scale * weight_in_thread(i));
    sampled_mass up_to = up_to_lane<parts::warp_threads>(own);
    if (lane == parts::warp_threads - 1) of_warps[warp] = up_to;
    __syncthreads();
    const sampled_mass up_to_warp = up_to_lane<weight_bins::warps>(of_warps[lane % weight_bins::warps]);
    const unsigned warp_before = warp == 0 ? 0 : warp - 1;
    const float sum_before = __shfl_sync(parts::full_mask, up_to_warp.sum, warp_before),
                squares_before = __shfl_sync(parts::full_mask, up_to_warp.squares, warp_before);
    const unsigned count_before = __shfl_sync(parts::full_mask, up_to_warp.count, warp_before);
    const float total = __shfl_sync(parts::full_mask, up_to_warp.sum, weight_bins::warps - 1),
                total_squares = __shfl_sync(parts::full_mask, up_to_warp.squares, weight_bins::warps - 1);
    sampled_mass at{up_to.sum - own.sum, up_to.squares - own.squares, up_to.count - own.count};
    if (warp > 0) at = {at.sum + sum_before, at.squares + squares_before, at.count + count_before};

    const float shares[2] = {cuts.drawn_share, cuts.kept_share}, unit = 1.0f / static_cast<float>(stride);
    unsigned own_first[2] = {0, 0}, own_last[2] = {0, 0};
#pragma unroll
    for (unsigned i = 0; i < bins; ++i) {
      const unsigned bin = threadIdx.x * bins + i;
      const float weight = scale * weight_in_thread(i);
      add(at, counts[bin], weight);
      if (at.count < few) continue;
      const auto count = static_cast<float>(at.count);
      if (cuts.kept_tokens >= 0) {
        if (count - deviations * sqrtf(count) - 4 >= cuts.kept_tokens * unit)
          own_last[0] = max(own_last[0], last_bin - bin);
        continue;
      }
      const float error = deviations * sqrtf(at.squares), below = fmaxf(total - at.sum, 0),
                  error_below = deviations * sqrtf(fmaxf(total_squares - at.squares, 0));
      // Sampled tokens are there, and the greatest is. Others may have been missed.
      const float least = fmaxf(at.sum - error, unit * fmaxf(at.sum, 1)), most = at.sum + error;
      const float least_below = below - error_below, most_below = below + error_below + 4 * weight;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float share = shares[c];
        if (share * most_below < (1 - share) * least) own_last[c] = max(own_last[c], last_bin - bin);
        if (at.count >= 3 * few && share * least_below > (1 - share) * most) own_first[c] = bin + 1;
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      own_first[c] = parts::warp_reduce(own_first[c], maximum{});
      own_last[c] = parts::warp_reduce(own_last[c], maximum{});
      if (lane == 0 && own_first[c] > 0) atomicMax(first + c, own_first[c]);
      if (lane == 0 && own_last[c] > 0) atomicMax(last_reversed + c, own_last[c]);
    }
    __syncthreads();
    bin_brackets found{{first[0], first[1]},
                       {max(last_bin - last_reversed[0], first[0]), max(last_bin - last_reversed[1], first[1])}};
    if (cuts.kept_tokens >= 0 || cuts.kept_share < 0) found.first[1] = found.first[0], found.last[1] = found.last[0];
    if (cuts.kept_tokens < 0 && cuts.drawn_share < 0) found.first[0] = found.first[1], found.last[0] = found.last[1];
    // In order, and one where they meet.
    found.first[0] = min(found.first[0], found.first[1]);
    found.last[1] = max(found.last[0], found.last[1]);
    if (found.last[0] + 1 >= found.first[1]) {
      found.last[0] = found.last[1];
      found.first[1] = found.last[0] + 1;
      found.last[1] = found.last[0];
    }
    return found;
  }

 private:
  static constexpr float bins_of_power = 64, deviations = 3.5f;
  static constexpr unsigned few = 16;  // sampled tokens that are added up without a guess

  static __device__ float weight_in_thread(unsigned bin) {
    constexpr float weights[] = {1, 0.98922855f, 0.97857207f, 0.96803040f};
    static_assert(sizeof(weights) / sizeof(float) == weight_bins::bins_per_thread);
    return bin == 0 ? weights[0] : bin == 1 ? weights[1] : bin == 2 ? weights[2] : weights[3];
  }
  static __device__ void add(sampled_mass& to, unsigned count, float weight) {
    const float sum = static_cast<float>(count) * weight;
    to.sum += sum;
    to.squares += sum * weight;
    to.count += count;
  }
  template <unsigned num_lanes>
  static __device__ sampled_mass up_to_lane(sampled_mass mass) {
#pragma unroll
    for (unsigned distance = 1; distance < num_lanes; distance *= 2) {
      const float sum = __shfl_up_sync(parts::full_mask, mass.sum, distance),
                  squares = __shfl_up_sync(parts::full_mask, mass.squares, distance);
      const unsigned count = __shfl_up_sync(parts::full_mask, mass.count, distance);
      if (threadIdx.x % parts::warp_threads >= distance)
        mass = {mass.sum + sum, mass.squares + squares, mass.count + count};
    }
    return mass;
  }
};

}  // namespace rungs::RUNGS_ABI::production
