// Scanning in three phases: every tile by itself, then the tiles' sums, then each tile's prefix onto its items. The
// items are read twice and written twice.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/row_tile.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

enum class access { by_items, by_vectors };

// Where the tiles' scans wait for the third phase: in d_out where that is made of Ts, else in the workspace.
template <class OutputIteratorT, class T>
struct waiting_room {
  static constexpr bool is_output = std::is_same_v<OutputIteratorT, T*>;
  static constexpr std::size_t more_items(std::size_t num_items) { return is_output ? 0 : num_items; }
  static T* in(OutputIteratorT d_out, T* more) {
    if constexpr (is_output)
      return d_out;
    else
      return more;
  }
};

// The second phase: one block walks over the sums, block_threads at a time, and makes each what precedes its tile.
template <int block_threads, class ScanOpT, class T>
__global__ void __launch_bounds__(block_threads)
    walk_over_sums_kernel(T* d_sums, std::size_t num_sums, ScanOpT scan_op, T prefix) {
  static_assert(block_threads == warp_threads * warp_threads, "as many warps as lanes");
  __shared__ T warp_aggregates[2][warp_threads];  // two, so that a turn's barrier also frees the last turn's
  const int warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  int turn = 0;
  for (std::size_t first = 0; first < num_sums; first += block_threads, turn ^= 1) {
    const std::size_t i = first + threadIdx.x;
    const T sum = warp_scan(i < num_sums ? d_sums[i] : ScanOpT::template identity<T>(), scan_op);
    if (lane == warp_threads - 1) warp_aggregates[turn][warp] = sum;
    __syncthreads();
    const T of_warps = warp_scan(warp_aggregates[turn][lane], scan_op);
    const T of_earlier_warps = shuffle_from(of_warps, (warp - 1) % warp_threads), of_earlier_lanes = shuffle_up(sum, 1);
    T before = prefix;
    if (warp > 0) before = scan_op(before, of_earlier_warps);
    if (lane > 0) before = scan_op(before, of_earlier_lanes);
    if (i < num_sums) d_sums[i] = before;
    prefix = scan_op(prefix, shuffle_from(of_warps, warp_threads - 1));
  }
}

// The third phase, an item a thread.
template <int tile_items, class OutputIteratorT, class ScanOpT, class T>
__global__ void add_to_items_kernel(const T* d_scanned, const T* d_prefixes, std::size_t num_items,
                                    OutputIteratorT d_out, ScanOpT scan_op) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < num_items) store(d_out + i, scan_op(d_prefixes[i / tile_items], d_scanned[i]));
}

// The same by vectors. A warp's rows are always of one tile.
template <int block_threads, int tile_items, class Rows, class ScanOpT>
__global__ void __launch_bounds__(block_threads)
    add_to_rows_kernel(typename Rows::input_iterator d_scanned, const typename Rows::accumulator* d_prefixes,
                       std::size_t num_items, typename Rows::output_iterator d_out, ScanOpT scan_op, bool by_vectors) {
  static_assert(tile_items % Rows::warp_items == 0);
  const std::size_t warp = (std::size_t(blockIdx.x) * block_threads + threadIdx.x) / warp_threads;
  if (warp * Rows::warp_items >= num_items) return;
  Rows rows;
  load_tile<block_threads>(rows, d_scanned, blockIdx.x, num_items, by_vectors, scan_op);
  const auto prefix = d_prefixes[warp * Rows::warp_items / tile_items];
#pragma unroll
  for (auto& row : rows.items)
#pragma unroll
    for (auto& item : row) item = scan_op(prefix, item);
  store_tile<block_threads>(rows, d_out, blockIdx.x, num_items, by_vectors);
}

// d_out[i] = prefix of its tile + d_scanned[i]; d_scanned may be d_out.
template <int tile_items, access how, class OutputIteratorT, class ScanOpT, class T>
cudaError_t add_back(T* d_scanned, const T* d_prefixes, std::size_t num_items, OutputIteratorT d_out, ScanOpT scan_op,
                     cudaStream_t stream) {
  constexpr int block_threads = 256;
  if constexpr (how == access::by_items) {
    return launch(add_to_items_kernel<tile_items, OutputIteratorT, ScanOpT, T>, ceil_div(num_items, block_threads),
                  block_threads, stream, d_scanned, d_prefixes, num_items, d_out, scan_op);
  } else {
    using two_rows = rows<2, T*, OutputIteratorT, T>;
    return launch(add_to_rows_kernel<block_threads, tile_items, two_rows, ScanOpT>,
                  ceil_div(num_items, row_tile_items<block_threads, two_rows>), block_threads, stream, d_scanned,
                  d_prefixes, num_items, d_out, scan_op, two_rows::vectorised(d_scanned, d_out));
  }
}

// Most additions one item passes through: in its tile, in the walk, and at the end.
constexpr std::size_t height_in_three_phases(std::size_t num_items, std::size_t tile_items, std::size_t tile_height) {
  const std::size_t num_turns = ceil_div(ceil_div(num_items, tile_items), warp_threads * warp_threads);
  return tile_height + (5 + 5 + 2 + num_turns) + 1;
}

// All three. scan_tiles(d_scanned, d_sums, num_tiles) launches the first: a kernel whose block b writes the scan of
// tile b to d_scanned and its aggregate to d_sums[b].
template <int tile_items, access how, class OutputIteratorT, class ScanOpT, class T, class ScanTiles>
cudaError_t scan_in_three_phases(void* d_temp_storage, std::size_t& temp_storage_bytes, OutputIteratorT d_out,
                                 ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream,
                                 ScanTiles scan_tiles) {
  using room = waiting_room<OutputIteratorT, T>;
  const std::size_t num_tiles = ceil_div(num_items, tile_items), more_items = room::more_items(num_items);
  char* region;
  cudaError_t error;
  if (answered(d_temp_storage, temp_storage_bytes, (more_items + num_tiles) * sizeof(T), region, error) ||
      num_items == 0)
    return error;
  T* const d_scanned = room::in(d_out, reinterpret_cast<T*>(region));
  T* const d_sums = reinterpret_cast<T*>(region) + more_items;
  error = scan_tiles(d_scanned, d_sums, num_tiles);
  if (error == cudaSuccess)
    error = launch(walk_over_sums_kernel<1024, ScanOpT, T>, 1, 1024, stream, d_sums, num_tiles, scan_op, seed);
  if (error == cudaSuccess) error = add_back<tile_items, how>(d_scanned, d_sums, num_items, d_out, scan_op, stream);
  return error;
}

}  // namespace rungs::RUNGS_ABI::parts
