// rungs::DeviceScan: cub::DeviceScan's calls, on the rung that was measured to be the fastest.
//
//   rungs::DeviceScan::ExclusiveSum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, stream);   // as CUB's
//   rungs::DeviceScan::ExclusiveSum(workspace, d_in, d_out, num_items, stream);                            // simpler
//   rungs::DeviceScan::ExclusiveSum(d_in, d_out, num_items, environment);                       // as CUB's, newer
//
// Every call exists in three forms, and but for InclusiveScanInit also in place: with one iterator d_data for d_in and
// d_out, which may also be named twice. The first is CUB's contract: a call with a null d_temp_storage only answers the
// size, the storage may hold anything, and nothing is allocated. In the second a rungs::workspace keeps the storage,
// and may allocate (see there). None waits for the device; all may be captured, the second once the workspace is
// large enough. The third allocates on the stream, or as its environment says (parts/environment.cuh). Any number of
// host threads may call at once, each with its own storage or workspace.
// cudaErrorInvalidValue means storage that is too small, cudaErrorNotPermitted (in a checked build) a workspace that is
// misused; else what the runtime answered to a launch is returned.
//
// No call needs more of the device at once than CUB's, with one condition. Blocks wait only for blocks of lower
// indices, which start first, as CUB's scan assumes, too. On sm_90 few items take one cluster of at most eight blocks,
// which begins wherever one multiprocessor is free (cluster/parts/launch.cuh). From about 2 Mi words on, or 1 Mi that
// are not aligned, a block takes 200 KB of shared memory, so the call begins once one multiprocessor has so much free.
// What blocks tell each other bears a tag of the call; storage that holds it by chance is met with a probability below
// 2^-46 a call (parts/tags.cuh).
//
// d_in       num_items items: any random-access iterator; pointers are read by vectors where their alignment allows it.
// d_out      num_items outputs: any random-access iterator. It may be d_in, and else does not overlap it.
// num_items  any integer; more than 2^32 is fine.
// scan_op    associative; it need not commute. Where it names no identity (operators.cuh), it never sees anything but
//            items, init and what it has made of them; what lies behind the last item reads as that item again. On
//            items of more than 8 bytes with members of less than 4 it is called, not inlined (parts/called.cuh). Sums,
//            minima and maxima of __half and __nv_bfloat16 are accumulated as floats where d_out is a pointer, and
//            rounded where they are written.
//
// Integers are exact. How sums of floats are rounded in large scans depends on timing, as in CUB's, and need not repeat
// bit for bit. They do repeat in scans by key, and where the environment requires run_to_run: then
// scans/repeatable_door.cuh answers. The error of an output is at most
// rungs::scans::front_door::summation_height(num_items) rounding errors of the sum of magnitudes.
//
// On purpose other than CUB: rungs::minimum and maximum propagate NaN, and those of cuda::std are taken for them where
// <rungs/device/cuda_std_operators.cuh> is included. A scan from a FutureValue reads item by item, and so takes longer
// than one from a value.
//
// Which rung runs is said in rungs/tuning/scan.cuh, with the times it was chosen by.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <type_traits>

#include "rungs/device/parts/by_key.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/future.cuh"
#include "rungs/device/parts/gpu_to_gpu.cuh"
#include "rungs/device/parts/halves.cuh"
#include "rungs/device/parts/inputs.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/scans/front_door.cuh"
#include "rungs/scans/repeatable_door.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

namespace device {

// An output iterator that names no type of its items takes what a scan in T makes, as those of libcu++ do.
template <class T, class OutputIteratorT>
auto with_value_type(OutputIteratorT d_out) {
  if constexpr (std::is_void_v<typename std::iterator_traits<OutputIteratorT>::value_type>)
    return unwrapping<OutputIteratorT, typename parts::type_under<T>::named>{d_out};
  else
    return d_out;
}

}  // namespace device

// The calls of DeviceScan, with bits that repeat so far.
template <determinism bits>
struct device_scan {
  static constexpr const char* name = "rungs::DeviceScan";  // of its ranges (parts/range.cuh)

  // d_out[i] = d_in[0] + … + d_in[i]
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t InclusiveSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                  OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return inclusive(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, plus{}, num_items, stream);
  }
  template <class IteratorT, class NumItemsT>
  static cudaError_t InclusiveSum(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                                  NumItemsT num_items, cudaStream_t stream = nullptr) {
    return InclusiveSum(d_temp_storage, temp_storage_bytes, d_data, d_data, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t InclusiveSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                                  cudaStream_t stream = nullptr) {
    return inclusive(kept{workspace}, d_in, d_out, plus{}, num_items, stream);
  }
  template <class IteratorT, class NumItemsT>
  static cudaError_t InclusiveSum(workspace& workspace, IteratorT d_data, NumItemsT num_items,
                                  cudaStream_t stream = nullptr) {
    return InclusiveSum(workspace, d_data, d_data, num_items, stream);
  }

  // d_out[i] = d_in[0] + … + d_in[i - 1]; d_out[0] = 0
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExclusiveSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                  OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return ExclusiveScan(d_temp_storage, temp_storage_bytes, d_in, d_out, plus{}, parts::item_of<InputIteratorT>{},
                         num_items, stream);
  }
  template <class IteratorT, class NumItemsT>
  static cudaError_t ExclusiveSum(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                                  NumItemsT num_items, cudaStream_t stream = nullptr) {
    return ExclusiveSum(d_temp_storage, temp_storage_bytes, d_data, d_data, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExclusiveSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                                  cudaStream_t stream = nullptr) {
    return ExclusiveScan(workspace, d_in, d_out, plus{}, parts::item_of<InputIteratorT>{}, num_items, stream);
  }
  template <class IteratorT, class NumItemsT>
  static cudaError_t ExclusiveSum(workspace& workspace, IteratorT d_data, NumItemsT num_items,
                                  cudaStream_t stream = nullptr) {
    return ExclusiveSum(workspace, d_data, d_data, num_items, stream);
  }

  // d_out[i] = d_in[0] op … op d_in[i], accumulated in the type of item op item.
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class NumItemsT>
  static cudaError_t InclusiveScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, ScanOpT scan_op, NumItemsT num_items,
                                   cudaStream_t stream = nullptr) {
    return inclusive(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, scan_op, num_items, stream);
  }
  template <class IteratorT, class ScanOpT, class NumItemsT>
  static cudaError_t InclusiveScan(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                                   ScanOpT scan_op, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return InclusiveScan(d_temp_storage, temp_storage_bytes, d_data, d_data, scan_op, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class NumItemsT>
  static cudaError_t InclusiveScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                                   NumItemsT num_items, cudaStream_t stream = nullptr) {
    return inclusive(kept{workspace}, d_in, d_out, scan_op, num_items, stream);
  }
  template <class IteratorT, class ScanOpT, class NumItemsT>
  static cudaError_t InclusiveScan(workspace& workspace, IteratorT d_data, ScanOpT scan_op, NumItemsT num_items,
                                   cudaStream_t stream = nullptr) {
    return InclusiveScan(workspace, d_data, d_data, scan_op, num_items, stream);
  }

  // d_out[i] = init op d_in[0] op … op d_in[i], accumulated in the type of init op item.
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t InclusiveScanInit(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                       OutputIteratorT d_out, ScanOpT scan_op, InitValueT init_value,
                                       NumItemsT num_items, cudaStream_t stream = nullptr) {
    return from<parts::scan_kind::inclusive>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, scan_op, init_value,
                                             num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t InclusiveScanInit(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                       ScanOpT scan_op, InitValueT init_value, NumItemsT num_items,
                                       cudaStream_t stream = nullptr) {
    return from<parts::scan_kind::inclusive>(kept{workspace}, d_in, d_out, scan_op, init_value, num_items, stream);
  }

  // d_out[i] = init op d_in[0] op … op d_in[i - 1], accumulated in the type of init op item; d_out[0] = init
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t ExclusiveScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   OutputIteratorT d_out, ScanOpT scan_op, InitValueT init_value, NumItemsT num_items,
                                   cudaStream_t stream = nullptr) {
    return from<parts::scan_kind::exclusive>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, scan_op, init_value,
                                             num_items, stream);
  }
  template <class IteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t ExclusiveScan(void* d_temp_storage, std::size_t& temp_storage_bytes, IteratorT d_data,
                                   ScanOpT scan_op, InitValueT init_value, NumItemsT num_items,
                                   cudaStream_t stream = nullptr) {
    return ExclusiveScan(d_temp_storage, temp_storage_bytes, d_data, d_data, scan_op, init_value, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t ExclusiveScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                                   InitValueT init_value, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return from<parts::scan_kind::exclusive>(kept{workspace}, d_in, d_out, scan_op, init_value, num_items, stream);
  }
  template <class IteratorT, class ScanOpT, class InitValueT, class NumItemsT>
  static cudaError_t ExclusiveScan(workspace& workspace, IteratorT d_data, ScanOpT scan_op, InitValueT init_value,
                                   NumItemsT num_items, cudaStream_t stream = nullptr) {
    return ExclusiveScan(workspace, d_data, d_data, scan_op, init_value, num_items, stream);
  }

  // The same within each run of neighbouring keys that equality_op(key, next key) calls equal. An exclusive scan begins
  // each run with init_value, or with 0. d_keys_in and d_values_in may be d_values_out; else that overlaps no input.
  // Unlike the scans above, floats have the same bits each time, at any alignment, and on every GPU: the order is fixed
  // (run_look_back.cuh). An output has at most rungs::production::by_key_height(length of its run) rounding errors of
  // the sum of magnitudes. Where d_keys_in or d_values_out is no pointer, the outputs are taken to replace the keys:
  // tiles tell each other their last keys, which takes a round trip through the L2 more.
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class NumItemsT,
            class EqualityOpT = device::equal_items>
  static cudaError_t InclusiveSumByKey(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                       KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                                       ValuesOutputIteratorT d_values_out, NumItemsT num_items,
                                       EqualityOpT equality_op = EqualityOpT(), cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::inclusive_scans>(
        by_key_pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_values_in, d_values_out, plus{},
        parts::item_of<ValuesInputIteratorT>{}, static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class NumItemsT,
            class EqualityOpT = device::equal_items>
  static cudaError_t InclusiveSumByKey(workspace& workspace, KeysInputIteratorT d_keys_in,
                                       ValuesInputIteratorT d_values_in, ValuesOutputIteratorT d_values_out,
                                       NumItemsT num_items, EqualityOpT equality_op = EqualityOpT(),
                                       cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::inclusive_scans>(
        by_key_kept{workspace}, d_keys_in, d_values_in, d_values_out, plus{}, parts::item_of<ValuesInputIteratorT>{},
        static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class NumItemsT,
            class EqualityOpT = device::equal_items>
  static cudaError_t ExclusiveSumByKey(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                       KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                                       ValuesOutputIteratorT d_values_out, NumItemsT num_items,
                                       EqualityOpT equality_op = EqualityOpT(), cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::exclusive_scans>(
        by_key_pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_values_in, d_values_out, plus{},
        parts::item_of<ValuesInputIteratorT>{}, static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class NumItemsT,
            class EqualityOpT = device::equal_items>
  static cudaError_t ExclusiveSumByKey(workspace& workspace, KeysInputIteratorT d_keys_in,
                                       ValuesInputIteratorT d_values_in, ValuesOutputIteratorT d_values_out,
                                       NumItemsT num_items, EqualityOpT equality_op = EqualityOpT(),
                                       cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::exclusive_scans>(
        by_key_kept{workspace}, d_keys_in, d_values_in, d_values_out, plus{}, parts::item_of<ValuesInputIteratorT>{},
        static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class ScanOpT,
            class NumItemsT, class EqualityOpT = device::equal_items>
  static cudaError_t InclusiveScanByKey(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                        KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                                        ValuesOutputIteratorT d_values_out, ScanOpT scan_op, NumItemsT num_items,
                                        EqualityOpT equality_op = EqualityOpT(), cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::inclusive_scans>(
        by_key_pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_values_in, d_values_out, scan_op,
        parts::item_of<ValuesInputIteratorT>{}, static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class ScanOpT,
            class NumItemsT, class EqualityOpT = device::equal_items>
  static cudaError_t InclusiveScanByKey(workspace& workspace, KeysInputIteratorT d_keys_in,
                                        ValuesInputIteratorT d_values_in, ValuesOutputIteratorT d_values_out,
                                        ScanOpT scan_op, NumItemsT num_items, EqualityOpT equality_op = EqualityOpT(),
                                        cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::inclusive_scans>(
        by_key_kept{workspace}, d_keys_in, d_values_in, d_values_out, scan_op, parts::item_of<ValuesInputIteratorT>{},
        static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class ScanOpT,
            class InitValueT, class NumItemsT, class EqualityOpT = device::equal_items>
  static cudaError_t ExclusiveScanByKey(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                        KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                                        ValuesOutputIteratorT d_values_out, ScanOpT scan_op, InitValueT init_value,
                                        NumItemsT num_items, EqualityOpT equality_op = EqualityOpT(),
                                        cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::exclusive_scans>(
        by_key_pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_values_in, d_values_out, scan_op, init_value,
        static_cast<std::size_t>(num_items), equality_op, stream);
  }
  template <class KeysInputIteratorT, class ValuesInputIteratorT, class ValuesOutputIteratorT, class ScanOpT,
            class InitValueT, class NumItemsT, class EqualityOpT = device::equal_items>
  static cudaError_t ExclusiveScanByKey(workspace& workspace, KeysInputIteratorT d_keys_in,
                                        ValuesInputIteratorT d_values_in, ValuesOutputIteratorT d_values_out,
                                        ScanOpT scan_op, InitValueT init_value, NumItemsT num_items,
                                        EqualityOpT equality_op = EqualityOpT(), cudaStream_t stream = nullptr) {
    return device::scan_by_key<production::of_runs::exclusive_scans>(
        by_key_kept{workspace}, d_keys_in, d_values_in, d_values_out, scan_op, init_value,
        static_cast<std::size_t>(num_items), equality_op, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh).
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveSum(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<1, Arguments...> ? 2 : 3)>(
        [](auto required, auto&... all) { return repeating<required.value>::InclusiveSum(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveSum(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<1, Arguments...> ? 2 : 3)>(
        [](auto required, auto&... all) { return repeating<required.value>::ExclusiveSum(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveScan(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<2, Arguments...> ? 3 : 4)>(
        [](auto required, auto&... all) { return repeating<required.value>::InclusiveScan(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveScanInit(Arguments&&... arguments) {
    return device::in_one_phase<5>(
        [](auto required, auto&... all) { return repeating<required.value>::InclusiveScanInit(all...); }, arguments...);
  }
  // Of five arguments the last one is a count, or an environment for a scan in place.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveScan(Arguments&&... arguments) {
    constexpr std::size_t count = sizeof...(Arguments);
    constexpr bool is_in_place = count < 5 || (count == 5 && !device::is_count<4, Arguments...>);
    return device::in_one_phase<(is_in_place ? 4 : 5)>(
        [](auto required, auto&... all) { return repeating<required.value>::ExclusiveScan(all...); }, arguments...);
  }
  // Behind num_items may stand an equality_op, and behind that the environment.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveSumByKey(Arguments&&... arguments) {
    return device::by_key_in_one_phase<4>([](auto&&... all) { return InclusiveSumByKey(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveSumByKey(Arguments&&... arguments) {
    return device::by_key_in_one_phase<4>([](auto&&... all) { return ExclusiveSumByKey(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveScanByKey(Arguments&&... arguments) {
    return device::by_key_in_one_phase<5>([](auto&&... all) { return InclusiveScanByKey(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveScanByKey(Arguments&&... arguments) {
    return device::by_key_in_one_phase<6>([](auto&&... all) { return ExclusiveScanByKey(all...); }, arguments...);
  }

 private:
  template <determinism required>
  using repeating = device_scan<required>;

  using pair = device::storage_pair<scans::front_door, device_scan>;
  using kept = device::kept_storage<scans::front_door_of<device::storage_is::workspaces>, device_scan>;
  using by_key_pair = device::storage_pair<device::compaction, device_scan>;
  using by_key_kept = device::kept_storage<device::compaction, device_scan>;

  template <class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT, class NumItemsT>
  static cudaError_t inclusive(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                               NumItemsT num_items, cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using accumulator = device::widened_accumulator<ScanOpT, item, InputIteratorT, OutputIteratorT>;
    return device::with_carried<accumulator>(d_out, device::ours(scan_op), [&](auto op, auto d_out, auto carry) {
      using carried = decltype(carry(std::declval<accumulator>()));
      return from_nothing<parts::scan_kind::inclusive, carried>(storage, d_in, d_out, parts::as_scanned<carried>(op),
                                                                num_items, stream);
    });
  }

  template <parts::scan_kind kind, class T, class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT,
            class NumItemsT>
  static cudaError_t from_nothing(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                                  NumItemsT num_items, cudaStream_t stream) {
    if constexpr (has_identity<ScanOpT, T>)
      return scan<kind>(storage, d_in, d_out, scan_op, ScanOpT::template identity<T>(), num_items, stream);
    else
      return scan<kind>(storage, d_in, d_out, parts::lifted<ScanOpT>{scan_op}, parts::maybe<T>{}, num_items, stream);
  }

  template <parts::scan_kind kind, class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT,
            class InitValueT, class NumItemsT>
  static cudaError_t from(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                          InitValueT init_value, NumItemsT num_items, cudaStream_t stream) {
    if constexpr (device::is_future<InitValueT>)
      return from_future<kind>(storage, d_in, d_out, scan_op, init_value, num_items, stream);
    else
      return from_value<kind>(storage, d_in, d_out, scan_op, init_value, num_items, stream);
  }

  // The initial value joins the first item where that is read, and so the scan itself begins with nothing.
  template <parts::scan_kind kind, class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT,
            class Future, class NumItemsT>
  static cudaError_t from_future(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                                 Future init, NumItemsT num_items, cudaStream_t stream) {
    using accumulator = device::accumulator_of<ScanOpT, typename Future::value_type, parts::item_of<InputIteratorT>>;
    return device::with_carried<accumulator>(d_out, device::ours(scan_op), [&](auto as_given, auto d_out, auto carry) {
      using carried = decltype(carry(std::declval<accumulator>()));
      auto op = parts::as_scanned<carried>(as_given);
      const device::begun<carried, InputIteratorT, Future, decltype(op)> items{d_in, init, op};
      if constexpr (kind == parts::scan_kind::inclusive)
        return from_nothing<kind, carried>(storage, items, d_out, op, num_items, stream);
      else
        return from_nothing<kind, carried>(
            storage, items, device::headed<carried, decltype(d_out), Future>{d_out, init}, op, num_items, stream);
    });
  }

  template <parts::scan_kind kind, class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT,
            class InitValueT, class NumItemsT>
  static cudaError_t from_value(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op,
                                InitValueT init_value, NumItemsT num_items, cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ScanOpT, InitValueT, InputIteratorT, OutputIteratorT>;
    return device::with_carried<accumulator>(d_out, device::ours(scan_op), [&](auto as_given, auto d_out, auto carry) {
      const auto init = carry(static_cast<accumulator>(init_value));
      using carried = std::remove_const_t<decltype(init)>;
      auto op = parts::as_scanned<carried>(as_given);
      if constexpr (has_identity<decltype(op), carried>)
        return scan<kind>(storage, d_in, d_out, op, init, num_items, stream);
      else
        return scan<kind>(storage, d_in, d_out, parts::lifted<decltype(op)>{op}, parts::maybe<carried>(init, true),
                          num_items, stream);
    });
  }

  template <parts::scan_kind kind, class Storage, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T,
            class NumItemsT>
  static cudaError_t scan(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, ScanOpT scan_op, T seed,
                          NumItemsT num_items, cudaStream_t stream) {
    constexpr bool is_fixed = bits != determinism::not_guaranteed && !device::is_order_free<ScanOpT, T>;
    static_assert(
        !is_fixed || bits != determinism::gpu_to_gpu,
        "gpu_to_gpu is promised for scans of integers by plus, minimum or maximum, and of floats by minimum or "
        "maximum; require run_to_run, or nothing");
    return storage.run(
        [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          using taken = std::conditional_t<is_fixed, scans::repeatable_door, typename decltype(door)::named>;
          return taken::template scan<kind>(d_temp_storage, temp_storage_bytes, device::readable<T>(d_in),
                                            device::with_value_type<T>(d_out), scan_op, seed,
                                            static_cast<std::size_t>(num_items), stream);
        },
        stream);
  }
};

struct DeviceScan : device_scan<determinism::not_guaranteed> {};

}  // namespace rungs::RUNGS_ABI
