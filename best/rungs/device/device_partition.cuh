// rungs::DevicePartition: cub::DevicePartition's calls. In two parts, chosen items go to the front of the output, in
// their order; the others go to its end, in reverse order: the last item of the output is the first one that was not
// chosen. In three parts, each part has an output of its own, in the order of the items.
//
//   rungs::DevicePartition::If(d_temp_storage, temp_storage_bytes, d_in, d_out, d_num_selected_out, num_items,
//                              select_op, stream);                                                          // as CUB's
//   rungs::DevicePartition::If(workspace, d_in, d_out, d_num_selected_out, num_items, select_op, stream);   // simpler
//
// The contract is that of rungs::DeviceSelect (device_select.cuh), but for d_out, which has room for num_items items,
// and overlaps no input: nothing is done in place.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/selecting.cuh"
#include "rungs/device/parts/stream_argument.cuh"
#include "rungs/production/compaction/three_way_kernel.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

struct DevicePartition {
  static constexpr const char* name = "rungs::DevicePartition";  // of its ranges (parts/range.cuh)

  // Chosen are the items whose flag is true.
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT,
            class NumItemsT>
  static cudaError_t Flagged(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                             FlagIterator d_flags, OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out,
                             NumItemsT num_items, device::stream_argument stream = {}) {
    return partition(pair{d_temp_storage, temp_storage_bytes}, d_in, device::by_flag(d_flags, production::as_bool{}),
                     d_out, d_num_selected_out, num_items, stream);
  }
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT,
            class NumItemsT>
  static cudaError_t Flagged(workspace& workspace, InputIteratorT d_in, FlagIterator d_flags, OutputIteratorT d_out,
                             NumSelectedIteratorT d_num_selected_out, NumItemsT num_items,
                             cudaStream_t stream = nullptr) {
    return partition(kept{workspace}, d_in, device::by_flag(d_flags, production::as_bool{}), d_out, d_num_selected_out,
                     num_items, stream);
  }

  // Chosen are the items of which select_op(item) is true.
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class NumItemsT, class SelectOp>
  static cudaError_t If(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                        OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out, NumItemsT num_items,
                        SelectOp select_op, device::stream_argument stream = {}) {
    return partition(pair{d_temp_storage, temp_storage_bytes}, d_in, production::chosen_by_item<SelectOp>{select_op},
                     d_out, d_num_selected_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class NumItemsT, class SelectOp>
  static cudaError_t If(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                        NumSelectedIteratorT d_num_selected_out, NumItemsT num_items, SelectOp select_op,
                        cudaStream_t stream = nullptr) {
    return partition(kept{workspace}, d_in, production::chosen_by_item<SelectOp>{select_op}, d_out, d_num_selected_out,
                     num_items, stream);
  }

  // In three parts: the first one has the items of which select_first_part_op(item) is true, the second one those
  // others of which select_second_part_op(item) is true. d_num_selected_out[0] and [1] = how many these are. Each
  // output has room for its part, and overlaps no other and no input. The storage takes 32 bytes a tile.
  template <class InputIteratorT, class FirstOutputIteratorT, class SecondOutputIteratorT,
            class UnselectedOutputIteratorT, class NumSelectedIteratorT, class NumItemsT, class SelectFirstPartOp,
            class SelectSecondPartOp>
  static cudaError_t If(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                        FirstOutputIteratorT d_first_part_out, SecondOutputIteratorT d_second_part_out,
                        UnselectedOutputIteratorT d_unselected_out, NumSelectedIteratorT d_num_selected_out,
                        NumItemsT num_items, SelectFirstPartOp select_first_part_op,
                        SelectSecondPartOp select_second_part_op, device::stream_argument stream = {}) {
    return part_in_three(pair{d_temp_storage, temp_storage_bytes}, d_in, d_first_part_out, d_second_part_out,
                         d_unselected_out, d_num_selected_out, num_items, select_first_part_op, select_second_part_op,
                         stream);
  }
  template <class InputIteratorT, class FirstOutputIteratorT, class SecondOutputIteratorT,
            class UnselectedOutputIteratorT, class NumSelectedIteratorT, class NumItemsT, class SelectFirstPartOp,
            class SelectSecondPartOp>
  static cudaError_t If(workspace& workspace, InputIteratorT d_in, FirstOutputIteratorT d_first_part_out,
                        SecondOutputIteratorT d_second_part_out, UnselectedOutputIteratorT d_unselected_out,
                        NumSelectedIteratorT d_num_selected_out, NumItemsT num_items,
                        SelectFirstPartOp select_first_part_op, SelectSecondPartOp select_second_part_op,
                        cudaStream_t stream = nullptr) {
    return part_in_three(kept{workspace}, d_in, d_first_part_out, d_second_part_out, d_unselected_out,
                         d_num_selected_out, num_items, select_first_part_op, select_second_part_op, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). Results are the same in every environment.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Flagged(Arguments&&... arguments) {
    return device::in_one_phase<5>([](auto, auto&... all) { return Flagged(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t If(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 5 : 8)>(
        [](auto, auto&... all) { return If(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::compaction, DevicePartition>;
  using kept = device::kept_storage<device::compaction, DevicePartition>;

  template <class Storage, class InputIteratorT, class Criterion, class OutputIteratorT, class NumSelectedIteratorT,
            class NumItemsT>
  static cudaError_t partition(Storage storage, InputIteratorT d_in, Criterion criterion, OutputIteratorT d_out,
                               NumSelectedIteratorT d_num_selected_out, NumItemsT num_items, cudaStream_t stream) {
    return device::select<production::rejected::to_the_end>(storage, d_in, criterion, production::nothing_else{}, d_out,
                                                            d_num_selected_out, static_cast<std::size_t>(num_items),
                                                            false, stream);
  }
  template <class Storage, class InputIteratorT, class FirstOutputIteratorT, class SecondOutputIteratorT,
            class UnselectedOutputIteratorT, class NumSelectedIteratorT, class NumItemsT, class SelectFirstPartOp,
            class SelectSecondPartOp>
  static cudaError_t part_in_three(Storage storage, InputIteratorT d_in, FirstOutputIteratorT d_first_part_out,
                                   SecondOutputIteratorT d_second_part_out, UnselectedOutputIteratorT d_unselected_out,
                                   NumSelectedIteratorT d_num_selected_out, NumItemsT num_items,
                                   SelectFirstPartOp select_first_part_op, SelectSecondPartOp select_second_part_op,
                                   cudaStream_t stream) {
    const auto items = production::as_held(d_in);
    using partition = production::three_way_partition<std::remove_const_t<decltype(items)>, FirstOutputIteratorT,
                                                      SecondOutputIteratorT, UnselectedOutputIteratorT,
                                                      NumSelectedIteratorT, SelectFirstPartOp, SelectSecondPartOp>;
    const partition call{items,
                         d_first_part_out,
                         d_second_part_out,
                         d_unselected_out,
                         d_num_selected_out,
                         static_cast<std::size_t>(num_items),
                         select_first_part_op,
                         select_second_part_op,
                         production::is_aligned<partition::shape::neighbours>(items)};
    return storage.run(
        [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return production::part_in_three(d_temp_storage, temp_storage_bytes, call, stream);
        },
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI
