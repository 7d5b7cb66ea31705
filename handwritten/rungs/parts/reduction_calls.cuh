// CUB's call for a reduction, made of a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/atomic.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/passes.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// A rung derives from reduces_in_passes<rung> and names its kernel,
//
//   template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
//   static constexpr auto kernel = …;  // of (d_in, num_items, d_out, reduction_op, init)
//
// whose block b writes reduction_op(init, aggregate of tile b) to d_out[b]: it is launched until one tile is left.
template <class Rung>
struct reduces_in_passes {
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    const auto pass = [&](auto d_in, std::size_t num_items, auto d_out, T init, std::size_t grid_blocks) {
      return launch(Rung::template kernel<decltype(d_in), decltype(d_out), ReductionOpT, T>, grid_blocks,
                    Rung::block_threads, stream, d_in, num_items, d_out, reduction_op, init);
    };
    return reduce_in_passes<Rung::block_threads * Rung::items_per_thread>(d_temp_storage, temp_storage_bytes, d_in,
                                                                          d_out, num_items, reduction_op, init, pass);
  }
};

// A rung derives from reduces_by_atomics<rung> and names its kernel,
//
//   template <class InputIteratorT, class T, class ReductionOpT>
//   static constexpr auto kernel = …;  // of (d_in, num_items, d_out, reduction_op)
//
// which combines all items with *d_out, where init stands. Each block has a tile of its own, but there are no more than
// blocks_per_multiprocessor for each multiprocessor.
template <class Rung>
struct reduces_by_atomics {
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    char* unused;
    int num_multiprocessors;
    cudaError_t error;
    if (answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = multiprocessors(num_multiprocessors);
    if (error == cudaSuccess) error = initialise(d_out, init, stream);
    if (error != cudaSuccess || num_items == 0) return error;
    const std::size_t grid_blocks = at_most(ceil_div(num_items, Rung::block_threads * Rung::items_per_thread),
                                            std::size_t(num_multiprocessors) * Rung::blocks_per_multiprocessor);
    return launch(Rung::template kernel<InputIteratorT, T, ReductionOpT>, grid_blocks, Rung::block_threads, stream,
                  d_in, num_items, d_out, reduction_op);
  }
};

// A rung derives from lifts_operators<rung> and writes reduce_lifted, which takes what reduce takes, and whose operator
// always has an identity: one that names none is lifted to values that may be absent (parts/maybe.cuh).
template <class Rung>
struct lifts_operators {
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    if constexpr (has_identity<ReductionOpT, T>)
      return Rung::reduce_lifted(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, reduction_op, init,
                                 stream);
    else
      return Rung::reduce_lifted(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                 lifted<ReductionOpT>{reduction_op}, maybe<T>(init, true), stream);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
