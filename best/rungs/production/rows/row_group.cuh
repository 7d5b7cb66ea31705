// The threads that hold one row of a matrix in registers: lanes of a warp, warps of a block, or blocks of a cluster.
// They read the row, learn what all of them hold, and write a row. Clusters need code for sm_90 or later.
//
// A row is cut into pieces of 16 bytes. Piece p belongs to thread p % threads of the row. Which thread holds a column
// depends on the number of columns alone, never on the address, so a row has the same result wherever it lies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/tile.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T>
inline constexpr bool is_item =
    std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <class T>
__device__ float to_float(const T& item) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(item);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(item);
  } else {
    return item;
  }
}
template <class T>
__device__ T from_float(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

// 16 bytes of a row. They stay as they were read, two halves a register, until they are computed with.
template <class T>
struct row_piece {
  static constexpr int bytes = 16, items = bytes / sizeof(T);
  using floats = float[items];
  int4 bits;

  // Halves are unpacked anew each time. Else the compiler would keep the floats of the time before: 64 registers.
  __device__ void get(floats& values) const {
    int4 packed = bits;
    if constexpr (items > 4) asm("" : "+r"(packed.x), "+r"(packed.y), "+r"(packed.z), "+r"(packed.w));
    row_piece{packed}.get_once(values);
  }
  __device__ void get_once(floats& values) const {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      // The upper half of a word is a float but for its lower half: one instruction, where to_float takes two.
      const int words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
      for (int i = 0; i < items; ++i)
        values[i] = __int_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff0000);
    } else {
      T unpacked[items];
      memcpy(unpacked, &bits, bytes);
#pragma unroll
      for (int i = 0; i < items; ++i) values[i] = to_float(unpacked[i]);
    }
  }
  __device__ void fill(float value) {
    floats values;
#pragma unroll
    for (float& each : values) each = value;
    set(values);
  }
  __device__ void set(const floats& values) {
    T packed[items];
#pragma unroll
    for (int i = 0; i < items; ++i) packed[i] = from_float<T>(values[i]);
    memcpy(&bits, packed, bytes);
  }
};

// Where a row's threads are: in a block, which may hold other rows, too, or in all blocks of a cluster. Of whole pieces
// is a row whose pieces all are, and lie at multiples of 16 bytes: reading others takes registers.
enum class row_reach { block, block_of_whole_pieces, cluster, cluster_of_whole_pieces };

// `row_threads` of each block hold a row, each of them `pieces` pieces of 16 bytes at a time. In a cluster, row_threads
// are all threads of the block.
//
// Folded in two, half as many threads have what twice as many would have: a lane has the pieces of a lane and of the
// one 16 lanes further. They alternate, and neighbouring lanes have neighbouring pieces among 16 lanes only.
template <class T, int row_threads_, int pieces_, row_reach reach, int folds_ = 1>
struct row_group {
  static constexpr int row_threads = row_threads_, pieces = pieces_, folds = folds_;
  static constexpr unsigned neighbours = parts::warp_threads / folds;
  static constexpr bool is_clustered = reach == row_reach::cluster || reach == row_reach::cluster_of_whole_pieces;
  static constexpr bool is_whole =
      reach == row_reach::block_of_whole_pieces || reach == row_reach::cluster_of_whole_pieces;
  static constexpr bool reads_parameters_ahead = false;  // weights and biases of all pieces before the first is used
  using piece = row_piece<T>;
  using floats = typename piece::floats;
  using held = piece[pieces];  // what a thread holds of a chunk
  static constexpr int piece_items = piece::items;
  static constexpr int block_threads = row_threads < 128 ? 128 : row_threads;
  static constexpr int block_rows = block_threads / row_threads;
  static constexpr int lanes = row_threads < parts::warp_threads ? row_threads : parts::warp_threads;
  static constexpr int row_warps = row_threads / lanes;
  static_assert(!is_clustered || row_threads == block_threads, "a clustered row has whole blocks");
  static_assert(folds == 1 || (!is_clustered && lanes == parts::warp_threads && pieces % folds == 0));

  unsigned num_columns;
  bool aligned;  // whether pieces lie at multiples of 16 bytes

  // Its place among the row's threads, and their number.
  __device__ unsigned thread() const {
    if constexpr (is_clustered) return cluster::parts::block_rank() * row_threads + threadIdx.x;
    return threadIdx.x % row_threads;
  }
  __device__ unsigned num_threads() const {
    if constexpr (is_clustered) return cluster::parts::num_blocks() * row_threads;
    return row_threads;
  }
  // A chunk is what all of them hold at once.
  __device__ unsigned num_chunks() const {
    const unsigned chunk_items = num_threads() * pieces * piece_items;
    return num_columns / chunk_items + (num_columns % chunk_items != 0);
  }

  // The first column of the thread's piece `index` of a chunk; num_columns or more where there is none.
  __device__ unsigned column(unsigned chunk, int index) const {
    if constexpr (folds > 1) {
      const unsigned first = thread() / neighbours * parts::warp_threads + thread() % neighbours;
      return (index / folds * folds * row_threads + index % folds * neighbours + first) * piece_items;
    }
    return ((chunk * pieces + index) * num_threads() + thread()) * piece_items;
  }

  // The piece that begins at column `first`, with `absent` for columns that do not exist. No cache hints: where a row
  // is written anew, loads that leave the caches first (__ldcs) took 0.5 to 3 % longer at every size on an H100, and
  // stores with such hints changed nothing.
  __device__ piece load(const T* row, unsigned first, float absent) const {
    if (is_whole ? first < num_columns : aligned && first + piece_items <= num_columns)
      return {*reinterpret_cast<const int4*>(row + first)};
    piece loaded;
    if constexpr (is_whole) {
      loaded.fill(absent);
      return loaded;
    }
    if (!aligned && first >= piece_items && first + 2 * piece_items <= num_columns) return load_shifted(row + first);
    T items[piece_items];
#pragma unroll
    for (int i = 0; i < piece_items; ++i) items[i] = first + i < num_columns ? row[first + i] : from_float<T>(absent);
    memcpy(&loaded.bits, items, piece::bytes);
    return loaded;
  }
  __device__ void load(const T* row, unsigned chunk, held& pieces_of_row, float absent) const {
#pragma unroll
    for (int p = 0; p < pieces; ++p) pieces_of_row[p] = load(row, column(chunk, p), absent);
  }

  __device__ void store(T* row, unsigned first, const piece& stored) const {
    if (is_whole ? first < num_columns : aligned && first + piece_items <= num_columns) {
      *reinterpret_cast<int4*>(row + first) = stored.bits;
    } else if constexpr (!is_whole) {
      if constexpr (lanes == parts::warp_threads && sizeof(T) == 2) {
        if (!aligned) return store_shifted(row, first, stored);
      }
      store_items(row, first, stored, false, false, 0);
    }
  }
  // Item by item, but for what lies in vectors: the items before first_of_end, or those from there on.
  __device__ void store_items(T* row, unsigned first, const piece& stored, bool begin_is_written, bool end_is_written,
                              int first_of_end) const {
    T items[piece_items];
    memcpy(items, &stored.bits, piece::bytes);
#pragma unroll
    for (int i = 0; i < piece_items; ++i)
      if (first + i < num_columns && !(i < first_of_end ? begin_is_written : end_is_written)) row[first + i] = items[i];
  }
  // Lanes have neighbouring pieces: each writes the 16 aligned bytes where its own begins, the end of its neighbour's
  // among them. By items, each of 8 stores would write to every sector of the warp's 512 bytes. (Floats are 4 stores,
  // which take less time than the shuffles: 0.83 times as long in a layer norm of 2,047 on an H200.) All lanes call it.
  __device__ void store_shifted(T* row, unsigned first, const piece& stored) const {
    const unsigned lane = threadIdx.x % parts::warp_threads;
    const unsigned behind = reinterpret_cast<std::uintptr_t>(row) % piece::bytes;  // of all pieces
    const bool is_full = first + piece_items <= num_columns;
    bool begin_is_written = is_full, end_is_written = is_full;
    piece vector = stored;
    if (behind != 0) {
      const unsigned full_lanes = __ballot_sync(parts::full_mask, is_full);
      begin_is_written = is_full && lane % neighbours > 0;
      end_is_written = lane % neighbours + 1 < neighbours && full_lanes >> (lane + 1) & 1;
      unsigned words[8];
      memcpy(words + 4, &stored.bits, piece::bytes);
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = __shfl_up_sync(parts::full_mask, words[4 + i], 1);
      const parts::vector<T> cut = parts::shifted<T>(words, piece::bytes - behind);
      memcpy(&vector.bits, cut.words, piece::bytes);
    }
    if (begin_is_written)
      *reinterpret_cast<int4*>(reinterpret_cast<unsigned char*>(row + first) - behind) = vector.bits;
    if (!begin_is_written || !end_is_written)
      store_items(row, first, stored, begin_is_written, end_is_written, (piece::bytes - behind) / sizeof(T));
  }

  // A piece that does not begin at a multiple of 16 bytes, cut out of the two that do.
  __device__ static piece load_shifted(const T* from) {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const auto* const vectors = reinterpret_cast<const int4*>(address / piece::bytes * piece::bytes);
    const unsigned offset = address % piece::bytes;
    const int4 low = vectors[0], high = offset == 0 ? low : vectors[1];
    unsigned words[8];
    memcpy(words, &low, sizeof(low));
    memcpy(words + 4, &high, sizeof(high));
    const parts::vector<T> cut = parts::shifted<T>(words, offset);
    piece loaded;
    memcpy(&loaded.bits, cut.words, sizeof(loaded.bits));
    return loaded;
  }

  // What all threads of the row know together, in each of them. All threads of the block call it, and once where a row
  // has more than a warp.
  template <class Op, class Partial>
  __device__ Partial all_reduce(const Op& op, Partial partial) const {
    partial = op.template merge<lanes>(partial);
    const int warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    if constexpr (row_warps > 1) {
      __shared__ Partial of_warps[block_threads / parts::warp_threads];
      if (lane == 0) of_warps[warp] = partial;
      __syncthreads();
      partial = op.template merge<row_warps>(of_warps[warp / row_warps * row_warps + lane % row_warps]);
    }
    if constexpr (is_clustered) {
      constexpr int most_blocks = cluster::parts::portable_cluster_blocks;
      __shared__ Partial of_blocks[most_blocks];
      const unsigned blocks = cluster::parts::num_blocks();
      cluster::parts::wait();  // all blocks have started
      if (threadIdx.x < blocks)
        *cluster::parts::of_rank(of_blocks + cluster::parts::block_rank(), threadIdx.x) = partial;
      cluster::parts::meet();
      const unsigned block = lane % most_blocks;
      partial = op.template merge<most_blocks>(block < blocks ? of_blocks[block] : Partial{});
    }
    return partial;
  }
};

// The sum, or the maximum without NaN, of so many neighbouring lanes, with the same bits in each of them.
template <int num_lanes>
__device__ float sum_of_lanes(float value) {
#pragma unroll
  for (int distance = 1; distance < num_lanes; distance *= 2)
    value += __shfl_xor_sync(parts::full_mask, value, distance);
  return value;
}
template <int num_lanes>
__device__ float greatest_of_lanes(float value) {
#pragma unroll
  for (int distance = 1; distance < num_lanes; distance *= 2)
    value = fmaxf(value, __shfl_xor_sync(parts::full_mask, value, distance));
  return value;
}

}  // namespace rungs::RUNGS_ABI::production
