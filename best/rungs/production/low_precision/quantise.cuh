// Quantising: items of 16 or 32 bits become codes of 4 or 8, and each group of neighbours, or each row, a scale.
//
// A thread has pieces of 16 bytes, and neighbouring lanes have a group: they compare magnitudes by shuffles, and each
// writes its own codes. A scale for a whole row takes the kernel of all operations on rows, which holds the row between
// its read and its write.
#pragma once

#include "rungs/parts/launch.cuh"
#include "rungs/production/low_precision/scales.cuh"
#include "rungs/production/rows/row_kernel.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI::production {

// Codes as bytes: the items of a matrix, in rows with a distance of their own.
struct written_codes {
  unsigned char* data;
  std::size_t stride;  // bytes
  bool aligned;        // whether the codes of each piece can be written at once

  // The codes of a whole piece.
  template <class Format, int items>
  __device__ void store(std::size_t row, unsigned first_item, const uint2& codes) const {
    constexpr int bytes = items * Format::code_bits / 8;
    unsigned char* const to = data + row * stride + std::size_t{first_item} * Format::code_bits / 8;
    if (!aligned) {
#pragma unroll
      for (int i = 0; i < bytes; ++i) __stcs(to + i, byte_of(codes, i));
    } else if constexpr (bytes == 8) {
      __stcs(reinterpret_cast<uint2*>(to), codes);
    } else if constexpr (bytes == 4) {
      __stcs(reinterpret_cast<unsigned*>(to), codes.x);
    } else {
      static_assert(bytes == 2);
      __stcs(reinterpret_cast<unsigned short*>(to), static_cast<unsigned short>(codes.x));
    }
  }
  __device__ static unsigned char byte_of(const uint2& codes, int i) {
    return static_cast<unsigned char>((i < 4 ? codes.x : codes.y) >> (8 * (i % 4)));
  }
};

// The codes of a piece: its items times the factor, rounded once more.
template <class Format, class T>
__device__ uint2 encoded(const row_piece<T>& piece, float factor) {
  typename row_piece<T>::floats values;
  piece.get(values);
#pragma unroll
  for (float& value : values) value *= factor;
  return Format::template encode<row_piece<T>::items>(values);
}

// --- a scale for each group

// Pieces of a matrix in the order in which they lie. Packed rows are taken as one.
template <class T>
struct pieces_of_rows {
  static constexpr int block_threads = 256, thread_pieces = 4, tile_pieces = block_threads * thread_pieces;
  const T* data;
  std::size_t stride, num_pieces, row_pieces;
  bool aligned;

  struct place {
    std::size_t row, piece;
  };
  // One division of 64 bits a block, and one of 32 bits for pieces in rows of their own.
  __device__ place of_tile(std::size_t tile) const {
    const std::size_t first = tile * tile_pieces;
    if (row_pieces == num_pieces) return {0, first};
    const std::size_t row = first / row_pieces;
    return {row, first - row * row_pieces};
  }
  __device__ place behind(const place& first, unsigned offset) const {
    if (row_pieces == num_pieces) return {0, first.piece + offset};
    const unsigned piece = static_cast<unsigned>(first.piece) + offset, width = static_cast<unsigned>(row_pieces);
    return {first.row + piece / width, piece % width};
  }
  __device__ row_piece<T> load(const place& from) const {
    const T* const first = data + from.row * stride + from.piece * row_piece<T>::items;
    if (aligned) return {__ldcs(reinterpret_cast<const int4*>(first))};
    T items[row_piece<T>::items];
#pragma unroll
    for (int i = 0; i < row_piece<T>::items; ++i) items[i] = __ldcs(first + i);
    row_piece<T> loaded;
    memcpy(&loaded.bits, items, row_piece<T>::bytes);
    return loaded;
  }
};

// What a format needs from the device's memory is read by each thread for itself.
template <class Format>
struct format_source {
  __device__ Format read() const { return {}; }
};
template <>
struct format_source<nvfp4> {
  const float* d_global_scale;  // null: 1
  __device__ nvfp4 read() const {
    const float global_scale = d_global_scale == nullptr ? 1 : *d_global_scale;
    return {{}, global_scale, __frcp_rn(global_scale)};
  }
};

template <class T, class Format, int group_items>
__global__ void __launch_bounds__(pieces_of_rows<T>::block_threads, 4)
    quantise_groups_kernel(const __grid_constant__ pieces_of_rows<T> in, const __grid_constant__ written_codes codes,
                           typename Format::stored* scales, const __grid_constant__ format_source<Format> source) {
  using piece = row_piece<T>;
  constexpr int lanes = group_items / piece::items, thread_pieces = pieces_of_rows<T>::thread_pieces;
  static_assert(parts::warp_threads % lanes == 0, "a group lies in one warp");
  const auto tile = in.of_tile(blockIdx.x);
  const std::size_t first = std::size_t{blockIdx.x} * in.tile_pieces + threadIdx.x;

  piece pieces[thread_pieces];
#pragma unroll
  for (int p = 0; p < thread_pieces; ++p) {
    pieces[p].bits = {};
    if (first + p * in.block_threads < in.num_pieces)
      pieces[p] = in.load(in.behind(tile, threadIdx.x + p * in.block_threads));
  }

  const Format format = source.read();
#pragma unroll
  for (int p = 0; p < thread_pieces; ++p) {
    unsigned greatest = greatest_magnitude<T>(pieces[p].bits);
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2)
      greatest = max(greatest, __shfl_xor_sync(parts::full_mask, greatest, distance));
    const auto [scale, factor] = format.of(finite_magnitude<T>(greatest));
    const std::size_t index = first + p * in.block_threads;
    if (index >= in.num_pieces) continue;
    if (threadIdx.x % lanes == 0) scales[index / lanes] = scale;
    const auto to = in.behind(tile, threadIdx.x + p * in.block_threads);
    codes.template store<Format, piece::items>(to.row, to.piece, encoded<Format>(pieces[p], factor));
  }
}

// Every row has whole groups.
template <int group_items, class Format, class T>
cudaError_t quantise_groups(const rows::matrix<const T>& in, unsigned char* codes, std::size_t code_stride,
                            typename Format::stored* scales, const format_source<Format>& source, cudaStream_t stream) {
  constexpr int piece_items = row_piece<T>::items;
  if (in.num_rows == 0 || in.num_columns == 0) return cudaSuccess;
  const std::size_t code_bytes = in.num_columns * Format::code_bits / 8;
  const std::size_t store_bytes = piece_items * Format::code_bits / 8;
  const bool packed = in.num_rows == 1 || (in.stride == in.num_columns && code_stride == code_bytes);
  const std::size_t row_pieces = in.num_columns / piece_items, num_pieces = in.num_rows * row_pieces;
  const bool aligned_codes = reinterpret_cast<std::uintptr_t>(codes) % store_bytes == 0 &&
                             (in.num_rows == 1 || code_stride % store_bytes == 0);
  return parts::launch(
      quantise_groups_kernel<T, Format, group_items>, parts::ceil_div(num_pieces, pieces_of_rows<T>::tile_pieces),
      pieces_of_rows<T>::block_threads, stream,
      pieces_of_rows<T>{in.data, in.stride, num_pieces, packed ? num_pieces : row_pieces, rows::is_aligned(in)},
      written_codes{codes, code_stride, aligned_codes}, scales, source);
}

// --- a scale for each row

template <class T, class Format>
struct quantise_row_operation {
  using item = T;
  using partial = unsigned;  // the greatest magnitude, as bits
  static constexpr bool writes_rows = true;
  static constexpr unsigned slice_chunks = 4;

  rows::matrix<const T> in;
  written_codes codes;
  typename Format::stored* scales;
  std::size_t num_rows;
  unsigned num_columns;
  bool aligned;

  bool reads_one_matrix() const { return true; }

  template <bool again, class Group>
  __device__ void read(const Group& group, std::size_t row, unsigned chunk, typename Group::held& pieces) const {
    group.load(in.row(row), chunk, pieces, 0);
  }
  template <class Group>
  __device__ void fold(const Group&, unsigned, const typename Group::held& pieces, unsigned& known) const {
#pragma unroll
    for (const auto& piece : pieces) known = max(known, greatest_magnitude<T>(piece.bits));
  }
  template <int num_lanes>
  __device__ unsigned merge(unsigned known) const {
#pragma unroll
    for (int distance = 1; distance < num_lanes; distance *= 2)
      known = max(known, __shfl_xor_sync(parts::full_mask, known, distance));
    return known;
  }
  template <class Group>
  __device__ void write(const Group& group, std::size_t row, unsigned chunk, const typename Group::held& pieces,
                        unsigned known) const {
    constexpr int items = Group::piece_items;
    const float factor = Format{}.of(finite_magnitude<T>(known)).factor;
#pragma unroll
    for (int p = 0; p < Group::pieces; ++p) {
      const unsigned first = group.column(chunk, p);
      if (first >= num_columns) continue;
      const uint2 of_piece = encoded<Format>(pieces[p], factor);
      if (first + items <= num_columns) {
        codes.template store<Format, items>(row, first, of_piece);
      } else {
#pragma unroll
        for (int i = 0; i < items - 1; ++i)
          if (first + i < num_columns) codes.data[row * codes.stride + first + i] = codes.byte_of(of_piece, i);
      }
    }
  }
  __device__ void conclude(std::size_t row, unsigned known) const {
    scales[row] = Format{}.of(finite_magnitude<T>(known)).scale;
  }
};

template <class Format, class T>
cudaError_t quantise_rows(const rows::matrix<const T>& in, unsigned char* codes, std::size_t code_stride,
                          typename Format::stored* scales, cudaStream_t stream) {
  static_assert(Format::code_bits == 8, "the codes of a row may end in any byte");
  constexpr std::size_t store_bytes = row_piece<T>::items;
  const bool aligned_codes = reinterpret_cast<std::uintptr_t>(codes) % store_bytes == 0 &&
                             (in.num_rows <= 1 || code_stride % store_bytes == 0);
  return run_rows(quantise_row_operation<T, Format>{in,
                                                    {codes, code_stride, aligned_codes},
                                                    scales,
                                                    in.num_rows,
                                                    static_cast<unsigned>(in.num_columns),
                                                    rows::is_aligned(in)},
                  stream);
}

}  // namespace rungs::RUNGS_ABI::production
