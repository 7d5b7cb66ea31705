// Rows that are written anew and are too long for the registers of a block: a cluster holds the row in shared memory,
// each block a slice of it.
//
// A slice is cut into chunks, and of each chunk a warp has 2 KB that no other thread touches. Where pieces lie at
// multiples of 16 bytes, the warp orders all its bytes by bulk copies at once, and folds them as they arrive. Elsewhere
// its lanes read them into the same places. The blocks tell each other what they know, and write the row from shared
// memory. Slices have up to 64 KB, or 32 KB where the operation asks for it, as long as eight blocks suffice. Three
// such blocks fit a multiprocessor: while one waits for its row, others write theirs. Longer rows have sixteen blocks
// where the device places clusters of so many.
//
// Which thread has which columns depends on the number of columns and on the device alone. The idea of a cluster along
// the row: quack (Dao-AILab, 2025).
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/bulk_copy.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/rows/short_row_kernel.cuh"

namespace rungs::RUNGS_ABI::production {

// How a row is cut, for the host and the device.
struct row_slices {
  static constexpr int block_threads = 256, pieces = 4, most_blocks = cluster::parts::greatest_cluster_blocks;
  static constexpr int warp_pieces = parts::warp_threads * pieces, chunk_pieces = block_threads * pieces;
  static constexpr std::size_t piece_bytes = 16, chunk_bytes = chunk_pieces * piece_bytes;
  static constexpr int warps = block_threads / parts::warp_threads;

  // Of a cluster of up to eight whose slices have up to slice_chunks chunks where that suffices.
  static std::size_t blocks(std::size_t row_pieces, unsigned slice_chunks) {
    return parts::at_most(parts::ceil_div(row_pieces, slice_chunks * chunk_pieces),
                          cluster::parts::portable_cluster_blocks);
  }
  // Whether a multiprocessor holds less than three of eight blocks. Sixteen took 0.72 to 0.83 of the time on an H200
  // for rows of 1 MB, and 1.08 for an RMS norm of 512 KB, whose slices they make 32 KB.
  static bool ask_for_more_blocks(std::size_t row_pieces) {
    constexpr std::size_t shared_by_three = 4 * chunk_pieces;
    return row_pieces > shared_by_three * cluster::parts::portable_cluster_blocks;
  }
  static std::size_t dynamic_bytes(std::size_t row_pieces, std::size_t blocks) {
    const std::size_t slice = parts::ceil_div(row_pieces, blocks);
    return parts::ceil_div(slice, chunk_pieces) * (chunk_bytes + warps * sizeof(parts::phase_barrier));
  }
  // Whether that is no more than a block of the device can have. A kernel has some shared memory of its own besides.
  static bool fit(std::size_t row_pieces, unsigned slice_chunks, std::size_t shared_bytes) {
    constexpr std::size_t own_bytes = 1024;
    return dynamic_bytes(row_pieces, blocks(row_pieces, slice_chunks)) + own_bytes <= shared_bytes;
  }
};

// The threads of a row, and their columns. `by_bulk` says that the row is there by bulk copies.
template <class T, bool by_bulk>
struct row_slice : row_group<T, row_slices::block_threads, row_slices::pieces,
                             by_bulk ? row_reach::cluster_of_whole_pieces : row_reach::cluster> {
  using base = row_group<T, row_slices::block_threads, row_slices::pieces,
                         by_bulk ? row_reach::cluster_of_whole_pieces : row_reach::cluster>;
  using typename base::held;
  using typename base::piece;
  static constexpr bool reads_parameters_ahead = true;

  unsigned first_piece, num_pieces;  // of the block's slice
  piece* slots;                      // of the warp, in the first chunk

  __device__ row_slice(unsigned num_columns, bool aligned, unsigned char* memory) : base{num_columns, aligned} {
    const unsigned all = num_columns / base::piece_items + (num_columns % base::piece_items != 0);
    const unsigned blocks = cluster::parts::num_blocks(), slice = all / blocks + (all % blocks != 0);
    first_piece = slice * cluster::parts::block_rank();
    num_pieces = first_piece < all ? min(all - first_piece, slice) : 0;
    slots = reinterpret_cast<piece*>(memory) + warp() * row_slices::warp_pieces;
  }
  static __device__ unsigned warp() { return threadIdx.x / parts::warp_threads; }
  static __device__ unsigned lane() { return threadIdx.x % parts::warp_threads; }

  __device__ unsigned num_chunks() const {
    return num_pieces / row_slices::chunk_pieces + (num_pieces % row_slices::chunk_pieces != 0);
  }
  // The warp's first piece of a chunk, within the slice, and how many it has there.
  __device__ unsigned warp_first(unsigned chunk) const {
    return chunk * row_slices::chunk_pieces + warp() * row_slices::warp_pieces;
  }
  __device__ unsigned warp_size(unsigned chunk) const {
    const unsigned first = warp_first(chunk);
    return first < num_pieces ? min(num_pieces - first, unsigned{row_slices::warp_pieces}) : 0;
  }
  __device__ unsigned column(unsigned chunk, int index) const {
    const unsigned own = index * parts::warp_threads + lane();
    return own < warp_size(chunk) ? (first_piece + warp_first(chunk) + own) * base::piece_items : base::num_columns;
  }
  __device__ piece& slot(unsigned chunk, int index) const {
    return slots[chunk * row_slices::chunk_pieces + index * parts::warp_threads + lane()];
  }

  using base::load;
  // A chunk of what the row's operation reads first; by bulk copies it is there.
  __device__ void load(const T* row, unsigned chunk, held& values, float absent) const {
#pragma unroll
    for (int p = 0; p < base::pieces; ++p) {
      if constexpr (by_bulk) {
        if (column(chunk, p) < base::num_columns)
          values[p] = slot(chunk, p);
        else
          values[p].fill(absent);
      } else {
        values[p] = load(row, column(chunk, p), absent);
      }
    }
  }
  __device__ void keep(unsigned chunk, const held& values) const {
#pragma unroll
    for (int p = 0; p < base::pieces; ++p) slot(chunk, p) = values[p];
  }
  __device__ void take_back(unsigned chunk, held& values) const {
#pragma unroll
    for (int p = 0; p < base::pieces; ++p) values[p] = slot(chunk, p);
  }
};

// What the warps of a block, and the blocks of a cluster, tell each other.
template <class Partial>
struct row_exchange {
  alignas(16) Partial of_warps[row_slices::warps];
  alignas(16) Partial of_blocks[row_slices::most_blocks];
  parts::phase_barrier received;

  template <class Op>
  __device__ Partial all_reduce(const Op& op, Partial partial) {
    namespace cp = cluster::parts;
    const unsigned warp = threadIdx.x / parts::warp_threads, lane = threadIdx.x % parts::warp_threads;
    partial = op.template merge<parts::warp_threads>(partial);
    if (lane == 0) of_warps[warp] = partial;
    __syncthreads();
    partial = op.template merge<row_slices::warps>(of_warps[lane % row_slices::warps]);
    const unsigned blocks = cp::num_blocks();
    if (blocks == 1) return partial;
    cp::wait();  // all blocks have started, and expect what the others know
    if (threadIdx.x < blocks) cp::store_remote(&of_blocks[cp::block_rank()], received, threadIdx.x, partial);
    received.wait_for_cluster(0);
    const unsigned block = lane % row_slices::most_blocks;
    return op.template merge<row_slices::most_blocks>(block < blocks ? of_blocks[block] : Partial{});
  }
};

template <bool by_bulk, class Op>
__device__ void take_long_row(const Op& op) {
  namespace cp = cluster::parts;
  using Partial = typename Op::partial;
  extern __shared__ __align__(128) unsigned char dynamic_memory[];
  __shared__ __align__(16) unsigned char exchange_memory[sizeof(row_exchange<Partial>)];
  auto& exchange = reinterpret_cast<row_exchange<Partial>&>(exchange_memory);
  using slice = row_slice<typename Op::item, by_bulk>;
  const slice group(op.num_columns, op.aligned, dynamic_memory);
  const std::size_t row = blockIdx.x / cp::num_blocks();
  const unsigned chunks = group.num_chunks();

  if (group.warp() == 0 && cp::num_blocks() > 1) cp::expect(exchange.received, cp::num_blocks() * sizeof(Partial));
  auto* const arrived = reinterpret_cast<parts::phase_barrier*>(dynamic_memory + chunks * row_slices::chunk_bytes) +
                        group.warp() * chunks;
  if constexpr (by_bulk) {
    if (group.lane() == 0) {
      for (unsigned chunk = 0; chunk < chunks; ++chunk) arrived[chunk].initialise(1);
      parts::publish_barriers();
    }
    __syncwarp();
    if (group.lane() == 0) {
      const auto* const from = op.in.row(row) + std::size_t{group.first_piece} * group.piece_items;
      for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        const unsigned bytes = group.warp_size(chunk) * row_slices::piece_bytes;
        arrived[chunk].arrive_and_expect(bytes);
        if (bytes > 0)
          parts::bulk_load(group.slots + chunk * row_slices::chunk_pieces,
                           from + std::size_t{group.warp_first(chunk)} * group.piece_items, bytes, arrived[chunk]);
      }
    }
    __syncwarp();
  }
  if (cp::num_blocks() > 1) cp::arrive_started();

  Partial partial{};
  typename slice::held values;
  for (unsigned chunk = 0; chunk < chunks; ++chunk) {
    if constexpr (by_bulk) arrived[chunk].wait(0);
    op.template read<false>(group, row, chunk, values);
    op.fold(group, chunk, values, partial);
    if constexpr (!by_bulk) group.keep(chunk, values);
  }
  partial = exchange.all_reduce(op, partial);
  for (unsigned chunk = 0; chunk < chunks; ++chunk) {
    group.take_back(chunk, values);
    op.write(group, row, chunk, values, partial);
  }
  if (group.thread() == 0) op.conclude(row, partial);
}

template <class Op, bool by_bulk, int resident_blocks>
__global__ void __launch_bounds__(row_slices::block_threads, resident_blocks)
    long_row_kernel(const __grid_constant__ Op op) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  take_long_row<by_bulk>(op);
#endif
}

// Four blocks fit where slices have 32 KB, if the operation leaves registers for them. Many RMS norms of 32 Ki and
// 64 Ki floats took 0.96 and 0.93 of the time of three on an H200. One row took 1.02 times as long.
template <class Op, class = void>
inline constexpr bool takes_four_slices = false;
template <class Op>
inline constexpr bool takes_four_slices<Op, std::enable_if_t<takes_short_rows<Op>, decltype(void(Op::four_slices))>> =
    Op::four_slices;

template <class Op>
cudaError_t launch_long_rows(const Op& op, std::size_t row_pieces, cudaStream_t stream) {
  const bool by_bulk = op.aligned && op.reads_one_matrix() && op.num_columns % row_piece<typename Op::item>::items == 0;
  auto* kernel = by_bulk ? long_row_kernel<Op, true, 3> : long_row_kernel<Op, false, 3>;
  int blocks = static_cast<int>(row_slices::blocks(row_pieces, Op::slice_chunks));
  if constexpr (takes_four_slices<Op>) {
    int num_multiprocessors = 0;
    if (const cudaError_t error = parts::multiprocessors(num_multiprocessors)) return error;
    const bool are_many = op.num_rows > 3 * num_multiprocessors / static_cast<unsigned>(blocks);
    if (by_bulk && are_many && parts::ceil_div(row_pieces, blocks) <= 2 * row_slices::chunk_pieces)
      kernel = long_row_kernel<Op, true, 4>;
  }
  if (row_slices::ask_for_more_blocks(row_pieces)) {
    blocks = row_slices::most_blocks;
    if (const cudaError_t error = cluster::parts::fit_cluster(kernel, row_slices::block_threads, blocks)) return error;
  }
  return cluster::parts::launch_clusters(
      kernel, op.num_rows, {blocks, row_slices::block_threads, row_slices::dynamic_bytes(row_pieces, blocks)}, stream,
      op);
}

}  // namespace rungs::RUNGS_ABI::production
