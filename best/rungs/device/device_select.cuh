// rungs::DeviceSelect: cub::DeviceSelect's calls. Chosen items go to the front of the output, in their order.
//
//   rungs::DeviceSelect::If(d_temp_storage, temp_storage_bytes, d_in, d_out, d_num_selected_out, num_items,
//                           select_op, stream);                                                          // as CUB's
//   rungs::DeviceSelect::If(workspace, d_in, d_out, d_num_selected_out, num_items, select_op, stream);   // simpler
//   rungs::DeviceSelect::If(d_in, d_out, d_num_selected_out, num_items, select_op, environment);   // as CUB's, newer
//
// Every call exists in three forms, and all but UniqueByKey also in place: with one iterator d_data for d_in and d_out.
// The first is CUB's contract: a call with a null d_temp_storage only answers the size, the storage may hold anything,
// and nothing is allocated. In place of the stream it takes an environment, whose stream alone counts. In the second a
// rungs::workspace keeps the storage, and may allocate (see there). None waits for the device; all may be captured, the
// second once the workspace is large enough. The third allocates on the stream, or as its environment says
// (parts/environment.cuh). Any number of host threads may call at once, each with its own storage or workspace.
// cudaErrorInvalidValue means storage that is too small, cudaErrorNotPermitted (in a checked build) a workspace that is
// misused; else what the runtime answered to a launch is returned.
//
// Blocks wait only for blocks of lower indices, which start first, as CUB's calls assume, too. Of 64 MiB of items or
// more (128 MiB of narrow ones), they wait for tiles that others have drawn before, and a block stays until none is
// left. What blocks tell each other bears a tag of the call; storage that holds it by chance is met with a probability
// below 2^-42 a call for 2^30 items (parts/tags.cuh). The storage takes 16 bytes for each tile of 1024 to 8192 items; a
// tile has 256 or 512 items of more than 16 bytes.
//
// d_in                num_items items: any random-access iterator. Pointers to items of 1, 2, 4, 8 or 16 bytes are read
//                     by vectors where they are aligned to them.
// d_flags             num_items flags that convert to bool. It may be d_in.
// d_out               room for all chosen items: any random-access iterator. Out of place it overlaps no input.
// d_num_selected_out  where their number is written: any output iterator. It is written for no items, too.
// num_items           any integer up to 2^63 - 1.
// select_op           called once for each item or flag, in no order.
//
// In place, no other iterator may reach the items, but d_flags may equal d_data. It takes a fence a tile more.
// Results are exact, and the same each time. The idea of the one pass is Merrill and Garland's decoupled look-back.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <cstdint>
#include <type_traits>

#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/selecting.cuh"
#include "rungs/device/parts/stream_argument.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

struct DeviceSelect {
  static constexpr const char* name = "rungs::DeviceSelect";  // of its ranges (parts/range.cuh)

  // The items whose flag is true.
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT>
  static cudaError_t Flagged(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                             FlagIterator d_flags, OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out,
                             std::int64_t num_items, device::stream_argument stream = {}) {
    return flagged(pair{d_temp_storage, temp_storage_bytes}, d_in, d_flags, d_out, d_num_selected_out, num_items,
                   production::as_bool{}, false, stream);
  }
  template <class IteratorT, class FlagIterator, class NumSelectedIteratorT>
  static cudaError_t Flagged(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                             FlagIterator d_flags, NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                             device::stream_argument stream = {}) {
    return flagged(pair{d_temp_storage, temp_storage_bytes}, d_data, d_flags, d_data, d_num_selected_out, num_items,
                   production::as_bool{}, true, stream);
  }
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT>
  static cudaError_t Flagged(workspace& workspace, InputIteratorT d_in, FlagIterator d_flags, OutputIteratorT d_out,
                             NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                             cudaStream_t stream = nullptr) {
    return flagged(kept{workspace}, d_in, d_flags, d_out, d_num_selected_out, num_items, production::as_bool{}, false,
                   stream);
  }
  template <class IteratorT, class FlagIterator, class NumSelectedIteratorT>
  static cudaError_t Flagged(workspace& workspace, IteratorT d_data, FlagIterator d_flags,
                             NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                             cudaStream_t stream = nullptr) {
    return flagged(kept{workspace}, d_data, d_flags, d_data, d_num_selected_out, num_items, production::as_bool{}, true,
                   stream);
  }

  // The items of which select_op(item) is true.
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t If(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                        OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                        SelectOp select_op, device::stream_argument stream = {}) {
    return select_if(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_num_selected_out, num_items, select_op,
                     false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t If(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                        NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                        device::stream_argument stream = {}) {
    return select_if(pair{d_temp_storage, temp_storage_bytes}, d_data, d_data, d_num_selected_out, num_items, select_op,
                     true, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t If(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                        NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                        cudaStream_t stream = nullptr) {
    return select_if(kept{workspace}, d_in, d_out, d_num_selected_out, num_items, select_op, false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t If(workspace& workspace, IteratorT d_data, NumSelectedIteratorT d_num_selected_out,
                        std::int64_t num_items, SelectOp select_op, cudaStream_t stream = nullptr) {
    return select_if(kept{workspace}, d_data, d_data, d_num_selected_out, num_items, select_op, true, stream);
  }

  // The items of which select_op(flag) is true.
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t FlaggedIf(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                               FlagIterator d_flags, OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out,
                               std::int64_t num_items, SelectOp select_op, device::stream_argument stream = {}) {
    return flagged(pair{d_temp_storage, temp_storage_bytes}, d_in, d_flags, d_out, d_num_selected_out, num_items,
                   select_op, false, stream);
  }
  template <class IteratorT, class FlagIterator, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t FlaggedIf(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                               FlagIterator d_flags, NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                               SelectOp select_op, device::stream_argument stream = {}) {
    return flagged(pair{d_temp_storage, temp_storage_bytes}, d_data, d_flags, d_data, d_num_selected_out, num_items,
                   select_op, true, stream);
  }
  template <class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t FlaggedIf(workspace& workspace, InputIteratorT d_in, FlagIterator d_flags, OutputIteratorT d_out,
                               NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    return flagged(kept{workspace}, d_in, d_flags, d_out, d_num_selected_out, num_items, select_op, false, stream);
  }
  template <class IteratorT, class FlagIterator, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t FlaggedIf(workspace& workspace, IteratorT d_data, FlagIterator d_flags,
                               NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                               cudaStream_t stream = nullptr) {
    return flagged(kept{workspace}, d_data, d_flags, d_data, d_num_selected_out, num_items, select_op, true, stream);
  }

  // The first item of each run of items that are equal by ==, or by equality_op(item, the next one).
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT>
  static cudaError_t Unique(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                            device::stream_argument stream = {}) {
    return unique(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_num_selected_out, num_items,
                  device::equal_items{}, false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT>
  static cudaError_t Unique(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                            device::stream_argument stream = {}) {
    return unique(pair{d_temp_storage, temp_storage_bytes}, d_data, d_data, d_num_selected_out, num_items,
                  device::equal_items{}, true, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t Unique(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                            EqualityOpT equality_op, device::stream_argument stream = {}) {
    return unique(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_num_selected_out, num_items, equality_op,
                  false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t Unique(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, EqualityOpT equality_op,
                            device::stream_argument stream = {}) {
    return unique(pair{d_temp_storage, temp_storage_bytes}, d_data, d_data, d_num_selected_out, num_items, equality_op,
                  true, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT>
  static cudaError_t Unique(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items,
                            cudaStream_t stream = nullptr) {
    return unique(kept{workspace}, d_in, d_out, d_num_selected_out, num_items, device::equal_items{}, false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT>
  static cudaError_t Unique(workspace& workspace, IteratorT d_data, NumSelectedIteratorT d_num_selected_out,
                            std::int64_t num_items, cudaStream_t stream = nullptr) {
    return unique(kept{workspace}, d_data, d_data, d_num_selected_out, num_items, device::equal_items{}, true, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t Unique(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, EqualityOpT equality_op,
                            cudaStream_t stream = nullptr) {
    return unique(kept{workspace}, d_in, d_out, d_num_selected_out, num_items, equality_op, false, stream);
  }
  template <class IteratorT, class NumSelectedIteratorT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t Unique(workspace& workspace, IteratorT d_data, NumSelectedIteratorT d_num_selected_out,
                            std::int64_t num_items, EqualityOpT equality_op, cudaStream_t stream = nullptr) {
    return unique(kept{workspace}, d_data, d_data, d_num_selected_out, num_items, equality_op, true, stream);
  }

  // The first key of each run of keys that are equal by == or equality_op, and the value that stands beside it.
  template <class KeyInputIteratorT, class ValueInputIteratorT, class KeyOutputIteratorT, class ValueOutputIteratorT,
            class NumSelectedIteratorT, class NumItemsT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t UniqueByKey(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                                 ValueInputIteratorT d_values_in, KeyOutputIteratorT d_keys_out,
                                 ValueOutputIteratorT d_values_out, NumSelectedIteratorT d_num_selected_out,
                                 NumItemsT num_items, EqualityOpT equality_op, device::stream_argument stream = {}) {
    return firsts(pair{d_temp_storage, temp_storage_bytes}, d_keys_in,
                  production::values_too<ValueInputIteratorT, ValueOutputIteratorT>{d_values_in, d_values_out, false},
                  d_keys_out, d_num_selected_out, static_cast<std::int64_t>(num_items), equality_op, false, stream);
  }
  template <class KeyInputIteratorT, class ValueInputIteratorT, class KeyOutputIteratorT, class ValueOutputIteratorT,
            class NumSelectedIteratorT, class NumItemsT>
  static cudaError_t UniqueByKey(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                                 ValueInputIteratorT d_values_in, KeyOutputIteratorT d_keys_out,
                                 ValueOutputIteratorT d_values_out, NumSelectedIteratorT d_num_selected_out,
                                 NumItemsT num_items, device::stream_argument stream = {}) {
    return UniqueByKey(d_temp_storage, temp_storage_bytes, d_keys_in, d_values_in, d_keys_out, d_values_out,
                       d_num_selected_out, num_items, device::equal_items{}, stream);
  }
  template <class KeyInputIteratorT, class ValueInputIteratorT, class KeyOutputIteratorT, class ValueOutputIteratorT,
            class NumSelectedIteratorT, class NumItemsT, class EqualityOpT,
            class = device::if_no_environment<EqualityOpT>>
  static cudaError_t UniqueByKey(workspace& workspace, KeyInputIteratorT d_keys_in, ValueInputIteratorT d_values_in,
                                 KeyOutputIteratorT d_keys_out, ValueOutputIteratorT d_values_out,
                                 NumSelectedIteratorT d_num_selected_out, NumItemsT num_items, EqualityOpT equality_op,
                                 cudaStream_t stream = nullptr) {
    return firsts(kept{workspace}, d_keys_in,
                  production::values_too<ValueInputIteratorT, ValueOutputIteratorT>{d_values_in, d_values_out, false},
                  d_keys_out, d_num_selected_out, static_cast<std::int64_t>(num_items), equality_op, false, stream);
  }
  template <class KeyInputIteratorT, class ValueInputIteratorT, class KeyOutputIteratorT, class ValueOutputIteratorT,
            class NumSelectedIteratorT, class NumItemsT>
  static cudaError_t UniqueByKey(workspace& workspace, KeyInputIteratorT d_keys_in, ValueInputIteratorT d_values_in,
                                 KeyOutputIteratorT d_keys_out, ValueOutputIteratorT d_values_out,
                                 NumSelectedIteratorT d_num_selected_out, NumItemsT num_items,
                                 cudaStream_t stream = nullptr) {
    return UniqueByKey(workspace, d_keys_in, d_values_in, d_keys_out, d_values_out, d_num_selected_out, num_items,
                       device::equal_items{}, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). Results are the same in every environment.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Flagged(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return Flagged(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t If(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<2, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return If(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t FlaggedIf(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 5 : 6)>(
        [](auto, auto&... all) { return FlaggedIf(all...); }, arguments...);
  }
  // Behind num_items of these two may stand an equality_op, and behind that the environment.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Unique(Arguments&&... arguments) {
    constexpr std::size_t before = device::is_count<2, Arguments...> ? 3 : 4;
    return device::in_one_phase<before + device::has_operator<before, Arguments...>>(
        [](auto, auto&... all) { return Unique(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t UniqueByKey(Arguments&&... arguments) {
    return device::in_one_phase<6 + device::has_operator<6, Arguments...>>(
        [](auto, auto&... all) { return UniqueByKey(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::compaction, DeviceSelect>;
  using kept = device::kept_storage<device::compaction, DeviceSelect>;
  static constexpr auto nowhere = production::rejected::nowhere;

  template <class Storage, class InputIteratorT, class FlagIterator, class OutputIteratorT, class NumSelectedIteratorT,
            class SelectOp>
  static cudaError_t flagged(Storage storage, InputIteratorT d_in, FlagIterator d_flags, OutputIteratorT d_out,
                             NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                             bool in_place, cudaStream_t stream) {
    return device::select<nowhere>(storage, d_in, device::by_flag(d_flags, select_op), production::nothing_else{},
                                   d_out, d_num_selected_out, static_cast<std::size_t>(num_items), in_place, stream);
  }
  template <class Storage, class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class SelectOp>
  static cudaError_t select_if(Storage storage, InputIteratorT d_in, OutputIteratorT d_out,
                               NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, SelectOp select_op,
                               bool in_place, cudaStream_t stream) {
    return device::select<nowhere>(storage, d_in, production::chosen_by_item<SelectOp>{select_op},
                                   production::nothing_else{}, d_out, d_num_selected_out,
                                   static_cast<std::size_t>(num_items), in_place, stream);
  }
  template <class Storage, class InputIteratorT, class OutputIteratorT, class NumSelectedIteratorT, class EqualityOpT>
  static cudaError_t unique(Storage storage, InputIteratorT d_in, OutputIteratorT d_out,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, EqualityOpT equality_op,
                            bool in_place, cudaStream_t stream) {
    return firsts(storage, d_in, production::nothing_else{}, d_out, d_num_selected_out, num_items, equality_op,
                  in_place, stream);
  }
  template <class Storage, class InputIteratorT, class Values, class OutputIteratorT, class NumSelectedIteratorT,
            class EqualityOpT>
  static cudaError_t firsts(Storage storage, InputIteratorT d_in, Values values, OutputIteratorT d_out,
                            NumSelectedIteratorT d_num_selected_out, std::int64_t num_items, EqualityOpT equality_op,
                            bool in_place, cudaStream_t stream) {
    return device::select<nowhere>(storage, d_in, production::chosen_as_first<EqualityOpT>{equality_op}, values, d_out,
                                   d_num_selected_out, static_cast<std::size_t>(num_items), in_place, stream);
  }
};

}  // namespace rungs::RUNGS_ABI
