// The host's half of selections in three steps: marks, their scan, which makes places of them, and a scatter.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>

#include "rungs/contract.cuh"
#include "rungs/scans/05_three_phases.cuh"

namespace rungs::RUNGS_ABI::parts {

// A rung derives from selects_in_steps<rung>. It tells what a place is, how many there are, and how many of them a
// block has, and names its kernels:
//
//   using place = …;
//   static constexpr int places_of_block = …;
//   static constexpr std::size_t num_places(std::size_t num_items);
//   template <class T, class SelectOp>
//   static constexpr auto mark();  // of (d_in, num_items, d_places, select_op)
//   template <class T, class SelectOp>
//   static constexpr auto scatter();  // of (d_in, num_items, d_places, d_out, d_num_selected_out, select_op)
//
// What mark writes to d_places is scanned in place, exclusively.
template <class Rung>
struct selects_in_steps {
  static constexpr bool deterministic = true;

  // d_out[0 …] = those items of which select_op is true, in their order, and *d_num_selected_out how many they are.
  // d_out has room for them, and overlaps no input. select_op may be called more than once for an item.
  template <class T, class SelectOp>
  static cudaError_t select_if(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_out,
                               long long* d_num_selected_out, std::size_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    using place = typename Rung::place;
    if (num_items >= std::numeric_limits<place>::max()) return cudaErrorInvalidValue;
    const std::size_t num_places = Rung::num_places(num_items), place_bytes = num_places * sizeof(place);
    const auto scan = [=](void* d_scan_storage, std::size_t& scan_bytes, place* d_places) {
      return scans::three_phases::exclusive_scan(d_scan_storage, scan_bytes, d_places, d_places, plus{}, place{},
                                                 num_places, stream);
    };
    std::size_t scan_bytes = 0;
    char* region;
    cudaError_t error = scan(nullptr, scan_bytes, nullptr);
    if (error != cudaSuccess || answered(d_temp_storage, temp_storage_bytes, place_bytes + scan_bytes, region, error))
      return error;
    const auto d_places = reinterpret_cast<place*>(region);
    const std::size_t grid_blocks = ceil_div(num_places, Rung::places_of_block);
    error = launch(Rung::template mark<T, SelectOp>(), grid_blocks, Rung::block_threads, stream, d_in, num_items,
                   d_places, select_op);
    if (error == cudaSuccess) error = scan(region + place_bytes, scan_bytes, d_places);
    if (error != cudaSuccess) return error;
    return launch(Rung::template scatter<T, SelectOp>(), grid_blocks, Rung::block_threads, stream, d_in, num_items,
                  d_places, d_out, d_num_selected_out, select_op);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
