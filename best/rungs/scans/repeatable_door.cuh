// Scans whose bits repeat on one device, whatever the operator and the type: for each call a rung that adds up in a
// fixed order. Users ask rungs::DeviceScan for it by an environment with run_to_run.
//
// Up to 16 Mi items it takes the rungs of the front door whose order is fixed; above, two reads and one write of each
// item. On an H200, cold sums of f32 took 47.5 us by tagged_wave and 55.1 us by reduce_then_scan at 16 Mi, 112 us and
// 102 us at 32 Mi (report/data).
#pragma once

#include "rungs/cluster/scans/02_compact_cluster.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/scans/06_reduce_then_scan.cuh"
#include "rungs/scans/10_one_block.cuh"
#include "rungs/scans/14_tagged_wave.cuh"
#include "rungs/tuning/scan.cuh"

namespace rungs::RUNGS_ABI::scans {

struct repeatable_door : parts::scan_calls<repeatable_door> {
  static constexpr auto idea = "the rungs of a fixed order, by the front door's tables";
  static constexpr int block_threads = tagged_wave::block_threads, items_per_thread = tagged_wave::items_per_thread;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  static constexpr std::size_t most_items_of_wave = std::size_t{1} << 24;
  static std::size_t summation_height(std::size_t num_items) {
    std::size_t most = 0;
    for (const std::size_t height :
         {one_block::summation_height(num_items), tagged_wave::summation_height(num_items),
          reduce_then_scan::summation_height(num_items), cluster::scans::compact_cluster::summation_height(num_items)})
      most = most < height ? height : most;
    return most;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using choice = chooser<InputIteratorT, OutputIteratorT, T, device::class_of<ScanOpT>>;
    rung chosen{};
    if (const cudaError_t error = choice::ask(num_items, chosen)) return error;
    return device::call_chosen<choice, device::storage_is::callers>(
        chosen, d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op,
                                                               seed, num_items, stream);
        },
        device::candidate<rung::one_block, one_block>{},
        device::candidate<rung::compact_cluster, cluster::scans::compact_cluster>{},
        device::candidate<rung::tagged_wave, tagged_wave>{},
        device::candidate<rung::reduce_then_scan, reduce_then_scan>{});
  }

 private:
  enum class rung : unsigned char { one_block, compact_cluster, tagged_wave, reduce_then_scan };

  // As the front door asks (front_door.cuh).
  template <class InputIteratorT, class OutputIteratorT, class T, tuning::operators operation>
  struct chooser {
    static constexpr std::size_t item_bytes = sizeof(parts::item_of<InputIteratorT>);
    static_assert(item_bytes <= 32 && sizeof(T) <= 40,
                  "scans whose bits repeat take items of up to 32 bytes and accumulators of up to 40 bytes, among them "
                  "a byte where the operator has no identity");
    static constexpr bool suits_cluster =
        parts::is_vectorisable<InputIteratorT> && parts::is_vectorisable<OutputIteratorT> && sizeof(T) <= 8;

    template <rung name>
    static constexpr bool names = name != rung::compact_cluster || (suits_cluster && device::greatest_cc >= 90);

    static cudaError_t ask(std::size_t num_items, rung& chosen) {
      int cc = 0;
      const cudaError_t error = device::capability(cc);
      const tuning::scan_rung of_table =
          tuning::choose(tuning::scan_rows, operation, cc, item_bytes, device::measured_items(num_items, item_bytes));
      chosen = num_items > most_items_of_wave ? rung::reduce_then_scan : rung::tagged_wave;
      if (of_table == tuning::scan_rung::one_block) chosen = rung::one_block;
      if (of_table == tuning::scan_rung::compact_cluster && names<rung::compact_cluster>)
        chosen = rung::compact_cluster;
      return error;
    }
  };
};

}  // namespace rungs::RUNGS_ABI::scans
