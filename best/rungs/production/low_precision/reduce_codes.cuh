// Sums and maxima of codes of 4 and 8 bits, by row or over all of an array.
//
// 8, 32 or 256 threads read a row by pieces of 16 bytes, four at a time. An array is cut into tiles, which are taken as
// rows. Each leaves what it knows in the storage, and one block merges that in a second launch. Shapes depend on the
// number of columns alone. So the same codes have the same bits on every GPU, at any address. Rows of whole pieces at
// multiples of 16 bytes have a kernel that does not know of others: all its loads are on their way at once.
//
// An operation is a struct that the kernel takes by value:
//   partial                          what a thread knows; all bits 0 is what it knows of nothing
//   scales                           what belongs to a piece of 16 bytes besides its codes
//   reads_words()                    whether the scales of a whole piece can be read at once
//   read<whole>(row, column, end)    the scales of the piece that begins at byte `column` of a row with `end` bytes
//   fold(partial, piece, scales)     adds a piece to what is known; bytes that do not exist are 0
//   join(a, b), merge<lanes>(known)  two together; so many neighbouring lanes together, in each of them
//   conclude(index, known)           writes the result of a row or of the array
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/low_precision/formats.cuh"
#include "rungs/production/rows/row_group.cuh"

namespace rungs::RUNGS_ABI::production {

// Rows of codes as bytes. The last one may be shorter.
struct rows_of_codes {
  const unsigned char* data;
  std::size_t num_rows, stride;
  unsigned row_bytes, last_row_bytes;
  bool aligned;  // whether every row begins at a multiple of 16 bytes
};

template <class Op, int row_threads, row_reach reach>
__global__ void __launch_bounds__(row_threads < 128 ? 128 : row_threads, row_threads < 128 ? 8 : 4)
    reduce_codes_kernel(const __grid_constant__ Op op, const __grid_constant__ rows_of_codes codes,
                        typename Op::partial* tiles) {
  using group = row_group<unsigned char, row_threads, 4, reach>;
  const std::size_t row = std::size_t{blockIdx.x} * group::block_rows + threadIdx.x / row_threads;
  const bool exists = row < codes.num_rows;
  const group threads{row + 1 < codes.num_rows ? codes.row_bytes : codes.last_row_bytes, codes.aligned};

  typename Op::partial known{};
  if (exists) {
    const unsigned char* const from = codes.data + row * codes.stride;
    const unsigned num_chunks = threads.num_chunks();
    for (unsigned chunk = 0; chunk < num_chunks; ++chunk) {
      typename group::held pieces;
      typename Op::scales scales[group::pieces];
#pragma unroll
      for (int p = 0; p < group::pieces; ++p) {
        const unsigned column = threads.column(chunk, p);
        pieces[p].bits = {}, scales[p] = {};
        if (column >= threads.num_columns) continue;
        pieces[p] = threads.load(from, column, 0);
        scales[p] = op.template read<group::is_whole>(row, column, threads.num_columns);
      }
#pragma unroll
      for (int p = 0; p < group::pieces; ++p) op.fold(known, pieces[p].bits, scales[p]);
    }
  }
  known = threads.all_reduce(op, known);
  if (!exists || threads.thread() != 0) return;
  if (tiles != nullptr)
    tiles[row] = known;
  else
    op.conclude(row, known);
}

template <class Op>
__global__ void __launch_bounds__(1024)
    merge_tiles_kernel(const __grid_constant__ Op op, const typename Op::partial* tiles, std::size_t num_tiles) {
  typename Op::partial known{};
#pragma unroll 4
  for (std::size_t i = threadIdx.x; i < num_tiles; i += blockDim.x) known = Op::join(known, tiles[i]);
  known = row_group<unsigned char, 1024, 1, row_reach::block>{}.all_reduce(op, known);
  if (threadIdx.x == 0) op.conclude(0, known);
}

template <int row_threads, class Op>
cudaError_t launch_rows_of_codes(const Op& op, const rows_of_codes& codes, typename Op::partial* tiles,
                                 cudaStream_t stream) {
  using group = row_group<unsigned char, row_threads, 4, row_reach::block>;
  const bool is_whole =
      codes.aligned && codes.row_bytes % 16 == 0 && codes.last_row_bytes % 16 == 0 && op.reads_words();
  return parts::launch(is_whole ? reduce_codes_kernel<Op, row_threads, row_reach::block_of_whole_pieces>
                                : reduce_codes_kernel<Op, row_threads, row_reach::block>,
                       parts::ceil_div(codes.num_rows, group::block_rows), group::block_threads, stream, op, codes,
                       tiles);
}

// One result a row.
template <class Op>
cudaError_t reduce_rows_of_codes(const Op& op, const rows_of_codes& codes, cudaStream_t stream) {
  if (codes.num_rows == 0) return cudaSuccess;
  if (codes.row_bytes <= 512) return launch_rows_of_codes<8>(op, codes, nullptr, stream);
  if (codes.row_bytes <= 8192) return launch_rows_of_codes<32>(op, codes, nullptr, stream);
  return launch_rows_of_codes<256>(op, codes, nullptr, stream);
}

// One result of all. The op's row is then a tile.
inline constexpr unsigned tile_bytes = 64 * 1024;

template <class Op>
cudaError_t reduce_all_codes(void* d_temp_storage, std::size_t& temp_storage_bytes, const Op& op,
                             const unsigned char* data, std::size_t bytes, cudaStream_t stream) {
  using partial = typename Op::partial;
  const std::size_t num_tiles = bytes == 0 ? 1 : parts::ceil_div(bytes, tile_bytes);
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, num_tiles > 1 ? num_tiles * sizeof(partial) : 0, region,
                      error))
    return error;
  auto* const tiles = num_tiles > 1 ? reinterpret_cast<partial*>(region) : nullptr;
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  const auto last = static_cast<unsigned>(bytes - (num_tiles - 1) * tile_bytes);
  error = launch_rows_of_codes<256>(op, {data, num_tiles, tile_bytes, tile_bytes, last, aligned}, tiles, stream);
  if (error != cudaSuccess || tiles == nullptr) return error;
  return parts::launch(merge_tiles_kernel<Op>, 1, 1024, stream, op, tiles, num_tiles);
}

// --- operations

struct no_scales {};

template <class F>
struct fp8_sum {
  using partial = float;
  using scales = no_scales;
  float* d_out;

  bool reads_words() const { return true; }
  template <bool>
  __device__ no_scales read(std::size_t, unsigned, unsigned) const {
    return {};
  }
  __device__ void fold(float& known, const int4& piece, no_scales) const {
    constexpr auto kind = fp8_kind<F>;
    known += (sum_of_fp8<kind>(piece.x) + sum_of_fp8<kind>(piece.y)) +
             (sum_of_fp8<kind>(piece.z) + sum_of_fp8<kind>(piece.w));
  }
  __device__ static float join(float a, float b) { return a + b; }
  template <int num_lanes>
  __device__ float merge(float known) const {
    return sum_of_lanes<num_lanes>(known);
  }
  __device__ void conclude(std::size_t index, float known) const { d_out[index] = known; }
};

// Codes without their sign are in the order of the magnitudes, NaN last. Known are two of them, each in the upper byte
// of a half: halves are compared two at a time.
template <class F>
struct fp8_abs_max {
  using partial = unsigned;
  using scales = no_scales;
  float* d_out;

  bool reads_words() const { return true; }
  template <bool>
  __device__ no_scales read(std::size_t, unsigned, unsigned) const {
    return {};
  }
  __device__ void fold(unsigned& known, const int4& piece, no_scales) const {
    known = __vmaxu2(known, __vmaxu2(__vmaxu2(greatest(piece.x), greatest(piece.y)),
                                     __vmaxu2(greatest(piece.z), greatest(piece.w))));
  }
  __device__ static unsigned join(unsigned a, unsigned b) { return __vmaxu2(a, b); }
  template <int num_lanes>
  __device__ unsigned merge(unsigned known) const {
#pragma unroll
    for (int distance = 1; distance < num_lanes; distance *= 2)
      known = __vmaxu2(known, __shfl_xor_sync(parts::full_mask, known, distance));
    return known;
  }
  __device__ void conclude(std::size_t index, unsigned known) const {
    d_out[index] = two_of_fp8<fp8_kind<F>>(max(known >> 24, known >> 8 & 0xffu)).x;
  }

 private:
  __device__ static unsigned greatest(unsigned codes) {
    constexpr unsigned magnitude = 0x7f007f00u;
    return __vmaxu2(codes & magnitude, codes << 8 & magnitude);
  }
};

// Groups of 16 or 32 codes of e2m1, two a byte, with a scale each. The sum of a group is exact.
template <class Scale, int group_size>
struct fp4_sum {
  static constexpr int piece_bytes = 16, group_bytes = group_size / 2, groups = piece_bytes / group_bytes;
  using partial = float;
  // Those of a piece, as bits.
  using scales =
      std::conditional_t<groups * sizeof(Scale) == 1, std::uint8_t,
                         std::conditional_t<groups * sizeof(Scale) == 2, std::uint16_t,
                                            std::conditional_t<groups * sizeof(Scale) == 4, unsigned, uint2>>>;
  static_assert(sizeof(scales) == groups * sizeof(Scale));
  const Scale* d_scales;
  std::size_t row_groups;
  const float* d_global_scale;  // null: 1
  float* d_out;

  bool reads_words() const { return reinterpret_cast<std::uintptr_t>(d_scales) % sizeof(scales) == 0; }
  template <bool whole>
  __device__ scales read(std::size_t row, unsigned column, unsigned end) const {
    const Scale* const from = d_scales + row * row_groups + column / group_bytes;
    if constexpr (whole) return *reinterpret_cast<const scales*>(from);
    Scale single[groups] = {};
#pragma unroll
    for (int i = 0; i < groups; ++i)
      if (column + i * group_bytes < end) single[i] = from[i];
    scales found;
    memcpy(&found, single, sizeof(found));
    return found;
  }
  __device__ void fold(float& known, const int4& piece, const scales& of_piece) const {
    const unsigned words[4] = {static_cast<unsigned>(piece.x), static_cast<unsigned>(piece.y),
                               static_cast<unsigned>(piece.z), static_cast<unsigned>(piece.w)};
    float values[groups];
    values_of(of_piece, values);
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      const int doubled = doubled_sum_of_fp4<4 / groups>(words + i * (4 / groups));
      known = fmaf(values[i], 0.5f * static_cast<float>(doubled), known);
    }
  }
  __device__ static float join(float a, float b) { return a + b; }
  template <int num_lanes>
  __device__ float merge(float known) const {
    return sum_of_lanes<num_lanes>(known);
  }
  __device__ void conclude(std::size_t index, float known) const {
    d_out[index] = d_global_scale == nullptr ? known : known * *d_global_scale;
  }

 private:
  __device__ static void values_of(const scales& of_piece, float (&values)[groups]) {
    if constexpr (std::is_same_v<Scale, __nv_fp8_e4m3>) {  // one instruction for two of them
      static_assert(groups == 2);
      const float2 both = two_of_fp8<__NV_E4M3>(of_piece);
      values[0] = both.x, values[1] = both.y;
    } else {
      Scale single[groups];
      memcpy(single, &of_piece, sizeof(of_piece));
#pragma unroll
      for (int i = 0; i < groups; ++i) values[i] = value_of_scale(single[i]);
    }
  }
};

}  // namespace rungs::RUNGS_ABI::production
