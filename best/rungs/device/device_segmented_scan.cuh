// rungs::DeviceSegmentedScan: cub::DeviceSegmentedScan's calls, for segments between offsets.
//
//   rungs::DeviceSegmentedScan::ExclusiveSegmentedSum(d_temp_storage, temp_storage_bytes, d_in, d_out,
//                                                     d_in_begin_offsets, d_in_end_offsets, num_segments, stream);
//   rungs::DeviceSegmentedScan::ExclusiveSegmentedSum(workspace, d_in, d_out, …);         // simpler
//   rungs::DeviceSegmentedScan::ExclusiveSegmentedSum(d_in, d_out, …, environment);       // as CUB's, newer
//
// Each call has two shapes. With d_in_begin_offsets and d_in_end_offsets alone, an output has the index of its item.
// With d_out_begin_offsets behind them, the outputs of segment s begin at d_out[d_out_begin_offsets[s]].
//
// The forms of storage, errors and capture are as in <rungs/device/device_scan.cuh>. The storage takes at most 16 bytes
// a segment, 24 with d_out_begin_offsets, and 80 for each 1024 segments; and for each of eight shares a multiprocessor
// an accumulator and 8 bytes.
//
// d_in, d_out   any random-access iterators. Pointers are read and written by vectors where segments follow each other
//               without gaps and their place allows it.
// d_in_begin_offsets, d_in_end_offsets, d_out_begin_offsets   random-access iterators of integers. Segment s has the
//               items d_in[begin] to d_in[end - 1], or none where end <= begin. Segments may have any lengths, leave
//               gaps, and lie in any order. They may share items; their outputs may not overlap.
// num_segments  any integer.
// scan_op       associative; it need not commute. It sees only items, init and what it has made of them.
// d_out may be d_in where an output has the index of its item; else they do not overlap. What lies in gaps stays.
//
// Segments are one launch where d_in_begin_offsets is a pointer, d_in_end_offsets the same plus one, and there are no
// d_out_begin_offsets (production/segments/adjoining_segments.cuh). Blocks take equal shares of all items. From 33
// segments on, up to eight for each resident block, blocks look at evenly spaced offsets first. If no long segment can
// lie between two of these, blocks take up to eight whole segments each. Offsets should ascend; blocks scan whole
// segments if one is less than the one before. Up to 8192 others are another launch
// (production/segments/few_segments.cuh), and so are 16 to 1024 that adjoin, of types of more than 8 bytes. Warps and
// blocks scan segments by themselves, but for those of more than two to four tiles of 256 to 4096 items. These are cut
// into equal shares. In both, blocks wait for blocks of lower indices, which start first.
//
// More than 8192 others are three launches. Blocks take equal shares of all items, whatever the lengths. In the first
// launch, blocks wait for blocks of lower indices. In the others no block waits for another one.
//
// Items in shares are read twice where they belong to a segment that its share does not end, such as one that is longer
// than a share. What blocks tell each other bears a tag of the call (parts/tags.cuh). A captured call is one launch
// more.
//
// Integers are exact. Sums of floats have the same bits each time on one GPU, at any address and alignment; they depend
// on the lengths and the order of all segments, and on which of these launches it is. An output is off by at most
// production::segmented_scan_height(items of all segments, multiprocessors) rounding errors of the sum of magnitudes.
// (Where one array's offsets do not ascend, a segment of n items takes n / 256 more.)
//
// Source: the head flags of Schwartz (1980) and Blelloch (1990), over equal shares of the concatenation.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/by_key.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/gpu_to_gpu.cuh"
#include "rungs/device/parts/halves.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/production/segments/scan_segments.cuh"

namespace rungs::RUNGS_ABI {

namespace device {

// What the workspace knows the storage of these calls by.
struct scanned_segments {
  static constexpr contents temp_storage = contents::uninitialised;
};

}  // namespace device

class DeviceSegmentedScan {
  template <class NumSegmentsT>
  using if_count = std::enable_if_t<std::is_integral_v<NumSegmentsT>>;
  template <class OutBeginOffsetIteratorT>
  using if_offsets = std::enable_if_t<!std::is_integral_v<OutBeginOffsetIteratorT>>;

 public:
  static constexpr const char* name = "rungs::DeviceSegmentedScan";  // of its ranges (parts/range.cuh)

  // d_out[i] = the sum of the segment's items up to item i.
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                           OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                           EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, production::as_the_items{}, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                           OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                           EndOffsetIteratorT d_in_end_offsets,
                                           OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, d_out_begin_offsets, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                           BeginOffsetIteratorT d_in_begin_offsets, EndOffsetIteratorT d_in_end_offsets,
                                           NumSegmentsT num_segments, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         production::as_the_items{}, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                           BeginOffsetIteratorT d_in_begin_offsets, EndOffsetIteratorT d_in_end_offsets,
                                           OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         d_out_begin_offsets, num_segments, plus{}, parts::item_of<InputIteratorT>{},
                                         stream);
  }

  // d_out[i] = the sum of the segment's items before item i; 0 for its first one.
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class = if_count<NumSegmentsT>>
  static cudaError_t ExclusiveSegmentedSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                           OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                           EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, production::as_the_items{}, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t ExclusiveSegmentedSum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                           OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                           EndOffsetIteratorT d_in_end_offsets,
                                           OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, d_out_begin_offsets, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class = if_count<NumSegmentsT>>
  static cudaError_t ExclusiveSegmentedSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                           BeginOffsetIteratorT d_in_begin_offsets, EndOffsetIteratorT d_in_end_offsets,
                                           NumSegmentsT num_segments, cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         production::as_the_items{}, num_segments, plus{},
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t ExclusiveSegmentedSum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                           BeginOffsetIteratorT d_in_begin_offsets, EndOffsetIteratorT d_in_end_offsets,
                                           OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                           cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         d_out_begin_offsets, num_segments, plus{}, parts::item_of<InputIteratorT>{},
                                         stream);
  }

  // d_out[i] = the segment's items up to item i, combined by scan_op in the type of item op item.
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                            OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, production::as_the_items{}, num_segments, scan_op,
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                            OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets,
                                            OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, d_out_begin_offsets, num_segments, scan_op,
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                            BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         production::as_the_items{}, num_segments, scan_op,
                                         parts::item_of<InputIteratorT>{}, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                            BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets,
                                            OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         d_out_begin_offsets, num_segments, scan_op, parts::item_of<InputIteratorT>{},
                                         stream);
  }

  // d_out[i] = init op the segment's items up to item i, in the type of init op item.
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class InitValueT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedScanInit(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                                InputIteratorT d_in, OutputIteratorT d_out,
                                                BeginOffsetIteratorT d_in_begin_offsets,
                                                EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                                ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans_from_init>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                                   d_in_begin_offsets, d_in_end_offsets, production::as_the_items{},
                                                   num_segments, scan_op, init_value, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT, class InitValueT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedScanInit(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                                InputIteratorT d_in, OutputIteratorT d_out,
                                                BeginOffsetIteratorT d_in_begin_offsets,
                                                EndOffsetIteratorT d_in_end_offsets,
                                                OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                                ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans_from_init>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                                   d_in_begin_offsets, d_in_end_offsets, d_out_begin_offsets,
                                                   num_segments, scan_op, init_value, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class InitValueT, class = if_count<NumSegmentsT>>
  static cudaError_t InclusiveSegmentedScanInit(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                                BeginOffsetIteratorT d_in_begin_offsets,
                                                EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                                ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans_from_init>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                                   production::as_the_items{}, num_segments, scan_op, init_value,
                                                   stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT, class InitValueT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t InclusiveSegmentedScanInit(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                                BeginOffsetIteratorT d_in_begin_offsets,
                                                EndOffsetIteratorT d_in_end_offsets,
                                                OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                                ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::inclusive_scans_from_init>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                                   d_out_begin_offsets, num_segments, scan_op, init_value, stream);
  }

  // d_out[i] = init op the segment's items before item i; init for its first one.
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class InitValueT, class = if_count<NumSegmentsT>>
  static cudaError_t ExclusiveSegmentedScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                            OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, production::as_the_items{}, num_segments, scan_op,
                                         init_value, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT, class InitValueT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t ExclusiveSegmentedScan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                            OutputIteratorT d_out, BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets,
                                            OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, d_in_begin_offsets,
                                         d_in_end_offsets, d_out_begin_offsets, num_segments, scan_op, init_value,
                                         stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class NumSegmentsT, class ScanOpT, class InitValueT, class = if_count<NumSegmentsT>>
  static cudaError_t ExclusiveSegmentedScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                            BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         production::as_the_items{}, num_segments, scan_op, init_value, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT,
            class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT, class InitValueT,
            class = if_offsets<OutBeginOffsetIteratorT>>
  static cudaError_t ExclusiveSegmentedScan(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out,
                                            BeginOffsetIteratorT d_in_begin_offsets,
                                            EndOffsetIteratorT d_in_end_offsets,
                                            OutBeginOffsetIteratorT d_out_begin_offsets, NumSegmentsT num_segments,
                                            ScanOpT scan_op, InitValueT init_value, cudaStream_t stream = nullptr) {
    return scan<result::exclusive_scans>(kept{workspace}, d_in, d_out, d_in_begin_offsets, d_in_end_offsets,
                                         d_out_begin_offsets, num_segments, scan_op, init_value, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). Bits repeat from run to run.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveSegmentedSum(Arguments&&... arguments) {
    return device::in_one_phase<num_before_op<Arguments...>>(
        [](auto required, auto&... all) {
          static_assert(sums_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return InclusiveSegmentedSum(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveSegmentedSum(Arguments&&... arguments) {
    return device::in_one_phase<num_before_op<Arguments...>>(
        [](auto required, auto&... all) {
          static_assert(sums_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return ExclusiveSegmentedSum(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveSegmentedScan(Arguments&&... arguments) {
    return device::in_one_phase<num_before_op<Arguments...> + 1>(
        [](auto required, auto&... all) {
          static_assert(scans_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return InclusiveSegmentedScan(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t InclusiveSegmentedScanInit(Arguments&&... arguments) {
    return device::in_one_phase<num_before_op<Arguments...> + 2>(
        [](auto required, auto&... all) {
          static_assert(scans_from_init_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return InclusiveSegmentedScanInit(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ExclusiveSegmentedScan(Arguments&&... arguments) {
    return device::in_one_phase<num_before_op<Arguments...> + 2>(
        [](auto required, auto&... all) {
          static_assert(scans_from_init_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return ExclusiveSegmentedScan(all...);
        },
        arguments...);
  }

 private:
  using pair = device::storage_pair<device::scanned_segments, DeviceSegmentedScan>;
  using kept = device::kept_storage<device::scanned_segments, DeviceSegmentedScan>;
  using result = production::of_segments;

  // Whether the single-phase form keeps what is required of it.
  template <determinism required, class Op, class InitValueT, class InputIteratorT, class OutputIteratorT>
  static constexpr bool is_kept =
      required != determinism::gpu_to_gpu ||
      device::is_order_free<Op, device::widened_accumulator<Op, InitValueT, InputIteratorT, OutputIteratorT>>;

  // Behind d_in and d_out stand two offsets and the count, or three offsets and the count.
  template <class... Arguments>
  static constexpr std::size_t num_before_op = device::is_count<4, Arguments...> ? 5 : 6;

  template <determinism required, class... Arguments>
  static constexpr bool sums_alike =
      is_kept<required, plus, parts::item_of<device::argument_of<0, Arguments...>>,
              device::argument_of<0, Arguments...>, device::argument_of<1, Arguments...>>;
  template <determinism required, class... Arguments>
  static constexpr bool scans_alike =
      is_kept<required, device::argument_of<num_before_op<Arguments...>, Arguments...>,
              parts::item_of<device::argument_of<0, Arguments...>>, device::argument_of<0, Arguments...>,
              device::argument_of<1, Arguments...>>;
  template <determinism required, class... Arguments>
  static constexpr bool scans_from_init_alike =
      is_kept<required, device::argument_of<num_before_op<Arguments...>, Arguments...>,
              device::argument_of<num_before_op<Arguments...> + 1, Arguments...>, device::argument_of<0, Arguments...>,
              device::argument_of<1, Arguments...>>;

  template <result kind, class Storage, class InputIteratorT, class OutputIteratorT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class OutBeginOffsetIteratorT, class NumSegmentsT, class ScanOpT,
            class InitValueT>
  static cudaError_t scan(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, BeginOffsetIteratorT d_begins,
                          EndOffsetIteratorT d_ends, OutBeginOffsetIteratorT d_out_begins, NumSegmentsT num_segments,
                          ScanOpT scan_op, InitValueT init_value, cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ScanOpT, InitValueT, InputIteratorT, OutputIteratorT>;
    const production::placed_segments<BeginOffsetIteratorT, EndOffsetIteratorT, OutBeginOffsetIteratorT> segments{
        d_begins, d_ends, d_out_begins};
    return device::with_carried<accumulator>(d_out, device::ours(scan_op), [&](auto op, auto d_out, auto carry) {
      const auto init = carry(static_cast<accumulator>(init_value));
      using carried = std::remove_const_t<decltype(init)>;
      const auto items = production::as_held(d_in);
      const auto folding = device::as_folding<carried>(op);
      const production::segmented_scan<kind, std::remove_const_t<decltype(items)>, decltype(d_out), carried,
                                       std::remove_const_t<decltype(folding)>, segments.outputs_apart>
          call{items, d_out, folding, init, {}, nullptr, nullptr};
      return storage.run(
          [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
            return production::scan_segments(d_temp_storage, temp_storage_bytes, call, segments,
                                             static_cast<std::size_t>(num_segments), stream);
          },
          stream);
    });
  }
};

}  // namespace rungs::RUNGS_ABI
