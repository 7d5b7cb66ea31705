// Rung 9. Sixteen bytes a load, four loads in flight before the first addition.
// Against 08_grid_stride: a quarter of the load instructions for 4-byte items, a sixteenth for bytes, and four times
// the bytes in flight per thread, which is what DRAM latency asks for. Only here do narrow types reach the bandwidth.
// The few items ahead of the first 16-byte boundary and behind the last whole vector are read one by one.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/atomic.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/reduction_calls.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <int block_threads, class InputIteratorT, class T, class ReductionOpT>
__global__ void vector_loads_kernel(InputIteratorT d_in, std::size_t num_items, T* d_out, ReductionOpT reduction_op) {
  const std::size_t thread = std::size_t(blockIdx.x) * block_threads + threadIdx.x;
  const std::size_t num_threads = std::size_t(gridDim.x) * block_threads;
  T value = ReductionOpT::template identity<T>();
  std::size_t ahead = num_items, behind = num_items;  // items before this one, and from that one on, come one by one
  if constexpr (parts::is_vectorisable<InputIteratorT>) {
    using item = parts::item_of<InputIteratorT>;
    const std::size_t bytes_ahead = -reinterpret_cast<std::uintptr_t>(d_in) % 16;
    if (bytes_ahead % sizeof(item) == 0) ahead = parts::at_most(bytes_ahead / sizeof(item), num_items);
    const std::size_t num_vectors = (num_items - ahead) / (16 / sizeof(item));
    behind = ahead + num_vectors * (16 / sizeof(item));
    const uint4* const vectors = reinterpret_cast<const uint4*>(d_in + ahead);
    const auto fold = [&](uint4 v) {
      return parts::fold_vector<T>(parts::vector<item>{{v.x, v.y, v.z, v.w}}, reduction_op);
    };
    std::size_t i = thread;
    for (; i + 3 * num_threads < num_vectors; i += 4 * num_threads) {
      const uint4 a = vectors[i], b = vectors[i + num_threads];
      const uint4 c = vectors[i + 2 * num_threads], d = vectors[i + 3 * num_threads];
      value = reduction_op(value, reduction_op(reduction_op(fold(a), fold(b)), reduction_op(fold(c), fold(d))));
    }
    for (; i < num_vectors; i += num_threads) value = reduction_op(value, fold(vectors[i]));
  }
#pragma unroll 1
  for (std::size_t i = thread; i < ahead + (num_items - behind); i += num_threads)
    value = reduction_op(value, static_cast<T>(d_in[i < ahead ? i : behind + (i - ahead)]));
  value = parts::block_reduce<block_threads>(value, reduction_op);
  if (threadIdx.x == 0) parts::atomic_combine(d_out, value, reduction_op);
}

template <int block_threads_, int blocks_per_multiprocessor_>
struct vector_loads_shaped
    : parts::reduces_by_atomics<vector_loads_shaped<block_threads_, blocks_per_multiprocessor_>> {
  static constexpr auto idea = "16-byte loads, four in flight per thread";
  static constexpr int block_threads = block_threads_, vectors_per_thread = 4, items_per_thread = 16;
  static constexpr int blocks_per_multiprocessor = blocks_per_multiprocessor_;
  static constexpr bool deterministic = false;
  static constexpr contents temp_storage = contents::none;

  template <class InputIteratorT, class T, class ReductionOpT>
  static constexpr auto kernel = vector_loads_kernel<block_threads, InputIteratorT, T, ReductionOpT>;
};

using vector_loads = vector_loads_shaped<256, 8>;

}  // namespace rungs::RUNGS_ABI::reductions
