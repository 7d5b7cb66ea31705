// Calls in the single-phase form. With -DWRONG=0 all are right, whatever type a count has; any other number makes one
// wrong, and the compiler has to say what is wrong (wrong_calls).
#include <rungs/device/device_histogram.cuh>
#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_segmented_reduce.cuh>
#include <rungs/device/environments.cuh>

#include <type_traits>

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
// The names that environment_calls.cuh leaves out.
void others(cudaStream_t stream, unsigned* d_histogram, long long* d_index, const float* d_levels) {
  const int n = 10;
  const std::size_t stride = 40;
  unsigned* const d_histograms[] = {d_histogram, d_histogram + 10};
  const int num_levels[] = {11, 11};
  const float lower[] = {0, 0}, upper[] = {1, 1};
  const float* const d_edges[] = {d_levels, d_levels};
  KeyValuePair<int, float>* const d_pairs = nullptr;
  const cudaError_t errors[] = {
      DeviceReduce::Min(d_in, d_out, n, stream),
      DeviceReduce::Max(d_in, d_out, n),
      DeviceReduce::ArgMax(d_in, d_out, d_index, n, stream),
      DeviceReduce::ArgMinMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n, gpu_to_gpu{stream}),
      DeviceReduce::ArgMinLastMax(d_in, d_out, d_index, d_out + 1, d_index + 1, n),
      DeviceReduce::ExactDot(d_in, d_in, d_out, n, stream),
      DeviceScan::ExclusiveScan(d_in, d_out, plus{}, 3, n, stream),
      DeviceScan::ExclusiveSum(d_in, d_out, n, stream),
      DeviceScan::ExclusiveSum(d_out, n),
      DeviceScan::InclusiveScan(d_in, d_out, maximum{}, n, gpu_to_gpu{stream}),
      DeviceScan::InclusiveScan(d_out, maximum{}, n),
      DeviceScan::InclusiveScanInit(d_in, d_out, plus{}, 1.0f, n, stream),
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
  };
  (void)errors;
}
#endif

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
#endif
  return cudaSuccess;
}

}  // namespace rungs::tests
