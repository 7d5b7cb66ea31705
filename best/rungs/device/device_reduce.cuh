// rungs::DeviceReduce: cub::DeviceReduce's calls, on the rung that was measured to be the fastest.
//
//   rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, stream);   // as CUB's
//   rungs::DeviceReduce::Sum(workspace, d_in, d_out, num_items, stream);                            // simpler
//   rungs::DeviceReduce::Sum(d_in, d_out, num_items, environment);                                  // as CUB's, newer
//
// Every call exists in three forms. The first is CUB's contract: a call with a null d_temp_storage only answers the
// size, the storage may hold anything, and nothing is allocated. In the second a rungs::workspace keeps the storage,
// and may allocate (see there). None waits for the device; all may be captured, the second once the workspace is
// large enough. The third allocates on the stream, or as its environment says (parts/environment.cuh). Any number of
// host threads may call at once, each with its own storage or workspace.
// cudaErrorInvalidValue means storage that is too small, cudaErrorNotPermitted (in a checked build) a workspace that is
// misused; else what the runtime answered to a launch is returned.
//
// No call needs more of the device at once than CUB's: blocks wait only for blocks of lower indices, which start first,
// as CUB's scan assumes, too. On sm_90 few items take one cluster of at most eight blocks, which begins wherever one
// multiprocessor is free (cluster/parts/launch.cuh). What blocks tell each other bears a tag of the call; storage that
// holds it by chance is met with a probability below 2^-55 a call (parts/tags.cuh).
//
// d_in      num_items items: any random-access iterator. Pointers to items of 1, 2, 4, 8 or 16 bytes are read by
//           vectors, at any alignment that their type allows.
// d_out     where one result is written: any output iterator.
// num_items any integer; more than 2^32 is fine, but for the calls that CUB gives an int. Of no items the result is
//           init.
//
// The same bits for the same input on the same device, whatever the address, the alignment or the stream. The error of
// a sum of floats is at most rungs::reductions::front_door::summation_height(num_items) rounding errors of the sum of
// magnitudes, and 24 more where d_in is not a pointer: its items are added up
// one by one.
//
// On purpose other than CUB: Min, Max, ArgMin and ArgMax propagate NaN wherever one stands, and order -0 before +0
// (ArgMin and ArgMax take them for equal, and answer the first of equals). The minimum of nothing is infinity where the
// type has one, so that the minimum of {infinity} is infinity; and so with the maximum. Operators rungs::plus, minimum
// and maximum and std::plus are recognised as such, those of cuda::std by <rungs/device/cuda_std_operators.cuh>; any
// other has to be associative and commutative.
//
// Which rung runs is said in rungs/tuning/reduce.cuh, with the times it was chosen by.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include "rungs/device/key_value_pair.cuh"
#include "rungs/device/parts/both_extrema.cuh"
#include "rungs/device/parts/by_key.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/extremum.cuh"
#include "rungs/device/parts/gpu_to_gpu.cuh"
#include "rungs/device/parts/halves.cuh"
#include "rungs/device/parts/inputs.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/stream_argument.cuh"
#include "rungs/device/parts/transformed_array.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/exact/exact_sum.cuh"
#include "rungs/reductions/front_door.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

struct DeviceReduce {
  static constexpr const char* name = "rungs::DeviceReduce";  // of its ranges (parts/range.cuh)

  // *d_out = init op d_in[0] op … op d_in[num_items - 1], accumulated in the type of init op item; __half and
  // __nv_bfloat16 as floats, where the operator is plus, minimum or maximum and d_out a pointer.
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T, class NumItemsT>
  static cudaError_t Reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumItemsT num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return reduce(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_items, reduction_op, init, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T, class NumItemsT>
  static cudaError_t Reduce(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                            ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    return reduce(kept{workspace}, d_in, d_out, num_items, reduction_op, init, stream);
  }

  // *d_out = d_in[0] + … + d_in[num_items - 1], accumulated in the type of output + item.
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Sum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return sum(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Sum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                         cudaStream_t stream = nullptr) {
    return sum(kept{workspace}, d_in, d_out, num_items, stream);
  }

  // *d_out = the least item.
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Min(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    using item = parts::item_of<InputIteratorT>;
    return Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, minimum{}, device::highest<item>(),
                  stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Min(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                         cudaStream_t stream = nullptr) {
    using item = parts::item_of<InputIteratorT>;
    return Reduce(workspace, d_in, d_out, num_items, minimum{}, device::highest<item>(), stream);
  }

  // *d_out = the greatest item.
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Max(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    using item = parts::item_of<InputIteratorT>;
    return Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, maximum{}, device::lowest<item>(),
                  stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t Max(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                         cudaStream_t stream = nullptr) {
    using item = parts::item_of<InputIteratorT>;
    return Reduce(workspace, d_in, d_out, num_items, maximum{}, device::lowest<item>(), stream);
  }

  // Reduce of transform_op(d_in[0]) … transform_op(d_in[num_items - 1]).
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class TransformOpT, class T,
            class NumItemsT>
  static cudaError_t TransformReduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                     OutputIteratorT d_out, NumItemsT num_items, ReductionOpT reduction_op,
                                     TransformOpT transform_op, T init, cudaStream_t stream = nullptr) {
    return Reduce(d_temp_storage, temp_storage_bytes,
                  device::transformed<InputIteratorT, TransformOpT, T>{d_in, transform_op}, d_out, num_items,
                  reduction_op, init, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class TransformOpT, class T,
            class NumItemsT>
  static cudaError_t TransformReduce(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                     NumItemsT num_items, ReductionOpT reduction_op, TransformOpT transform_op, T init,
                                     cudaStream_t stream = nullptr) {
    return Reduce(workspace, device::transformed<InputIteratorT, TransformOpT, T>{d_in, transform_op}, d_out, num_items,
                  reduction_op, init, stream);
  }

  // *d_min_out = the least item, *d_index_out = where it stands: of equals the first. Of no items: index 1.
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            ExtremumOutIteratorT d_min_out, IndexOutIteratorT d_index_out, long long num_items,
                            device::stream_argument stream = {}) {
    return extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_index_out, num_items, stream);
  }
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, ExtremumOutIteratorT d_min_out,
                            IndexOutIteratorT d_index_out, long long num_items, cudaStream_t stream = nullptr) {
    return extremum<true>(kept{workspace}, d_in, d_min_out, d_index_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, int num_items, cudaStream_t stream = nullptr) {
    return extremum_pair<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, int num_items,
                            cudaStream_t stream = nullptr) {
    return extremum_pair<true>(kept{workspace}, d_in, d_out, num_items, stream);
  }
  // The same by compare_op(a, b), which says whether a precedes b: the item that no other precedes, of
  // equivalent ones the first. Of no items: index 1 and an item as value-initialised.
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT, class CompareOpT,
            class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            ExtremumOutIteratorT d_min_out, IndexOutIteratorT d_index_out, long long num_items,
                            CompareOpT compare_op, device::stream_argument stream = {}) {
    return extremum_by<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_index_out, num_items,
                             compare_op, stream);
  }
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT, class CompareOpT,
            class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, ExtremumOutIteratorT d_min_out,
                            IndexOutIteratorT d_index_out, long long num_items, CompareOpT compare_op,
                            cudaStream_t stream = nullptr) {
    return extremum_by<true>(kept{workspace}, d_in, d_min_out, d_index_out, num_items, compare_op, stream);
  }

  // *d_max_out = the greatest item, *d_index_out = where it stands: of equals the first. Of no items: index 1.
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            ExtremumOutIteratorT d_max_out, IndexOutIteratorT d_index_out, long long num_items,
                            device::stream_argument stream = {}) {
    return extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_max_out, d_index_out, num_items, stream);
  }
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, ExtremumOutIteratorT d_max_out,
                            IndexOutIteratorT d_index_out, long long num_items, cudaStream_t stream = nullptr) {
    return extremum<false>(kept{workspace}, d_in, d_max_out, d_index_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, int num_items, cudaStream_t stream = nullptr) {
    return extremum_pair<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_items, stream);
  }
  template <class InputIteratorT, class OutputIteratorT>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, int num_items,
                            cudaStream_t stream = nullptr) {
    return extremum_pair<false>(kept{workspace}, d_in, d_out, num_items, stream);
  }
  // The same by compare_op(a, b), which says whether a precedes b: the item that precedes no other, of
  // equivalent ones the first. Of no items: index 1 and an item as value-initialised.
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT, class CompareOpT,
            class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            ExtremumOutIteratorT d_max_out, IndexOutIteratorT d_index_out, long long num_items,
                            CompareOpT compare_op, device::stream_argument stream = {}) {
    return extremum_by<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_max_out, d_index_out, num_items,
                              compare_op, stream);
  }
  template <class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT, class CompareOpT,
            class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, ExtremumOutIteratorT d_max_out,
                            IndexOutIteratorT d_index_out, long long num_items, CompareOpT compare_op,
                            cudaStream_t stream = nullptr) {
    return extremum_by<false>(kept{workspace}, d_in, d_max_out, d_index_out, num_items, compare_op, stream);
  }

  // ArgMin and ArgMax of one read. *d_max_index_out is the first of equals; ArgMinLastMax answers the last of them, and
  // of NaN the last.
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT>
  static cudaError_t ArgMinMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                               MinOutIteratorT d_min_out, MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                               MaxIndexIteratorT d_max_index_out, long long num_items,
                               device::stream_argument stream = {}) {
    return both_extrema<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_min_index_out, d_max_out,
                               d_max_index_out, num_items, stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT>
  static cudaError_t ArgMinMax(workspace& workspace, InputIteratorT d_in, MinOutIteratorT d_min_out,
                               MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                               MaxIndexIteratorT d_max_index_out, long long num_items, cudaStream_t stream = nullptr) {
    return both_extrema<false>(kept{workspace}, d_in, d_min_out, d_min_index_out, d_max_out, d_max_index_out, num_items,
                               stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT>
  static cudaError_t ArgMinLastMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   MinOutIteratorT d_min_out, MinIndexIteratorT d_min_index_out,
                                   MaxOutIteratorT d_max_out, MaxIndexIteratorT d_max_index_out, long long num_items,
                                   device::stream_argument stream = {}) {
    return both_extrema<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_min_index_out, d_max_out,
                              d_max_index_out, num_items, stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT>
  static cudaError_t ArgMinLastMax(workspace& workspace, InputIteratorT d_in, MinOutIteratorT d_min_out,
                                   MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                                   MaxIndexIteratorT d_max_index_out, long long num_items,
                                   cudaStream_t stream = nullptr) {
    return both_extrema<true>(kept{workspace}, d_in, d_min_out, d_min_index_out, d_max_out, d_max_index_out, num_items,
                              stream);
  }
  // The same by compare_op(a, b), which says whether a precedes b. Of no items: index 1 and items as value-initialised.
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT, class CompareOpT, class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMinMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                               MinOutIteratorT d_min_out, MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                               MaxIndexIteratorT d_max_index_out, long long num_items, CompareOpT compare_op,
                               device::stream_argument stream = {}) {
    return both_extrema_by<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_min_index_out, d_max_out,
                                  d_max_index_out, num_items, compare_op, stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT, class CompareOpT, class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMinMax(workspace& workspace, InputIteratorT d_in, MinOutIteratorT d_min_out,
                               MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                               MaxIndexIteratorT d_max_index_out, long long num_items, CompareOpT compare_op,
                               cudaStream_t stream = nullptr) {
    return both_extrema_by<false>(kept{workspace}, d_in, d_min_out, d_min_index_out, d_max_out, d_max_index_out,
                                  num_items, compare_op, stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT, class CompareOpT, class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMinLastMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                   MinOutIteratorT d_min_out, MinIndexIteratorT d_min_index_out,
                                   MaxOutIteratorT d_max_out, MaxIndexIteratorT d_max_index_out, long long num_items,
                                   CompareOpT compare_op, device::stream_argument stream = {}) {
    return both_extrema_by<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_min_out, d_min_index_out, d_max_out,
                                 d_max_index_out, num_items, compare_op, stream);
  }
  template <class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT, class MaxOutIteratorT,
            class MaxIndexIteratorT, class CompareOpT, class = device::if_compares<CompareOpT, InputIteratorT>>
  static cudaError_t ArgMinLastMax(workspace& workspace, InputIteratorT d_in, MinOutIteratorT d_min_out,
                                   MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                                   MaxIndexIteratorT d_max_index_out, long long num_items, CompareOpT compare_op,
                                   cudaStream_t stream = nullptr) {
    return both_extrema_by<true>(kept{workspace}, d_in, d_min_out, d_min_index_out, d_max_out, d_max_index_out,
                                 num_items, compare_op, stream);
  }

  // *d_out = the exact sum of the items, rounded once, to nearest, ties to even: the same bits in any order, on any
  // grid, alignment and GPU. Items are float, double, __half or __nv_bfloat16, and so is the result, of the same type
  // or another; or it is a rungs::exact_sum<item>, which holds the sum and can be merged (rungs/exact/record.cuh). NaN
  // where an item is one or infinities of both signs meet; an exact zero, and the sum of nothing, is +0.
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExactSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                              OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    [[maybe_unused]] const device::range of_call(d_temp_storage == nullptr ? nullptr : name);
    return production::exact_door::sum(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                       static_cast<std::size_t>(num_items), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExactSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                              cudaStream_t stream = nullptr) {
    return workspace.run<production::exact_door>(
        [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return ExactSum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, stream);
        },
        stream);
  }

  // *d_out = the exact sum of d_x[i] * d_y[i], in the same way; both inputs have the same item type. An infinity times
  // zero is NaN. The record is a rungs::exact_dot<item>.
  template <class InputIteratorT, class OtherIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExactDot(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_x,
                              OtherIteratorT d_y, OutputIteratorT d_out, NumItemsT num_items,
                              cudaStream_t stream = nullptr) {
    [[maybe_unused]] const device::range of_call(d_temp_storage == nullptr ? nullptr : name);
    return production::exact_door::dot(d_temp_storage, temp_storage_bytes, d_x, d_y, d_out,
                                       static_cast<std::size_t>(num_items), stream);
  }
  template <class InputIteratorT, class OtherIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t ExactDot(workspace& workspace, InputIteratorT d_x, OtherIteratorT d_y, OutputIteratorT d_out,
                              NumItemsT num_items, cudaStream_t stream = nullptr) {
    return workspace.run<production::exact_door>(
        [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return ExactDot(d_temp_storage, temp_storage_bytes, d_x, d_y, d_out, num_items, stream);
        },
        stream);
  }

  // Of each run of keys that are equal by ==, in their order: d_unique_out[r] = its first key, d_aggregates_out[r] =
  // reduction_op over its values, from left to right; *d_num_runs_out = how many there are, 0 of no items. Any
  // random-access iterators; no output overlaps an input. reduction_op has to be associative, and need not commute; it
  // sees only values and what it has made of them. Accumulated in the type of value op value, halves as above.
  //
  // The same bits each time, at any alignment, and on every GPU: the order is fixed (run_look_back.cuh). An aggregate
  // of a run of n values has at most rungs::production::by_key_height(n) rounding errors of the sum of magnitudes.
  template <class KeysInputIteratorT, class UniqueOutputIteratorT, class ValuesInputIteratorT,
            class AggregatesOutputIteratorT, class NumRunsOutputIteratorT, class ReductionOpT, class NumItemsT>
  static cudaError_t ReduceByKey(void* d_temp_storage, std::size_t& temp_storage_bytes, KeysInputIteratorT d_keys_in,
                                 UniqueOutputIteratorT d_unique_out, ValuesInputIteratorT d_values_in,
                                 AggregatesOutputIteratorT d_aggregates_out, NumRunsOutputIteratorT d_num_runs_out,
                                 ReductionOpT reduction_op, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return device::reduce_by_key(by_key_pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_unique_out, d_values_in,
                                 d_aggregates_out, d_num_runs_out, reduction_op, static_cast<std::size_t>(num_items),
                                 stream);
  }
  template <class KeysInputIteratorT, class UniqueOutputIteratorT, class ValuesInputIteratorT,
            class AggregatesOutputIteratorT, class NumRunsOutputIteratorT, class ReductionOpT, class NumItemsT>
  static cudaError_t ReduceByKey(workspace& workspace, KeysInputIteratorT d_keys_in, UniqueOutputIteratorT d_unique_out,
                                 ValuesInputIteratorT d_values_in, AggregatesOutputIteratorT d_aggregates_out,
                                 NumRunsOutputIteratorT d_num_runs_out, ReductionOpT reduction_op, NumItemsT num_items,
                                 cudaStream_t stream = nullptr) {
    return device::reduce_by_key(by_key_kept{workspace}, d_keys_in, d_unique_out, d_values_in, d_aggregates_out,
                                 d_num_runs_out, reduction_op, static_cast<std::size_t>(num_items), stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). The bits of all calls repeat from run to run. Where gpu_to_gpu is required, sums of floats
  // are exact sums, and init is added to them, rounded once more.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Reduce(Arguments&&... arguments) {
    return device::in_one_phase<5>(
        [](auto required, auto&... all) {
          if constexpr (required.value == determinism::gpu_to_gpu)
            return reduce_alike(all...);
          else
            return Reduce(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Sum(Arguments&&... arguments) {
    return device::in_one_phase<3>(
        [](auto required, auto&... all) {
          if constexpr (required.value == determinism::gpu_to_gpu)
            return sum_alike(all...);
          else
            return Sum(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Min(Arguments&&... arguments) {
    return device::in_one_phase<3>([](auto, auto&... all) { return Min(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Max(Arguments&&... arguments) {
    return device::in_one_phase<3>([](auto, auto&... all) { return Max(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t TransformReduce(Arguments&&... arguments) {
    return device::in_one_phase<6>(
        [](auto required, auto&... all) {
          if constexpr (required.value == determinism::gpu_to_gpu)
            return transform_reduce_alike(all...);
          else
            return TransformReduce(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMin(Arguments&&... arguments) {
    using compare_op = device::argument_of<4, Arguments...>;
    constexpr bool has_order = device::compares<compare_op, device::argument_of<0, Arguments...>>;
    return device::in_one_phase<(has_order ? 5 : 4)>([](auto, auto&... all) { return ArgMin(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMax(Arguments&&... arguments) {
    using compare_op = device::argument_of<4, Arguments...>;
    constexpr bool has_order = device::compares<compare_op, device::argument_of<0, Arguments...>>;
    return device::in_one_phase<(has_order ? 5 : 4)>([](auto, auto&... all) { return ArgMax(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMinMax(Arguments&&... arguments) {
    using compare_op = device::argument_of<6, Arguments...>;
    constexpr bool has_order = device::compares<compare_op, device::argument_of<0, Arguments...>>;
    return device::in_one_phase<(has_order ? 7 : 6)>([](auto, auto&... all) { return ArgMinMax(all...); },
                                                     arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMinLastMax(Arguments&&... arguments) {
    using compare_op = device::argument_of<6, Arguments...>;
    constexpr bool has_order = device::compares<compare_op, device::argument_of<0, Arguments...>>;
    return device::in_one_phase<(has_order ? 7 : 6)>([](auto, auto&... all) { return ArgMinLastMax(all...); },
                                                     arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ReduceByKey(Arguments&&... arguments) {
    return device::in_one_phase<7>([](auto, auto&... all) { return ReduceByKey(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExactSum(Arguments&&... arguments) {
    return device::in_one_phase<3>([](auto, auto&... all) { return ExactSum(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExactDot(Arguments&&... arguments) {
    return device::in_one_phase<4>([](auto, auto&... all) { return ExactDot(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<reductions::front_door, DeviceReduce>;
  using kept = device::kept_storage<reductions::front_door_of<device::storage_is::workspaces>, DeviceReduce>;
  using by_key_pair = device::storage_pair<device::compaction, DeviceReduce>;
  using by_key_kept = device::kept_storage<device::compaction, DeviceReduce>;

  template <class Storage, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T, class NumItemsT>
  static cudaError_t reduce(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                            ReductionOpT reduction_op, T init, cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ReductionOpT, T, InputIteratorT, OutputIteratorT>;
    const auto call = [&](auto op, auto d_out, auto carry) {
      return storage.run(
          [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes) {
            const auto carried_init = carry(static_cast<accumulator>(init));
            const auto items = device::reducible<std::remove_const_t<decltype(carried_init)>>(d_in);
            return decltype(door)::named::reduce(d_temp_storage, temp_storage_bytes, items, d_out,
                                                 static_cast<std::size_t>(num_items), op, carried_init, stream);
          },
          stream);
    };
    return device::with_carried<accumulator, true>(d_out, device::ours(reduction_op), call);
  }

  template <class Storage, class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t sum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, NumItemsT num_items,
                         cudaStream_t stream) {
    using output = device::value_or<OutputIteratorT, parts::item_of<InputIteratorT>>;
    return reduce(storage, d_in, d_out, num_items, plus{}, output{}, stream);
  }

  // Integers that are added up in floats are converted one by one.
  template <class Accumulator, class InputIteratorT>
  static auto exact_items(InputIteratorT d_in) {
    if constexpr (std::is_integral_v<parts::item_of<InputIteratorT>>)
      return device::transformed<InputIteratorT, device::as<Accumulator>, Accumulator>{d_in, {}};
    else
      return d_in;
  }

  // The same bits on every device.
  template <class InputIteratorT, class OutputIteratorT, class NumItemsT, class ReductionOpT, class T>
  static cudaError_t reduce_alike(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                  OutputIteratorT d_out, NumItemsT num_items, ReductionOpT reduction_op, T init,
                                  cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ReductionOpT, T, InputIteratorT, OutputIteratorT>;
    if constexpr (device::is_order_free<ReductionOpT, accumulator>) {
      return Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, reduction_op, init, stream);
    } else {
      constexpr bool is_sum = std::is_same_v<typename device::known_operator<ReductionOpT>::type, plus>;
      using item = parts::item_of<InputIteratorT>;
      static_assert(
          is_sum && (exact::is_item<item> || std::is_integral_v<item>)&&exact::is_item<accumulator>,
          "gpu_to_gpu is promised for integers by plus, minimum, maximum or what else the standard library has that "
          "ignores their order, for floats by minimum or maximum, and for sums of float, double, __half or "
          "__nv_bfloat16; require run_to_run, or nothing");
      return ExactSum(d_temp_storage, temp_storage_bytes, exact_items<accumulator>(d_in),
                      device::added_to<OutputIteratorT, accumulator>{d_out, static_cast<accumulator>(init)}, num_items,
                      stream);
    }
  }

  template <class InputIteratorT, class OutputIteratorT, class NumItemsT>
  static cudaError_t sum_alike(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                               OutputIteratorT d_out, NumItemsT num_items, cudaStream_t stream) {
    using output = device::value_or<OutputIteratorT, parts::item_of<InputIteratorT>>;
    using accumulator = device::widened_accumulator<plus, output, InputIteratorT, OutputIteratorT>;
    if constexpr (device::is_order_free<plus, accumulator>)
      return Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, stream);
    else
      return ExactSum(d_temp_storage, temp_storage_bytes, exact_items<accumulator>(d_in), d_out, num_items, stream);
  }

  template <class InputIteratorT, class OutputIteratorT, class NumItemsT, class ReductionOpT, class TransformOpT,
            class T>
  static cudaError_t transform_reduce_alike(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                            OutputIteratorT d_out, NumItemsT num_items, ReductionOpT reduction_op,
                                            TransformOpT transform_op, T init, cudaStream_t stream) {
    return reduce_alike(d_temp_storage, temp_storage_bytes,
                        device::transformed<InputIteratorT, TransformOpT, T>{d_in, transform_op}, d_out, num_items,
                        reduction_op, init, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT>
  static cudaError_t extremum(Storage storage, InputIteratorT d_in, ExtremumOutIteratorT d_out,
                              IndexOutIteratorT d_index_out, long long num_items, cudaStream_t stream) {
    using item = device::widened<parts::item_of<InputIteratorT>, InputIteratorT, ExtremumOutIteratorT>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return indexed_extremum<least>(
        storage, d_in, device::parting<ExtremumOutIteratorT, IndexOutIteratorT, item>{d_out, d_index_out, of_nothing},
        num_items, of_nothing, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class ExtremumOutIteratorT, class IndexOutIteratorT,
            class CompareOpT>
  static cudaError_t extremum_by(Storage storage, InputIteratorT d_in, ExtremumOutIteratorT d_out,
                                 IndexOutIteratorT d_index_out, long long num_items, CompareOpT compare_op,
                                 cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    return among_places(storage, device::with_index<InputIteratorT, item>{d_in},
                        device::parting<ExtremumOutIteratorT, IndexOutIteratorT, item>{d_out, d_index_out, item{}},
                        num_items, device::first_by<least, CompareOpT>{compare_op}, device::indexed<item>{item{}, -1},
                        stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT>
  static cudaError_t extremum_pair(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, int num_items,
                                   cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using written = device::value_or<OutputIteratorT, KeyValuePair<int, item>>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return indexed_extremum<least>(storage, d_in, device::pairing<OutputIteratorT, written, item>{d_out, of_nothing},
                                   num_items, of_nothing, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT, class Item>
  static cudaError_t indexed_extremum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, long long num_items,
                                      Item of_nothing, cudaStream_t stream) {
    const auto among = [&](auto items, auto d_out, auto op, auto nothing) {
      return among_places(storage, items, d_out, num_items, op, nothing, stream);
    };
    const auto by_rank = [&](auto nothing) {
      using place = decltype(nothing);
      return among(device::ranked<least, Item, place, InputIteratorT>{d_in},
                   device::unranked<least, Item, InputIteratorT, OutputIteratorT>{d_in, d_out}, device::first_rank{},
                   nothing);
    };
    if constexpr (device::has_short_rank<Item>) {
      if (num_items <= device::most_in_a_word) return by_rank(device::first_rank::identity<device::ranked_index>());
    }
    if constexpr (device::has_rank<Item>)
      return by_rank(device::first_rank::identity<device::ranked_place>());
    else
      return among(device::with_index<InputIteratorT, Item>{d_in}, d_out, device::first_extremum<least>{},
                   device::indexed<Item>{of_nothing, -1});
  }

  template <bool last_greatest, class Storage, class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT,
            class MaxOutIteratorT, class MaxIndexIteratorT>
  static cudaError_t both_extrema(Storage storage, InputIteratorT d_in, MinOutIteratorT d_min_out,
                                  MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                                  MaxIndexIteratorT d_max_index_out, long long num_items, cudaStream_t stream) {
    using item = device::widened<parts::item_of<InputIteratorT>, InputIteratorT, MinOutIteratorT>;
    const device::parting_both<last_greatest, item, InputIteratorT, MinOutIteratorT, MinIndexIteratorT, MaxOutIteratorT,
                               MaxIndexIteratorT>
        results{d_in,
                d_min_out,
                d_min_index_out,
                d_max_out,
                d_max_index_out,
                device::highest<item>(),
                device::lowest<item>()};
    const auto by = [&](auto place) {
      using both = device::both_places<decltype(place)>;
      return among_places(storage, device::placed_twice<last_greatest, item, decltype(place), InputIteratorT>{d_in},
                          results, num_items, device::both_extrema{}, device::both_extrema::identity<both>(), stream);
    };
    if constexpr (device::has_short_rank<item>) {
      if (num_items <= device::most_in_a_word) return by(device::ranked_index{});
    }
    if constexpr (device::has_rank<item>)
      return by(device::ranked_place{});
    else
      return by(device::indexed<item>{});
  }

  template <bool last_greatest, class Storage, class InputIteratorT, class MinOutIteratorT, class MinIndexIteratorT,
            class MaxOutIteratorT, class MaxIndexIteratorT, class CompareOpT>
  static cudaError_t both_extrema_by(Storage storage, InputIteratorT d_in, MinOutIteratorT d_min_out,
                                     MinIndexIteratorT d_min_index_out, MaxOutIteratorT d_max_out,
                                     MaxIndexIteratorT d_max_index_out, long long num_items, CompareOpT compare_op,
                                     cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using place = device::indexed<item>;
    using order = device::both_extrema_by<CompareOpT>;
    const device::parting_both<last_greatest, item, InputIteratorT, MinOutIteratorT, MinIndexIteratorT, MaxOutIteratorT,
                               MaxIndexIteratorT>
        results{d_in, d_min_out, d_min_index_out, d_max_out, d_max_index_out, item{}, item{}};
    return among_places(storage, device::placed_twice<last_greatest, item, place, InputIteratorT>{d_in}, results,
                        num_items, order{{compare_op}, {compare_op}},
                        order::template identity<device::both_places<place>>(), stream);
  }

  template <class Storage, class ItemsT, class OutputIteratorT, class ReductionOpT, class Place>
  static cudaError_t among_places(Storage storage, ItemsT items, OutputIteratorT d_out, long long num_items,
                                  ReductionOpT op, Place nothing, cudaStream_t stream) {
    return storage.run(
        [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          using extrema = device::for_extrema_of<typename decltype(door)::named>;
          return extrema::reduce(d_temp_storage, temp_storage_bytes, items, d_out, static_cast<std::size_t>(num_items),
                                 op, nothing, stream);
        },
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI
