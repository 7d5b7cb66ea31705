// rungs::DeviceSegmentedReduce: cub::DeviceSegmentedReduce's calls for segments of one size, such as rows of a matrix.
//
//   rungs::DeviceSegmentedReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_segments, segment_size,
//   stream); rungs::DeviceSegmentedReduce::Sum(workspace, d_in, d_out, num_segments, segment_size, stream);      //
//   simpler
//
// Both forms of storage, errors and capture are as in <rungs/device/device_reduce.cuh>. Storage is needed where a
// segment has more than 128 KB. Segments between offsets are not here yet: call cub::DeviceSegmentedReduce.
//
// d_in          num_segments * segment_size items: any random-access iterator. Memory that begins at a multiple of 16
//               bytes, in segments of a multiple of 16 bytes, is read by vectors.
// d_out         one result a segment: any random-access output iterator.
// num_segments, segment_size   any integers; a segment has fewer than 2^32 items. Of no items the result is init.
//
// A segment has the same bits whatever the number of segments, its place among them, its address or its alignment. The
// error of a sum of floats is at most segment_size / threads + 16 rounding errors of the sum of magnitudes; a thread
// has a piece of 16 bytes, or up to eight and more where a segment has over 1,024 bytes.
//
// On purpose other than CUB: Min, Max, ArgMin and ArgMax treat NaN and zeros as those of rungs::DeviceReduce do.
// Operators have to be associative and commutative.
#pragma once

#include "rungs/device/device_reduce.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/segments/fixed_segments.cuh"

namespace rungs::RUNGS_ABI {

namespace device {

// What the workspace knows the storage of these calls by.
struct fixed_segments {
  static constexpr contents temp_storage = contents::uninitialised;
};

// Writes init op aggregate, or init alone.
template <class OutputIteratorT, class Op, class T>
struct write_segment {
  OutputIteratorT d_out;
  Op op;
  T init;
  __device__ void operator()(std::size_t segment, const T& aggregate, bool has_items) const {
    OutputIteratorT writable = d_out;
    writable[static_cast<std::ptrdiff_t>(segment)] = has_items ? op(init, aggregate) : init;
  }
};

// Items with their index in the segment.
template <class InputIteratorT, class T>
struct indexed_items {
  using item = indexed<T>;
  static constexpr bool in_vectors = false;
  static constexpr unsigned piece_items = 1;

  InputIteratorT d_in;

  __device__ auto of(const production::segment_parts& parts, std::size_t part) const {
    return with_index<InputIteratorT, T>{d_in + static_cast<std::ptrdiff_t>(parts.begin(part)),
                                         static_cast<long long>(parts.begin_in_segment(part))};
  }
  template <class Accumulator, class Items>
  __device__ Accumulator load(const Items& items, unsigned first) const {
    return items[first];
  }
};

// Writes the index as key and the item; of no items, key 1 and the extremum of nothing, as CUB does.
template <class OutputIteratorT, class Pair, class T>
struct write_extremum {
  OutputIteratorT d_out;
  T of_nothing;
  __device__ void operator()(std::size_t segment, const indexed<T>& found, bool has_items) const {
    OutputIteratorT writable = d_out;
    Pair pair{};
    pair.key = has_items ? static_cast<decltype(pair.key)>(found.index) : 1;
    pair.value = has_items ? found.value : of_nothing;
    writable[static_cast<std::ptrdiff_t>(segment)] = pair;
  }
};

}  // namespace device

struct DeviceSegmentedReduce {
  // d_out[s] = init op d_in[s * segment_size] op …, accumulated as in DeviceReduce::Reduce.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT, class ReductionOpT,
            class T, class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t Reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    return reduce(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size, reduction_op, init,
                  stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT, class ReductionOpT,
            class T>
  static cudaError_t Reduce(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return reduce(kept{workspace}, d_in, d_out, num_segments, segment_size, reduction_op, init, stream);
  }

  // d_out[s] = the sum of each segment, accumulated in the type of output + item.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t Sum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return sum(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT>
  static cudaError_t Sum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return sum(kept{workspace}, d_in, d_out, num_segments, segment_size, stream);
  }

  // d_out[s] = the least item of each segment.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t Min(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT>
  static cudaError_t Min(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return extremum<true>(kept{workspace}, d_in, d_out, num_segments, segment_size, stream);
  }

  // d_out[s] = the greatest item of each segment.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t Max(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT>
  static cudaError_t Max(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return extremum<false>(kept{workspace}, d_in, d_out, num_segments, segment_size, stream);
  }

  // d_out[s] = the least item of each segment and where it stands in it, as a pair {key, value}: of equals the first.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size,
                                  stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(kept{workspace}, d_in, d_out, num_segments, segment_size, stream);
  }

  // d_out[s] = the greatest item of each segment and where it stands in it, as a pair {key, value}: of equals the
  // first.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = std::enable_if_t<std::is_integral_v<SegmentSizeT>>>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, num_segments, segment_size,
                                   stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(kept{workspace}, d_in, d_out, num_segments, segment_size, stream);
  }

  // Segments between offsets: not here yet.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t Reduce(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                            EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t Sum(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                         EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t Min(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                         EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t Max(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                         EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t ArgMin(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                            EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class... More,
            class = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>>
  static cudaError_t ArgMax(void*, std::size_t&, InputIteratorT, OutputIteratorT, NumSegmentsT, BeginOffsetIteratorT,
                            EndOffsetIteratorT, More...) {
    return of_offsets<BeginOffsetIteratorT>();
  }

 private:
  using pair = device::storage_pair<device::fixed_segments>;
  using kept = device::kept_storage<device::fixed_segments>;

  template <class BeginOffsetIteratorT>
  static cudaError_t of_offsets() {
    static_assert(
        std::is_integral_v<BeginOffsetIteratorT>,
        "rungs::DeviceSegmentedReduce takes segments of one size: with offsets call cub::DeviceSegmentedReduce");
    return cudaErrorNotSupported;
  }

  // Storage for the aggregates of parts, then the launches.
  template <class T, class Storage, class Items, class Op, class Write>
  static cudaError_t run(Storage storage, const Items& items, std::size_t num_segments, std::size_t segment_size, Op op,
                         Write write, cudaStream_t stream) {
    if (segment_size > 0xffffffff) return cudaErrorInvalidValue;
    return storage.run(
        [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          const std::size_t num_parts = production::parts_of_segment(segment_size, sizeof(typename Items::item));
          char* region;
          cudaError_t error;
          if (parts::answered(d_temp_storage, temp_storage_bytes,
                              num_parts > 1 ? num_segments * num_parts * sizeof(T) : 0, region, error))
            return error;
          return production::reduce_segments<T>(items, num_segments, static_cast<unsigned>(segment_size),
                                                reinterpret_cast<T*>(region), op, write, stream);
        },
        stream);
  }

  template <class InputIteratorT>
  static production::segment_items<InputIteratorT> items_of(InputIteratorT d_in, std::size_t segment_size) {
    bool aligned = false;
    if constexpr (production::segment_items<InputIteratorT>::in_vectors)
      aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0 && segment_size * sizeof(*d_in) % 16 == 0;
    return {d_in, aligned};
  }

  template <class Storage, class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_segments,
                            std::size_t segment_size, ReductionOpT reduction_op, T init, cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ReductionOpT, T, InputIteratorT, OutputIteratorT>;
    const auto call = [&](auto op, auto d_out, auto carry) {
      const auto carried_init = carry(static_cast<accumulator>(init));
      using carried = std::remove_const_t<decltype(carried_init)>;
      return run<carried>(storage, items_of(device::readable<carried>(d_in), segment_size), num_segments, segment_size,
                          op, device::write_segment<decltype(d_out), decltype(op), carried>{d_out, op, carried_init},
                          stream);
    };
    return device::with_carried<accumulator, true>(d_out, device::ours(reduction_op), call);
  }

  template <class Storage, class InputIteratorT, class OutputIteratorT>
  static cudaError_t sum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_segments,
                         std::size_t segment_size, cudaStream_t stream) {
    using output = device::value_or<OutputIteratorT, parts::item_of<InputIteratorT>>;
    return reduce(storage, d_in, d_out, num_segments, segment_size, plus{}, output{}, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT>
  static cudaError_t extremum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, std::size_t num_segments,
                              std::size_t segment_size, cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using op = std::conditional_t<least, minimum, maximum>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return reduce(storage, d_in, d_out, num_segments, segment_size, op{}, of_nothing, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT>
  static cudaError_t indexed_extremum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out,
                                      std::size_t num_segments, std::size_t segment_size, cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using written = device::value_or<OutputIteratorT, KeyValuePair<int, item>>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return run<device::indexed<item>>(storage, device::indexed_items<InputIteratorT, item>{d_in}, num_segments,
                                      segment_size, device::first_extremum<least>{},
                                      device::write_extremum<OutputIteratorT, written, item>{d_out, of_nothing},
                                      stream);
  }
};

}  // namespace rungs::RUNGS_ABI
