// rungs::DeviceHistogram: cub::DeviceHistogram's calls, on the rung that was measured to be the fastest.
//
//   rungs::DeviceHistogram::HistogramEven(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, num_levels,
//                                         lower_level, upper_level, num_samples, stream);               // as CUB's
//   rungs::DeviceHistogram::HistogramEven(workspace, d_samples, d_histogram, …);                        // simpler
//   rungs::DeviceHistogram::HistogramEven(d_samples, d_histogram, …, environment);      // as CUB's, newer
//
// Every call exists in three forms. The first is CUB's contract: a call with a null d_temp_storage only answers the
// size, the storage may hold anything, and nothing is allocated. In the second a rungs::workspace keeps the storage
// (see there). The third allocates on the stream, or as its environment says (parts/environment.cuh). None waits for
// the device; all may be captured. Any number of host threads may call at once, each with its own storage or workspace.
//
// d_samples    any random-access iterator; pointers to samples of 1, 2, 4 or 8 bytes are read by vectors, at any
//              alignment that their type allows. Of several channels, they come pixel by pixel.
// d_histogram  num_levels - 1 counters, set and not added to, of a type that atomicAdd takes. Of several channels an
//              array of pointers (plain, std::array or cuda::std::array), and so with num_levels and the levels.
// rows         where a call takes num_rows, row r begins row_stride_bytes * r bytes behind d_samples; that is rounded
//              down to whole samples. Up to 2^32 - 1 rows. Of what lies between two rows, bytes that share an aligned
//              vector of 16 with a sample may be read; they are not counted, and nothing outside all rows is read.
//
// Bin i holds the samples from its lower level to below its upper one; what is in no bin, or is NaN, is not counted.
// Integers are binned exactly. Floats are binned by (sample - lower) * (bins / (upper - lower)) in the levels' type: a
// sample within rounding of an edge may count for the neighbour. The counts are always the same; any number of samples
// and bins is fine as long as the counters hold it. cudaErrorInvalidValue: storage that is too small, fewer than two
// levels, or even levels that do not ascend; cudaErrorNotPermitted (in a checked build): a workspace that is misused;
// else what the runtime answered to a launch is returned.
//
// On purpose other than CUB: nothing overflows that CUB refuses (many bins over wide integers), no sample is counted by
// a rounded edge where samples and levels are integers, and halves are binned as floats, where CUB rounds each step to
// a half.
//
// No call needs more of the device at once than CUB's, with one condition. On sm_90 few samples take one cluster of at
// most eight blocks, which begins wherever one multiprocessor is free (cluster/parts/launch.cuh). Many bins take up to
// all the shared memory that a block can have, so the call begins once one multiprocessor has so much free.
//
// Which rung runs is said in rungs/tuning/histogram.cuh, with the times it was chosen by.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/pitched.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/stream_argument.cuh"
#include "rungs/histograms/front_door.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

struct DeviceHistogram {
  static constexpr const char* name = "rungs::DeviceHistogram";  // of its ranges (parts/range.cuh)

  // num_levels - 1 bins of one width between two levels.
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramEven(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                   CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                   OffsetT num_samples, device::stream_argument stream = {}) {
    return even(pair{d_temp_storage, temp_storage_bytes}, d_samples, d_histogram, num_levels, lower_level, upper_level,
                one_row(num_samples), stream);
  }
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramEven(workspace& workspace, SampleIteratorT d_samples, CounterT* d_histogram,
                                   int num_levels, LevelT lower_level, LevelT upper_level, OffsetT num_samples,
                                   cudaStream_t stream = nullptr) {
    return even(kept{workspace}, d_samples, d_histogram, num_levels, lower_level, upper_level, one_row(num_samples),
                stream);
  }

  // The same of num_rows rows.
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramEven(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                   CounterT* d_histogram, int num_levels, LevelT lower_level, LevelT upper_level,
                                   OffsetT num_row_samples, OffsetT num_rows, std::size_t row_stride_bytes,
                                   device::stream_argument stream = {}) {
    return even(pair{d_temp_storage, temp_storage_bytes}, d_samples, d_histogram, num_levels, lower_level, upper_level,
                rows(num_row_samples, num_rows, row_stride_bytes), stream);
  }
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramEven(workspace& workspace, SampleIteratorT d_samples, CounterT* d_histogram,
                                   int num_levels, LevelT lower_level, LevelT upper_level, OffsetT num_row_samples,
                                   OffsetT num_rows, std::size_t row_stride_bytes, cudaStream_t stream = nullptr) {
    return even(kept{workspace}, d_samples, d_histogram, num_levels, lower_level, upper_level,
                rows(num_row_samples, num_rows, row_stride_bytes), stream);
  }

  // Of pixels of NUM_CHANNELS samples, the first NUM_ACTIVE_CHANNELS are counted, each between levels of its own. Of
  // the types that CUB's callers may name, in its order, CounterT and LevelT are told by the arrays.
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Lower, class Upper>
  static cudaError_t MultiHistogramEven(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                        SampleIteratorT d_samples, const Histograms& d_histogram,
                                        const Counts& num_levels, const Lower& lower_level, const Upper& upper_level,
                                        OffsetT num_pixels, device::stream_argument stream = {}) {
    return multi_even<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(pair{d_temp_storage, temp_storage_bytes}, d_samples,
                                                         d_histogram, num_levels, lower_level, upper_level,
                                                         one_row(num_pixels), stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Lower, class Upper>
  static cudaError_t MultiHistogramEven(workspace& workspace, SampleIteratorT d_samples, const Histograms& d_histogram,
                                        const Counts& num_levels, const Lower& lower_level, const Upper& upper_level,
                                        OffsetT num_pixels, cudaStream_t stream = nullptr) {
    return multi_even<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(kept{workspace}, d_samples, d_histogram, num_levels,
                                                         lower_level, upper_level, one_row(num_pixels), stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Lower, class Upper>
  static cudaError_t MultiHistogramEven(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                        SampleIteratorT d_samples, const Histograms& d_histogram,
                                        const Counts& num_levels, const Lower& lower_level, const Upper& upper_level,
                                        OffsetT num_row_pixels, OffsetT num_rows, std::size_t row_stride_bytes,
                                        device::stream_argument stream = {}) {
    return multi_even<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(pair{d_temp_storage, temp_storage_bytes}, d_samples,
                                                         d_histogram, num_levels, lower_level, upper_level,
                                                         rows(num_row_pixels, num_rows, row_stride_bytes), stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Lower, class Upper>
  static cudaError_t MultiHistogramEven(workspace& workspace, SampleIteratorT d_samples, const Histograms& d_histogram,
                                        const Counts& num_levels, const Lower& lower_level, const Upper& upper_level,
                                        OffsetT num_row_pixels, OffsetT num_rows, std::size_t row_stride_bytes,
                                        cudaStream_t stream = nullptr) {
    return multi_even<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(kept{workspace}, d_samples, d_histogram, num_levels,
                                                         lower_level, upper_level,
                                                         rows(num_row_pixels, num_rows, row_stride_bytes), stream);
  }

  // num_levels - 1 bins between levels that ascend, on the device.
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramRange(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    CounterT* d_histogram, int num_levels, const LevelT* d_levels, OffsetT num_samples,
                                    device::stream_argument stream = {}) {
    return range(pair{d_temp_storage, temp_storage_bytes}, d_samples, d_histogram, num_levels, d_levels,
                 one_row(num_samples), stream);
  }
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramRange(workspace& workspace, SampleIteratorT d_samples, CounterT* d_histogram,
                                    int num_levels, const LevelT* d_levels, OffsetT num_samples,
                                    cudaStream_t stream = nullptr) {
    return range(kept{workspace}, d_samples, d_histogram, num_levels, d_levels, one_row(num_samples), stream);
  }
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramRange(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                                    CounterT* d_histogram, int num_levels, const LevelT* d_levels,
                                    OffsetT num_row_samples, OffsetT num_rows, std::size_t row_stride_bytes,
                                    device::stream_argument stream = {}) {
    return range(pair{d_temp_storage, temp_storage_bytes}, d_samples, d_histogram, num_levels, d_levels,
                 rows(num_row_samples, num_rows, row_stride_bytes), stream);
  }
  template <class SampleIteratorT, class CounterT, class LevelT, class OffsetT>
  static cudaError_t HistogramRange(workspace& workspace, SampleIteratorT d_samples, CounterT* d_histogram,
                                    int num_levels, const LevelT* d_levels, OffsetT num_row_samples, OffsetT num_rows,
                                    std::size_t row_stride_bytes, cudaStream_t stream = nullptr) {
    return range(kept{workspace}, d_samples, d_histogram, num_levels, d_levels,
                 rows(num_row_samples, num_rows, row_stride_bytes), stream);
  }

  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Levels>
  static cudaError_t MultiHistogramRange(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                         SampleIteratorT d_samples, const Histograms& d_histogram,
                                         const Counts& num_levels, const Levels& d_levels, OffsetT num_pixels,
                                         device::stream_argument stream = {}) {
    return multi_range<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(pair{d_temp_storage, temp_storage_bytes}, d_samples,
                                                          d_histogram, num_levels, d_levels, one_row(num_pixels),
                                                          stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Levels>
  static cudaError_t MultiHistogramRange(workspace& workspace, SampleIteratorT d_samples, const Histograms& d_histogram,
                                         const Counts& num_levels, const Levels& d_levels, OffsetT num_pixels,
                                         cudaStream_t stream = nullptr) {
    return multi_range<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(kept{workspace}, d_samples, d_histogram, num_levels, d_levels,
                                                          one_row(num_pixels), stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Levels>
  static cudaError_t MultiHistogramRange(void* d_temp_storage, std::size_t& temp_storage_bytes,
                                         SampleIteratorT d_samples, const Histograms& d_histogram,
                                         const Counts& num_levels, const Levels& d_levels, OffsetT num_row_pixels,
                                         OffsetT num_rows, std::size_t row_stride_bytes,
                                         device::stream_argument stream = {}) {
    return multi_range<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(pair{d_temp_storage, temp_storage_bytes}, d_samples,
                                                          d_histogram, num_levels, d_levels,
                                                          rows(num_row_pixels, num_rows, row_stride_bytes), stream);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class SampleIteratorT, class CounterT = void,
            class LevelT = void, class OffsetT, class Histograms, class Counts, class Levels>
  static cudaError_t MultiHistogramRange(workspace& workspace, SampleIteratorT d_samples, const Histograms& d_histogram,
                                         const Counts& num_levels, const Levels& d_levels, OffsetT num_row_pixels,
                                         OffsetT num_rows, std::size_t row_stride_bytes,
                                         cudaStream_t stream = nullptr) {
    return multi_range<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(kept{workspace}, d_samples, d_histogram, num_levels, d_levels,
                                                          rows(num_row_pixels, num_rows, row_stride_bytes), stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh). Counts are the same on every device.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t HistogramEven(Arguments&&... arguments) {
    return device::in_one_phase<(sizeof...(Arguments) < 8 ? 6 : 8)>(
        [](auto, auto&... all) { return HistogramEven(all...); }, arguments...);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MultiHistogramEven(Arguments&&... arguments) {
    return device::in_one_phase<(sizeof...(Arguments) < 8 ? 6 : 8)>(
        [](auto, auto&... all) { return MultiHistogramEven<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t HistogramRange(Arguments&&... arguments) {
    return device::in_one_phase<(sizeof...(Arguments) < 7 ? 5 : 7)>(
        [](auto, auto&... all) { return HistogramRange(all...); }, arguments...);
  }
  template <int NUM_CHANNELS, int NUM_ACTIVE_CHANNELS, class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MultiHistogramRange(Arguments&&... arguments) {
    return device::in_one_phase<(sizeof...(Arguments) < 7 ? 5 : 7)>(
        [](auto, auto&... all) { return MultiHistogramRange<NUM_CHANNELS, NUM_ACTIVE_CHANNELS>(all...); },
        arguments...);
  }

 private:
  using pair = device::storage_pair<histograms::front_door, DeviceHistogram>;
  using kept = device::kept_storage<histograms::front_door, DeviceHistogram>;

  template <class OffsetT>
  static device::one_row one_row(OffsetT num_pixels) {
    return {static_cast<std::size_t>(num_pixels)};
  }
  template <class OffsetT>
  static device::rows_apart rows(OffsetT num_row_pixels, OffsetT num_rows, std::size_t row_stride_bytes) {
    return {static_cast<std::size_t>(num_row_pixels), static_cast<std::size_t>(num_rows), row_stride_bytes};
  }

  // Calls call(type<door>, d_temp_storage, temp_storage_bytes, samples, num_samples) with the samples as one sequence.
  template <int num_channels, class Storage, class SampleIteratorT, class Extent, class Call>
  static cudaError_t run(Storage storage, SampleIteratorT d_samples, Extent extent, cudaStream_t stream, Call call) {
    return extent.template as_sequence<num_channels>(d_samples, [&](auto samples, std::size_t num_samples) {
      return storage.run(
          [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes) {
            return call(door, d_temp_storage, temp_storage_bytes, samples, num_samples);
          },
          stream);
    });
  }

  template <class Array>
  using item_in = std::decay_t<decltype(std::declval<const Array&>()[0])>;

  template <class Storage, class SampleIteratorT, class CounterT, class LevelT, class Extent>
  static cudaError_t even(Storage storage, SampleIteratorT d_samples, CounterT* d_histogram, int num_levels,
                          LevelT lower_level, LevelT upper_level, Extent extent, cudaStream_t stream) {
    return run<1>(storage, d_samples, extent, stream,
                  [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes, auto samples, std::size_t n) {
                    return decltype(door)::named::histogram_even(d_temp_storage, temp_storage_bytes, samples,
                                                                 d_histogram, num_levels, lower_level, upper_level, n,
                                                                 stream);
                  });
  }

  template <class Storage, class SampleIteratorT, class CounterT, class LevelT, class Extent>
  static cudaError_t range(Storage storage, SampleIteratorT d_samples, CounterT* d_histogram, int num_levels,
                           const LevelT* d_levels, Extent extent, cudaStream_t stream) {
    return run<1>(storage, d_samples, extent, stream,
                  [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes, auto samples, std::size_t n) {
                    return decltype(door)::named::histogram_range(d_temp_storage, temp_storage_bytes, samples,
                                                                  d_histogram, num_levels, d_levels, n, stream);
                  });
  }

  template <int num_channels, int num_active, class Storage, class SampleIteratorT, class Histograms, class Counts,
            class Lower, class Upper, class Extent>
  static cudaError_t multi_even(Storage storage, SampleIteratorT d_samples, const Histograms& d_histogram,
                                const Counts& num_levels, const Lower& lower_level, const Upper& upper_level,
                                Extent extent, cudaStream_t stream) {
    using level = item_in<Lower>;
    item_in<Histograms> histograms[num_active];
    int counts[num_active];
    level lower[num_active], upper[num_active];
    for (int i = 0; i < num_active; ++i) {
      histograms[i] = d_histogram[i];
      counts[i] = num_levels[i];
      lower[i] = lower_level[i];
      upper[i] = upper_level[i];
    }
    return run<num_channels>(
        storage, d_samples, extent, stream,
        [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes, auto samples, std::size_t n) {
          return decltype(door)::named::template multi_histogram_even<num_channels>(
              d_temp_storage, temp_storage_bytes, samples, histograms, counts, lower, upper, n / num_channels, stream);
        });
  }

  template <int num_channels, int num_active, class Storage, class SampleIteratorT, class Histograms, class Counts,
            class Levels, class Extent>
  static cudaError_t multi_range(Storage storage, SampleIteratorT d_samples, const Histograms& d_histogram,
                                 const Counts& num_levels, const Levels& d_levels, Extent extent, cudaStream_t stream) {
    using level = std::remove_cv_t<std::remove_pointer_t<item_in<Levels>>>;
    item_in<Histograms> histograms[num_active];
    int counts[num_active];
    const level* levels[num_active];
    for (int i = 0; i < num_active; ++i) {
      histograms[i] = d_histogram[i];
      counts[i] = num_levels[i];
      levels[i] = d_levels[i];
    }
    return run<num_channels>(
        storage, d_samples, extent, stream,
        [&](auto door, void* d_temp_storage, std::size_t& temp_storage_bytes, auto samples, std::size_t n) {
          return decltype(door)::named::template multi_histogram_range<num_channels>(
              d_temp_storage, temp_storage_bytes, samples, histograms, counts, levels, n / num_channels, stream);
        });
  }
};

}  // namespace rungs::RUNGS_ABI
