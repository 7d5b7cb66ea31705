// The host's half of selections in one launch, whose tiles look back over counts that other tiles have posted.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/parts/capability.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/tags.cuh"

namespace rungs::RUNGS_ABI::parts {

using posted_counts = mailboxes<unsigned long long>;

// A rung derives from selection_calls<rung> and names its kernel, and how many items a block of it takes:
//
//   template <class T>
//   static constexpr int tile_items = …;
//   template <class T, class SelectOp>
//   static constexpr auto kernel();
//
// The kernel takes (d_in, num_items, d_out, d_num_selected_out, select_op, posts, tag). One whose threads hold several
// items also takes whether vectors may be read, which the rung's rows<T> (parts/rows.cuh) tell.
template <class Rung>
struct selection_calls {
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 75;
  static constexpr progress forward_progress = progress::by_block_order;

  // d_out[0 …] = those items of which select_op is true, in their order, and *d_num_selected_out how many they are.
  // d_out has room for them, and overlaps no input.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    // No items have a tile, too, which writes that none is chosen.
    const std::size_t num_tiles = ceil_div(num_items > 0 ? num_items : 1, Rung::template tile_items<T>);
    const std::size_t bytes = posted_counts::bytes(num_tiles);
    char* region;
    cudaError_t error = require(Rung::min_cc);
    if (error != cudaSuccess || answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    opened_storage storage;
    error = storage.open(region, bytes, stream);
    if (error != cudaSuccess) return error;
    const auto start = [&](auto... by_vectors) {
      return launch_overlapped(Rung::template kernel<T, SelectOp>(), num_tiles, Rung::block_threads, 0, storage.clears,
                               stream, d_in, num_items, d_out, d_num_selected_out, select_op, posted_counts(region),
                               storage.of_call, by_vectors...);
    };
    if constexpr (Rung::items_per_thread == 1)
      return start();
    else
      return start(Rung::template rows<T>::reads_aligned(d_in));
  }
};

}  // namespace rungs::RUNGS_ABI::parts
