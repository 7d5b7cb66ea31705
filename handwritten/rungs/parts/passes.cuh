// Reducing in passes: every block leaves one aggregate, and the next launch reduces those, until one is left.
#pragma once

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// Most additions one item passes through when tiles of `tile` items are reduced by trees of `tree_height` levels.
constexpr std::size_t height_in_passes(std::size_t num_items, std::size_t tile, std::size_t tree_height) {
  std::size_t height = 1;  // init
  do {
    num_items = ceil_div(num_items, tile);
    height += tree_height + 1;
  } while (num_items > 1);
  return height;
}

// Calls pass(d_in, num_items, d_out, init, grid_blocks) for n -> ceil(n / tile) -> ... -> 1 items. `pass` launches one
// kernel whose block b writes reduction_op(init, aggregate of tile b) to d_out[b]; only the last is given the caller's
// init and output, the ones before it the operator's identity and one of two buffers.
template <int tile, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T, class Pass>
cudaError_t reduce_in_passes(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                             OutputIteratorT d_out, std::size_t num_items, ReductionOpT, T init, Pass pass) {
  static_assert(has_identity<ReductionOpT, T>, "this rung pads with the operator's identity");
  const std::size_t first = ceil_div(num_items, tile), second = ceil_div(first, tile);
  char* region;
  cudaError_t error;
  if (answered(d_temp_storage, temp_storage_bytes, (first + second) * sizeof(T), region, error)) return error;

  const T identity = ReductionOpT::template identity<T>();
  T* aggregates = reinterpret_cast<T*>(region);
  T* next_aggregates = aggregates + first;
  if (first <= 1) return pass(d_in, num_items, d_out, init, std::size_t(1));
  error = pass(d_in, num_items, aggregates, identity, first);
  for (std::size_t left = first; error == cudaSuccess && left > 0;) {
    const std::size_t grid_blocks = ceil_div(left, tile);
    if (grid_blocks == 1) return pass(static_cast<const T*>(aggregates), left, d_out, init, grid_blocks);
    error = pass(static_cast<const T*>(aggregates), left, next_aggregates, identity, grid_blocks);
    T* const reduced = next_aggregates;
    next_aggregates = aggregates;
    aggregates = reduced;
    left = grid_blocks;
  }
  return error;
}

}  // namespace rungs::RUNGS_ABI::parts
