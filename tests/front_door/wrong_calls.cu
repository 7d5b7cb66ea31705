// Calls in the single-phase form. With -DWRONG=0 all are right, whatever type a count has; any other number makes one
// wrong, and the compiler has to say what is wrong (wrong_calls).
#include <rungs/device/device_histogram.cuh>
#include <rungs/device/device_partition.cuh>
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_run_length_encode.cuh>
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_segmented_reduce.cuh>
#include <rungs/device/device_segmented_scan.cuh>
#include <rungs/device/device_select.cuh>
#include <rungs/device/device_top_k.cuh>
#include <rungs/device/environments.cuh>

#include <iterator>

namespace rungs::tests {

struct own_sum {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};
struct large {
  double values[8];
};
struct add_large {
  __host__ __device__ large operator()(const large& a, const large&) const { return a; }
};

const float* d_in;
float* d_out;
void* d_temp_storage;

// The second argument tells the forms apart where it is a std::size_t, too.
static_assert(!device::is_one_phase<void*&, std::size_t&, float*&, std::size_t&>);
static_assert(!device::is_one_phase<std::nullptr_t, std::size_t&, float*&, float*&, int>);
static_assert(device::is_one_phase<float*&, std::size_t&>);
static_assert(device::is_one_phase<float*&, std::size_t&, cudaStream_t&>);
static_assert(device::is_one_phase<const float*&, float*&, std::size_t&, workspace&>);
static_assert(!device::is_one_phase<workspace&, const float*&, float*&, std::size_t&>);

template <class Count>
cudaError_t right(Count n, cudaStream_t stream, workspace& keeper) {
  cudaError_t error = DeviceReduce::Sum(d_in, d_out, n);
  if (error == cudaSuccess) error = DeviceReduce::Sum(d_in, d_out, n, stream);
  if (error == cudaSuccess) error = DeviceReduce::Sum(d_in, d_out, n, keeper);
  if (error == cudaSuccess) error = DeviceReduce::Sum(keeper, d_in, d_out, n);
  if (error == cudaSuccess) error = DeviceReduce::Sum(keeper, d_in, d_out, n, stream);
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(d_out, n);
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(d_out, n, stream);
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(d_in, d_out, n);
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(keeper, d_out, n);
  std::size_t bytes = 0;
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(d_temp_storage, bytes, d_out, n);
  if (error == cudaSuccess) error = DeviceScan::InclusiveSum(nullptr, bytes, d_in, d_out, n, stream);
  if (error == cudaSuccess) error = DeviceReduce::Sum(d_temp_storage, bytes, d_in, d_out, n);
  return error;
}
template cudaError_t right(int, cudaStream_t, workspace&);
template cudaError_t right(unsigned char, cudaStream_t, workspace&);
template cudaError_t right(long long, cudaStream_t, workspace&);
template cudaError_t right(std::size_t, cudaStream_t, workspace&);

#if WRONG == 0
// Every name, and the overloads that environment_calls.cuh leaves out. A call is one line: wrong_calls makes a
// statement of it.
struct equal_enough_to_zero {
  __host__ __device__ bool operator()(float x) const { return x == 0; }
};
struct equal_enough {
  __host__ __device__ bool operator()(float a, float b) const { return a == b; }
};
void others(cudaStream_t stream, unsigned* d_histogram, long long* d_index, const float* d_levels, workspace& keeper) {
  const int n = 10;
  const auto is_chosen = equal_enough_to_zero{};
  const rows::matrix<const float> keys{d_in, 2, 10};
  const rows::matrix<float> results{d_out, 2, 3};
  const rows::matrix<unsigned> columns{d_histogram, 2, 3};
  const std::size_t stride = 40;
  unsigned* const d_histograms[] = {d_histogram, d_histogram + 10};
  const int num_levels[] = {11, 11};
  const float lower[] = {0, 0}, upper[] = {1, 1};
  const float* const d_edges[] = {d_levels, d_levels};
  KeyValuePair<int, float>* const d_pairs = nullptr;
  const cudaError_t errors[] = {
      DeviceReduce::Sum(d_in, d_out, n, stream),
      DeviceReduce::Reduce(d_in, d_out, n, own_sum{}, 0.0f, stream),
      DeviceReduce::TransformReduce(d_in, d_out, n, plus{}, is_chosen, 0, keeper),
      DeviceReduce::ExactSum(d_in, d_out, n),
      DeviceReduce::Min(d_in, d_out, n, stream),
      DeviceReduce::Max(d_in, d_out, n),
      DeviceReduce::ArgMin(d_in, d_out, d_index, n, gpu_to_gpu{stream}),
      DeviceReduce::ArgMax(d_in, d_out, d_index, n, stream),
      DeviceReduce::ArgMinMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n, gpu_to_gpu{stream}),
      DeviceReduce::ArgMinLastMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n),
      DeviceReduce::ArgMinMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n, equal_enough{}),
      DeviceReduce::ArgMinLastMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n, equal_enough{}, run_to_run{stream}),
      DeviceReduce::ExactDot(d_in, d_in, d_out, n, stream),
      DeviceScan::ExclusiveScan(d_in, d_out, plus{}, 3, n, stream),
      DeviceScan::InclusiveSum(d_in, d_out, n, stream),
      DeviceScan::ExclusiveSum(d_in, d_out, n, stream),
      DeviceScan::ExclusiveSum(d_out, n),
      DeviceScan::InclusiveScan(d_in, d_out, maximum{}, n, gpu_to_gpu{stream}),
      DeviceScan::InclusiveScan(d_out, maximum{}, n),
      DeviceScan::InclusiveScanInit(d_in, d_out, plus{}, 1.0f, n, stream),
      DeviceHistogram::HistogramEven(d_in, d_histogram, 11, 0.0f, 1.0f, n, stream),
      DeviceHistogram::HistogramEven(d_in, d_histogram, 11, 0.0f, 1.0f, n, n, stride, stream),
      DeviceHistogram::HistogramRange(d_in, d_histogram, 11, d_levels, n, stream),
      DeviceHistogram::HistogramRange(d_in, d_histogram, 11, d_levels, n, n, stride),
      DeviceHistogram::MultiHistogramEven<2, 2>(d_in, d_histograms, num_levels, lower, upper, n, stream),
      DeviceHistogram::MultiHistogramEven<2, 2>(d_in, d_histograms, num_levels, lower, upper, n, n, stride),
      DeviceHistogram::MultiHistogramRange<2, 2>(d_in, d_histograms, num_levels, d_edges, n, stream),
      DeviceHistogram::MultiHistogramRange<2, 2>(d_in, d_histograms, num_levels, d_edges, n, n, stride),
      DeviceSegmentedReduce::Reduce(d_in, d_out, n, n, minimum{}, 0.0f, gpu_to_gpu{stream}),
      DeviceSegmentedReduce::Sum(d_in, d_out, n, n, stream),
      DeviceSegmentedReduce::Min(d_in, d_out, n, n),
      DeviceSegmentedReduce::Max(d_in, d_out, n, d_index, d_index + 1, stream),
      DeviceSegmentedReduce::ArgMin(d_in, d_pairs, n, n, stream),
      DeviceSegmentedReduce::ArgMax(d_in, d_pairs, n, d_index, d_index + 1),
      DeviceSegmentedScan::ExclusiveSegmentedSum(d_in, d_out, d_index, d_index + 1, n, run_to_run{stream}),
      DeviceSegmentedScan::ExclusiveSegmentedSum(d_in, d_out, d_index, d_index + 1, d_index, n, keeper),
      DeviceSegmentedScan::InclusiveSegmentedSum(d_histogram, d_histogram, d_index, d_index + 1, n, gpu_to_gpu{stream}),
      DeviceSegmentedScan::InclusiveSegmentedSum(d_in, d_out, d_index, d_index + 1, d_index, n),
      DeviceSegmentedScan::InclusiveSegmentedScan(d_in, d_out, d_index, d_index + 1, n, maximum{}, gpu_to_gpu{stream}),
      DeviceSegmentedScan::InclusiveSegmentedScan(d_in, d_out, d_index, d_index + 1, d_index, n, own_sum{}, stream),
      DeviceSegmentedScan::InclusiveSegmentedScanInit(d_in, d_out, d_index, d_index + 1, n, own_sum{}, 1.0f, stream),
      DeviceSegmentedScan::InclusiveSegmentedScanInit(d_in, d_out, d_index, d_index + 1, d_index, n, plus{}, 1.0f),
      DeviceSegmentedScan::ExclusiveSegmentedScan(d_in, d_out, d_index, d_index + 1, d_index, n, plus{}, 1.0f, stream),
      DeviceSelect::Flagged(d_in, d_in, d_out, d_histogram, n, stream),
      DeviceSelect::Flagged(d_out, d_in, d_histogram, n, stream),
      DeviceSelect::If(d_in, d_out, d_histogram, n, is_chosen),
      DeviceSelect::If(d_out, d_histogram, n, is_chosen, gpu_to_gpu{stream}),
      DeviceSelect::FlaggedIf(d_in, d_in, d_out, d_histogram, n, is_chosen, keeper),
      DeviceSelect::FlaggedIf(d_out, d_in, d_histogram, n, is_chosen),
      DeviceSelect::Unique(d_in, d_out, d_histogram, n, stream),
      DeviceSelect::Unique(d_in, d_out, d_histogram, n, equal_enough{}),
      DeviceSelect::Unique(d_out, d_histogram, n, run_to_run{stream}),
      DeviceSelect::Unique(d_out, d_histogram, n, equal_enough{}, keeper),
      DeviceSelect::UniqueByKey(d_in, d_in, d_out, d_out, d_histogram, n),
      DeviceSelect::UniqueByKey(d_in, d_in, d_out, d_out, d_histogram, n, keeper),
      DeviceSelect::UniqueByKey(d_in, d_in, d_out, d_out, d_histogram, n, equal_enough{}, stream),
      DevicePartition::Flagged(d_in, d_in, d_out, d_histogram, n, run_to_run{stream}),
      DevicePartition::If(d_in, d_out, d_histogram, n, is_chosen),
      DevicePartition::If(d_in, d_out, d_out, d_out, d_histogram, n, is_chosen, is_chosen, keeper),
      DeviceRunLengthEncode::Encode(d_in, d_out, d_histogram, d_histogram, n, stream),
      DeviceRunLengthEncode::NonTrivialRuns(d_in, d_index, d_histogram, d_histogram, n),
      DeviceReduce::ReduceByKey(d_in, d_out, d_in, d_out, d_histogram, own_sum{}, n, gpu_to_gpu{stream}),
      DeviceScan::InclusiveSumByKey(d_in, d_in, d_out, n),
      DeviceScan::InclusiveSumByKey(d_in, d_in, d_out, n, stream),
      DeviceScan::ExclusiveSumByKey(d_in, d_in, d_out, n, equal_enough{}),
      DeviceScan::ExclusiveSumByKey(d_in, d_in, d_out, n, keeper),
      DeviceScan::InclusiveScanByKey(d_in, d_in, d_out, plus{}, n, equal_enough{}, stream),
      DeviceScan::ExclusiveScanByKey(d_in, d_in, d_out, plus{}, 1.0f, n, run_to_run{stream}),
      DeviceTopK::MaxKeys(d_in, d_out, n, 3),
      DeviceTopK::MinKeys(d_in, d_out, n, 3, stream, top_k_order::unsorted),
      DeviceTopK::MaxPairs(d_in, d_out, d_in, d_out, n, 3, run_to_run{stream}, top_k_order::unsorted),
      DeviceTopK::MinPairs(d_in, d_out, columns_as_values{}, d_histogram, n, 3, top_k_order::unsorted),
      DeviceBatchedTopK::MaxKeys(keys, results, 3, stream),
      DeviceBatchedTopK::MinKeys(keys, results, 3, keeper, top_k_order::unsorted),
      DeviceBatchedTopK::MaxPairs(keys, results, keys, results, 3),
      DeviceBatchedTopK::MinPairs(keys, results, columns_as_values{}, columns, 3, stream),
  };
  (void)errors;

  // Calls in two phases that take an environment, too.
  std::size_t bytes = 0;
  const gpu_to_gpu same{stream};
  cudaError_t error = DeviceReduce::ArgMin(nullptr, bytes, d_in, d_out, d_index, n, same);
  error = DeviceReduce::ArgMax(nullptr, bytes, d_in, d_out, d_index, n, equal_enough{}, same);
  error = DeviceReduce::ArgMinMax(nullptr, bytes, d_in, d_out, d_index, d_out, d_index, n, same);
  error = DeviceReduce::ArgMinLastMax(nullptr, bytes, d_in, d_out, d_index, d_out, d_index, n, same);
  error = DeviceHistogram::HistogramEven(nullptr, bytes, d_in, d_histogram, 11, 0.0f, 1.0f, n, same);
  error = DeviceHistogram::HistogramRange(nullptr, bytes, d_in, d_histogram, 11, d_levels, n, n, stride, same);
  error =
      DeviceHistogram::MultiHistogramEven<2, 2>(nullptr, bytes, d_in, d_histograms, num_levels, lower, upper, n, same);
  error = DeviceHistogram::MultiHistogramRange<2, 2>(nullptr, bytes, d_in, d_histograms, num_levels, d_edges, n, n,
                                                     stride, same);
  error = DeviceSelect::Flagged(nullptr, bytes, d_in, d_in, d_out, d_histogram, n, same);
  error = DeviceSelect::Flagged(nullptr, bytes, d_out, d_in, d_histogram, n, same);
  error = DeviceSelect::If(nullptr, bytes, d_in, d_out, d_histogram, n, is_chosen, same);
  error = DeviceSelect::If(nullptr, bytes, d_out, d_histogram, n, is_chosen, same);
  error = DeviceSelect::FlaggedIf(nullptr, bytes, d_in, d_in, d_out, d_histogram, n, is_chosen, same);
  error = DeviceSelect::FlaggedIf(nullptr, bytes, d_out, d_in, d_histogram, n, is_chosen, same);
  error = DeviceSelect::Unique(nullptr, bytes, d_in, d_out, d_histogram, n, same);
  error = DeviceSelect::Unique(nullptr, bytes, d_in, d_out, d_histogram, n, 0);
  error = DeviceSelect::Unique(nullptr, bytes, d_in, d_out, d_histogram, n, equal_enough{}, same);
  error = DeviceSelect::Unique(nullptr, bytes, d_out, d_histogram, n, same);
  error = DeviceSelect::Unique(nullptr, bytes, d_out, d_histogram, n, equal_enough{}, same);
  error = DeviceSelect::UniqueByKey(nullptr, bytes, d_in, d_in, d_out, d_out, d_histogram, n, same);
  error = DeviceSelect::UniqueByKey(nullptr, bytes, d_in, d_in, d_out, d_out, d_histogram, n, equal_enough{}, same);
  error = DevicePartition::Flagged(nullptr, bytes, d_in, d_in, d_out, d_histogram, n, same);
  error = DevicePartition::If(nullptr, bytes, d_in, d_out, d_histogram, n, is_chosen, same);
  error = DevicePartition::If(nullptr, bytes, d_in, d_out, d_out, d_out, d_histogram, n, is_chosen, is_chosen, same);
  error = DeviceTopK::MaxKeys(nullptr, bytes, d_in, d_out, n, 3, same);
  error = DeviceTopK::MinKeys(nullptr, bytes, d_in, d_out, n, 3, stream, top_k_order::unsorted);
  error = DeviceTopK::MaxPairs(nullptr, bytes, d_in, d_out, d_in, d_out, n, 3, same);
  error = DeviceTopK::MinPairs(nullptr, bytes, d_in, d_out, columns_as_values{}, d_histogram, n, 3, 0);
  error = DeviceBatchedTopK::MaxKeys(nullptr, bytes, keys, results, 3, same);
  (void)error;
}
#endif

struct no_number {
  float x;
};

cudaError_t wrong() {
#if WRONG == 1
  return DeviceReduce::Sum(d_in, d_out, 10, 3.5);
#elif WRONG == 2
  return DeviceReduce::Sum(d_in, d_out);
#elif WRONG == 3
  return DeviceReduce::Sum(d_temp_storage, 256, d_in, d_out, 10);
#elif WRONG == 4
  return DeviceScan::InclusiveSum(d_in, d_out, 10, gpu_to_gpu{});
#elif WRONG == 5
  return DeviceReduce::Reduce(d_in, d_out, 10, own_sum{}, 0.0f, gpu_to_gpu{});
#elif WRONG == 6
  return DeviceSegmentedReduce::Sum(d_in, d_out, 10, 10, gpu_to_gpu{});
#elif WRONG == 7
  large* const d_large = nullptr;
  return DeviceScan::InclusiveScan(d_large, add_large{}, 10, run_to_run{});
#elif WRONG == 8
  const workspace keeper;
  return DeviceReduce::Sum(d_in, d_out, 10, keeper);
#elif WRONG == 9
  const int* const d_offsets = nullptr;
  return DeviceSegmentedScan::InclusiveSegmentedSum(d_in, d_out, d_offsets, d_offsets, 10, gpu_to_gpu{});
#elif WRONG == 10
  const int* const d_offsets = nullptr;
  return DeviceSegmentedScan::InclusiveSegmentedScan(d_in, d_out, d_offsets, d_offsets, d_offsets, 10, own_sum{},
                                                     gpu_to_gpu{});
#elif WRONG == 11
  no_number* const d_items = nullptr;
  return DeviceReduce::Sum(d_items, d_items, 10);
#elif WRONG == 12
  no_number* const d_items = nullptr;
  return DeviceReduce::Min(d_items, d_items, 10);
#elif WRONG == 13
  return DeviceSegmentedReduce::ArgMin(d_in, d_out, 10, 10);
#elif WRONG == 14
  const std::reverse_iterator<const float*> from_behind(d_in);
  return DeviceTopK::MaxKeys(from_behind, d_out, 10, 3);
#elif WRONG == 15
  no_number* const d_items = nullptr;
  return DeviceTopK::MaxKeys(d_items, d_items, 10, 3);
#endif
  return cudaSuccess;
}

}  // namespace rungs::tests
