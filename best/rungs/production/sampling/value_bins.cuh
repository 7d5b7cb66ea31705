// Bins of a row's values, and windows of bins in which cuts will lie. Windows are guesses from how many tokens bins
// have: exact sums tell afterwards whether a window holds its cut. So only time depends on what is here.
#pragma once

#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Bins of equal width between two places, the greatest values first. Values beyond are in the first and the last bin.
// NaN is in the last one. A place is the logit, or the bits of a probability: about its logarithm.
template <bool of_logits>
struct value_bins {
  static constexpr unsigned last_bin = weight_bins::num_bins - 1;
  static constexpr float first_mark = 0x1p23f;
  float top, bottom, width, scale, offset;

  static __host__ __device__ float place(float value) {
    return of_logits ? value : rounded::to_float(rounded::bits_of(rounded::greater(value, 0)));
  }
  static __host__ __device__ float value_at(float place) {
    return of_logits ? place : rounded::of_bits(rounded::to_unsigned(rounded::greater(place, 0)));
  }

  // Of places from `least` to `greatest`, and a part of that range beside them if it is a sample's. What has less than
  // 2^-32 of the greatest probability is not told apart; `factor` makes binary logarithms of logits.
  __host__ __device__ value_bins(float least, float greatest, bool of_sample, float factor) {
    const float depth = of_logits ? 32 / factor : 32 * 0x1p23f;
    top = of_sample ? greatest + (greatest - least) / 2 : greatest;
    bottom = rounded::greater(least - (greatest - least) / 32, greatest - depth);
    if (!(top > bottom && top - bottom <= FLT_MAX)) {  // all are equal, or too far from each other
      top = greatest;
      bottom = greatest - 0x1p-10f * rounded::greater(fabsf(greatest), 1);
    }
    width = (top - bottom) / last_bin;
    scale = 1 / (top - bottom);
    offset = -bottom * scale;
  }

  // A bin is the difference of its mark and the first one.
  __host__ __device__ float mark(float value) const {
    constexpr float bins = last_bin;
    return rounded::fused(rounded::saturated(place(value), scale, offset), -bins, first_mark + bins);
  }
  static __host__ __device__ unsigned bin_of(float mark) {
    return rounded::bits_of(mark) - rounded::bits_of(first_mark);
  }
  static __host__ __device__ float mark_of(unsigned bin) { return first_mark + static_cast<float>(bin); }
  // The greatest value that has this mark or a greater one, or -inf, in the order of candidates. A warp calls it. Marks
  // fall where values rise.
  __device__ unsigned greatest_from(float least_mark) const {
    constexpr unsigned least = 0x00800000, greatest = 0xff800000;  // the infinities
    constexpr int digit_bits = 5;
    unsigned ordered = least;
#pragma unroll 1
    for (int shift = 32 - digit_bits;; shift = max(shift - digit_bits, 0)) {
      const unsigned probe = ordered + (threadIdx.x % parts::warp_threads << shift);
      const bool is_reached =
          probe >= ordered && probe <= greatest && mark(value_of_token(candidate{probe} << 32)) >= least_mark;
      const unsigned reached = __ballot_sync(parts::full_mask, is_reached);
      if (reached != 0) ordered += static_cast<unsigned>(__popc(reached) - 1) << shift;
      if (shift == 0) return ordered;
    }
  }

  // About the probability in the middle of a bin, of the greatest one. A token beyond the top is the greatest.
  __device__ float weight(unsigned bin, float greatest, float factor) const {
    if (bin == 0 && place(greatest) >= top) return 1;
    const float value = value_at(bottom + static_cast<float>(last_bin - bin) * width);
    return fminf(of_logits ? rounded::about_power((value - greatest) * factor) : value / greatest, 1);
  }
  // How much more a bin's greatest token may have than its least one.
  __device__ float spread(float factor) const {
    return of_logits ? rounded::about_power(width * factor) - 1 : width * 0x1p-23f;
  }
};

// Adds 1 to the bin of a mark. The distance of the first mark's bits is a constant of the address.
template <class Bins>
__device__ void count_bin(unsigned* counts, float mark) {
#ifdef __CUDA_ARCH__
  constexpr unsigned bytes_before = (0x4b000000u << 2) & 0xffffffffu;  // of the bits of 2^23
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(counts)) - bytes_before;
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(base + (rounded::bits_of(mark) << 2)) : "memory");
#else
  atomicAdd(counts + Bins::bin_of(mark), 1u);
#endif
}

// What cuts are made of: the first tokens by number, then by their sum, then the draw. Shares are of what stays before.
struct wanted_cuts {
  unsigned top_k;  // 0: all
  bool by_sum, draws;
  float kept_share, drawn_share, least_weight;
};

// The bins from one mark to another. Where there is no cut, all tokens are before.
struct value_window {
  float first, last;

  __device__ bool has(float mark) const { return (mark >= first) & (mark <= last); }
  static __device__ value_window behind_all() { return {FLT_MAX, 0}; }
};
struct cut_windows {
  enum { of_count, of_sum, of_draw, num };
  value_window of[num];
  unsigned counts_before[num];

  __device__ bool have(float mark) const {
    return of[of_count].has(mark) | of[of_sum].has(mark) | of[of_draw].has(mark);
  }
};

// All threads of a block share it. Numbers of tokens become numbers, and sums of guessed weights, up to each bin.
struct window_search {
  alignas(16) float sums[weight_bins::num_bins];
  unsigned counts[weight_bins::num_bins];
  float sums_of_warps[weight_bins::warps];
  unsigned counts_of_warps[weight_bins::warps];
  unsigned last_weighted;  // the last bin that may have tokens of the least weight, if there are any

  // A barrier has to follow before anything is counted.
  __device__ void clear() {
    reinterpret_cast<uint4*>(counts)[threadIdx.x] = {0, 0, 0, 0};
    if (threadIdx.x == 0) last_weighted = weight_bins::num_bins - 1;
  }

  // Behind a barrier. It leaves behind one. The first warp searches. All blocks of a row find the same.
  template <bool of_logits>
  __device__ void find(const value_bins<of_logits>& bins, float greatest, float factor, const wanted_cuts& wanted,
                       cut_windows& windows) {
    constexpr unsigned last_bin = value_bins<of_logits>::last_bin;
    const unsigned in_last = counts[last_bin];
    accumulate(bins, greatest, factor, wanted.least_weight);
    if (threadIdx.x < parts::warp_threads) {
      const cut_windows found = first_warp_finds(bins, greatest, factor, wanted, in_last);
      if (threadIdx.x == 0) windows = found;
    }
    __syncthreads();
  }

 private:
  template <bool of_logits>
  __device__ cut_windows first_warp_finds(const value_bins<of_logits>& bins, float greatest, float factor,
                                          const wanted_cuts& wanted, unsigned in_last) const {
    constexpr unsigned last_bin = value_bins<of_logits>::last_bin;
    const float total = sums[last_bin];
    // Few tokens may be below the range that a sample had. Others of the last bin have no weight.
    const float margin = 0.125f * fminf(bins.spread(factor), 1) * total + 0x1p-18f * total +
                         static_cast<float>(min(in_last, 32u)) * bins.weight(last_bin, greatest, factor) +
                         (last_weighted > 0 ? sums[last_weighted] - sums[last_weighted - 1] : 0);
    const unsigned last_of_all = last_weighted;
    cut_windows found{{value_window::behind_all(), value_window::behind_all(), value_window::behind_all()}, {0, 0, 0}};
    const auto note = [&](int w, unsigned first, unsigned last) {
      first = min(first, last_of_all);
      found.of[w] = {value_bins<of_logits>::mark_of(first), value_bins<of_logits>::mark_of(min(last, last_of_all))};
      found.counts_before[w] = first > 0 ? counts[first - 1] : 0;
    };
    float least = total, most = total;  // what is kept
    if (wanted.top_k > 0) {
      const unsigned bin = min(first_to_reach(counts, wanted.top_k), last_of_all);
      note(cut_windows::of_count, bin, bin);
      least = bin > 0 ? sums[bin - 1] : 0;
      most = sums[bin];
    }
    if (wanted.by_sum) {
      least = wanted.kept_share * least - margin;
      most = wanted.kept_share * most + margin;
      unsigned first, last;
      first_to_reach(sums, least, most, first, last);
      note(cut_windows::of_sum, first, last);
      if (first > 0) least = fmaxf(least, sums[first - 1]);
      most = fminf(most + 2 * bins.weight(first, greatest, factor), sums[last]);  // a token more than is asked for
    }
    if (wanted.draws) {
      unsigned first, last;
      first_to_reach(sums, wanted.drawn_share * least - margin, wanted.drawn_share * most + margin, first, last);
      note(cut_windows::of_draw, first, last);
    }
    return found;
  }
  template <bool of_logits>
  __device__ void accumulate(const value_bins<of_logits>& bins, float greatest, float factor, float least_weight) {
    constexpr unsigned per_thread = weight_bins::bins_per_thread, lanes = parts::warp_threads;
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, first = threadIdx.x * per_thread;
    float sum = 0, own_sums[per_thread], before = first > 0 ? bins.weight(first - 1, greatest, factor) : 1;
    unsigned count = 0, own_counts[per_thread];
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i) {
      const unsigned bin = first + i;
      const float weight = bin < bins.last_bin ? bins.weight(bin, greatest, factor) : 0;
      if (before >= least_weight) {
        sum += static_cast<float>(counts[bin]) * weight;
        if (weight < least_weight) atomicMin(&last_weighted, bin);
      }
      before = weight;
      own_sums[i] = sum;
      own_counts[i] = count += counts[first + i];
    }
    float sum_before = sum;
    unsigned count_before = count;
#pragma unroll
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
      const float other_sum = __shfl_up_sync(parts::full_mask, sum_before, distance);
      const unsigned other_count = __shfl_up_sync(parts::full_mask, count_before, distance);
      if (lane >= distance) {
        sum_before += other_sum;
        count_before += other_count;
      }
    }
    if (lane == lanes - 1) {
      sums_of_warps[warp] = sum_before;
      counts_of_warps[warp] = count_before;
    }
    sum_before -= sum;
    count_before -= count;
    __syncthreads();
    const unsigned other = lane % weight_bins::warps;
    float sum_of_warps = other < warp ? sums_of_warps[other] : 0;
    unsigned count_of_warps = other < warp ? counts_of_warps[other] : 0;
#pragma unroll
    for (unsigned distance = 1; distance < weight_bins::warps; distance *= 2) {
      sum_of_warps += __shfl_xor_sync(parts::full_mask, sum_of_warps, distance);
      count_of_warps += __shfl_xor_sync(parts::full_mask, count_of_warps, distance);
    }
    sum_before += sum_of_warps;
    count_before += count_of_warps;
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i) {
      sums[first + i] = sum_before + own_sums[i];
      counts[first + i] = count_before + own_counts[i];
    }
    __syncthreads();
  }
  // The first bin up to which `target` is reached, or the last bin.
  template <class T>
  static __device__ unsigned first_to_reach(const T* up_to, T target) {
    unsigned bin = 0;
#pragma unroll 1
    for (unsigned step = weight_bins::num_bins / 2; step > 0; step /= 2)
      if (up_to[bin + step - 1] < target) bin += step;
    return bin;
  }
  // Of two targets at once. A warp calls it.
  template <class T>
  static __device__ void first_to_reach(const T* up_to, T least, T most, unsigned& first, unsigned& last) {
    const unsigned bin = first_to_reach(up_to, threadIdx.x % 2 == 0 ? least : most);
    first = __shfl_sync(parts::full_mask, bin, 0);
    last = max(first, __shfl_sync(parts::full_mask, bin, 1));
  }
};

}  // namespace rungs::RUNGS_ABI::production
