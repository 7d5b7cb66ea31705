// A plain scan in which one bug can be planted. Three phases: each tile by itself, the aggregates of the tiles,
// and what precedes each tile put in front of its outputs. For bugs of a look-back, one kernel whose blocks wait for
// each other.
#pragma once

#include <type_traits>

#include "wrong/bug.cuh"

namespace rungs::wrong {

namespace scanning {

template <bug planted, class T, class Op>
__device__ T joined(T left, T right, Op op) {
  return planted == bug::operands_exchanged ? op(right, left) : op(left, right);
}

// What the values of the threads before this one amount to; `all` is what those of all threads do.
template <bug planted, class T, class Op>
__device__ T preceding_threads(T mine, Op op, T& all) {
  constexpr int num_warps = block_threads / 32;
  __shared__ T of_threads[block_threads], of_warps[num_warps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  if constexpr (planted == bug::missing_barrier) {
    if (thread < num_warps) of_warps[thread] = Op::template identity<T>();
    __syncthreads();
    if (warp == 1) dawdle();
  }
  of_threads[thread] = mine;
  __syncwarp();
  T before = identity<planted, T, Op>();
  for (int t = warp * 32; t < thread; ++t) before = joined<planted>(before, of_threads[t], op);
  if (thread % 32 == 31) of_warps[warp] = joined<planted>(before, mine, op);
  if constexpr (planted != bug::missing_barrier) __syncthreads();
  T earlier = identity<planted, T, Op>();
  all = identity<planted, T, Op>();
  for (int w = 0; w < num_warps; ++w) {
    T of_warp;
    if constexpr (planted == bug::missing_barrier)
      of_warp = const_cast<volatile T*>(of_warps)[w];
    else
      of_warp = of_warps[w];
    if (w < warp) earlier = joined<planted>(earlier, of_warp, op);
    all = joined<planted>(all, of_warp, op);
  }
  __syncthreads();
  return joined<planted>(earlier, before, op);
}

// A thread's neighbouring items of a tile.
template <bug planted, class Input, class T, class Op>
struct strip {
  using offset_t = std::conditional_t<planted == bug::offset_of_32_bits, unsigned, std::size_t>;
  const Input* d_in;
  T* d_out;
  std::size_t num_items, tile_begin;
  offset_t first;
  T items[items_per_thread];

  __device__ strip(const Input* in, T* out, std::size_t n, std::size_t which_tile)
      : d_in(in),
        d_out(out),
        num_items(n),
        tile_begin(which_tile * tile),
        first(static_cast<offset_t>(tile_begin) + threadIdx.x * items_per_thread) {
    if constexpr (planted == bug::unchecked_alignment) {
      if (first + items_per_thread <= num_items) {
        const int4 four = *reinterpret_cast<const int4*>(d_in + first);
        items[0] = T(four.x), items[1] = T(four.y), items[2] = T(four.z), items[3] = T(four.w);
        return;
      }
    }
    for (int k = 0; k < items_per_thread; ++k) items[k] = present(k) ? T(d_in[first + k]) : identity<planted, T, Op>();
  }

  __device__ bool present(int k) const {
    const std::size_t i = tile_begin + threadIdx.x * items_per_thread + k;
    return planted == bug::tail_mask_off_by_one ? i + 1 < num_items : i < num_items;
  }
  __device__ T aggregate(Op op) const {
    T all = items[0];
    for (int k = 1; k < items_per_thread; ++k) all = joined<planted>(all, items[k], op);
    return all;
  }
  __device__ void scan(T prefix, Op op, bool inclusive) {
    if constexpr (planted == bug::exclusive_as_inclusive) inclusive = true;
    for (int k = 0; k < items_per_thread; ++k) {
      T item = items[k];
      if constexpr (planted == bug::item_read_after_its_output) {
        if (present(k)) {
          d_out[first + k] = prefix;
          item = const_cast<const volatile Input*>(d_in)[first + k];  // in place, it is gone
        }
      }
      const T next = joined<planted>(prefix, item, op);
      if (present(k)) d_out[first + k] = inclusive ? next : prefix;
      prefix = next;
    }
    if constexpr (planted == bug::written_past_the_end)
      if (!present(items_per_thread - 1) && present(0)) d_out[num_items] = prefix;
  }
};

template <bug planted, class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    scan_tiles(const Input* d_in, std::size_t num_items, T* d_aggregates, T* d_out, Op op, T init, bool inclusive) {
  strip<planted, Input, T, Op> mine(d_in, d_out, num_items, blockIdx.x);
  T all;
  const T before = preceding_threads<planted>(mine.aggregate(op), op, all);
  mine.scan(before, op, inclusive);
  if constexpr (planted == bug::init_per_block) all = op(init, all);
  if (threadIdx.x == 0) d_aggregates[blockIdx.x] = all;
}

// Each aggregate becomes what precedes its tile. One block.
template <bug planted, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    scan_aggregates(T* d_aggregates, std::size_t num_tiles, Op op, T prefix) {
  for (std::size_t first = 0; first < num_tiles; first += block_threads) {
    const std::size_t i = first + threadIdx.x;
    T all;
    const T aggregate = i < num_tiles ? d_aggregates[i] : Op::template identity<T>();
    const T before = preceding_threads<bug::none>(aggregate, op, all);
    if (i < num_tiles) d_aggregates[i] = joined<planted>(prefix, before, op);
    prefix = joined<planted>(prefix, all, op);
  }
}

template <bug planted, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    put_prefixes(const T* d_prefixes, std::size_t num_items, T* d_out, Op op) {
  const std::size_t first = std::size_t(blockIdx.x) * tile;
  for (std::size_t i = first + threadIdx.x; i < first + tile && i < num_items; i += block_threads)
    d_out[i] = joined<planted>(d_prefixes[blockIdx.x], d_out[i], op);
}

// Each block waits for the prefix of the tile before its own. Tiles come with tickets, so whoever is waited for runs.
template <class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    scan_chain(const Input* d_in, std::size_t num_items, unsigned* ticket, unsigned* flags, T* prefixes, T* d_out,
               Op op, T init, bool inclusive) {
  constexpr auto none = bug::none;
  __shared__ unsigned drawn;
  __shared__ T prefix;
  if (threadIdx.x == 0) {
    drawn = atomicAdd(ticket, 1);
    if (drawn == gridDim.x - 1) *ticket = 0;
  }
  __syncthreads();
  strip<none, Input, T, Op> mine(d_in, d_out, num_items, drawn);
  T all;
  const T before = preceding_threads<none>(mine.aggregate(op), op, all);
  if (threadIdx.x == 0) {
    prefix = init;
    if (drawn > 0) {
      while (atomicAdd(flags + drawn - 1, 0) == 0) {  // the right code asks for the number of the call
      }
      __threadfence();
      prefix = const_cast<volatile T*>(prefixes)[drawn - 1];
    }
    const_cast<volatile T*>(prefixes)[drawn] = op(prefix, all);
    __threadfence();
    atomicExch(flags + drawn, 1);
  }
  __syncthreads();
  mine.scan(op(prefix, before), op, inclusive);
}

}  // namespace scanning

template <bug planted>
struct scan_with : variant {
  static constexpr contents temp_storage = planted == bug::stale_flag ? contents::zeroed_once : contents::uninitialised;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return 256 + num_items / tile / block_threads;
  }

  template <class Input, class T, class Op>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                                    Op op, std::size_t num_items, cudaStream_t stream = nullptr) {
    return scan(d_temp_storage, temp_storage_bytes, d_in, d_out, op, Op::template identity<T>(), true, num_items,
                stream);
  }
  template <class Input, class T, class Op>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in,
                                         T* d_out, Op op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    return scan(d_temp_storage, temp_storage_bytes, d_in, d_out, op, init, true, num_items, stream);
  }
  template <class Input, class T, class Op>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                                    Op op, T init, std::size_t num_items, cudaStream_t stream = nullptr) {
    return scan(d_temp_storage, temp_storage_bytes, d_in, d_out, op, init, false, num_items, stream);
  }

 private:
  template <class Input, class T, class Op>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out, Op op,
                          T init, bool inclusive, std::size_t num_items, cudaStream_t stream) {
    std::size_t num_tiles = (num_items + tile - 1) / tile;
    // 64 bytes for the ticket; a flag and a value for each tile.
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 64 + num_tiles * (8 + sizeof(T)), region, error))
      return error;
    if (num_items == 0) return cudaSuccess;
    if constexpr (planted == bug::stale_flag) {
      // Never reset, and whatever is not 0 counts as a flag.
      auto* const ticket = reinterpret_cast<unsigned*>(region);
      auto* const flags = ticket + 2;
      auto* const prefixes = reinterpret_cast<T*>(flags + 2 * num_tiles);
      scanning::scan_chain<<<static_cast<unsigned>(num_tiles), block_threads, 0, stream>>>(
          d_in, num_items, ticket, flags, prefixes, d_out, op, init, inclusive);
    } else {
      auto* const d_aggregates = reinterpret_cast<T*>(region);
      if constexpr (planted == bug::last_tile_dropped)
        if (num_tiles > 1) --num_tiles;
      const auto grid = static_cast<unsigned>(num_tiles);
      scanning::scan_tiles<planted>
          <<<grid, block_threads, 0, stream>>>(d_in, num_items, d_aggregates, d_out, op, init, inclusive);
      if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
      scanning::scan_aggregates<planted><<<1, block_threads, 0, stream>>>(
          d_aggregates, num_tiles, op, planted == bug::init_forgotten ? Op::template identity<T>() : init);
      if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
      if constexpr (planted != bug::third_phase_forgotten)
        scanning::put_prefixes<planted><<<grid, block_threads, 0, stream>>>(d_aggregates, num_items, d_out, op);
    }
    return cudaGetLastError();
  }
};

}  // namespace rungs::wrong
