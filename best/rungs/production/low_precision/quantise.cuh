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

// Codes as bytes, in rows.
struct written_codes {
  unsigned char* data;
  std::size_t stride;  // bytes
  bool aligned;        // whether the codes of each piece can be written at once

  // The codes of a whole piece.
  template <int bytes>
  __device__ static void store(unsigned char* to, const uint2& codes, bool aligned) {
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
  // Those of a piece of so many columns, as far as they exist.
  template <int items>
  __device__ void store(std::size_t row, unsigned first, unsigned num_columns, const uint2& codes) const {
    unsigned char* const to = data + row * stride + first;
    if (first + items <= num_columns) {
      store<items>(to, codes, aligned);
    } else {
#pragma unroll
      for (int i = 0; i < items - 1; ++i)
        if (first + i < num_columns) to[i] = byte_of(codes, i);
    }
  }
};

template <class T, class Format>
written_codes codes_at(unsigned char* data, std::size_t stride, std::size_t num_rows) {
  constexpr std::size_t piece_bytes = row_piece<T>::items * Format::code_bits / 8;
  const bool starts_well = reinterpret_cast<std::uintptr_t>(data) % piece_bytes == 0;
  return {data, stride, starts_well && (num_rows <= 1 || stride % piece_bytes == 0)};
}

// --- a scale for each group

// Packed rows whose pieces lie at multiples of 16 bytes, and their codes likewise, are taken as one. Others take a
// division, and are read and written item by item where they have to be.
enum class rows_lie { packed, apart };

// The pieces of a matrix in their order, and where their codes go.
template <class T, class Format, rows_lie how>
struct pieces_of_rows {
  static constexpr int items = row_piece<T>::items, code_bytes = items * Format::code_bits / 8;
  static constexpr int block_threads = 256, thread_pieces = 4, tile_pieces = block_threads * thread_pieces;
  const T* data;
  written_codes codes;
  std::size_t stride, num_pieces;
  unsigned row_pieces;
  bool aligned;

  struct place {
    std::size_t row, piece;
  };
  // Of the block's first piece: one division of 64 bits. From there on, one of 32 bits a piece.
  __device__ place of_block() const {
    const std::size_t first = std::size_t{blockIdx.x} * tile_pieces;
    if constexpr (how == rows_lie::packed) return {0, first};
    const std::size_t row = first / row_pieces;
    return {row, first - row * row_pieces};
  }
  __device__ place behind(const place& first, unsigned offset) const {
    if constexpr (how == rows_lie::packed) return {0, first.piece + offset};
    const unsigned piece = static_cast<unsigned>(first.piece) + offset;
    return {first.row + piece / row_pieces, piece % row_pieces};
  }
  __device__ row_piece<T> load(const place& from) const {
    if constexpr (how == rows_lie::packed) return {__ldcs(reinterpret_cast<const int4*>(data) + from.piece)};
    const T* const first = data + from.row * stride + from.piece * items;
    if (aligned) return {__ldcs(reinterpret_cast<const int4*>(first))};
    T single[items];
#pragma unroll
    for (int i = 0; i < items; ++i) single[i] = __ldcs(first + i);
    row_piece<T> loaded;
    memcpy(&loaded.bits, single, row_piece<T>::bytes);
    return loaded;
  }
  __device__ void store(const place& to, const uint2& of_piece) const {
    const std::size_t row_begin = how == rows_lie::packed ? 0 : to.row * codes.stride;
    codes.store<code_bytes>(codes.data + row_begin + to.piece * code_bytes, of_piece,
                            how == rows_lie::packed || codes.aligned);
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

template <class T, class Format, int group_items, rows_lie how>
__global__ void __launch_bounds__(pieces_of_rows<T, Format, how>::block_threads, 4)
    quantise_groups_kernel(const __grid_constant__ pieces_of_rows<T, Format, how> rows, typename Format::stored* scales,
                           const __grid_constant__ format_source<Format> source) {
  constexpr int lanes = group_items / rows.items;
  static_assert(parts::warp_threads % lanes == 0, "a group lies in one warp");
  const auto block = rows.of_block();
  const std::size_t first = std::size_t{blockIdx.x} * rows.tile_pieces + threadIdx.x;

  row_piece<T> pieces[rows.thread_pieces];
#pragma unroll
  for (int p = 0; p < rows.thread_pieces; ++p) {
    pieces[p].bits = {};
    if (first + p * rows.block_threads < rows.num_pieces)
      pieces[p] = rows.load(rows.behind(block, threadIdx.x + p * rows.block_threads));
  }

  const Format format = source.read();
#pragma unroll
  for (int p = 0; p < rows.thread_pieces; ++p) {
    unsigned greatest = greatest_magnitude<T>(pieces[p].bits);
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2)
      greatest = max(greatest, __shfl_xor_sync(parts::full_mask, greatest, distance));
    const auto [scale, factor] = format.of(finite_magnitude<T>(greatest));
    const std::size_t index = first + p * rows.block_threads;
    if (index >= rows.num_pieces) continue;
    if (threadIdx.x % lanes == 0) scales[index / lanes] = scale;
    rows.store(rows.behind(block, threadIdx.x + p * rows.block_threads), Format::encode(pieces[p], factor));
  }
}

template <int group_items, rows_lie how, class Format, class T>
cudaError_t launch_groups(const rows::matrix<const T>& in, const written_codes& codes, typename Format::stored* scales,
                          const format_source<Format>& source, cudaStream_t stream) {
  using pieces = pieces_of_rows<T, Format, how>;
  const auto row_pieces = static_cast<unsigned>(in.num_columns / pieces::items);
  const std::size_t num_pieces = in.num_rows * row_pieces;
  return parts::launch(quantise_groups_kernel<T, Format, group_items, how>,
                       parts::ceil_div(num_pieces, pieces::tile_pieces), pieces::block_threads, stream,
                       pieces{in.data, codes, in.stride, num_pieces, row_pieces, rows::is_aligned(in)}, scales, source);
}

// Every row has whole groups.
template <int group_items, class Format, class T>
cudaError_t quantise_groups(const rows::matrix<const T>& in, unsigned char* d_codes, std::size_t code_stride,
                            typename Format::stored* scales, const format_source<Format>& source, cudaStream_t stream) {
  if (in.num_rows == 0 || in.num_columns == 0) return cudaSuccess;
  const written_codes codes = codes_at<T, Format>(d_codes, code_stride, in.num_rows);
  const bool are_packed =
      in.num_rows == 1 || (in.stride == in.num_columns && code_stride == in.num_columns * Format::code_bits / 8);
  if (are_packed && rows::is_aligned(in) && codes.aligned)
    return launch_groups<group_items, rows_lie::packed>(in, codes, scales, source, stream);
  return launch_groups<group_items, rows_lie::apart>(in, codes, scales, source, stream);
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
      codes.store<items>(row, first, num_columns, Format::encode(pieces[p], factor));
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
  return run_rows(
      quantise_row_operation<T, Format>{in, codes_at<T, Format>(codes, code_stride, in.num_rows), scales, in.num_rows,
                                        static_cast<unsigned>(in.num_columns), rows::is_aligned(in)},
      stream);
}

}  // namespace rungs::RUNGS_ABI::production
