// A plain reduction in which one bug can be planted.
#pragma once

#include <type_traits>

#include "wrong/bug.cuh"

namespace rungs::wrong {

// The block's total, in thread 0.
template <bug planted, class T, class Op>
__device__ T block_total(T value, Op op) {
  __shared__ T slots[block_threads];
  if constexpr (planted == bug::missing_barrier) {
    slots[threadIdx.x] = Op::template identity<T>();
    __syncthreads();
    if (threadIdx.x >= 64) dawdle();
    slots[threadIdx.x] = value;
    if (threadIdx.x != 0) return value;
    for (int t = 1; t < block_threads; ++t) value = op(value, T(const_cast<volatile T*>(slots)[t]));
    return value;
  } else if constexpr (planted == bug::unrolled_for_64_run_with_32) {
    // The unrolled end begins by adding slot t + 32 to slot t. With 64 values left that is right; here 32 are left.
    slots[threadIdx.x] = value;
    __syncthreads();
    for (int stride = block_threads / 2; stride >= 32; stride /= 2) {
      if (threadIdx.x < stride) slots[threadIdx.x] = op(slots[threadIdx.x], slots[threadIdx.x + stride]);
      __syncthreads();
    }
    if (threadIdx.x < 32) {
      for (int stride = 32; stride > 0; stride /= 2) {
        const T other = slots[threadIdx.x + stride];
        __syncwarp();
        slots[threadIdx.x] = op(slots[threadIdx.x], other);
        __syncwarp();
      }
    }
    return slots[0];
  } else {
    slots[threadIdx.x] = value;
    __syncthreads();
    for (int stride = block_threads / 2; stride > 0; stride /= 2) {
      if (threadIdx.x < stride) slots[threadIdx.x] = op(slots[threadIdx.x], slots[threadIdx.x + stride]);
      __syncthreads();
    }
    return slots[0];
  }
}

template <bug planted, class Input, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_tiles(const Input* d_in, std::size_t num_items, T* d_partials, unsigned* ticket, T* d_out, Op op, T init) {
  using offset_t = std::conditional_t<planted == bug::offset_of_32_bits, unsigned, std::size_t>;
  T value = identity<planted, T, Op>();
  if constexpr (planted == bug::unchecked_alignment) {
    const std::size_t i = std::size_t(blockIdx.x) * tile + threadIdx.x * items_per_thread;
    if (i + items_per_thread <= num_items) {
      const int4 four = *reinterpret_cast<const int4*>(d_in + i);
      value = op(op(T(four.x), T(four.y)), op(T(four.z), T(four.w)));
    } else {
      for (std::size_t k = i; k < num_items; ++k) value = op(value, T(d_in[k]));
    }
  } else {
    const std::size_t shift =
        planted == bug::order_follows_the_address ? reinterpret_cast<std::size_t>(d_in) / sizeof(Input) % 4 : 0;
    for (int k = 0; k < items_per_thread; ++k) {
      const auto rank = static_cast<offset_t>((threadIdx.x + k * block_threads + (tile - shift)) % tile);
      const offset_t i = static_cast<offset_t>(blockIdx.x) * tile + rank;
      if (planted == bug::tail_mask_off_by_one ? i <= num_items : i < num_items) value = op(value, T(d_in[i]));
      if constexpr (planted == bug::first_tile_twice)
        if (blockIdx.x == 1 && rank < num_items) value = op(value, T(d_in[rank]));
    }
  }
  value = block_total<planted>(value, op);
  if (threadIdx.x == 0) {
    if constexpr (planted == bug::init_per_block) value = op(value, init);
    if constexpr (planted == bug::input_changed) const_cast<Input*>(d_in)[0] += blockIdx.x == 0;
    if constexpr (planted == bug::memset_in_another_stream || planted == bug::output_not_initialised) {
      atomicAdd(d_out, blockIdx.x == 0 ? value + init : value);
    } else {
      d_partials[blockIdx.x] = value;
    }
  }
  if constexpr (planted == bug::barrier_without_co_residency) {
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(ticket, 1);
      while (atomicAdd(ticket, 0) < gridDim.x) {
      }
    }
    __syncthreads();
  }
  if constexpr (planted == bug::stale_ticket) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
      __threadfence();
      last = atomicAdd(ticket, 1) == gridDim.x - 1;  // the right code sets it back to 0 afterwards
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    T total = Op::template identity<T>();
    for (unsigned b = threadIdx.x; b < gridDim.x; b += block_threads) total = op(total, d_partials[b]);
    __syncthreads();
    total = block_total<bug::none>(total, op);
    if (threadIdx.x == 0) d_out[0] = op(init, total);
  }
}

template <bug planted, class T, class Op>
__global__ void __launch_bounds__(block_threads)
    reduce_partials(const T* d_partials, std::size_t num_partials, T* d_out, Op op, T init, const T* d_init) {
  T value = Op::template identity<T>();
  for (std::size_t i = threadIdx.x; i < num_partials; i += block_threads) value = op(value, d_partials[i]);
  value = block_total<bug::none>(value, op);
  if (threadIdx.x == 0) {
    if constexpr (planted == bug::init_per_block || planted == bug::init_forgotten)
      *d_out = num_partials == 0 ? init : value;
    else
      *d_out = op(d_init != nullptr ? *d_init : init, value);
  }
}

template <bug planted>
struct reduction_with : variant {
  static constexpr contents temp_storage =
      planted == bug::stale_ticket ? contents::zeroed_once : contents::uninitialised;
  static constexpr std::size_t summation_height(std::size_t num_items) { return 64 + num_items / tile / block_threads; }

  // Partials, a ticket and room for init; with slack, so that any address will do.
  template <class T>
  static constexpr std::size_t bytes_for(std::size_t num_tiles) {
    return (num_tiles + 1) * sizeof(T) + 256 + 64;
  }

  template <class Input, class T, class Op>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, const Input* d_in, T* d_out,
                            std::size_t num_items, Op op, T init, cudaStream_t stream = nullptr) {
    std::size_t num_tiles = (num_items + tile - 1) / tile;
    const std::size_t needed = bytes_for<T>(num_tiles);
    if (d_temp_storage == nullptr) {
      temp_storage_bytes = planted == bug::workspace_short && num_items > 0 ? sizeof(T) * num_tiles + 63 : needed;
      if constexpr (planted == bug::size_query_launches)
        return cudaMemsetAsync(d_out, 0, 0 * num_items + sizeof(T), stream);
      return cudaSuccess;
    }
    if (planted == bug::workspace_short && num_items > 0
            ? temp_storage_bytes < sizeof(T) * num_tiles + 63
            : planted != bug::workspace_unchecked && temp_storage_bytes < needed)
      return cudaErrorInvalidValue;
    const std::size_t alignment = planted == bug::workspace_short ? 1 : 64;
    auto address = (reinterpret_cast<std::size_t>(d_temp_storage) + alignment - 1) / alignment * alignment;
    if constexpr (planted == bug::workspace_short) address = (address + 3) / 4 * 4;
    auto* const ticket = reinterpret_cast<unsigned*>(address);
    auto* const d_partials = reinterpret_cast<T*>(address + 64);
    T* d_init = nullptr;

    if constexpr (planted == bug::init_copied_from_the_stack) {
      d_init = d_partials + num_tiles;
      if (const cudaError_t e = cudaMemcpyAsync(d_init, &init, sizeof(T), cudaMemcpyHostToDevice, stream);
          e != cudaSuccess)
        return e;
    }
    if constexpr (planted == bug::barrier_without_co_residency) {
      if (const cudaError_t e = cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream); e != cudaSuccess) return e;
      // As many tiles as the idle GPU holds at once; beyond that a plain launch, so that the exhibit itself never
      // hangs.
      if (num_tiles > 132 * 16)
        return reduction_with<bug::none>::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, op, init,
                                                 stream);
    }
    if (planted == bug::last_tile_dropped && num_tiles > 1) --num_tiles;
    if constexpr (planted == bug::memset_in_another_stream)
      if (const cudaError_t e = cudaMemsetAsync(d_out, 0, sizeof(T), nullptr); e != cudaSuccess) return e;
    if (num_tiles > 0) {
      const std::size_t smem = planted == bug::ignored_launch_error && num_items > 600 ? std::size_t{1} << 20 : 0;
      reduce_tiles<planted><<<static_cast<unsigned>(num_tiles), block_threads, smem, stream>>>(
          d_in, num_items, d_partials, ticket, d_out, op, init);
      if constexpr (planted == bug::ignored_launch_error) {
        if (cudaGetLastError() != cudaSuccess) return cudaSuccess;
      }
      if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
    }
    if constexpr (planted == bug::synchronises)
      if (const cudaError_t e = cudaStreamSynchronize(stream); e != cudaSuccess) return e;
    if (num_tiles > 0 && (planted == bug::stale_ticket || planted == bug::memset_in_another_stream ||
                          planted == bug::output_not_initialised))
      return cudaSuccess;
    reduce_partials<planted><<<1, block_threads, 0, stream>>>(d_partials, num_tiles, d_out, op, init, d_init);
    return cudaGetLastError();
  }
};

}  // namespace rungs::wrong
