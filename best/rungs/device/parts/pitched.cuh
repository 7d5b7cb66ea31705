// Rows of samples that do not follow each other closely, as one sequence.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/bins.cuh"
#include "rungs/parts/iterator_traits.cuh"
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
    const unsigned long long at = first + i, row = row_of.apply(at);
    return static_cast<value_type>(
        d_samples[static_cast<difference_type>(row * row_stride + (at - row * row_samples))]);
  }
  __device__ pitched operator+(unsigned long long i) const {
    pitched moved = *this;
    moved.first += i;
    return moved;
  }
};

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
  std::size_t num_row_pixels, num_rows, row_stride_bytes;

  // With d_samples itself where the rows follow each other closely.
  template <int num_channels, class SampleIteratorT, class Call>
  cudaError_t as_sequence(SampleIteratorT d_samples, Call call) const {
    const std::size_t row_samples = num_row_pixels * num_channels, num_samples = row_samples * num_rows;
    const std::size_t row_stride = row_stride_bytes / sizeof(parts::item_of<SampleIteratorT>);
    if (num_rows <= 1 || num_samples == 0 || row_stride == row_samples) return call(d_samples, num_samples);
    if (num_rows > 0xffffffffu) return cudaErrorInvalidValue;
    using scale = parts::even_scale<unsigned long long>;
    return call(pitched<SampleIteratorT>{d_samples, row_samples, row_stride,
                                         scale::of(static_cast<unsigned>(num_rows), num_samples)},
                num_samples);
  }
};

}  // namespace rungs::RUNGS_ABI::device
