// Rows of samples that do not follow each other closely, as one sequence.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "rungs/parts/bins.cuh"
#include "rungs/parts/iterator_traits.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::device {

// Sample i stands in row i / row_samples, which is found as a bin is: without a division.
template <class SampleIteratorT>
struct pitched {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = parts::item_of<SampleIteratorT>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  SampleIteratorT d_samples;
  unsigned long long row_samples, row_stride;  // from row to row, in samples
  parts::even_scale<unsigned long long> row_of;
  unsigned long long first = 0;

  __device__ value_type operator[](unsigned long long i) const {
    return static_cast<value_type>(d_samples[place_of(i)]);
  }
  __device__ pitched operator+(unsigned long long i) const {
    pitched moved = *this;
    moved.first += i;
    return moved;
  }
  // Sample i and those behind it in its row.
  __device__ SampleIteratorT within_row(unsigned long long i) const { return d_samples + place_of(i); }

 private:
  __device__ difference_type place_of(unsigned long long i) const {
    const unsigned long long at = first + i, row = row_of.apply(at);
    return static_cast<difference_type>(row * row_stride + (at - row * row_samples));
  }
};

// Where pointers can be read by vectors, parts::sample_rows reads every row by the aligned vectors that it lies in, of
// which a row has row_vectors or one less.
template <class SampleIteratorT>
struct pitched_vectors : pitched<SampleIteratorT> {
  unsigned long long num_rows, row_vectors;
  parts::even_scale<unsigned long long> row_of_vector;
};

// Vectors are aligned as their items' sizes are.
template <class SampleIteratorT>
inline constexpr bool has_vectors = parts::is_vectorisable<SampleIteratorT> &&
                                    alignof(parts::item_of<SampleIteratorT>) == sizeof(parts::item_of<SampleIteratorT>);

template <class SampleIteratorT>
inline constexpr bool is_read_by_vectors = parts::is_vectorisable<SampleIteratorT>;
template <class SampleIteratorT>
inline constexpr bool is_read_by_vectors<pitched_vectors<SampleIteratorT>> = true;

// How many samples take as long to read: of rows, as many as their vectors hold at most. It does not depend on the
// address, which a call that asks for the size of the storage need not know.
template <class SampleIteratorT>
std::size_t samples_to_read(const SampleIteratorT&, std::size_t num_samples) {
  return num_samples;
}
template <class SampleIteratorT>
std::size_t samples_to_read(const pitched_vectors<SampleIteratorT>& samples, std::size_t) {
  constexpr std::size_t sample_bytes = sizeof(parts::item_of<SampleIteratorT>);
  return samples.num_rows * parts::ceil_div(15 + samples.row_samples * sample_bytes, 16) * (16 / sample_bytes);
}

// The samples of a pixel, whose first is sample i.
template <class SampleIteratorT>
__device__ auto pixel_at(SampleIteratorT d_samples, std::size_t i) {
  return d_samples + static_cast<std::ptrdiff_t>(i);
}
template <class SampleIteratorT>
__device__ auto pixel_at(const pitched<SampleIteratorT>& samples, std::size_t i) {
  return samples.within_row(i);
}
template <class SampleIteratorT>
__device__ auto pixel_at(const pitched_vectors<SampleIteratorT>& samples, std::size_t i) {
  return samples.within_row(i);
}

// What a call says of its pixels. as_sequence<num_channels>(d_samples, call) calls call(samples, num_samples) with all
// their samples as one sequence.
struct one_row {
  std::size_t num_pixels;

  template <int num_channels, class SampleIteratorT, class Call>
  cudaError_t as_sequence(SampleIteratorT d_samples, Call call) const {
    return call(d_samples, num_pixels * num_channels);
  }
};

struct rows_apart {
  // Shorter rows are faster sample by sample: most of a vector is not theirs.
  static constexpr std::size_t least_bytes_of_vectors = 32;

  std::size_t num_row_pixels, num_rows, row_stride_bytes;

  // With d_samples itself where the rows follow each other closely.
  template <int num_channels, class SampleIteratorT, class Call>
  cudaError_t as_sequence(SampleIteratorT d_samples, Call call) const {
    constexpr std::size_t sample_bytes = sizeof(parts::item_of<SampleIteratorT>);
    const std::size_t row_samples = num_row_pixels * num_channels, num_samples = row_samples * num_rows;
    const std::size_t row_stride = row_stride_bytes / sample_bytes;
    if (num_rows <= 1 || num_samples == 0 || row_stride == row_samples) return call(d_samples, num_samples);
    if (num_rows > 0xffffffffu) return cudaErrorInvalidValue;
    using scale = parts::even_scale<unsigned long long>;
    const auto rows = static_cast<unsigned>(num_rows);
    const pitched<SampleIteratorT> samples{d_samples, row_samples, row_stride, scale::of(rows, num_samples)};
    if constexpr (has_vectors<SampleIteratorT>) {
      if (row_samples * sample_bytes < least_bytes_of_vectors) return call(samples, num_samples);
      // Rows begin a multiple of this behind an address that is aligned to 16.
      const std::size_t stride_bytes = row_stride * sample_bytes;
      const std::size_t step = stride_bytes % 16 == 0 ? 16 : stride_bytes & (0 - stride_bytes);
      const std::size_t most_before = 16 - step + reinterpret_cast<std::uintptr_t>(d_samples) % step;
      const std::size_t row_vectors = parts::ceil_div(most_before + row_samples * sample_bytes, 16);
      return call(
          pitched_vectors<SampleIteratorT>{{samples}, num_rows, row_vectors, scale::of(rows, num_rows * row_vectors)},
          num_samples);
    }
    return call(samples, num_samples);
  }
};

}  // namespace rungs::RUNGS_ABI::device

namespace rungs::RUNGS_ABI::parts {

// The vectors of all rows, one row behind the other. A vector at a row's end holds samples of the row and what lies
// beside it, which is read and not counted. What lies before the first row and behind the last one is not read.
template <int block_threads_, int rows_in_flight, class SampleIteratorT>
struct sample_rows<block_threads_, rows_in_flight, device::pitched_vectors<SampleIteratorT>> {
  using iterator = device::pitched_vectors<SampleIteratorT>;
  using sample = item_of<iterator>;
  static constexpr int block_threads = block_threads_;
  static constexpr int unit_samples = 16 / sizeof(sample);
  static constexpr int row_samples = block_threads * unit_samples;
  static constexpr int num_rows = rows_in_flight;

  // As that of other samples, with these exceptions. Single samples of a vector are visited and counted one by one;
  // index is that of the sample in its row, modulo 256; num_samples is not looked at.
  template <class Prepare, class Count>
  static __device__ void for_each(const iterator& samples, std::size_t, unsigned reader, unsigned num_readers,
                                  Prepare prepare, Count count) {
    constexpr std::size_t tile_units = std::size_t(num_rows) * block_threads;
    const std::size_t num_units = samples.num_rows * samples.row_vectors;
    const region all(samples);
    const bool in_tiles = num_units >= num_readers * (tile_units * 7 / 4);
    const std::size_t row = in_tiles ? block_threads : std::size_t(num_readers) * block_threads;  // to the next one
    const std::size_t step = num_readers * tile_units;
    std::size_t next = reader * (in_tiles ? tile_units : block_threads) + threadIdx.x;
    part_of_row loaded[num_rows];
#pragma unroll
    for (int i = 0; i < num_rows; ++i)
      if (next + i * row < num_units) loaded[i] = all.load(next + i * row);
    prepare([&](auto visit) {
#pragma unroll
      for (int i = 0; i < num_rows; ++i)
        if (next + i * row < num_units) all.for_each_in(loaded[i], [&](const auto& unit, std::size_t) { visit(unit); });
    });
    if (reader == num_readers - 1) all.count_at_ends(count);
#pragma unroll 1
    for (; next < num_units; next += step) {
#pragma unroll
      for (int i = 0; i < num_rows; ++i) {
        const std::size_t at = next + i * row;
        if (at < num_units) all.for_each_in(loaded[i], count);
        if (at + step < num_units) loaded[i] = all.load(at + step);
      }
    }
  }

 private:
  // A vector of which the samples from `first` to below `end` are the row's; vector[0] is at `index` in the row.
  struct part_of_row {
    vector<sample> samples;
    unsigned first : 8, end : 8, index : 8;
  };
  struct place {
    std::uintptr_t address;
    long long index;
    int first, end;
  };

  struct region {
    const iterator& samples;
    std::uintptr_t lowest, highest;  // addresses of the first sample, and behind the last one

    __device__ explicit region(const iterator& samples)
        : samples(samples),
          lowest(reinterpret_cast<std::uintptr_t>(samples.d_samples)),
          highest(address_of(samples.num_rows - 1) + samples.row_samples * sizeof(sample)) {}
    __device__ std::uintptr_t address_of(unsigned long long row) const {
      return reinterpret_cast<std::uintptr_t>(samples.d_samples) + row * samples.row_stride * sizeof(sample);
    }

    __device__ place place_of(unsigned long long row, unsigned long long row_vector) const {
      const std::uintptr_t begin = address_of(row);
      const int before = static_cast<int>(begin % 16 / sizeof(sample));
      const long long index = static_cast<long long>(row_vector * unit_samples) - before;
      const long long left = static_cast<long long>(samples.row_samples) - index;
      return {begin - begin % 16 + row_vector * 16, index, row_vector == 0 ? before : 0,
              left > unit_samples ? unit_samples : static_cast<int>(left < 0 ? 0 : left)};
    }
    __device__ bool lies_within(std::uintptr_t address) const { return address >= lowest && address + 16 <= highest; }

    __device__ part_of_row load(std::size_t unit) const {
      const unsigned long long row = samples.row_of_vector.apply(unit);
      const place at = place_of(row, unit - row * samples.row_vectors);
      part_of_row loaded;
      loaded.first = static_cast<unsigned>(at.first);
      loaded.end = lies_within(at.address) ? static_cast<unsigned>(at.end) : 0;
      loaded.index = static_cast<unsigned>(at.index);
      if (loaded.first < loaded.end)
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(loaded.samples.words[0]), "=r"(loaded.samples.words[1]), "=r"(loaded.samples.words[2]),
                       "=r"(loaded.samples.words[3])
                     : "l"(at.address));
      return loaded;
    }

    // Where rows are short, nearly every warp meets an end of one, and all its lanes take the same path.
    template <class Call>
    __device__ void for_each_in(const part_of_row& part, Call call) const {
      constexpr unsigned short_row_vectors = 8;
      if (part.first == 0 && part.end == unit_samples && samples.row_vectors > short_row_vectors) {
        call(part.samples, part.index);
      } else {
#pragma unroll
        for (unsigned i = 0; i < unit_samples; ++i)
          if (i >= part.first && i < part.end) call(single<sample>{part.samples[i]}, part.index + i);
      }
    }

    // Of vectors that do not lie within, the samples. There are some in the first rows and the last ones only.
    template <class Count>
    __device__ void count_at_ends(Count count) const {
      const unsigned long long stride_bytes = samples.row_stride * sizeof(sample), num_rows = samples.num_rows;
      const unsigned long long near_end = stride_bytes < 16 ? 16 / (stride_bytes + (stride_bytes == 0)) + 1 : 1;
      const unsigned long long ends = stride_bytes == 0 || near_end > num_rows ? num_rows : near_end;
      for (unsigned long long i = threadIdx.x; i < 2 * ends * unit_samples; i += block_threads) {
        const unsigned long long end = i / unit_samples;
        const int item = static_cast<int>(i % unit_samples);
        const bool at_first = end < ends;
        const unsigned long long row = at_first ? end : num_rows - 1 - (end - ends);
        const unsigned long long last_sample = address_of(row) % 16 / sizeof(sample) + samples.row_samples - 1;
        const place at = place_of(row, at_first ? 0 : last_sample / unit_samples);
        if (lies_within(at.address) || at_first != (at.address < lowest) || item < at.first || item >= at.end) continue;
        count(single<sample>{reinterpret_cast<const sample*>(at.address)[item]},
              static_cast<std::size_t>(at.index + item));
      }
    }
  };
};

}  // namespace rungs::RUNGS_ABI::parts
