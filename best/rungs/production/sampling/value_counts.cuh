// How many items of a row have each value of 16 bits. A value's weight is computed once then, not once for each item.
#pragma once

#include <cstring>

#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// Two counts a word, of a magnitude and of its negative. A count that exceeds 16 bits carries or is lost: the sum of
// all counts tells. All threads of a block share it.
template <class T>
struct value_counts {
  static constexpr unsigned magnitudes = 1u << 15, fours = magnitudes / 4;
  static constexpr std::size_t bytes = magnitudes * sizeof(unsigned);
  uint4* words;

  __device__ void clear() const {
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < fours; i += weight_bins::block_threads) words[i] = {0, 0, 0, 0};
  }
  // Of eight items.
  __device__ void add(const uint4& items) const {
    auto* const counts = reinterpret_cast<unsigned*>(words);
    const unsigned pairs[] = {items.x, items.y, items.z, items.w};
#pragma unroll
    for (const unsigned pair : pairs) {
      atomicAdd(counts + (pair & 0x7fff), pair & 0x8000 ? 0x10000u : 1u);
      atomicAdd(counts + (pair >> 16 & 0x7fff), pair >> 31 != 0 ? 0x10000u : 1u);
    }
  }
  // take(value, count) for each of the thread's values. Returns the sum of the counts.
  template <class Take>
  __device__ unsigned for_each(Take take) const {
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < fours; i += weight_bins::block_threads) {
      const uint4 four = words[i];
      const unsigned pairs[] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
#pragma unroll 1
        for (unsigned pair = pairs[k], sign = 0; pair != 0; pair >>= 16, sign += 0x8000) {
          const unsigned count = pair & 0xffff;
          if (count == 0) continue;
          sum += count;
          const auto bits = static_cast<unsigned short>(4 * i + k + sign);
          T value;
          memcpy(&value, &bits, sizeof(value));
          take(to_float(value), count);
        }
      }
    }
    return sum;
  }
};

}  // namespace rungs::RUNGS_ABI::production
