// The front door of reductions: for each call the rung that the tables name. Users call it by rungs::DeviceReduce; what
// stands here has the arguments of a rung, so that it is tested and measured like one.
#pragma once

#include "rungs/cluster/reductions/05_compact_cluster.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/device/parts/few_items.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/reductions/10_two_passes.cuh"
#include "rungs/reductions/14_one_block.cuh"
#include "rungs/reductions/18_tagged_aggregates.cuh"
#include "rungs/tuning/reduce.cuh"

namespace rungs::RUNGS_ABI::reductions {

template <device::storage_is whose>
struct front_door_of {
  static constexpr int block_threads = tagged_aggregates::block_threads;
  static constexpr int items_per_thread = tagged_aggregates::items_per_thread;
  static constexpr bool deterministic = true;
  static constexpr progress forward_progress = progress::by_block_order;
  // Of the rungs that a call with so many items can come to, on any device.
  static std::size_t summation_height(std::size_t num_items) {
    std::size_t most = 0;
    for (const auto& each : tuning::reduce_rows) {
      const std::size_t height = height_of(
          tuning::choose(tuning::reduce_rows, each.operation, each.cc, each.item_bytes, num_items), num_items);
      most = most < height ? height : most;
    }
    return most;
  }

  // Accumulates in T. An operator without an identity is lifted to values that may be absent.
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    if constexpr (!has_identity<ReductionOpT, T>) {
      return reduce(d_temp_storage, temp_storage_bytes, d_in, device::unwrapping<OutputIteratorT, T>{d_out}, num_items,
                    parts::lifted<ReductionOpT>{reduction_op}, parts::maybe<T>(init, true), stream);
    } else {
      using choice = chooser<InputIteratorT, T, device::class_of<ReductionOpT>>;
      using tuning::reduce_rung;
      reduce_rung rung{};
      if (const cudaError_t error = choice::ask(num_items, rung)) return error;
      return device::call_chosen<choice, whose>(
          rung, d_temp_storage, temp_storage_bytes,
          [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
            return decltype(variant)::named::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                    reduction_op, init, stream);
          },
          device::candidate<reduce_rung::one_block, device::few_items>{},
          device::candidate<reduce_rung::compact_cluster, cluster::reductions::compact_cluster>{},
          device::candidate<reduce_rung::two_passes, two_passes>{},
          device::candidate<reduce_rung::tagged_aggregates, tagged_aggregates>{});
    }
  }

 private:
  static std::size_t height_of(tuning::reduce_rung rung, std::size_t num_items) {
    switch (rung) {
      case tuning::reduce_rung::one_block:
        return one_block::summation_height(num_items);
      case tuning::reduce_rung::compact_cluster:
        return cluster::reductions::compact_cluster::summation_height(num_items);
      case tuning::reduce_rung::two_passes:
        return two_passes::summation_height(num_items);
      case tuning::reduce_rung::tagged_aggregates:
        return tagged_aggregates::summation_height(num_items);
    }
    return num_items;
  }

  // Items that are read by vectors, and words that are accumulated, were measured. Others take the same rows, but for
  // clusters, whose blocks are to fit one multiprocessor, and for mailboxes where the accumulator hardly fits
  // registers.
  template <class InputIteratorT, class T, tuning::operators operation>
  struct chooser {
    using reduce_rung = tuning::reduce_rung;
    static constexpr std::size_t item_bytes = sizeof(parts::item_of<InputIteratorT>);
    static constexpr bool fits_registers = sizeof(T) <= 40;
    static constexpr bool suits_cluster =
        parts::is_vectorisable<InputIteratorT> && (sizeof(T) == 4 || sizeof(T) == 8) && alignof(T) >= 4;
    static constexpr int greatest_cc = fits_registers ? device::greatest_cc : 0;

    static constexpr reduce_rung suited(reduce_rung rung) {
      if (rung == reduce_rung::compact_cluster && !suits_cluster) rung = reduce_rung::tagged_aggregates;
      if (rung == reduce_rung::tagged_aggregates && !fits_registers) rung = reduce_rung::two_passes;
      return rung;
    }
    template <reduce_rung rung>
    static constexpr bool names = tuning::names_suited(tuning::reduce_rows, rung, operation, greatest_cc, item_bytes,
                                                       suited);

    static cudaError_t ask(std::size_t num_items, reduce_rung& rung) {
      int cc = 0;
      const cudaError_t error = fits_registers ? device::capability(cc) : cudaSuccess;
      rung = suited(tuning::choose(tuning::reduce_rows, operation, cc, item_bytes,
                                   device::measured_items(num_items, item_bytes)));
      return error;
    }
  };
};

// Of a call whose storage is the caller's, and may hold anything.
struct front_door : front_door_of<device::storage_is::callers> {
  static constexpr auto idea = "the rung that the tables name for a call";
};

}  // namespace rungs::RUNGS_ABI::reductions
