// The front door of scans: for each call the rung that the tables name. Users call it by rungs::DeviceScan; what stands
// here has the arguments of a rung, so that it is tested and measured like one.
#pragma once

#include "rungs/cluster/scans/00_remote_prefixes.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/scans/09_warp_look_back.cuh"
#include "rungs/scans/10_one_block.cuh"
#include "rungs/scans/11_one_wave.cuh"
#include "rungs/scans/12_bulk_pipeline.cuh"
#include "rungs/tuning/scan.cuh"

namespace rungs::v0::scans {

// A rung that wants zeros, for storage that may hold anything: they are written before each call, as CUB's scan writes
// the state of its tiles. A captured call clears again on every replay.
template <class Scan>
struct cleared {
  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    std::size_t needed = 0;
    cudaError_t error = Scan::template scan<kind>(nullptr, needed, d_in, d_out, scan_op, seed, num_items, stream);
    if (error == cudaSuccess && d_temp_storage != nullptr && temp_storage_bytes >= needed && num_items > 0)
      error = cudaMemsetAsync(d_temp_storage, 0, needed, stream);
    if (error != cudaSuccess) return error;
    return Scan::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, seed, num_items, stream);
  }
};

template <contents storage, device::storage_is whose = device::storage_is::callers>
struct front_door_with : parts::scan_calls<front_door_with<storage, whose>> {
  static constexpr int block_threads = one_wave::block_threads, items_per_thread = one_wave::items_per_thread;
  static constexpr bool deterministic = false;  // large scans add up their prefixes as they come
  static constexpr contents temp_storage = storage;
  static std::size_t summation_height(std::size_t num_items) {
    std::size_t most = 0;
    for (const std::size_t height :
         {warp_look_back::summation_height(num_items), one_block::summation_height(num_items),
          one_wave::summation_height(num_items), bulk_pipeline::summation_height(num_items),
          cluster::scans::remote_prefixes::summation_height(num_items)})
      most = most < height ? height : most;
    return most;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using choice = chooser<InputIteratorT, OutputIteratorT, device::class_of<ScanOpT>>;
    using tuning::scan_rung;
    scan_rung rung{};
    if (const cudaError_t error = choice::ask(num_items, rung)) return error;
    return device::take<choice, whose>(
        rung, d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op,
                                                               seed, num_items, stream);
        },
        device::candidate<scan_rung::one_block, one_block>{},
        device::candidate<scan_rung::remote_prefixes, cluster::scans::remote_prefixes>{},
        device::candidate<scan_rung::warp_look_back, zeroed<warp_look_back>>{},
        device::candidate<scan_rung::one_wave, zeroed<one_wave>>{},
        device::candidate<scan_rung::bulk_pipeline, zeroed<bulk_pipeline>>{});
  }

 private:
  template <class Scan>
  using zeroed = std::conditional_t<storage == contents::zeroed_once, Scan, cleared<Scan>>;

  // Items that are read and written by vectors were measured. Others take the same rows, but for the pipeline: what it
  // cannot copy as it lies in memory comes faster to 09_warp_look_back. Items that hardly fit into registers take the
  // rows of compute capability 0.
  template <class InputIteratorT, class OutputIteratorT, tuning::operators operation>
  struct chooser {
    using scan_rung = tuning::scan_rung;
    static constexpr std::size_t item_bytes = sizeof(parts::item_of<InputIteratorT>);
    static constexpr bool is_copied = parts::is_vectorisable<InputIteratorT> && parts::is_vectorisable<OutputIteratorT>;
    static constexpr bool is_measured = item_bytes <= 32;
    static constexpr int greatest_cc = is_measured ? device::greatest_cc : 0;

    static constexpr scan_rung suited(scan_rung rung) {
      return rung == scan_rung::bulk_pipeline && !is_copied ? scan_rung::warp_look_back : rung;
    }
    template <scan_rung rung>
    static constexpr bool is_named = tuning::names(tuning::scan_rows, rung, storage, operation, greatest_cc,
                                                   item_bytes);
    template <scan_rung rung>
    static constexpr bool names = suited(rung) == rung &&
                                  (is_named<rung> ||
                                   (suited(scan_rung::bulk_pipeline) == rung && is_named<scan_rung::bulk_pipeline>));

    // bulk_pipeline fills the shared memory of the chips that were measured; one with less is not like them (sm_120).
    static cudaError_t ask(std::size_t num_items, scan_rung& rung) {
      int cc = 0;
      cudaError_t error = is_measured ? device::capability(cc) : cudaSuccess;
      if (error == cudaSuccess && cc >= bulk_pipeline::min_cc) {
        std::size_t shared_bytes = 0;
        error = parts::most_shared_bytes(shared_bytes);
        if (shared_bytes < 220 * 1024) cc = bulk_pipeline::min_cc - 1;
      }
      rung = suited(tuning::choose(tuning::scan_rows, storage, operation, cc, item_bytes,
                                   device::measured_items(num_items, item_bytes)));
      return error;
    }
  };
};

// The storage may hold anything.
struct front_door : front_door_with<contents::uninitialised> {
  static constexpr auto idea = "the rung that the tables name for a call, with storage that may hold anything";
};

}  // namespace rungs::v0::scans
