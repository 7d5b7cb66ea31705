// From the arguments of a call by key to the kernel's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/device/parts/compaction.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/halves.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/called.cuh"
#include "rungs/production/compaction/by_key_rounds.cuh"

namespace rungs::RUNGS_ABI::device {

// An operator whose result is what is accumulated.
template <class T, class Op>
struct folding {
  Op op;
  __device__ T operator()(const T& a, const T& b) const { return static_cast<T>(op(a, b)); }
};
template <class T, class Op>
auto as_folding(const Op& op) {
  const auto scanned = parts::as_scanned<T>(op);
  return folding<T, std::remove_const_t<decltype(scanned)>>{scanned};
}

// Runs the kernel that makes Output of runs of keys, in accumulators of type T.
template <class T, class Storage, class KeysInputIteratorT, class ValuesInputIteratorT, class Op, class EqualityOpT,
          class Output>
cudaError_t run_by_key(Storage storage, KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                       std::size_t num_items, Op op, EqualityOpT equality_op, Output output, cudaStream_t stream) {
  const auto keys = production::as_held(d_keys_in);
  const auto values = production::as_held(d_values_in);
  using call_type = production::by_key<std::remove_const_t<decltype(keys)>, std::remove_const_t<decltype(values)>, T,
                                       Op, EqualityOpT, Output>;
  constexpr int neighbours = call_type::shape::neighbours;
  if constexpr (call_type::is_scan) output.by_vectors = production::is_aligned<neighbours>(output.d_values_out);
  const call_type call{keys,
                       values,
                       num_items,
                       op,
                       equality_op,
                       output,
                       production::is_aligned<neighbours>(keys),
                       production::is_aligned<neighbours>(values)};
  return storage.run(
      [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
        return production::run_by_key(d_temp_storage, temp_storage_bytes, call, stream);
      },
      stream);
}

template <class Storage, class KeysInputIteratorT, class UniqueOutputIteratorT, class ValuesInputIteratorT,
          class AggregatesOutputIteratorT, class NumRunsOutputIteratorT, class ReductionOpT>
cudaError_t reduce_by_key(Storage storage, KeysInputIteratorT d_keys_in, UniqueOutputIteratorT d_unique_out,
                          ValuesInputIteratorT d_values_in, AggregatesOutputIteratorT d_aggregates_out,
                          NumRunsOutputIteratorT d_num_runs_out, ReductionOpT reduction_op, std::size_t num_items,
                          cudaStream_t stream) {
  using accumulator = widened_accumulator<ReductionOpT, parts::item_of<ValuesInputIteratorT>, ValuesInputIteratorT,
                                          AggregatesOutputIteratorT>;
  return with_carried<accumulator>(d_aggregates_out, ours(reduction_op), [&](auto op, auto d_out, auto carry) {
    using carried = std::remove_const_t<decltype(carry(std::declval<accumulator>()))>;
    const production::runs_reduced<UniqueOutputIteratorT, decltype(d_out), NumRunsOutputIteratorT> output{
        d_unique_out, d_out, d_num_runs_out};
    return run_by_key<carried>(storage, d_keys_in, d_values_in, num_items, as_folding<carried>(op), equal_items{},
                               output, stream);
  });
}

// Whether outputs may replace keys: known not to, where both are pointers that differ.
template <class KeysInputIteratorT, class ValuesOutputIteratorT>
bool may_overwrite(KeysInputIteratorT d_keys_in, ValuesOutputIteratorT d_values_out) {
  if constexpr (std::is_pointer_v<KeysInputIteratorT> && std::is_pointer_v<ValuesOutputIteratorT>)
    return static_cast<const void*>(d_keys_in) == static_cast<const void*>(d_values_out);
  else
    return true;
}

template <production::of_runs result, class Storage, class KeysInputIteratorT, class ValuesInputIteratorT,
          class ValuesOutputIteratorT, class ScanOpT, class InitValueT, class EqualityOpT>
cudaError_t scan_by_key(Storage storage, KeysInputIteratorT d_keys_in, ValuesInputIteratorT d_values_in,
                        ValuesOutputIteratorT d_values_out, ScanOpT scan_op, InitValueT init_value,
                        std::size_t num_items, EqualityOpT equality_op, cudaStream_t stream) {
  using accumulator = widened_accumulator<ScanOpT, InitValueT, ValuesInputIteratorT, ValuesOutputIteratorT>;
  return with_carried<accumulator>(d_values_out, ours(scan_op), [&](auto op, auto d_out, auto carry) {
    const auto init = carry(static_cast<accumulator>(init_value));
    using carried = std::remove_const_t<decltype(init)>;
    const production::runs_scanned<result, decltype(d_out), carried> output{
        d_out, init, may_overwrite(d_keys_in, d_values_out), false};
    return run_by_key<carried>(storage, d_keys_in, d_values_in, num_items, as_folding<carried>(op), equality_op, output,
                               stream);
  });
}

// The single-phase form of a scan by key: behind num_arguments may stand an equality_op, and behind that an
// environment.
template <std::size_t num_arguments, class Call, class... Arguments>
cudaError_t by_key_in_one_phase(Call call, Arguments&... arguments) {
  using next = argument_of<num_arguments, Arguments...>;
  if constexpr (!std::is_void_v<next> && !stands_for_environment<next>) {
    return in_one_phase<num_arguments + 1>([&](auto, auto&... all) { return call(all...); }, arguments...);
  } else {
    const auto with_equality = [&](auto, auto&... all) {
      return with_last_first<sizeof...(all) - 1>(
          [&](cudaStream_t stream, auto&... others) { return call(others..., equal_items{}, stream); }, all...);
    };
    return in_one_phase<num_arguments>(with_equality, arguments...);
  }
}

}  // namespace rungs::RUNGS_ABI::device
