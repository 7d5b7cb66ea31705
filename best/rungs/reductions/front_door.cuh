// The front door of reductions: for each call the rung that the tables name. Users call it by rungs::DeviceReduce; what
// stands here has the arguments of a rung, so that it is tested and measured like one.
#pragma once

#include "rungs/cluster/reductions/00_remote_stores.cuh"
#include "rungs/contract.cuh"
#include "rungs/device/parts/choice.cuh"
#include "rungs/device/parts/dispatch.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/reductions/10_two_passes.cuh"
#include "rungs/reductions/14_one_block.cuh"
#include "rungs/reductions/15_early_ticket.cuh"
#include "rungs/reductions/16_overlapped_finish.cuh"
#include "rungs/tuning/reduce.cuh"

namespace rungs::v0::reductions {

template <contents storage, device::storage_is whose = device::storage_is::callers>
struct front_door_with {
  static constexpr int block_threads = early_ticket::block_threads, items_per_thread = early_ticket::items_per_thread;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = storage;
  // Of the rungs that a call with so many items can come to, on any device.
  static std::size_t summation_height(std::size_t num_items) {
    std::size_t most = 0;
    for (const auto& each : tuning::reduce_rows) {
      if (each.storage != storage) continue;
      const std::size_t height = height_of(
          tuning::choose(tuning::reduce_rows, storage, each.operation, each.cc, each.item_bytes, num_items), num_items);
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
      return device::take<choice, whose>(
          rung, d_temp_storage, temp_storage_bytes,
          [&](auto variant, void* d_temp_storage, std::size_t& temp_storage_bytes) {
            return decltype(variant)::named::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
                                                    reduction_op, init, stream);
          },
          device::candidate<reduce_rung::one_block, one_block>{},
          device::candidate<reduce_rung::remote_stores, cluster::reductions::remote_stores>{},
          device::candidate<reduce_rung::two_passes, two_passes>{},
          device::candidate<reduce_rung::overlapped_finish, overlapped_finish>{},
          device::candidate<reduce_rung::early_ticket, early_ticket>{});
    }
  }

 private:
  static std::size_t height_of(tuning::reduce_rung rung, std::size_t num_items) {
    switch (rung) {
      case tuning::reduce_rung::one_block:
        return one_block::summation_height(num_items);
      case tuning::reduce_rung::remote_stores:
        return cluster::reductions::remote_stores::summation_height(num_items);
      case tuning::reduce_rung::two_passes:
        return two_passes::summation_height(num_items);
      case tuning::reduce_rung::overlapped_finish:
        return overlapped_finish::summation_height(num_items);
      case tuning::reduce_rung::early_ticket:
        return early_ticket::summation_height(num_items);
    }
    return num_items;
  }

  // Items that are read by vectors, and words that are accumulated, were measured. Items that are read one by one take
  // the same rows; what is not accumulated as words, or hardly fits into registers, takes those of compute capability
  // 0.
  template <class InputIteratorT, class T, tuning::operators operation>
  struct chooser {
    static constexpr bool is_measured = sizeof(T) % 4 == 0 && alignof(T) >= 4 && sizeof(T) <= 40;
    static constexpr int greatest_cc = is_measured ? device::greatest_cc : 0;
    static constexpr std::size_t item_bytes = sizeof(parts::item_of<InputIteratorT>);

    template <tuning::reduce_rung rung>
    static constexpr bool names = tuning::names(tuning::reduce_rows, rung, storage, operation, greatest_cc, item_bytes);

    static cudaError_t ask(std::size_t num_items, tuning::reduce_rung& rung) {
      int cc = 0;
      const cudaError_t error = is_measured ? device::capability(cc) : cudaSuccess;
      rung = tuning::choose(tuning::reduce_rows, storage, operation, cc, item_bytes,
                            device::measured_items(num_items, item_bytes));
      return error;
    }
  };
};

// The storage may hold anything.
struct front_door : front_door_with<contents::uninitialised> {
  static constexpr auto idea = "the rung that the tables name for a call, with storage that may hold anything";
};

}  // namespace rungs::v0::reductions
