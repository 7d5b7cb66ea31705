// The front door of scans: for each call the rung that the tables name. Users call it by rungs::DeviceScan; what stands
// here has the arguments of a rung, so that it is tested and measured like one.
#pragma once

#include "rungs/cluster/scans/02_compact_cluster.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/scan_calls.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/scans/10_one_block.cuh"
#include "rungs/scans/14_tagged_wave.cuh"
#include "rungs/scans/15_tagged_look_back.cuh"
#include "rungs/scans/16_claimed_pipeline.cuh"
#include "rungs/tuning/scan.cuh"

namespace rungs::RUNGS_ABI::scans {

template <device::storage_is whose>
struct front_door_of : parts::scan_calls<front_door_of<whose>> {
  static constexpr int block_threads = tagged_wave::block_threads, items_per_thread = tagged_wave::items_per_thread;
  static constexpr bool deterministic = false;  // large scans add up their prefixes as they come
  static constexpr progress forward_progress = progress::by_block_order;
  static std::size_t summation_height(std::size_t num_items) {
    std::size_t most = 0;
    for (const std::size_t height :
         {tagged_look_back::summation_height(num_items), one_block::summation_height(num_items),
          tagged_wave::summation_height(num_items), claimed_pipeline::summation_height(num_items),
          cluster::scans::compact_cluster::summation_height(num_items)})
      most = most < height ? height : most;
    return most;
  }

  template <parts::scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items, cudaStream_t stream) {
    using choice = chooser<InputIteratorT, OutputIteratorT, T, device::class_of<ScanOpT>>;
    using tuning::scan_rung;
    scan_rung rung{};
    if (const cudaError_t error = choice::ask(d_in, d_out, num_items, rung)) return error;
    return device::call_chosen<choice, whose>(
        rung, d_temp_storage, temp_storage_bytes,
        [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return decltype(variant)::named::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op,
                                                               seed, num_items, stream);
        },
        device::candidate<scan_rung::one_block, one_block>{},
        device::candidate<scan_rung::compact_cluster, cluster::scans::compact_cluster>{},
        device::candidate<scan_rung::tagged_look_back, tagged_look_back>{},
        device::candidate<scan_rung::tagged_wave, tagged_wave>{},
        device::candidate<scan_rung::claimed_pipeline, claimed_pipeline>{});
  }

 private:
  // Items that are read and written by vectors were measured. Others take the same rows, but for the pipeline: what it
  // cannot copy as it lies in memory comes faster to 15_tagged_look_back; and for the cluster, whose blocks are to fit
  // one multiprocessor. Where an item or an accumulator hardly fits into registers, the rows of compute capability 0
  // answer.
  template <class InputIteratorT, class OutputIteratorT, class T, tuning::operators operation>
  struct chooser {
    using scan_rung = tuning::scan_rung;
    static constexpr std::size_t item_bytes = sizeof(parts::item_of<InputIteratorT>);
    static constexpr bool is_copied = parts::is_vectorisable<InputIteratorT> && parts::is_vectorisable<OutputIteratorT>;
    static constexpr bool fits_registers = item_bytes <= 32 && sizeof(T) <= 40;
    static constexpr bool suits_cluster = is_copied && sizeof(T) <= 8;
    static constexpr int greatest_cc = fits_registers ? device::greatest_cc : 0;

    static constexpr scan_rung suited(scan_rung rung) {
      if (rung == scan_rung::compact_cluster && !suits_cluster) return scan_rung::tagged_wave;
      if (rung == scan_rung::claimed_pipeline && !is_copied) return scan_rung::tagged_look_back;
      return rung;
    }
    template <scan_rung rung>
    static constexpr bool names = tuning::names_suited(tuning::scan_rows, rung, operation, greatest_cc, item_bytes,
                                                       suited);

    // claimed_pipeline fills the shared memory of the chips that were measured; one with less is not like them
    // (sm_120).
    static cudaError_t ask(InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_items, scan_rung& rung) {
      int cc = 0, multiprocessors = 0;
      cudaError_t error = fits_registers ? device::capability(cc) : cudaSuccess;
      if (error == cudaSuccess && cc >= claimed_pipeline::min_cc) {
        std::size_t shared_bytes = 0;
        error = parts::most_shared_bytes(shared_bytes);
        if (shared_bytes < 220 * 1024) cc = claimed_pipeline::min_cc - 1;
      }
      if (error == cudaSuccess) error = parts::multiprocessors(multiprocessors);
      rung = suited(
          tuning::choose(tuning::scan_rows, operation, cc, item_bytes, device::measured_items(num_items, item_bytes)));
      const std::size_t of_wave =
          multiprocessors * (2 * tagged_wave::block_threads / parts::warp_threads * std::size_t{rows::warp_items});
      rung = between_measured(rung, num_items, of_wave, cc >= claimed_pipeline::min_cc && is_shifted(d_in, d_out));
      return error;
    }

   private:
    using rows = parts::rows<tagged_wave::num_rows, InputIteratorT, OutputIteratorT, T>;
    static constexpr bool has_identity = rows::pads_with_identity;
    static constexpr std::size_t most_of_cluster =
        cluster::parts::blocks_on_one_multiprocessor *
        (cluster::scans::compact_cluster::block_threads / parts::warp_threads) *
        std::size_t{
            parts::rows<cluster::scans::compact_cluster::num_rows, InputIteratorT, OutputIteratorT, T>::warp_items};
    static constexpr std::size_t few_shifted = std::size_t{1} << 20;

    // Whether tagged_wave and tagged_look_back would shift vectors.
    static bool is_shifted(InputIteratorT d_in, OutputIteratorT d_out) {
      if constexpr (is_copied) {
        const int ahead = std::is_integral_v<T> ? rows::items_ahead(d_in, d_out) : 0;
        return !rows::vectorised(d_in - ahead, d_out - ahead);
      }
      return false;
    }

    // Tables tell sizes apart that were measured, of aligned items, by operators that have an identity. A cluster of
    // several tiles takes a step longer, and so does a wave of more than two blocks a multiprocessor. The pipeline does
    // not shift vectors. Bytes without an identity go by look-back: 16 Mi take 0.79 of the pipeline's time on an H200.
    // Items of two bytes do not: there the pipeline is faster.
    static scan_rung between_measured(scan_rung rung, std::size_t num_items, std::size_t of_wave, bool is_shifted) {
      if constexpr (names<scan_rung::tagged_wave>)
        if (rung == scan_rung::compact_cluster && num_items > most_of_cluster) rung = scan_rung::tagged_wave;
      const bool is_wave = rung == scan_rung::tagged_wave, is_pipeline = rung == scan_rung::claimed_pipeline;
      if constexpr (names<scan_rung::tagged_wave>)
        if (is_pipeline && num_items <= of_wave) rung = scan_rung::tagged_wave;
      if constexpr (!has_identity && item_bytes != 2 && names<scan_rung::tagged_look_back>)
        if (num_items > of_wave && (is_wave || (is_pipeline && item_bytes == 1))) rung = scan_rung::tagged_look_back;
      if constexpr (item_bytes > 1 && names<scan_rung::claimed_pipeline>)
        if (is_shifted && num_items > few_shifted) rung = scan_rung::claimed_pipeline;
      return rung;
    }
  };
};

// Of a call whose storage is the caller's, and may hold anything.
struct front_door : front_door_of<device::storage_is::callers> {
  static constexpr auto idea = "the rung that the tables name for a call";
};

}  // namespace rungs::RUNGS_ABI::scans
