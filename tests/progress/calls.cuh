// Included once with CUB as DOOR, once with rungs.
#include "made.cuh"
#include "progress/calls.hpp"
#include "progress/items.hpp"

namespace rungs::tests::progress {
namespace {

struct exclusive_or {
  __host__ __device__ long long operator()(long long a, long long b) const { return a ^ b; }
};

// Where a segment of num_segments begins: half of the items are the first one's.
struct half_and_many {
  static constexpr long long num_segments = 1000;
  long long num_items;
  __host__ __device__ long long operator()(long long segment) const {
    const long long rest = num_items - num_items / 2;
    return segment == 0 ? 0 : num_items / 2 + rest * (segment - 1) / (num_segments - 1);
  }
};

// call(d_in, d_out, arguments, storage...) in the forms that there are.
template <class In, class Out, class Call>
operation made(const char* name, item_type in, std::size_t num_outputs, Call call) {
  return {name, in, sizeof(Out), num_outputs, both_forms<const arguments&>([=](const arguments& a, auto&... storage) {
            if constexpr (HAS_WORKSPACES || sizeof...(storage) == 2)
              return call(static_cast<const In*>(a.d_in), static_cast<Out*>(a.d_out), a, storage...);
            else
              return cudaErrorNotSupported;  // CUB has no workspaces
          })};
}

template <class Sample>
operation even_histogram(const char* name, item_type in, int num_bins, int upper_level) {
  return made<Sample, unsigned>(name, in, static_cast<std::size_t>(num_bins),
                                [=](auto d_in, auto d_out, const arguments& a, auto&... storage) {
                                  return DOOR::DeviceHistogram::HistogramEven(storage..., d_in, d_out, num_bins + 1, 0,
                                                                              upper_level, a.num_items, a.stream);
                                });
}

}  // namespace

std::vector<operation> OPERATIONS() {
  const auto sum = [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
    return DOOR::DeviceReduce::Sum(storage..., d_in, d_out, a.num_items, a.stream);
  };
  const auto scan = [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
    return DOOR::DeviceScan::InclusiveSum(storage..., d_in, d_out, a.num_items, a.stream);
  };
  return {
      made<float, float>("Sum of f32", item_type::f32, 1, sum),
      made<long long, long long>("Sum of i64", item_type::i64, 1, sum),
      made<unsigned char, int>("Sum of u8", item_type::u8, 1, sum),
      made<long long, long long>("Reduce by an operator", item_type::i64, 1,
                                 [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
                                   return DOOR::DeviceReduce::Reduce(storage..., d_in, d_out, a.num_items,
                                                                     exclusive_or{}, 7ll, a.stream);
                                 }),
      made<float, float>("ExactSum of f32", item_type::f32, 1,  // CUB's is its plain sum
                         [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
#if HAS_EXACT_SUMS
                           return DOOR::DeviceReduce::ExactSum(storage..., d_in, d_out, a.num_items, a.stream);
#else
                           return DOOR::DeviceReduce::Sum(storage..., d_in, d_out, a.num_items, a.stream);
#endif
                         }),
      made<float, float>("Sum of segments of f32", item_type::f32, half_and_many::num_segments,
                         [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
                           const half_and_many begin{static_cast<long long>(a.num_items)};
                           return DOOR::DeviceSegmentedReduce::Sum(storage..., d_in, d_out, begin.num_segments,
                                                                   tests::made<half_and_many>{begin, 0},
                                                                   tests::made<half_and_many>{begin, 1}, a.stream);
                         }),
      made<float, float>("Sum of one segment of f32", item_type::f32, 1,  // CUB 3.0 has no segments of one size
                         [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
#if HAS_FIXED_SEGMENTS
                           return DOOR::DeviceSegmentedReduce::Sum(storage..., d_in, d_out, 1, a.num_items, a.stream);
#else
                           return DOOR::DeviceReduce::Sum(storage..., d_in, d_out, a.num_items, a.stream);
#endif
                         }),
      made<float, float>("InclusiveSum of f32", item_type::f32, 0, scan),
      made<unsigned char, int>("InclusiveSum of u8", item_type::u8, 0, scan),
      made<long long, long long>("InclusiveSum of i64", item_type::i64, 0, scan),
      made<map, map>(
          "ExclusiveScan of maps", item_type::map, 0,
          [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
            return DOOR::DeviceScan::ExclusiveScan(storage..., d_in, d_out, then{}, map{1, 0}, a.num_items, a.stream);
          }),
      even_histogram<unsigned char>("HistogramEven of u8, 256 bins", item_type::u8, 256, 256),
      even_histogram<int>("HistogramEven of i32, 256 bins", item_type::i32, 256, most_sample),
      even_histogram<int>("HistogramEven of i32, 4096 bins", item_type::i32, 4096, most_sample),
      even_histogram<int>("HistogramEven of i32, 65536 bins", item_type::i32, 65'536, most_sample),
      made<int, unsigned>("HistogramRange of i32", item_type::i32, num_levels - 1,
                          [](auto d_in, auto d_out, const arguments& a, auto&... storage) {
                            return DOOR::DeviceHistogram::HistogramRange(storage..., d_in, d_out, num_levels,
                                                                         a.d_levels, a.num_items, a.stream);
                          }),
  };
}

}  // namespace rungs::tests::progress
