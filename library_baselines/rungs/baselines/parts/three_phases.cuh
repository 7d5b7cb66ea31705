// The frame around a block-wide scan of a library: every block scans a tile and leaves its aggregate, the aggregates
// are scanned the same way (recursing until they fit one block), and every block adds its prefix to its tile. Reads the
// input once and the output once more, writes the output twice: what scanning in a single pass saves.
//
// Item i always belongs to the same thread, and one that cannot be read 16 bytes at once is read item by item in the
// same order. So the bits depend on neither the address nor the device.
#pragma once

#include <cstdint>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

using rungs::parts::scan_kind;

inline constexpr int three_phases_threads = 256, three_phases_items = 4,
                     three_phases_tile = three_phases_threads * three_phases_items;

// The items of one thread: consecutive, moved at once where tile and addresses allow.
template <class T>
struct alignas(three_phases_items * sizeof(T)) thread_items {
  T items[three_phases_items];
};

template <class T>
__device__ bool moved_at_once(const T* address, std::size_t first, std::size_t num_items) {
  return first + three_phases_items <= num_items &&
         reinterpret_cast<std::uintptr_t>(address) % alignof(thread_items<T>) == 0;
}

template <class T>
__device__ thread_items<T> load(const T* d_in, std::size_t first, std::size_t num_items, T identity) {
  if (moved_at_once(d_in, first, num_items)) return *reinterpret_cast<const thread_items<T>*>(d_in + first);
  thread_items<T> loaded;
#pragma unroll
  for (int k = 0; k < three_phases_items; ++k) loaded.items[k] = first + k < num_items ? d_in[first + k] : identity;
  return loaded;
}

template <class T>
__device__ void store(T* d_out, std::size_t first, std::size_t num_items, const thread_items<T>& scanned) {
  if (moved_at_once(d_out, first, num_items)) {
    *reinterpret_cast<thread_items<T>*>(d_out + first) = scanned;
    return;
  }
#pragma unroll
  for (int k = 0; k < three_phases_items; ++k)
    if (first + k < num_items) d_out[first + k] = scanned.items[k];
}

// BlockScan::exclusive(value, block_aggregate, identity, scan_op): the aggregate of the values of the threads before
// this one, identity in thread 0; block_aggregate is valid in thread 0.
template <scan_kind kind, class BlockScan, class T, class ScanOpT>
__global__ void __launch_bounds__(three_phases_threads)
    scan_tiles_kernel(const T* d_in, std::size_t num_items, T* d_out, T* tile_aggregates, T seed, T identity,
                      ScanOpT scan_op) {
  const std::size_t first = std::size_t(blockIdx.x) * three_phases_tile + threadIdx.x * three_phases_items;
  thread_items<T> values = load(d_in, first, num_items, identity);
  T thread_aggregate = values.items[0];
#pragma unroll
  for (int k = 1; k < three_phases_items; ++k) thread_aggregate = scan_op(thread_aggregate, values.items[k]);
  T block_aggregate;
  T prefix = scan_op(seed, BlockScan::exclusive(thread_aggregate, block_aggregate, identity, scan_op));
#pragma unroll
  for (int k = 0; k < three_phases_items; ++k) {
    const T next = scan_op(prefix, values.items[k]);
    values.items[k] = kind == scan_kind::inclusive ? next : prefix;
    prefix = next;
  }
  store(d_out, first, num_items, values);
  if (threadIdx.x == 0 && tile_aggregates != nullptr) tile_aggregates[blockIdx.x] = block_aggregate;
}

template <class T, class ScanOpT>
__global__ void __launch_bounds__(three_phases_threads)
    add_prefixes_kernel(T* d_out, std::size_t num_items, const T* tile_prefixes, T identity, ScanOpT scan_op) {
  const std::size_t first = std::size_t(blockIdx.x) * three_phases_tile + threadIdx.x * three_phases_items;
  thread_items<T> scanned = load<T>(d_out, first, num_items, identity);
  const T prefix = tile_prefixes[blockIdx.x];
#pragma unroll
  for (int k = 0; k < three_phases_items; ++k) scanned.items[k] = scan_op(prefix, scanned.items[k]);
  store(d_out, first, num_items, scanned);
}

// Most additions one item passes through: in each level those of its thread, at most 40 in a block, and the prefix.
constexpr std::size_t three_phases_height(std::size_t num_items) {
  std::size_t height = 1;  // seed
  do {
    num_items = rungs::parts::ceil_div(num_items, three_phases_tile);
    height += 2 * three_phases_items + 42;
  } while (num_items > 1);
  return height;
}

// Aggregates of all levels.
constexpr std::size_t num_tile_aggregates(std::size_t num_items) {
  std::size_t count = 0;
  while (num_items > three_phases_tile) count += num_items = rungs::parts::ceil_div(num_items, three_phases_tile);
  return count;
}

template <scan_kind kind, class BlockScan, class T, class ScanOpT>
cudaError_t scan_tiles(const T* d_in, std::size_t num_items, T* d_out, T* tile_aggregates, T seed, T identity,
                       ScanOpT scan_op, cudaStream_t stream) {
  using rungs::parts::launch;
  const auto kernel = scan_tiles_kernel<kind, BlockScan, T, ScanOpT>;
  const std::size_t num_tiles = rungs::parts::ceil_div(num_items, three_phases_tile);
  T* const none = nullptr;
  if (num_tiles == 1)
    return launch(kernel, 1, three_phases_threads, stream, d_in, num_items, d_out, none, seed, identity, scan_op);
  cudaError_t error = launch(kernel, num_tiles, three_phases_threads, stream, d_in, num_items, d_out, tile_aggregates,
                             identity, identity, scan_op);
  if (error != cudaSuccess) return error;
  error =
      scan_tiles<scan_kind::exclusive, BlockScan>(static_cast<const T*>(tile_aggregates), num_tiles, tile_aggregates,
                                                  tile_aggregates + num_tiles, seed, identity, scan_op, stream);
  if (error != cudaSuccess) return error;
  return launch(add_prefixes_kernel<T, ScanOpT>, num_tiles, three_phases_threads, stream, d_out, num_items,
                tile_aggregates, identity, scan_op);
}

// What rungs/parts/scan_calls.cuh asks a rung for.
template <scan_kind kind, class BlockScan, class T, class ScanOpT>
cudaError_t scan_in_three_phases(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                                 ScanOpT ours, T seed, std::size_t num_items, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, num_tile_aggregates(num_items) * sizeof(T), region,
                             error))
    return error;
  if (num_items == 0) return cudaSuccess;
  return scan_tiles<kind, BlockScan>(d_in, num_items, d_out, reinterpret_cast<T*>(region), seed,
                                     ScanOpT::template identity<T>(), library_operator<ScanOpT, T, T>(ours), stream);
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
