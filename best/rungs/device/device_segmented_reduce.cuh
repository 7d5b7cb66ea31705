// rungs::DeviceSegmentedReduce: cub::DeviceSegmentedReduce's calls, for segments of one size, such as rows of a matrix,
// and for segments between offsets, such as rows of a sparse one.
//
//   rungs::DeviceSegmentedReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_segments, segment_size,
//                                     stream);
//   rungs::DeviceSegmentedReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, num_segments, d_begin_offsets,
//                                     d_end_offsets, stream);
//   rungs::DeviceSegmentedReduce::Sum(workspace, d_in, d_out, num_segments, …);  // simpler
//   rungs::DeviceSegmentedReduce::Sum(d_in, d_out, num_segments, …, environment);
//
// The forms of storage, errors and capture are as in <rungs/device/device_reduce.cuh>. Segments of one size need
// storage where a segment has more than 128 KB. Segments between offsets always do: 1 MB for sums of 8 bytes; of more
// than 4096 segments 1.3 MB, and 4 bytes a segment up to 64 MB. These are two launches for every 16 Mi segments.
//
// d_in          any random-access iterator. Of segments of one size, memory that begins at a multiple of 16 bytes, in
//               segments of a multiple of 16 bytes, is read by vectors. So are, anywhere, segments of up to 128 bytes,
//               up to 264 segments of more than 16 KB, and all of more than 128 KB.
// d_out         one result a segment: any random-access output iterator.
// num_segments, segment_size   any integers; a segment of one size has fewer than 2^32 items.
// d_begin_offsets, d_end_offsets   random-access iterators of integers: segment s has the items d_in[begin] to
//               d_in[end - 1]. Segments may have any lengths, overlap, and lie in any order. Where end <= begin, there
//               are none.
// Of no items the result is init.
//
// Blocks wait only for blocks of lower indices, which start first, as CUB's scans assume, too.
//
// A segment has the same bits whatever the number of segments, its place among them, its address or its alignment. They
// may differ between the two kinds of segments.
//
// Accuracy: a sum of floats is off by at most so many rounding errors. Each is half a unit in the last place of the sum
// of magnitudes.
//   of one size       50 up to 128 KB a segment, 320 up to 16 GB; by iterators that are no pointers 270 and 540
//   between offsets   50 up to 128 MB, and 1 for every 16 MB more; by such iterators 80, and 1 for every 4 MB more
//
// On purpose other than CUB: Min, Max, ArgMin and ArgMax treat NaN and zeros as those of rungs::DeviceReduce do.
// Operators have to be associative and commutative.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include "rungs/device/key_value_pair.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/extremum.cuh"
#include "rungs/device/parts/gpu_to_gpu.cuh"
#include "rungs/device/parts/halves.cuh"
#include "rungs/device/parts/inputs.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/types.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/production/segments/few_offset_segments.cuh"
#include "rungs/production/segments/fixed_segments.cuh"
#include "rungs/production/segments/offset_segments.cuh"

namespace rungs::RUNGS_ABI {

namespace device {

// What the workspace knows the storage of these calls by.
struct segments {
  static constexpr contents temp_storage = contents::uninitialised;
};

// Which segments a call is about.
struct fixed_segments {
  std::size_t num_segments, segment_size;
};
template <class BeginOffsetIteratorT, class EndOffsetIteratorT>
struct offset_segments {
  std::size_t num_segments;
  production::segment_offsets<BeginOffsetIteratorT, EndOffsetIteratorT> offsets;
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
  using iterator = with_index<InputIteratorT, T>;

  InputIteratorT d_in;
  bool aligned;

  template <class Parts>
  __device__ iterator of(const Parts& parts, std::size_t part) const {
    return {d_in + static_cast<std::ptrdiff_t>(parts.begin(part)),
            static_cast<long long>(parts.begin_in_segment(part))};
  }
  __device__ iterator of_segment(long long begin) const { return {d_in + static_cast<std::ptrdiff_t>(begin)}; }
};

// Writes the index and the item as a pair; of no items, key 1 and the extremum of nothing, as CUB does.
template <class OutputIteratorT, class Pair, class T>
struct write_extremum {
  OutputIteratorT d_out;
  T of_nothing;
  __device__ void operator()(std::size_t segment, const indexed<T>& found, bool has_items) const {
    OutputIteratorT writable = d_out;
    Pair pair{};
    set_pair(pair, has_items ? found.index : 1, has_items ? found.value : of_nothing);
    writable[static_cast<std::ptrdiff_t>(segment)] = pair;
  }
};

}  // namespace device

namespace production {

// The less, or greater, of two; a NaN where one is.
template <bool least, class T>
__device__ T extremum_or_nan(T a, T b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, float>) {
    float extremum;
    if constexpr (least)
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(extremum) : "f"(a), "f"(b));
    else
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(extremum) : "f"(a), "f"(b));
    return extremum;
  }
#endif
  if constexpr (std::is_floating_point_v<T>)
    return a == a && !(least ? b >= a : b <= a) ? b : a;
  else
    return (least ? b < a : a < b) ? b : a;
}

// Numbers with their index come by pieces, too. Each piece's extremum is found without places. A thread keeps the first
// piece that has the extremum of all, and looks for the place in that piece alone.
template <class Item, class T>
struct pieces_of<device::with_index<Item*, T>> {
  static constexpr bool in_vectors = std::is_arithmetic_v<T> && std::is_same_v<std::remove_cv_t<Item>, T>;
  using items_with_index = device::with_index<Item*, T>;
  using item = std::conditional_t<in_vectors, T, device::indexed<T>>;

  static __device__ const item* address(const items_with_index& items) { return items.d_in; }

  template <class Indexed, class Op>
  static __device__ Indexed fold(const parts::vector<item>& piece, const items_with_index& items, unsigned first,
                                 const Op& op) {
    folded<Indexed, Op> alone;
    alone.take_piece(piece, items, first, op);
    alone.settle(items, op);
    return alone.value;
  }

  template <class Indexed>
  static __device__ Indexed at(const item& read, const items_with_index& items, unsigned i) {
    return {read, items.first + i};
  }
  template <class Indexed, class Op>
  struct folded;
  template <class Indexed, bool least>
  struct folded<Indexed, device::first_extremum<least>> {
    using op_of = device::first_extremum<least>;
    static constexpr int piece_items = 16 / static_cast<int>(sizeof(item));
    Indexed value;
    bool has_value = false;
    parts::vector<item> best_piece;
    T best;
    unsigned first_of_best;
    bool has_best = false;

    __device__ void take(const Indexed& next, const op_of& op) {
      value = has_value ? op(value, next) : next;
      has_value = true;
    }
    __device__ void take_piece(const parts::vector<item>& piece, const items_with_index&, unsigned first,
                               const op_of&) {
      T of_piece = piece[0];
#pragma unroll
      for (int i = 1; i < piece_items; ++i) of_piece = extremum_or_nan<least, T>(of_piece, piece[i]);
      // NaN precedes every number.
      const bool precedes = !has_best || (best == best && !(least ? of_piece >= best : of_piece <= best));
      best = precedes ? of_piece : best;
      first_of_best = precedes ? first : first_of_best;
#pragma unroll
      for (int w = 0; w < 4; ++w) best_piece.words[w] = precedes ? piece.words[w] : best_piece.words[w];
      has_best = true;
    }
    __device__ void settle(const items_with_index& items, const op_of& op) {
      if (!has_best) return;
      T found = best_piece[piece_items - 1];
      int at = piece_items - 1;
#pragma unroll
      for (int i = piece_items - 2; i >= 0; --i) {
        const T each = best_piece[i];
        const bool is_one = each == best || (best != best && each != each);
        found = is_one ? each : found;
        at = is_one ? i : at;
      }
      take({found, items.first + static_cast<long long>(first_of_best) + at}, op);
      has_best = false;
    }
  };
};

// The first extremum of numbers is the same in any order: ties go by the index.
template <class T, bool least>
inline constexpr bool has_no_order<device::indexed<T>, device::first_extremum<least>> = std::is_arithmetic_v<T>;

// A number of four bytes and its index: the warp's extremum as an unsigned integer, then the first index with it.
template <class T, bool least>
struct by_whole_warp<device::indexed<T>, device::first_extremum<least>> {
  static constexpr bool is_faster = parts::has_redux && std::is_arithmetic_v<T> && sizeof(T) == 4;

  static __device__ device::indexed<T> reduce(device::indexed<T> value, bool is_valid,
                                              const device::first_extremum<least>&) {
    const unsigned order = is_valid ? order_of(value.value) : ~0u;
    const unsigned first_order = least_of_warp(order);
    unsigned holders = __ballot_sync(parts::full_mask, is_valid && order == first_order);
    if ((holders & (holders - 1)) != 0) {
      const auto high = static_cast<unsigned>(static_cast<unsigned long long>(value.index) >> 32);
      const auto low = static_cast<unsigned>(value.index);
      const bool holds = is_valid && order == first_order;
      const unsigned first_high = least_of_warp(holds ? high : ~0u);
      const bool is_near = holds && high == first_high;
      const unsigned first_low = least_of_warp(is_near ? low : ~0u);
      holders = __ballot_sync(parts::full_mask, is_near && low == first_low);
    }
    const int holder = holders != 0 ? __ffs(static_cast<int>(holders)) - 1 : 0;
    return {__shfl_sync(parts::full_mask, value.value, holder), __shfl_sync(parts::full_mask, value.index, holder)};
  }

 private:
  template <class Word>  // a template, because older GPUs do not have the instruction
  static __device__ Word least_of_warp(Word word) {
    return __reduce_min_sync(parts::full_mask, word);
  }
  // Less where a value precedes another, the same for both zeros and for every NaN.
  static __device__ unsigned order_of(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (value != value) return 0;
      const T of_zero = value + T{0};
      int bits;
      memcpy(&bits, &of_zero, sizeof(bits));
      const auto ascending = static_cast<unsigned>(bits < 0 ? ~bits : bits | static_cast<int>(0x80000000u));
      return least ? ascending : ~ascending;
    } else {
      const unsigned ascending = std::is_signed_v<T> ? static_cast<unsigned>(value) ^ 0x80000000u : unsigned(value);
      return least ? ascending : ~ascending;
    }
  }
};

}  // namespace production

class DeviceSegmentedReduce {
  template <class SegmentSizeT>
  using if_size = std::enable_if_t<std::is_integral_v<SegmentSizeT>>;
  template <class BeginOffsetIteratorT>
  using if_offsets = std::enable_if_t<!std::is_integral_v<BeginOffsetIteratorT>>;

 public:
  static constexpr const char* name = "rungs::DeviceSegmentedReduce";  // of its ranges (parts/range.cuh)

  // d_out[s] = init op the items of segment s, accumulated as in DeviceReduce::Reduce.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT, class ReductionOpT,
            class T, class = if_size<SegmentSizeT>>
  static cudaError_t Reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    return reduce(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, of_size(num_segments, segment_size),
                  reduction_op, init, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class ReductionOpT, class T, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                            EndOffsetIteratorT d_end_offsets, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return reduce(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                  between(num_segments, d_begin_offsets, d_end_offsets), reduction_op, init, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT, class ReductionOpT,
            class T, class = if_size<SegmentSizeT>>
  static cudaError_t Reduce(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    return reduce(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), reduction_op, init, stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class ReductionOpT, class T, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Reduce(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                            ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    return reduce(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets), reduction_op,
                  init, stream);
  }

  // d_out[s] = the sum of each segment, accumulated in the type of output + item.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Sum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return sum(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Sum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                         EndOffsetIteratorT d_end_offsets, cudaStream_t stream = nullptr) {
    return sum(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
               between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Sum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return sum(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Sum(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                         cudaStream_t stream = nullptr) {
    return sum(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }

  // d_out[s] = the least item of each segment.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Min(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, of_size(num_segments, segment_size),
                          stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Min(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                         EndOffsetIteratorT d_end_offsets, cudaStream_t stream = nullptr) {
    return extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                          between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Min(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return extremum<true>(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Min(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                         cudaStream_t stream = nullptr) {
    return extremum<true>(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }

  // d_out[s] = the greatest item of each segment.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Max(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                         cudaStream_t stream = nullptr) {
    return extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out, of_size(num_segments, segment_size),
                           stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Max(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                         EndOffsetIteratorT d_end_offsets, cudaStream_t stream = nullptr) {
    return extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                           between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t Max(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return extremum<false>(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t Max(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                         BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                         cudaStream_t stream = nullptr) {
    return extremum<false>(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }

  // d_out[s] = the least item of each segment and where it stands in it, as a pair {key, value}: of equals the first.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                  of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t ArgMin(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                            EndOffsetIteratorT d_end_offsets, cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                  between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t ArgMin(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<true>(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets),
                                  stream);
  }

  // d_out[s] = the greatest item of each segment and where it stands in it, as a pair {key, value}: of equals the
  // first.
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, SegmentSizeT segment_size,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                   of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t ArgMax(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, NumSegmentsT num_segments, BeginOffsetIteratorT d_begin_offsets,
                            EndOffsetIteratorT d_end_offsets, cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(pair{d_temp_storage, temp_storage_bytes}, d_in, d_out,
                                   between(num_segments, d_begin_offsets, d_end_offsets), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class SegmentSizeT,
            class = if_size<SegmentSizeT>>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            SegmentSizeT segment_size, cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(kept{workspace}, d_in, d_out, of_size(num_segments, segment_size), stream);
  }
  template <class InputIteratorT, class OutputIteratorT, class NumSegmentsT, class BeginOffsetIteratorT,
            class EndOffsetIteratorT, class = if_offsets<BeginOffsetIteratorT>>
  static cudaError_t ArgMax(workspace& workspace, InputIteratorT d_in, OutputIteratorT d_out, NumSegmentsT num_segments,
                            BeginOffsetIteratorT d_begin_offsets, EndOffsetIteratorT d_end_offsets,
                            cudaStream_t stream = nullptr) {
    return indexed_extremum<false>(kept{workspace}, d_in, d_out, between(num_segments, d_begin_offsets, d_end_offsets),
                                   stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and an environment or nothing behind them
  // (parts/environment.cuh).
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Reduce(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 6 : 7)>(
        [](auto required, auto&... all) {
          static_assert(reduces_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return Reduce(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Sum(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto required, auto&... all) {
          static_assert(sums_alike<required.value, Arguments...>,
                        "gpu_to_gpu is promised for segments of integers by plus, minimum or maximum, and of floats by "
                        "minimum or maximum; require run_to_run, or nothing");
          return Sum(all...);
        },
        arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Min(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return Min(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t Max(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return Max(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMin(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return ArgMin(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t ArgMax(Arguments&&... arguments) {
    return device::in_one_phase<(device::is_count<3, Arguments...> ? 4 : 5)>(
        [](auto, auto&... all) { return ArgMax(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::segments, DeviceSegmentedReduce>;
  using kept = device::kept_storage<device::segments, DeviceSegmentedReduce>;

  // Whether the single-phase form keeps what is required of it.
  template <determinism required, class Op, class T, class InputIteratorT, class OutputIteratorT>
  static constexpr bool is_kept =
      required != determinism::gpu_to_gpu ||
      device::is_order_free<Op, device::widened_accumulator<Op, T, InputIteratorT, OutputIteratorT>>;
  template <determinism required, class... Arguments>
  static constexpr bool reduces_alike =
      is_kept<required, device::argument_of<device::is_count<3, Arguments...> ? 4 : 5, Arguments...>,
              device::argument_of<device::is_count<3, Arguments...> ? 5 : 6, Arguments...>,
              device::argument_of<0, Arguments...>, device::argument_of<1, Arguments...>>;
  template <determinism required, class InputIteratorT, class OutputIteratorT, class... Others>
  static constexpr bool sums_alike =
      is_kept<required, plus,
              device::value_or<std::decay_t<OutputIteratorT>, parts::item_of<std::decay_t<InputIteratorT>>>,
              std::decay_t<InputIteratorT>, std::decay_t<OutputIteratorT>>;

  template <class NumSegmentsT, class SegmentSizeT>
  static device::fixed_segments of_size(NumSegmentsT num_segments, SegmentSizeT segment_size) {
    return {static_cast<std::size_t>(num_segments), static_cast<std::size_t>(segment_size)};
  }
  template <class NumSegmentsT, class BeginOffsetIteratorT, class EndOffsetIteratorT>
  static device::offset_segments<BeginOffsetIteratorT, EndOffsetIteratorT> between(NumSegmentsT num_segments,
                                                                                   BeginOffsetIteratorT d_begin_offsets,
                                                                                   EndOffsetIteratorT d_end_offsets) {
    return {static_cast<std::size_t>(num_segments), {d_begin_offsets, d_end_offsets}};
  }

  // Storage for what parts of segments come to, then the launches.
  template <class T, class Reduction>
  static cudaError_t launch(void* d_temp_storage, std::size_t& temp_storage_bytes, const Reduction& reduction,
                            const device::fixed_segments& segments, cudaStream_t stream) {
    if (segments.segment_size > 0xffffffff) return cudaErrorInvalidValue;
    const production::segment_parts parts_of = production::parts_of_segments<T, Reduction>(segments.segment_size);
    const std::size_t bytes = production::bytes_of_aggregates<T>(segments.num_segments, parts_of.parts_per_segment);
    char* region;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, region, error)) return error;
    return production::reduce_segments<T>(reduction, parts_of, segments.num_segments, region, stream);
  }
  template <class T, class Reduction, class BeginOffsetIteratorT, class EndOffsetIteratorT>
  static cudaError_t launch(void* d_temp_storage, std::size_t& temp_storage_bytes, const Reduction& reduction,
                            const device::offset_segments<BeginOffsetIteratorT, EndOffsetIteratorT>& segments,
                            cudaStream_t stream) {
    if (segments.num_segments <= production::few_offset_segments)
      return production::reduce_few_offset_segments<T>(d_temp_storage, temp_storage_bytes, reduction, segments.offsets,
                                                       segments.num_segments, stream);
    const std::size_t bytes = production::segment_jobs<T>::bytes(segments.num_segments);
    production::segment_jobs<T> jobs;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, bytes, jobs.region, error)) return error;
    return production::reduce_offset_segments<T>(reduction, segments.offsets, segments.num_segments, jobs, stream);
  }

  template <class T, class Storage, class Segments, class Items, class Op, class Write>
  static cudaError_t run(Storage storage, const Segments& segments,
                         const production::reduction_of<Items, Op, Write>& reduction, cudaStream_t stream) {
    return storage.run(
        [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
          return launch<T>(d_temp_storage, temp_storage_bytes, reduction, segments, stream);
        },
        stream);
  }

  template <class InputIteratorT>
  static production::segment_items<InputIteratorT> items_of(InputIteratorT d_in,
                                                            const device::fixed_segments& segments) {
    bool aligned = false;
    if constexpr (parts::is_vectorisable<InputIteratorT>)
      aligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 == 0 && segments.segment_size * sizeof(*d_in) % 16 == 0;
    return {d_in, aligned};
  }
  template <class InputIteratorT, class BeginOffsetIteratorT, class EndOffsetIteratorT>
  static production::segment_items<InputIteratorT> items_of(
      InputIteratorT d_in, const device::offset_segments<BeginOffsetIteratorT, EndOffsetIteratorT>&) {
    return {d_in, false};
  }

  template <class Storage, class InputIteratorT, class OutputIteratorT, class Segments, class ReductionOpT, class T>
  static cudaError_t reduce(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, const Segments& segments,
                            ReductionOpT reduction_op, T init, cudaStream_t stream) {
    using accumulator = device::widened_accumulator<ReductionOpT, T, InputIteratorT, OutputIteratorT>;
    const auto call = [&](auto op, auto d_out, auto carry) {
      const auto carried_init = carry(static_cast<accumulator>(init));
      using carried = std::remove_const_t<decltype(carried_init)>;
      const device::write_segment<decltype(d_out), decltype(op), carried> write{d_out, op, carried_init};
      return run<carried>(storage, segments,
                          production::reduction_of{items_of(device::readable<carried>(d_in), segments), op, write},
                          stream);
    };
    return device::with_carried<accumulator, true>(d_out, device::ours(reduction_op), call);
  }

  template <class Storage, class InputIteratorT, class OutputIteratorT, class Segments>
  static cudaError_t sum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, const Segments& segments,
                         cudaStream_t stream) {
    using output = device::value_or<OutputIteratorT, parts::item_of<InputIteratorT>>;
    return reduce(storage, d_in, d_out, segments, plus{}, output{}, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT, class Segments>
  static cudaError_t extremum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out, const Segments& segments,
                              cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using op = std::conditional_t<least, minimum, maximum>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return reduce(storage, d_in, d_out, segments, op{}, of_nothing, stream);
  }

  template <bool least, class Storage, class InputIteratorT, class OutputIteratorT, class Segments>
  static cudaError_t indexed_extremum(Storage storage, InputIteratorT d_in, OutputIteratorT d_out,
                                      const Segments& segments, cudaStream_t stream) {
    using item = parts::item_of<InputIteratorT>;
    using written = device::value_or<OutputIteratorT, KeyValuePair<int, item>>;
    const item of_nothing = least ? device::highest<item>() : device::lowest<item>();
    return run<device::indexed<item>>(
        storage, segments,
        production::reduction_of{device::indexed_items<InputIteratorT, item>{d_in, items_of(d_in, segments).aligned},
                                 device::first_extremum<least>{},
                                 device::write_extremum<OutputIteratorT, written, item>{d_out, of_nothing}},
        stream);
  }
};

}  // namespace rungs::RUNGS_ABI
