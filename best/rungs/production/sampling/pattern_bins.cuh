// Bins of bfloat16 logits: each has one pattern, so counts give all sums of weights, exactly.
//
// Bins are those of magnitudes from 2^-25 to 2^7, and of both signs. What is beyond is in the last bins. Where it
// matters, the row is read once more, to see whether an outer bin has one value alone, as of zeros. If not, a search
// gives up.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rungs/parts/warp.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

struct pattern_bins {
  static constexpr unsigned of_sign = 32 * 128, num = 2 * of_sign, block_threads = weight_bins::block_threads;
  static constexpr unsigned least = (127 - 25) << 7, greatest = least + of_sign - 1;  // of magnitudes
  static constexpr unsigned vector_items = 8, tile_items = block_threads * vector_items, tiles_at_once = 4,
                            tiles_of_part_at_once = 8;
  static constexpr unsigned most_parts = 5, most_tiles_of_part = 16;
  static constexpr unsigned most_columns = most_parts * most_tiles_of_part * tile_items - vector_items;
  static constexpr unsigned per_thread = num / block_threads, warps = weight_bins::warps;

  // Positions are in the order of tokens: from the greatest value to the least one.
  static __host__ __device__ unsigned bin_at(unsigned position) {
    return position < of_sign ? of_sign - 1 - position : position;
  }
  static __host__ __device__ unsigned pattern_of(unsigned bin) {
    return (least + bin % of_sign) | (bin >= of_sign ? 0x8000 : 0);
  }
  static __host__ __device__ float value_of(unsigned bin) {
    return bin == 0 ? 0 : rounded::of_bits(pattern_of(bin) << 16);
  }
  // The bytes before the counts of two patterns, in halves of a word.
  static __device__ unsigned two_places(unsigned two) {
    constexpr unsigned both = 0x00010001;
    const unsigned magnitudes = __viaddmin_s16x2_relu(two & 0x7fff7fff, (0x10000 - least) * both, (of_sign - 1) * both);
    return magnitudes * 4 | (two >> 1 & 0x40004000);
  }
  static __device__ void count(unsigned* counts, const uint4& vector) {
    count_two(counts, vector.x);
    count_two(counts, vector.y);
    count_two(counts, vector.z);
    count_two(counts, vector.w);
  }
  static __device__ void count_two(unsigned* counts, unsigned two) {
    const unsigned places = two_places(two);
#ifdef __CUDA_ARCH__
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(counts));
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address + (places & 0xffff)) : "memory");
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address + (places >> 16)) : "memory");
#else
    atomicAdd(counts + (places & 0xffff) / 4, 1u);
    atomicAdd(counts + (places >> 16) / 4, 1u);
#endif
  }
  static __device__ void count_one(unsigned* counts, unsigned pattern) {
    atomicAdd(counts + (two_places(pattern) & 0xffff) / 4, 1u);
  }
};

// What a row has in the outer bins: near zero, and beyond the greatest magnitude. Patterns in halves of a word until
// they are merged.
struct outer_patterns {
  unsigned tiny;               // the least magnitude that is not 0, less 1
  unsigned above, most_above;  // from the bin of the greatest values: the least pattern, and the greatest one
  unsigned below;              // from the bin of the least values: the pattern of the greatest one
  static constexpr unsigned both = 0x00010001, least_above = pattern_bins::greatest,
                            least_below = 0x8000 | pattern_bins::greatest, infinity = 0x7f80;

  static __device__ outer_patterns none() { return {0xffffffff, 0xffffffff, 0, 0xffffffff}; }
  // Subtraction wraps. So patterns of a bin become less than others.
  __device__ void take(unsigned two) {
    tiny = __vminu2(tiny, __vsub2(two & 0x7fff7fff, both));
    above = __vminu2(above, __vsub2(two, least_above * both));
    most_above = __vmaxu2(most_above, two & ~((two >> 15 & both) * 0xffff));
    below = __vminu2(below, __vsub2(two, least_below * both));
  }
  __device__ void take(const uint4& vector) {
    take(vector.x);
    take(vector.y);
    take(vector.z);
    take(vector.w);
  }
  __device__ void merge(const outer_patterns& other) {
    tiny = __vminu2(tiny, other.tiny);
    above = __vminu2(above, other.above);
    most_above = __vmaxu2(most_above, other.most_above);
    below = __vminu2(below, other.below);
  }
  // Of all lanes of the warp.
  __device__ void merge_lanes() {
#pragma unroll
    for (unsigned distance = 1; distance < parts::warp_threads; distance *= 2)
      merge({__shfl_xor_sync(parts::full_mask, tiny, distance), __shfl_xor_sync(parts::full_mask, above, distance),
             __shfl_xor_sync(parts::full_mask, most_above, distance),
             __shfl_xor_sync(parts::full_mask, below, distance)});
  }
  static __device__ unsigned least_half(unsigned two) { return min(two & 0xffff, two >> 16); }

  __device__ bool has_zeros_alone() const { return least_half(tiny) >= pattern_bins::least; }
  // The one pattern of all greatest values. False where there are several, or a NaN.
  __device__ bool is_one_above(unsigned& pattern) const {
    pattern = max(most_above & 0xffff, most_above >> 16);
    return pattern <= infinity && least_half(above) + least_above == pattern;
  }
  __device__ float greatest_below() const { return rounded::of_bits((least_half(below) + least_below) << 16); }
};

// A row by 16 bytes. Items that are not in the row are NaN, in the last bin.
struct pattern_row {
  static constexpr unsigned vector_items = pattern_bins::vector_items;
  const uint4* from;
  unsigned size, before, num_vectors, first_whole, num_whole;  // items of the first vector before the row

  __device__ pattern_row(const void* row, unsigned num_columns) : size(num_columns) {
    const auto address = reinterpret_cast<std::uintptr_t>(row);
    from = reinterpret_cast<const uint4*>(address & ~std::uintptr_t{15});
    before = static_cast<unsigned>(address % 16 / 2);
    num_vectors = (before + size + vector_items - 1) / vector_items;
    first_whole = before > 0;
    num_whole = before + size < vector_items ? 0 : (before + size) / vector_items - first_whole;
  }
  __device__ const void* first_item() const { return reinterpret_cast<const unsigned short*>(from) + before; }
  __device__ bool has(unsigned item) const { return item - before < size; }
  __device__ bool is_whole(unsigned place) const { return place - first_whole < num_whole; }
  // The nearest whole vector.
  __device__ uint4 read_whole(unsigned place) const {
    place = min(max(place, first_whole), first_whole + num_whole - 1);
    uint4 vector;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: the compiler would delay it to its use
                 : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
                 : "l"(from + place));
    return vector;
  }
  // Of the vectors before and behind whole ones. All but the row's items are NaN.
  __device__ unsigned short edge_item(unsigned i) const {
    const unsigned place = i < vector_items ? 0 : first_whole + num_whole;
    const unsigned item = place * vector_items + i % vector_items;
    const bool is_one = i < 2 * vector_items && !is_whole(place) && has(item);
    return is_one ? reinterpret_cast<const unsigned short*>(from)[item] : 0xffff;
  }
  __device__ uint4 read(unsigned place) const {
    return is_whole(place) ? __ldg(from + place) : read_some(*this, place);
  }
  // Out of the way of whole vectors.
  static __device__ __noinline__ uint4 read_some(pattern_row row, unsigned place) {
    unsigned words[4];
    const auto* const items = reinterpret_cast<const unsigned short*>(row.from);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned item = place * vector_items + 2 * i;
      words[i] = (row.has(item) ? items[item] : 0xffffu) | (row.has(item + 1) ? items[item + 1] : 0xffffu) << 16;
    }
    return {words[0], words[1], words[2], words[3]};
  }
  // Which items of a vector have a pattern. Zeros have two.
  static __device__ unsigned mask_of(const uint4& vector, unsigned pattern) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
    const unsigned low = pattern == 0 ? 0x7fff : 0xffff, high = low << 16;
    unsigned mask = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if ((words[i] & low) == pattern) mask |= 1u << 2 * i;
      if ((words[i] & high) == pattern << 16) mask |= 2u << 2 * i;
    }
    return mask;
  }
  // How many items of a vector have a pattern.
  static __device__ unsigned num_of(const uint4& vector, unsigned pattern) {
    constexpr unsigned both = 0x00010001;
    const unsigned low = pattern == 0 ? 0x7fff7fff : 0xffffffff, two = pattern * both;
    const unsigned others = __vminu2((vector.x & low) ^ two, both) + __vminu2((vector.y & low) ^ two, both) +
                            __vminu2((vector.z & low) ^ two, both) + __vminu2((vector.w & low) ^ two, both);
    return vector_items - (others & 0xffff) - (others >> 16);
  }
  // The column of the `number`th item of a mask.
  __device__ unsigned column_of(unsigned place, unsigned mask, unsigned number) const {
    for (; number > 1; --number) mask &= mask - 1;
    return place * vector_items + static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1 - before;
  }
};

}  // namespace rungs::RUNGS_ABI::production
