// The samples of a call as rows of sixteen bytes for each thread of a block. A block has several rows on their way, and
// asks for another as soon as one is counted.
//
// What is counted has no order, so vectors begin at the first address that is aligned to 16 bytes, wherever the samples
// begin; less than a vector lies before the first one, and less than a vector behind the last. What is no plain pointer
// is read sample by sample.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// One sample, where vectors cannot be read.
template <class Sample>
struct single {
  static constexpr int num_items = 1;
  Sample sample;
  __device__ Sample operator[](int) const { return sample; }
};

template <int block_threads_, int rows_in_flight, class SampleIteratorT>
struct sample_rows {
  using iterator = SampleIteratorT;
  using sample = item_of<SampleIteratorT>;
  static constexpr int block_threads = block_threads_;
  static constexpr bool vectorised = is_vectorisable<SampleIteratorT>;
  static constexpr int unit_samples = vectorised ? 16 / sizeof(sample) : 1;
  static constexpr int row_samples = block_threads * unit_samples;
  // On their way; of single samples, which are fewer bytes, up to twice as many.
  static constexpr int num_rows = vectorised || sizeof(sample) > 4 ? rows_in_flight : 2 * rows_in_flight;

  // Samples before the first whole vector.
  static __device__ std::size_t before_vectors(SampleIteratorT d_samples, std::size_t num_samples) {
    if constexpr (vectorised)
      return at_most((0 - reinterpret_cast<std::uintptr_t>(d_samples)) % 16 / sizeof(sample), num_samples);
    return 0;
  }

  // The samples of reader `reader` of num_readers. Calls prepare(see) while the first rows are on their way, by all
  // threads of the block; in it see(visit) calls visit(unit) for the thread's part of each row that has come. Then
  // calls count(unit, index) for every unit, whose first sample is d_samples[index].
  //
  // A reader's rows follow each other in tiles: DRAM brings 64 KB that lie together faster than four times 16 KB that
  // do not (i32 on an H200: 243 us a GiB against 287). Where there are few of them, readers take turns row by row.
  template <class Prepare, class Count>
  static __device__ void for_each(SampleIteratorT d_samples, std::size_t num_samples, unsigned reader,
                                  unsigned num_readers, Prepare prepare, Count count) {
    constexpr std::size_t tile_units = std::size_t(num_rows) * block_threads;
    const std::size_t before = before_vectors(d_samples, num_samples);
    const std::size_t num_units = (num_samples - before) / unit_samples;
    const bool in_tiles = num_units >= num_readers * (tile_units * 7 / 4);
    const std::size_t row = in_tiles ? block_threads : std::size_t(num_readers) * block_threads;  // to the next one
    const std::size_t step = num_readers * tile_units;
    std::size_t next = reader * (in_tiles ? tile_units : block_threads) + threadIdx.x;
    const SampleIteratorT first = d_samples + before;
    unit loaded[num_rows];
#pragma unroll
    for (int i = 0; i < num_rows; ++i)
      if (next + i * row < num_units) loaded[i] = load(first, next + i * row);
    prepare([&](auto visit) {
#pragma unroll
      for (int i = 0; i < num_rows; ++i)
        if (next + i * row < num_units) visit(loaded[i]);
    });
    if constexpr (vectorised) {
      if (reader == num_readers - 1) {
        const std::size_t behind = before + num_units * unit_samples;
        if (threadIdx.x < before) count(single<sample>{d_samples[threadIdx.x]}, threadIdx.x);
        if (threadIdx.x < num_samples - behind)
          count(single<sample>{d_samples[behind + threadIdx.x]}, behind + threadIdx.x);
      }
    }
    // While this tile and the next one are all there, for every thread.
    if constexpr (num_rows > 1) {
      if (in_tiles) {
#pragma unroll 1
        for (; next - threadIdx.x + step + tile_units <= num_units; next += step) {
          const SampleIteratorT ahead = first + (next + step) * unit_samples;
#pragma unroll
          for (int i = 0; i < num_rows; ++i) {
            count(loaded[i], before + (next + i * block_threads) * unit_samples);
            loaded[i] = load(ahead, i * block_threads);
          }
        }
      }
    }
#pragma unroll 1
    for (; next < num_units; next += step) {
#pragma unroll
      for (int i = 0; i < num_rows; ++i) {
        const std::size_t at = next + i * row;
        if (at < num_units) count(loaded[i], before + at * unit_samples);
        if (at + step < num_units) loaded[i] = load(first, at + step);
      }
    }
  }

 private:
  using unit = std::conditional_t<vectorised, vector<sample>, single<sample>>;

  static __device__ unit load(SampleIteratorT first, std::size_t index) {
    unit loaded;
    if constexpr (vectorised) {
      asm volatile(
          "ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: as early as it stands here
          : "=r"(loaded.words[0]), "=r"(loaded.words[1]), "=r"(loaded.words[2]), "=r"(loaded.words[3])
          : "l"(first + index * unit_samples));
    } else {
      loaded.sample = static_cast<sample>(first[index]);
    }
    return loaded;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
