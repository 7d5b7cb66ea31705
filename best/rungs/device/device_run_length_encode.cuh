// rungs::DeviceRunLengthEncode: cub::DeviceRunLengthEncode's calls. A run is as many neighbours as are equal by ==.
//
//   rungs::DeviceRunLengthEncode::Encode(d_temp_storage, temp_storage_bytes, d_in, d_unique_out, d_counts_out,
//                                        d_num_runs_out, num_items, stream);                        // as CUB's
//   rungs::DeviceRunLengthEncode::Encode(workspace, d_in, d_unique_out, d_counts_out, d_num_runs_out, num_items,
//                                        stream);                                                   // simpler
//
// All three forms, errors, streams, graphs and progress are as those of rungs::DeviceSelect (device_select.cuh). The
// storage takes 32 bytes for each tile of 2048 to 8192 items; a tile has 1024 items of more than 8 bytes, 512 of more
// than 16 and 256 of more than 32.
//
// d_in            num_items items: any random-access iterator.
// d_unique_out, d_counts_out, d_offsets_out, d_lengths_out
//                 room for an output a run: any random-access iterators. They overlap no input. Lengths and positions
//                 are computed in 64 bits, and converted to what the output holds.
// d_num_runs_out  where the number of runs is written: any output iterator. It is written for no items, too.
// num_items       any integer; more than 2^31 is fine, unlike CUB's 3.0.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include "rungs/device/parts/compaction.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/production/compaction/run_length_kernel.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

struct DeviceRunLengthEncode {
  static constexpr const char* name = "rungs::DeviceRunLengthEncode";  // of its ranges (parts/range.cuh)

  // d_unique_out[r] = the first item of run r, d_counts_out[r] = its length
  template <class InputIteratorT, class UniqueOutputIteratorT, class LengthsOutputIteratorT,
            class NumRunsOutputIteratorT, class NumItemsT>
  static cudaError_t Encode(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            UniqueOutputIteratorT d_unique_out, LengthsOutputIteratorT d_counts_out,
                            NumRunsOutputIteratorT d_num_runs_out, NumItemsT num_items, cudaStream_t stream = nullptr) {
    return encode<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_unique_out, d_counts_out, d_num_runs_out,
                         num_items, stream);
  }
  template <class InputIteratorT, class UniqueOutputIteratorT, class LengthsOutputIteratorT,
            class NumRunsOutputIteratorT, class NumItemsT>
  static cudaError_t Encode(workspace& workspace, InputIteratorT d_in, UniqueOutputIteratorT d_unique_out,
                            LengthsOutputIteratorT d_counts_out, NumRunsOutputIteratorT d_num_runs_out,
                            NumItemsT num_items, cudaStream_t stream = nullptr) {
    return encode<false>(kept{workspace}, d_in, d_unique_out, d_counts_out, d_num_runs_out, num_items, stream);
  }

  // The same of runs of two items at least: d_offsets_out[r] = the position of the run's first item.
  template <class InputIteratorT, class OffsetsOutputIteratorT, class LengthsOutputIteratorT,
            class NumRunsOutputIteratorT, class NumItemsT>
  static cudaError_t NonTrivialRuns(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OffsetsOutputIteratorT d_offsets_out, LengthsOutputIteratorT d_lengths_out,
                                    NumRunsOutputIteratorT d_num_runs_out, NumItemsT num_items,
                                    cudaStream_t stream = nullptr) {
    return encode<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_offsets_out, d_lengths_out, d_num_runs_out,
                        num_items, stream);
  }
  template <class InputIteratorT, class OffsetsOutputIteratorT, class LengthsOutputIteratorT,
            class NumRunsOutputIteratorT, class NumItemsT>
  static cudaError_t NonTrivialRuns(workspace& workspace, InputIteratorT d_in, OffsetsOutputIteratorT d_offsets_out,
                                    LengthsOutputIteratorT d_lengths_out, NumRunsOutputIteratorT d_num_runs_out,
                                    NumItemsT num_items, cudaStream_t stream = nullptr) {
    return encode<true>(kept{workspace}, d_in, d_offsets_out, d_lengths_out, d_num_runs_out, num_items, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). Results are the same in every environment.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Encode(Arguments&&... arguments) {
    return device::in_one_phase<5>([](auto, auto&... all) { return Encode(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t NonTrivialRuns(Arguments&&... arguments) {
    return device::in_one_phase<5>([](auto, auto&... all) { return NonTrivialRuns(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::compaction, DeviceRunLengthEncode>;
  using kept = device::kept_storage<device::compaction, DeviceRunLengthEncode>;

  template <bool only_longer, class Storage, class InputIteratorT, class FirstOutputIteratorT,
            class LengthsOutputIteratorT, class NumRunsOutputIteratorT, class NumItemsT>
  static cudaError_t encode(Storage storage, InputIteratorT d_in, FirstOutputIteratorT d_first_out,
                            LengthsOutputIteratorT d_lengths_out, NumRunsOutputIteratorT d_num_runs_out,
                            NumItemsT num_items, cudaStream_t stream) {
    using call_type = production::run_lengths<only_longer, InputIteratorT, FirstOutputIteratorT, LengthsOutputIteratorT,
                                              NumRunsOutputIteratorT, device::equal_items>;
    const call_type call{d_in,
                         d_first_out,
                         d_lengths_out,
                         d_num_runs_out,
                         static_cast<std::size_t>(num_items),
                         device::equal_items{},
                         production::is_aligned<call_type::shape::neighbours>(d_in)};
    return storage.run(
        [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return production::encode_runs(d_temp_storage, temp_storage_bytes, call, stream);
        },
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI
