// Calls in the single-phase form. With -DWRONG=0 all are right, whatever type a count has; any other number makes one
// wrong, and the compiler has to say what is wrong (wrong_calls).
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
