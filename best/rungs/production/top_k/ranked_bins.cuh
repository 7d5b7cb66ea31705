// The greatest k of a block's candidates, in their order, by one histogram. Its bins are of distances from a bound that
// all candidates reach (distance_bins.cuh). Candidates are scattered to the places of their bins. Within a bin each
// counts how many come before it: of 2,304 random ones, of which 1,024 are chosen, a bin has about 10.
//
// Bins of many candidates, or of clumps, have too many. Then the bins are scaled to the greatest distance: there are
// 256 for each power of two down to a 128th of it, and 256 of one width below.
#pragma once

#include "rungs/production/top_k/block_selection.cuh"
#include "rungs/production/top_k/distance_bins.cuh"

namespace rungs::RUNGS_ABI::production {

struct ranked_bins {
  static constexpr unsigned most_in_bin = 64, most_in_scaled_bin = 256;
  static constexpr int scaled_digit_bits = 8, scaled_bits = 15;
  static_assert((scaled_bits + 1 - scaled_digit_bits) << scaled_digit_bits == distance_bins::last_bin + 1);
  static __host__ __device__ constexpr unsigned room_for(unsigned k) { return k + most_in_scaled_bin; }

  // Calls write(rank, candidate) for the greatest k of `size` candidates, which are not less than the bound, and whose
  // bits from `bits` on are 0. Returns false, having called nothing, where a bin of theirs has too many. `scratch` has
  // room_for(k). All threads call it behind a barrier.
  template <class Write>
  static __device__ bool write(const candidate* held, candidate* scratch, unsigned size, unsigned k, candidate bound,
                               int bits, block_selection& selection, Write write) {
    constexpr unsigned block_threads = block_selection::block_threads;
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    int digits = distance_bins::digit_bits, dropped = max(bits - 32, 0);
    const auto bin_of = [&](candidate each) {
      return distance_bins::last_bin - distance_bins::bin_of(static_cast<unsigned>((each - bound) >> dropped), digits);
    };
    for (bool is_scaled = false;; is_scaled = true) {
      distance_bins::clear(selection);
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size; i += block_threads) atomicAdd(selection.bins + bin_of(held[i]), 1u);
      __syncthreads();

      // From counts to first places. Thread t has four bins.
      uint4& own = reinterpret_cast<uint4*>(selection.bins)[threadIdx.x];
      const unsigned counts[] = {own.x, own.y, own.z, own.w};
      const unsigned sum = counts[0] + counts[1] + counts[2] + counts[3];
      unsigned place = sum;
#pragma unroll
      for (int distance = 1; distance < parts::warp_threads; distance *= 2) {
        const unsigned before = __shfl_up_sync(parts::full_mask, place, distance);
        if (lane >= static_cast<unsigned>(distance)) place += before;
      }
      if (lane == parts::warp_threads - 1) selection.of_warps[warp] = place;
      __syncthreads();
      place -= sum;
      for (unsigned w = 0; w < warp; ++w) place += selection.of_warps[w];
      unsigned first[block_selection::bins_per_thread];
      bool too_many = false;
#pragma unroll
      for (int i = 0; i < block_selection::bins_per_thread; ++i) {
        first[i] = place;
        if (place == 0 && counts[i] > 0)
          selection.digit =
              distance_bins::last_bin - threadIdx.x * block_selection::bins_per_thread - i;  // the greatest
        too_many |= place < k && counts[i] > (is_scaled ? most_in_scaled_bin : most_in_bin);
        place += counts[i];
      }
      own = uint4{first[0], first[1], first[2], first[3]};
      if (!__syncthreads_or(too_many)) break;
      if (is_scaled) return false;
      const candidate last = ((candidate{distance_bins::last_of(selection.digit)} + 1) << dropped) - 1;
      digits = scaled_digit_bits;
      dropped = max(64 - __clzll(static_cast<long long>(last)) - scaled_bits, 0);
    }

    for (unsigned i = threadIdx.x; i < size; i += block_threads) {
      const candidate each = held[i];
      const unsigned to = atomicAdd(selection.bins + bin_of(each), 1u);
      if (to < room_for(k)) scratch[to] = each;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < min(size, room_for(k)); i += block_threads) {
      const candidate each = scratch[i];
      const unsigned bin = bin_of(each), end = selection.bins[bin];  // where the next bin began
      const unsigned begin = bin == 0 ? 0 : selection.bins[bin - 1];
      if (begin >= k) continue;
      unsigned rank = begin;
      for (unsigned other = begin; other < end; ++other) rank += scratch[other] > each;
      if (rank < k) write(rank, each);
    }
    return true;
  }
};

}  // namespace rungs::RUNGS_ABI::production
