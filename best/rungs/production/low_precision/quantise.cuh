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
      for (int i = 0; i < bytes; ++i) to[i] = byte_of(codes, i);
    } else if constexpr (bytes == 8) {
      *reinterpret_cast<uint2*>(to) = codes;
    } else if constexpr (bytes == 4) {
      *reinterpret_cast<unsigned*>(to) = codes.x;
    } else {
      static_assert(bytes == 2);
      *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(codes.x);
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

// How many threads of a multiprocessor packed rows leave registers for. GPUs before sm_90 take more of them for the
// same code, and newer ones may have room for 1,536 threads alone.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
inline constexpr int resident_packed_threads = 2048;
#else
inline constexpr int resident_packed_threads = 1024;
#endif

// The pieces of a matrix in their order, and where their codes go. No cache hints: with __ldcs, 65536 x 4096 bf16 took
// 211 us to become fp8 on an H200 instead of 187.
template <class T, class Format, rows_lie how, int thread_pieces_>
struct pieces_of_rows {
  using item = T;
  using format = Format;
  static constexpr bool are_packed = how == rows_lie::packed;
  static constexpr int items = row_piece<T>::items, code_bytes = items * Format::code_bits / 8;
  static constexpr int block_threads = 256;
  static constexpr int resident_blocks = (are_packed ? resident_packed_threads : 1024) / block_threads;
  static constexpr int thread_pieces = thread_pieces_, tile_pieces = block_threads * thread_pieces;
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
    if constexpr (are_packed) return {0, first};
    const std::size_t row = first / row_pieces;
    return {row, first - row * row_pieces};
  }
  // The thread's piece p.
  __device__ place of_thread(const place& block, int p) const {
    if constexpr (are_packed) return {0, block.piece + threadIdx.x + p * block_threads};
    const unsigned piece = static_cast<unsigned>(block.piece) + threadIdx.x + p * block_threads;
    return {block.row + piece / row_pieces, piece % row_pieces};
  }
  __device__ row_piece<T> load(const place& from) const {
    if constexpr (are_packed) return {reinterpret_cast<const int4*>(data)[from.piece]};
    const T* const first = data + from.row * stride + from.piece * items;
    if (aligned) return {*reinterpret_cast<const int4*>(first)};
    T single[items];
#pragma unroll
    for (int i = 0; i < items; ++i) single[i] = first[i];
    row_piece<T> loaded;
    memcpy(&loaded.bits, single, row_piece<T>::bytes);
    return loaded;
  }
  __device__ void store(const place& to, const uint2& of_piece) const {
    const std::size_t row_begin = are_packed ? 0 : to.row * codes.stride;
    codes.store<code_bytes>(codes.data + row_begin + to.piece * code_bytes, of_piece, are_packed || codes.aligned);
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

template <int group_items, class Rows>
__global__ void __launch_bounds__(Rows::block_threads, Rows::resident_blocks)
    quantise_groups_kernel(const __grid_constant__ Rows rows, typename Rows::format::stored* scales,
                           const __grid_constant__ format_source<typename Rows::format> source) {
  using T = typename Rows::item;
  using Format = typename Rows::format;
  constexpr int lanes = group_items / rows.items;
  static_assert(parts::warp_threads % lanes == 0, "a group lies in one warp");
  const auto block = rows.of_block();
  const std::size_t tile_begin = std::size_t{blockIdx.x} * rows.tile_pieces, first = tile_begin + threadIdx.x;
  const bool is_whole = rows.are_packed && tile_begin + rows.tile_pieces <= rows.num_pieces;

  row_piece<T> pieces[rows.thread_pieces];
  if (is_whole) {
#pragma unroll
    for (int p = 0; p < rows.thread_pieces; ++p) pieces[p] = rows.load(rows.of_thread(block, p));
  } else {
#pragma unroll
    for (int p = 0; p < rows.thread_pieces; ++p) {
      pieces[p].bits = {};
      if (first + p * rows.block_threads < rows.num_pieces) pieces[p] = rows.load(rows.of_thread(block, p));
    }
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
    if (!is_whole && index >= rows.num_pieces) continue;
    if (threadIdx.x % lanes == 0) scales[index / lanes] = scale;
    rows.store(rows.of_thread(block, p), Format::encode(pieces[p], factor));
  }
}

// Up to 16 MiB of items, threads have two pieces instead of four, so that there are blocks for all multiprocessors.
inline constexpr std::size_t few_pieces = 1 << 20;

// Every row has whole groups.
template <int group_items, class Format, class T>
cudaError_t quantise_groups(const rows::matrix<const T>& in, unsigned char* d_codes, std::size_t code_stride,
                            typename Format::stored* scales, const format_source<Format>& source, cudaStream_t stream) {
  if (in.num_rows == 0 || in.num_columns == 0) return cudaSuccess;
  const written_codes codes = codes_at<T, Format>(d_codes, code_stride, in.num_rows);
  const auto row_pieces = static_cast<unsigned>(in.num_columns / row_piece<T>::items);
  const std::size_t num_pieces = in.num_rows * row_pieces;
  const bool aligned = rows::is_aligned(in);
  const bool are_packed =
      in.num_rows == 1 || (in.stride == in.num_columns && code_stride == in.num_columns * Format::code_bits / 8);
  const auto launch = [&](auto of_rows) {
    using pieces = decltype(of_rows);
    return parts::launch(quantise_groups_kernel<group_items, pieces>, parts::ceil_div(num_pieces, pieces::tile_pieces),
                         pieces::block_threads, stream,
                         pieces{in.data, codes, in.stride, num_pieces, row_pieces, aligned}, scales, source);
  };
  if (!are_packed || !aligned || !codes.aligned) return launch(pieces_of_rows<T, Format, rows_lie::apart, 4>{});
  if (num_pieces <= few_pieces) return launch(pieces_of_rows<T, Format, rows_lie::packed, 2>{});
  return launch(pieces_of_rows<T, Format, rows_lie::packed, 4>{});
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
