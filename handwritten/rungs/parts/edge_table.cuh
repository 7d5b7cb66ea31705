// What finds a sample's bin in a kernel: for arbitrary edges, a table instead of a search.
//
// The table divides the samples' range into cells of one width, and knows for each the bin in which it begins and where
// that bin ends. Most cells hold one edge or none, and a sample's bin is found by one read of shared memory and one
// comparison; where a cell holds more, those in it are searched. Whatever function names a sample's cell, only one
// thing must hold: it does not descend. Then edges in earlier cells are not above a sample, those in later cells are,
// and rounding does no harm.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/parts/bins.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class SampleT, class LevelT>
class edge_table {
  using comparison = compared<SampleT, LevelT>;
  using number = typename comparison::type;
  // Wide integers are compared as they are, and divided into cells as floats.
  static constexpr bool is_narrow = std::is_integral_v<number> && sizeof(number) <= 4;
  static constexpr unsigned holds_more = 0x80000000u;  // edges than one
  static constexpr unsigned least_cells = 64, most_cells = 8192;
  struct alignas(sizeof(number) <= 4 ? 8 : 16) cell {
    number end;      // of the bin in which the cell begins
    unsigned first;  // that bin, and whether the cell holds more edges than one
  };

  range_bins<SampleT, LevelT> given_;
  unsigned num_cells_ = 0;
  bool stages_levels_ = false;
  // Set by prepare():
  const cell* cells_ = nullptr;
  const LevelT* levels_ = nullptr;
  number lower_{}, upper_{};
  std::conditional_t<is_narrow, unsigned, float> scale_{};

 public:
  using sample = SampleT;
  unsigned num_bins = 0;

  // Edges as integers of 64 bits that are not all of one sign are left to the search.
  static constexpr bool is_possible = !comparison::mixes_signs || sizeof(typename comparison::common) <= 4;
  static constexpr std::size_t least_bytes = least_cells * sizeof(cell);

  // For blocks that count most_bins of the bins each, and have most_bytes of shared memory or more than least_bytes for
  // it. Answers how much of that it takes: up to eight cells a bin, and the levels, if there is room.
  std::size_t set(const range_bins<SampleT, LevelT>& bins, unsigned most_bins, std::size_t most_bytes) {
    given_ = bins;
    num_bins = bins.num_bins;
    const std::size_t level_bytes = ((std::size_t(most_bins) + 1) * sizeof(LevelT) + 15) / 16 * 16;
    stages_levels_ = level_bytes + least_cells * sizeof(cell) <= most_bytes;
    const std::size_t room = most_bytes - (stages_levels_ ? level_bytes : 0);
    for (num_cells_ = least_cells;
         num_cells_ < most_cells && num_cells_ / 8 < most_bins && 2 * num_cells_ * sizeof(cell) <= room;)
      num_cells_ *= 2;
    return num_cells_ * sizeof(cell) + (stages_levels_ ? level_bytes : 0);
  }

  // `count` of the bins from `first` on.
  __device__ edge_table part(unsigned first, unsigned count) const {
    edge_table some = *this;
    some.given_.levels += first;
    some.given_.num_bins = some.num_bins = count;
    return some;
  }

  // All threads of the block; `shared` has room for the bytes that set() answered, and is aligned to 16.
  __device__ void prepare(void* shared) {
    cell* const cells = static_cast<cell*>(shared);
    LevelT* const near = reinterpret_cast<LevelT*>(cells + num_cells_);
    cells_ = cells;
    levels_ = stages_levels_ ? near : given_.levels;
    if (stages_levels_)
      for (unsigned i = threadIdx.x; i <= num_bins; i += blockDim.x) near[i] = given_.levels[i];
    __syncthreads();
    lower_ = level(0);
    upper_ = level(num_bins);
    if constexpr (is_narrow) {
      const unsigned range = static_cast<unsigned>(upper_) - static_cast<unsigned>(lower_);
      if (num_cells_ > range) num_cells_ = range > 0 ? range : 1;
      const unsigned long long scale = (static_cast<unsigned long long>(num_cells_) << 32) / (range > 0 ? range : 1);
      scale_ = scale >> 32 == 0 ? static_cast<unsigned>(scale) : 0xffffffffu;
    } else if constexpr (std::is_integral_v<number>) {
      scale_ = static_cast<float>(num_cells_) /
               static_cast<float>(static_cast<unsigned long long>(upper_) - static_cast<unsigned long long>(lower_));
    } else {
      scale_ = static_cast<float>(static_cast<number>(num_cells_) / (upper_ - lower_));
    }
    // The cells that begin in bin i: after the one that holds its lower edge, up to the one that holds its upper edge.
    for (unsigned from = 0; from < num_bins; from += blockDim.x) {
      const unsigned i = from + threadIdx.x;
      unsigned next = 1, last = 0;  // none
      cell filled{};
      bool more = false;
      if (i < num_bins) {
        next = i > 0 ? cell_of(level(i)) + 1 : 0;
        last = i + 1 < num_bins ? cell_of(level(i + 1)) : num_cells_ - 1;
        more = i + 2 < num_bins && cell_of(level(i + 2)) == last;
        filled = cell{level(i + 1), i};
        if (next <= last) cells[last] = cell{filled.end, i | (more ? holds_more : 0)};
      }
      // A thread fills a few; what is long the whole warp fills, one bin after the other.
      constexpr unsigned few = 16;
      for (unsigned count = 0; count < few && next < last; ++count) cells[next++] = filled;
      const unsigned lane = threadIdx.x % 32;
      for (unsigned left = __ballot_sync(0xffffffffu, next < last); left != 0; left &= left - 1) {
        const unsigned whose = __ffs(left) - 1;
        const unsigned bin = __shfl_sync(0xffffffffu, i, whose), until = __shfl_sync(0xffffffffu, last, whose);
        const number end = level(bin + 1);
        for (unsigned at = __shfl_sync(0xffffffffu, next, whose) + lane; at < until; at += 32)
          cells[at] = cell{end, bin};
      }
    }
  }

  __device__ unsigned bin_of(SampleT value) const {
    const number wanted = static_cast<number>(value);
    if (!(wanted >= lower_ && wanted < upper_)) return num_bins;
    const unsigned at = cell_of(wanted);
    const cell found = cells_[at];
    if (wanted < found.end) return found.first & ~holds_more;
    unsigned bin = (found.first & ~holds_more) + 1;
    if ((found.first & holds_more) != 0) {
      // The last level that is not above the sample, of this one and those behind it in the cell.
      const unsigned last = at + 1 < num_cells_ ? cells_[at + 1].first & ~holds_more : num_bins - 1;
      for (unsigned count = last - bin + 1; count > 1;) {
        const unsigned half = count / 2;
        if (wanted >= level(bin + half)) bin += half;
        count -= half;
      }
    }
    return bin;
  }

 private:
  __device__ number level(unsigned i) const { return static_cast<number>(levels_[i]); }

  // Which cell; of values between the first level and the last. It never descends.
  __device__ unsigned cell_of(number value) const {
    unsigned at;
    if constexpr (is_narrow)
      at = __umulhi(static_cast<unsigned>(value) - static_cast<unsigned>(lower_), scale_);
    else if constexpr (std::is_integral_v<number>)
      at = static_cast<unsigned>(
          static_cast<float>(static_cast<unsigned long long>(value) - static_cast<unsigned long long>(lower_)) *
          scale_);
    else
      at = static_cast<unsigned>(static_cast<float>(value - lower_) * scale_);
    return at < num_cells_ ? at : num_cells_ - 1;
  }
};

// Edges that are searched, in shared memory where there is room for them.
template <class SampleT, class LevelT>
struct near_edges {
  using sample = SampleT;
  range_bins<SampleT, LevelT> bins;
  unsigned num_bins = 0;
  bool stages_levels = false;

  std::size_t set(const range_bins<SampleT, LevelT>& given, std::size_t most_bytes) {
    bins = given;
    num_bins = given.num_bins;
    stages_levels = given.edge_bytes() <= most_bytes;
    return stages_levels ? given.edge_bytes() : 0;
  }
  __device__ near_edges part(unsigned first, unsigned count) const {
    near_edges some = *this;
    some.bins.levels += first;
    some.bins.num_bins = some.num_bins = count;
    return some;
  }
  __device__ void prepare(void* shared) {
    if (stages_levels) bins = bins.staged(shared);
  }
  __device__ unsigned bin_of(SampleT value) const { return bins.bin_of(value); }
};

// Calls call(finder, bytes) with what finds a sample's bin after prepare(shared), which all threads of a block call
// before a barrier, with as many bytes of shared memory. For few samples a block: what is quickly prepared.
template <class SampleT, class LevelT, class Call>
cudaError_t with_quick_finder(const even_bins<SampleT, LevelT>& bins, std::size_t, Call call) {
  return call(bins, 0);
}
template <class SampleT, class LevelT, class Call>
cudaError_t with_quick_finder(const range_bins<SampleT, LevelT>& bins, std::size_t most_bytes, Call call) {
  near_edges<SampleT, LevelT> finder;
  const std::size_t bytes = finder.set(bins, most_bytes);
  return call(finder, bytes);
}

// For many samples a block, which counts most_bins of the bins: what finds them fast.
template <class SampleT, class LevelT, class Call>
cudaError_t with_fast_finder(const even_bins<SampleT, LevelT>& bins, unsigned, std::size_t, Call call) {
  if constexpr (std::is_integral_v<typename compared<SampleT, LevelT>::type>) {
    shifted_bins<SampleT, LevelT> shifted;
    if (shifted.set(bins)) return call(shifted, 0);
  }
  return call(bins, 0);
}
template <class SampleT, class LevelT, class Call>
cudaError_t with_fast_finder(const range_bins<SampleT, LevelT>& bins, unsigned most_bins, std::size_t most_bytes,
                             Call call) {
  if constexpr (edge_table<SampleT, LevelT>::is_possible) {
    edge_table<SampleT, LevelT> finder;
    const std::size_t bytes = finder.set(bins, most_bins, most_bytes);
    return call(finder, bytes);
  } else {
    return with_quick_finder(bins, most_bytes, call);
  }
}

// Calls call(type<…>, finder, bytes): few samples come in SmallRows, with what is quickly prepared.
template <class SmallRows, class LargeRows, class Bins, class Call>
cudaError_t with_rows_and_finder(bool is_small, const Bins& bins, std::size_t most_bytes, Call call) {
  if (is_small)
    return with_quick_finder(bins, most_bytes, [&](const auto& finder, std::size_t bytes) {
      return call(type<SmallRows>{}, finder, bytes);
    });
  return with_fast_finder(bins, bins.num_bins, most_bytes, [&](const auto& finder, std::size_t bytes) {
    return call(type<LargeRows>{}, finder, bytes);
  });
}

// Bytes of shared memory without which with_fast_finder cannot do.
template <class Bins>
inline constexpr std::size_t finder_bytes = Bins::has_edges ? 2048 : 0;

}  // namespace rungs::RUNGS_ABI::parts
