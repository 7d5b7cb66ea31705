// Rows of fp8 as kernels read and write them: four codes become four floats, and back.
//
// The items of row_kernel.cuh are floats, 16 bytes of which are four columns. So neighbouring lanes read neighbouring
// words of four codes, and write neighbouring results of any type. held_row_kernel.cuh has eight columns a piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/production/low_precision/formats.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::production {

// Four neighbouring columns of a row. T is an fp8, or what is_item takes.
template <class T>
struct four_columns {
  static constexpr int items = row_piece<float>::items, bytes = items * sizeof(T);
  using floats = row_piece<float>::floats;
  using word = std::conditional_t<bytes == 4, unsigned, std::conditional_t<bytes == 8, uint2, uint4>>;
  // As it is read and written alone.
  using item =
      std::conditional_t<sizeof(T) == 1, std::uint8_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, unsigned>>;
  static_assert(is_fp8<T> || is_item<T>);
  word bits;

  __device__ void get(floats& values) const {
    if constexpr (is_fp8<T>) {
      const float2 low = two_of_fp8<fp8_kind<T>>(bits), high = two_of_fp8<fp8_kind<T>>(bits >> 16);
      values[0] = low.x, values[1] = low.y, values[2] = high.x, values[3] = high.y;
    } else {
      T unpacked[items];
      memcpy(unpacked, &bits, bytes);
#pragma unroll
      for (int i = 0; i < items; ++i) values[i] = to_float(unpacked[i]);
    }
  }
  __device__ void set(const floats& values) {
    if constexpr (is_fp8<T>) {
      bits = four_as_fp8<fp8_kind<T>>(values);
    } else if constexpr (sizeof(T) == 4) {
      memcpy(&bits, values, bytes);
    } else {
      bits = {pair(values[0], values[1]), pair(values[2], values[3])};
    }
  }

  // Two at once take one instruction, one by one they take two slow ones.
  __device__ static unsigned pair(float low, float high) {
    std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162> both;
    if constexpr (std::is_same_v<T, __half>)
      both = __floats2half2_rn(low, high);
    else
      both = __floats2bfloat162_rn(low, high);
    unsigned packed;
    memcpy(&packed, &both, sizeof(packed));
    return packed;
  }

  // The columns from `first` on of a row of num_columns, those that do not exist 0. `aligned`: the row begins at a
  // multiple of the word's bytes.
  __device__ void load(const T* row, unsigned first, unsigned num_columns, bool aligned) {
    if (aligned && first + items <= num_columns) {
      bits = *reinterpret_cast<const word*>(row + first);
      return;
    }
    if constexpr (sizeof(T) == 1) {  // cut out of two words that lie in the row
      if (!aligned && first >= items && first + 2 * items <= num_columns) {
        const auto address = reinterpret_cast<std::uintptr_t>(row + first);
        const auto* const words = reinterpret_cast<const word*>(address / bytes * bytes);
        const unsigned offset = address % bytes;
        const word low = words[0], high = offset == 0 ? low : words[1];
        bits = __funnelshift_r(low, high, 8 * offset);
        return;
      }
    }
    item single[items];
    const auto* const from = reinterpret_cast<const item*>(row);
#pragma unroll
    for (int i = 0; i < items; ++i) single[i] = first + i < num_columns ? from[first + i] : 0;
    memcpy(&bits, single, bytes);
  }
  __device__ void store(T* row, unsigned first, unsigned num_columns, bool aligned) const {
    if (aligned && first + items <= num_columns) {
      *reinterpret_cast<word*>(row + first) = bits;
      return;
    }
    item single[items];
    memcpy(single, &bits, bytes);
    auto* const to = reinterpret_cast<item*>(row);
#pragma unroll
    for (int i = 0; i < items; ++i)
      if (first + i < num_columns) to[first + i] = single[i];
  }
};

// Eight neighbouring columns. Of a whole piece they are one vector, or two of floats.
template <class T>
struct eight_columns {
  static constexpr int items = 8;
  static constexpr std::size_t vector_bytes = sizeof(T) == 1 ? 8 : 16;
  using vector = std::conditional_t<vector_bytes == 8, uint2, uint4>;
  using floats = float[items];
  static constexpr int num_vectors = items * sizeof(T) / vector_bytes;
  four_columns<T> fours[2];

  __device__ void get(floats& values) const {
    if constexpr (sizeof(T) == 2) {
      row_piece<T> piece;
      memcpy(&piece.bits, fours, sizeof(fours));
      piece.get_once(values);
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        typename four_columns<T>::floats of_four;
        fours[i].get(of_four);
#pragma unroll
        for (int j = 0; j < 4; ++j) values[4 * i + j] = of_four[j];
      }
    }
  }
  __device__ void set(const floats& values) {
#pragma unroll
    for (int i = 0; i < 2; ++i) fours[i].set({values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]});
  }

  // As four_columns does it.
  template <bool whole>
  __device__ void load(const T* row, unsigned first, unsigned num_columns, bool aligned) {
    if constexpr (whole) {
      vector vectors[num_vectors] = {};
#pragma unroll
      for (int i = 0; i < num_vectors; ++i)
        if (first < num_columns) vectors[i] = reinterpret_cast<const vector*>(row + first)[i];
      memcpy(fours, vectors, sizeof(fours));
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) fours[i].load(row, first + 4 * i, num_columns, aligned);
    }
  }
  template <bool whole>
  __device__ void store(T* row, unsigned first, unsigned num_columns, bool aligned) const {
    if constexpr (whole) {
      vector vectors[num_vectors];
      memcpy(vectors, fours, sizeof(fours));
#pragma unroll
      for (int i = 0; i < num_vectors; ++i)
        if (first < num_columns) reinterpret_cast<vector*>(row + first)[i] = vectors[i];
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) fours[i].store(row, first + 4 * i, num_columns, aligned);
    }
  }
};

// Whether every row begins at a multiple of so many bytes: of words of four columns, or of vectors of eight.
template <class T>
bool begins_at_multiples(const rows::matrix<T>& of, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(of.data) % bytes == 0 &&
         (of.num_rows <= 1 || of.stride * sizeof(T) % bytes == 0);
}
template <class T>
bool begins_at_words(const rows::matrix<T>& of) {
  return begins_at_multiples(of, four_columns<std::remove_const_t<T>>::bytes);
}
template <class T>
bool begins_at_vectors(const rows::matrix<T>& of) {
  return begins_at_multiples(of, eight_columns<std::remove_const_t<T>>::vector_bytes);
}

// Rows of codes, and what they are multiplied by.
template <class F>
struct scaled_codes {
  rows::matrix<const F> codes;
  const float* d_scales;  // null: 1
  bool of_rows;           // a scale for each row, else one for all
  bool aligned;

  // The thread's columns of a chunk as floats: code * scale, rounded. `absent` stands for columns that do not exist.
  template <class Group>
  __device__ void load(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces,
                       float absent) const {
    const auto num_columns = static_cast<unsigned>(codes.num_columns);
    four_columns<F> loaded[Group::pieces];
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p)
      loaded[p].load(codes.row(row), group.column(chunk, p), num_columns, aligned);
    const float scale = d_scales == nullptr ? 1 : d_scales[of_rows ? row : 0];
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      typename Group::floats values;
      loaded[p].get(values);
#pragma unroll
      for (float& value : values) value = __fmul_rn(value, scale);
      pieces[p].set(values);
    }
    if (group.column(chunk, Group::pieces - 1) + Group::piece_items <= num_columns) return;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      typename Group::floats values;
      pieces[p].get(values);
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i)
        if (group.column(chunk, p) + i >= num_columns) values[i] = absent;
      pieces[p].set(values);
    }
  }

  // The same of a row that a block holds.
  template <class Group>
  __device__ void load_held(const Group& group, std::size_t row, typename Group::values& values, float absent) const {
    const auto num_columns = static_cast<unsigned>(codes.num_columns);
    eight_columns<F> loaded[Group::pieces];
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p)
      loaded[p].template load<Group::is_whole>(codes.row(row), group.column(0, p), num_columns, aligned);
    const float scale = d_scales == nullptr ? 1 : d_scales[of_rows ? row : 0];
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      loaded[p].get(values[p]);
#pragma unroll
      for (int i = 0; i < Group::piece_items; ++i) {
        const bool exists = group.column(0, p) + (Group::is_whole ? 0 : i) < num_columns;
        // The rounded product, or `absent`: a sum with -0 has the bits of its other summand.
        values[p][i] = fmaf(values[p][i], exists ? scale : 0, exists ? -0.0f : absent);
      }
    }
  }
};

}  // namespace rungs::RUNGS_ABI::production
