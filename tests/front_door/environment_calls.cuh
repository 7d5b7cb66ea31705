// Calls of the front door as a function and its arguments, to which storage, a stream or an environment can be added.
#pragma once

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

#include <cstddef>

namespace rungs::tests {

struct places {
  const float* d_in;
  const int* d_offsets;  // that ascend
  char* d_out;           // holds the input where a call works in place
  std::size_t n;

  template <class T>
  T* out(std::size_t byte = 0) const {
    return reinterpret_cast<T*>(d_out + byte);
  }
};

struct doubled {
  __host__ __device__ float operator()(float x) const { return 2 * x; }
};
struct nearer_to_zero {
  __host__ __device__ bool operator()(float a, float b) const { return a * a < b * b; }
};

struct is_positive {
  __host__ __device__ bool operator()(float x) const { return x > 0; }
};
struct nearly_zero {
  __host__ __device__ bool operator()(float x) const { return x > -1; }
};
struct same_sign {
  __host__ __device__ bool operator()(float a, float b) const { return (a < 0) == (b < 0); }
};

// Calls visit(name, function, arguments...). One call or more of each kernel family; kernels are few.
template <class Visit>
void visit_calls(const places& at, Visit visit) {
  const auto n = at.n;
  const auto count = static_cast<int>(n);
  const float* const d_in = at.d_in;
  float* const d_out = at.out<float>();
  long long* const d_index = at.out<long long>(8);
  unsigned* const d_histogram = at.out<unsigned>();
  visit(
      "Sum", [](auto&&... all) { return DeviceReduce::Sum(all...); }, d_in, d_out, n);
  visit(
      "Reduce", [](auto&&... all) { return DeviceReduce::Reduce(all...); }, d_in, d_out, count, plus{}, 3.0f);
  visit(
      "TransformReduce", [](auto&&... all) { return DeviceReduce::TransformReduce(all...); }, d_in, d_out, n, plus{},
      doubled{}, 1.0f);
  visit(
      "ArgMin", [](auto&&... all) { return DeviceReduce::ArgMin(all...); }, d_in, d_out, d_index, n);
  visit(
      "ArgMax by an order", [](auto&&... all) { return DeviceReduce::ArgMax(all...); }, d_in, d_out, d_index, count,
      nearer_to_zero{});
  visit(
      "ExactSum", [](auto&&... all) { return DeviceReduce::ExactSum(all...); }, d_in, d_out, n);
  visit(
      "InclusiveSum", [](auto&&... all) { return DeviceScan::InclusiveSum(all...); }, d_in, d_out, n);
  visit(
      "ExclusiveScan in place", [](auto&&... all) { return DeviceScan::ExclusiveScan(all...); }, d_out, plus{}, 3.0f,
      n);
  visit(
      "HistogramEven", [](auto&&... all) { return DeviceHistogram::HistogramEven(all...); }, d_in, d_histogram, 11,
      -500.0f, 500.0f, count);
  visit(
      "Reduce between offsets", [](auto&&... all) { return DeviceSegmentedReduce::Reduce(all...); }, d_in, d_out, 10,
      at.d_offsets, at.d_offsets + 1, plus{}, 3.0f);
  visit(
      "ExclusiveSegmentedScan", [](auto&&... all) { return DeviceSegmentedScan::ExclusiveSegmentedScan(all...); }, d_in,
      d_out, at.d_offsets, at.d_offsets + 1, 10, plus{}, 3.0f);

  // Of a quarter of the items: then there is room for three outputs, and for numbers behind.
  const std::size_t quarter = n / 4;
  float* const d_second = at.out<float>(n);
  int* const d_counts = at.out<int>(2 * n);
  unsigned* const d_num = at.out<unsigned>(3 * n);
  visit(
      "Select If", [](auto&&... all) { return DeviceSelect::If(all...); }, d_in, d_out, d_num, quarter, is_positive{});
  visit(
      "Select Flagged in place", [](auto&&... all) { return DeviceSelect::Flagged(all...); }, d_out, d_in, d_num,
      quarter);
  visit(
      "Unique in place by an equality", [](auto&&... all) { return DeviceSelect::Unique(all...); }, d_out, d_num,
      quarter, same_sign{});
  visit(
      "UniqueByKey", [](auto&&... all) { return DeviceSelect::UniqueByKey(all...); }, d_in, d_in, d_out, d_second,
      d_num, quarter);
  visit(
      "UniqueByKey by an equality", [](auto&&... all) { return DeviceSelect::UniqueByKey(all...); }, d_in, d_in, d_out,
      d_second, d_num, quarter, same_sign{});
  visit(
      "Partition If", [](auto&&... all) { return DevicePartition::If(all...); }, d_in, d_out, d_num, quarter,
      is_positive{});
  visit(
      "Partition in three", [](auto&&... all) { return DevicePartition::If(all...); }, d_in, d_out, d_second,
      at.out<float>(2 * n), d_num, quarter, is_positive{}, nearly_zero{});
  visit(
      "Encode", [](auto&&... all) { return DeviceRunLengthEncode::Encode(all...); }, d_in, d_out, d_counts, d_num,
      quarter);
  visit(
      "ReduceByKey", [](auto&&... all) { return DeviceReduce::ReduceByKey(all...); }, d_in, d_out, d_in, d_second,
      d_num, plus{}, quarter);
  visit(
      "InclusiveScanByKey by an equality", [](auto&&... all) { return DeviceScan::InclusiveScanByKey(all...); }, d_in,
      d_in, d_out, plus{}, n, same_sign{});
  visit(
      "MaxPairs", [](auto&&... all) { return DeviceTopK::MaxPairs(all...); }, d_in, d_out, columns_as_values{},
      d_counts, quarter, 50);
}

// A resource that keeps count of itself, and may throw.
struct tally {
  int allocated = 0, freed = 0;
  std::size_t bytes = 0;  // that are held
  cudaStream_t stream = nullptr;
  bool throws = false, answers_null = false;
};
struct counting_resource {
  tally* of;

  void* allocate(cudaStream_t stream, std::size_t bytes, std::size_t) {
    if (of->throws) throw of;
    if (of->answers_null) return nullptr;
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) throw of;
    ++of->allocated;
    of->bytes += bytes;
    of->stream = stream;
    return memory;
  }
  void deallocate(cudaStream_t stream, void* memory, std::size_t bytes, std::size_t) {
    ++of->freed;
    of->bytes -= bytes;
    if (stream != of->stream || cudaFreeAsync(memory, stream) != cudaSuccess) throw of;
  }
};
// Its older names.
struct counting_async_resource {
  counting_resource resource;

  void* allocate_async(std::size_t bytes, std::size_t alignment, cudaStream_t stream) {
    return resource.allocate(stream, bytes, alignment);
  }
  void deallocate_async(void* memory, std::size_t bytes, std::size_t alignment, cudaStream_t stream) {
    resource.deallocate(stream, memory, bytes, alignment);
  }
};

// Environments without libcu++.
struct stream_holder {
  cudaStream_t held;
  cudaStream_t get() const { return held; }
};
template <class Resource>
struct environment {
  stream_holder on;
  Resource resource;

  stream_holder stream() const { return on; }
  const Resource& get_memory_resource() const { return resource; }
};

}  // namespace rungs::tests
