// One kernel for all operations on rows: read a row, merge what its threads know, write a row.
//
// An operation is a struct that the kernel takes by value:
//   item                   what its matrices hold: float, __half or __nv_bfloat16
//   num_rows, num_columns  their shape
//   aligned                whether every row of every matrix begins at a multiple of 16 bytes
//   writes_rows            whether it writes a row, or only one result a row
//   slice_chunks           where it writes a row: of 16 KB each, how many a block should hold of a long one
//   reads_one_matrix()     where it writes a row: whether it reads nothing but the row of `in` before it does so
//   partial                what a thread knows of its columns
//   read<again>(group, row, chunk, values)     the thread's columns of the chunk, for the first time or the second
//   fold(group, chunk, values, partial)        adds them to what it knows
//   merge<lanes>(partial)                      what so many neighbouring lanes know together, in each of them
//   write(group, row, chunk, values, partial)  where it writes rows, once all is known
//   conclude(row, partial)                     one thread of the row, at the end
//
// Where the operation has shapes for them, short_row_kernel.cuh has rows of more than 256 bytes. The registers of a
// block, or of a part of it, hold others that are written anew, up to 32 KB. The shared memory of a cluster holds
// longer ones, up to 1.75 MB (long_row_kernel.cuh). Still longer ones are read twice. The order of additions depends on
// the number of columns and on the device alone, so a row has the same bits in any batch.
#pragma once

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/production/rows/long_row_kernel.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/rows/short_row_kernel.cuh"

namespace rungs::RUNGS_ABI::production {

// Blocks of a multiprocessor: some read while others compute. (A persistent grid that reads the next row ahead has room
// for fewer of them, and was slower: 0.91 of the copy's speed where this is at 1.02, 65536 x 2048 floats on an H200.)
template <class Group, bool held>
inline constexpr int resident_blocks = (!held                ? 512
                                        : Group::pieces <= 4 ? 1024
                                                             : 768) /
                                       Group::block_threads;

template <class Group, int rows_at_once, bool held, class Op>
__device__ void take_rows(const Op& op) {
  const Group group{op.num_columns, op.aligned};
  std::size_t block = blockIdx.x;
  if constexpr (Group::is_clustered) {
    cluster::parts::arrive_started();
    block /= cluster::parts::num_blocks();
  }
  const std::size_t first = block * (Group::block_rows * rows_at_once) + threadIdx.x / Group::row_threads;
  typename Group::held values[rows_at_once];
#pragma unroll
  for (int r = 0; r < rows_at_once; ++r)
    if (first + r * Group::block_rows < op.num_rows)
      op.template read<false>(group, first + r * Group::block_rows, 0, values[r]);

#pragma unroll
  for (int r = 0; r < rows_at_once; ++r) {
    const std::size_t row = first + r * Group::block_rows;
    const unsigned num_chunks = held ? 1 : group.num_chunks();
    const bool exists = row < op.num_rows;
    typename Op::partial partial{};
    if (exists) {
      op.fold(group, 0, values[r], partial);
      for (unsigned chunk = 1; chunk < num_chunks; ++chunk) {
        op.template read<false>(group, row, chunk, values[r]);
        op.fold(group, chunk, values[r], partial);
      }
    }
    partial = group.all_reduce(op, partial);
    if (!exists) continue;
    if constexpr (Op::writes_rows) {
      for (unsigned chunk = 0; chunk < num_chunks; ++chunk) {
        if constexpr (!held) op.template read<true>(group, row, chunk, values[r]);
        op.write(group, row, chunk, values[r], partial);
      }
    }
    if (group.thread() == 0) op.conclude(row, partial);
  }
}

template <class Op, class Group, int rows_at_once, bool held>
__global__ void __launch_bounds__(Group::block_threads, resident_blocks<Group, held>)
    row_kernel(const __grid_constant__ Op op) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  if constexpr (!Group::is_clustered) take_rows<Group, rows_at_once, held>(op);
#else
  take_rows<Group, rows_at_once, held>(op);
#endif
}

template <class Op, int row_threads, int pieces, bool held = true>
cudaError_t launch_rows(const Op& op, cudaStream_t stream) {
  using group = row_group<typename Op::item, row_threads, pieces, row_reach::block>;
  // Of what a few threads hold, four pieces a thread are on their way.
  constexpr int rows_at_once = row_threads <= 8 && pieces < 4 ? 4 / pieces : 1;
  auto* kernel = row_kernel<Op, group, rows_at_once, held>;
  if constexpr (takes_short_rows<Op> && held && row_threads > 8) {  // without the registers that odd addresses take
    using whole = row_group<typename Op::item, row_threads, pieces, row_reach::block_of_whole_pieces>;
    if (op.aligned && op.num_columns % whole::piece_items == 0) kernel = row_kernel<Op, whole, rows_at_once, held>;
  }
  return parts::launch(kernel, parts::ceil_div(op.num_rows, group::block_rows * rows_at_once), group::block_threads,
                       stream, op);
}

// How many pieces a thread has of rows of 4 to 16 KB.
template <class Op>
constexpr int long_row_pieces(int otherwise) {
  if constexpr (takes_short_rows<Op>) return Op::long_row_pieces;
  return otherwise;
}

// Rows of up to row_threads * pieces, and of more than half as many.
template <class Op, int row_threads, int pieces>
cudaError_t launch_held_rows(const Op& op, cudaStream_t stream) {
  if constexpr (are_short_rows<Op, row_threads * pieces>)
    return launch_short_rows<Op, row_threads * pieces>(op, stream);
  else
    return launch_rows<Op, row_threads, pieces>(op, stream);
}

// Rows that no registers hold.
template <class Op>
cudaError_t launch_clustered_rows(const Op& op, int cluster_blocks, cudaStream_t stream) {
  using group = row_group<typename Op::item, 256, 4, row_reach::cluster>;
  return cluster::parts::launch_clusters(row_kernel<Op, group, 1, false>, op.num_rows,
                                         {cluster_blocks, group::block_threads}, stream, op);
}

// Runs `op` on all rows. Returns cudaErrorInvalidConfiguration where there are more blocks than a grid has.
template <class Op>
cudaError_t run_rows(const Op& op, cudaStream_t stream) {
  if (op.num_rows == 0) return cudaSuccess;
  using item = typename Op::item;
  const std::size_t pieces = parts::ceil_div(op.num_columns * sizeof(item), row_piece<item>::bytes);
  if (pieces <= 1) return launch_rows<Op, 1, 1>(op, stream);
  if (pieces <= 2) return launch_rows<Op, 2, 1>(op, stream);
  if (pieces <= 4) return launch_rows<Op, 4, 1>(op, stream);
  if (pieces <= 8) return launch_rows<Op, 8, 1>(op, stream);
  if (pieces <= 16) return launch_rows<Op, 8, 2>(op, stream);
  constexpr int most = Op::writes_rows ? 4 : 8;  // what is only read waits for more at once
  if (pieces <= 32) return launch_held_rows<Op, 8, 4>(op, stream);
  if (pieces <= 64) return launch_held_rows<Op, 64 / most, most>(op, stream);
  if (pieces <= 128) return launch_held_rows<Op, 128 / most, most>(op, stream);
  // Rows of up to 4 KB have more threads: few rows are faster so. Longer ones would have larger blocks, and many rows
  // take longer then (989 rows of 8,192 bf16, softmax on an H200: 12.4 us instead of 11.5).
  constexpr int few = takes_short_rows<Op> ? most / 2 : most, some = long_row_pieces<Op>(most);
  if (pieces <= 256) return launch_held_rows<Op, 256 / few, few>(op, stream);
  if (pieces <= 512) return launch_held_rows<Op, 512 / some, some>(op, stream);
  if (pieces <= 1024) return launch_held_rows<Op, 1024 / some, some>(op, stream);
  if (pieces <= 2048) return launch_held_rows<Op, 2048 / most, most>(op, stream);
  if constexpr (are_short_rows<Op, 4096>)
    if (pieces <= 4096) return launch_short_rows<Op, 4096>(op, stream);

  constexpr int most_cluster_blocks = cluster::parts::portable_cluster_blocks;
  int cc = 0;
  if (const cudaError_t error = parts::code_capability(cc)) return error;
  if (cc < 90) return launch_rows<Op, 256, 4, false>(op, stream);
  if constexpr (Op::writes_rows) {
    std::size_t shared_bytes = 0;
    if (const cudaError_t error = parts::most_shared_bytes(shared_bytes)) return error;
    if (row_slices::fit(pieces, Op::slice_chunks, shared_bytes)) return launch_long_rows(op, pieces, stream);
  }
  // Eight chunks a block make little of what the exchange in a cluster takes.
  const int streamed_by = static_cast<int>(parts::at_most(pieces / (8 * 1024), most_cluster_blocks));
  if (streamed_by < cluster::parts::least_cluster_blocks) return launch_rows<Op, 256, 4, false>(op, stream);
  return launch_clustered_rows(op, streamed_by, stream);
}

}  // namespace rungs::RUNGS_ABI::production
