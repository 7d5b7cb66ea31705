#include <cuda/std/version>

#include "by_key/calls.hpp"
#include "by_key/items.hpp"
#include "rungs/roofs/copy.cuh"

namespace rungs::bench::by_key {
namespace {

// Item i is make(i).
template <class T, class Make>
__global__ void fill_kernel(T* d_items, std::size_t num_items, Make make) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    d_items[i] = make(i);
}

template <class T>
struct make_item {
  unsigned percent;
  __device__ T operator()(std::size_t i) const { return item_of<T>(i, percent); }
};
struct make_flag {
  unsigned percent;
  __device__ unsigned char operator()(std::size_t i) const { return is_chosen(i, percent) ? 1 : 0; }
};
template <class T>
struct make_key {
  std::size_t mean_length;
  __device__ T operator()(std::size_t i) const { return key_of<T>(run_of(i, mean_length)); }
};
template <class T>
struct make_value {
  __device__ T operator()(std::size_t i) const { return value_of<T>(i); }
};

template <class T, class Make>
cudaError_t fill_with(void* d_items, std::size_t num_items, Make make, cudaStream_t stream) {
  fill_kernel<<<1024, 512, 0, stream>>>(static_cast<T*>(d_items), num_items, make);
  return cudaGetLastError();
}

// The number of each item's segment, and behind these where segments begin and the last one ends.
__global__ void fill_segments(int* d_numbers, std::size_t num_items, std::size_t structure) {
  int* const d_offsets = d_numbers + num_items;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride) {
    const std::size_t segment = segment_of(i, structure, num_items);
    d_numbers[i] = static_cast<int>(segment);
    if (i == 0 || segment_of(i - 1, structure, num_items) != segment) d_offsets[segment] = static_cast<int>(i);
    if (i + 1 == num_items) d_offsets[segment + 1] = static_cast<int>(num_items);
  }
}

template <class T>
cudaError_t fill_first(const problem& about, std::size_t num_items, void* first, cudaStream_t stream) {
  if (has_percent(about.operation))
    return fill_with<T>(first, num_items, make_item<T>{static_cast<unsigned>(about.structure)}, stream);
  return fill_with<T>(first, num_items, make_key<T>{about.structure}, stream);
}

}  // namespace

cudaError_t fill(const problem& about, std::size_t num_items, void* first, void* second, cudaStream_t stream) {
  using catalog::scalar;
  if (has_segments(about.operation)) {
    fill_segments<<<1024, 512, 0, stream>>>(static_cast<int*>(second), num_items, about.structure);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    return about.keys == scalar::i32 ? fill_with<int>(first, num_items, make_value<int>{}, stream)
                                     : fill_with<float>(first, num_items, make_value<float>{}, stream);
  }
  const cudaError_t error = about.keys == scalar::u8    ? fill_first<unsigned char>(about, num_items, first, stream)
                            : about.keys == scalar::i32 ? fill_first<int>(about, num_items, first, stream)
                                                        : fill_first<long long>(about, num_items, first, stream);
  if (error != cudaSuccess) return error;
  if (has_flags(about.operation))
    return fill_with<unsigned char>(second, num_items, make_flag{static_cast<unsigned>(about.structure)}, stream);
  if (about.values == scalar::i32) return fill_with<int>(second, num_items, make_value<int>{}, stream);
  if (about.values == scalar::f32) return fill_with<float>(second, num_items, make_value<float>{}, stream);
  if (about.values == scalar::f64) return fill_with<double>(second, num_items, make_value<double>{}, stream);
  return cudaSuccess;
}

cudaError_t copy(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                 cudaStream_t stream) {
  return roofs::copy::move(d_temp_storage, temp_storage_bytes, static_cast<const unsigned char*>(a.d_in),
                           static_cast<unsigned char*>(a.d_out), a.num_items, stream);
}

calls calls_of(const problem& about) {
  using catalog::scalar;
  switch (about.operation) {
    case operation::select_flagged:
    case operation::partition_flagged:
    case operation::select_if:
    case operation::partition_if:
    case operation::unique:
      return selection_calls(about);
    case operation::unique_by_key:
      return unique_by_key_calls(about);
    case operation::encode:
    case operation::non_trivial_runs:
      return run_length_calls(about);
    case operation::reduce_by_key:
      return about.keys == scalar::i32   ? reduce_calls_of_i32(about)
             : about.keys == scalar::i64 ? reduce_calls_of_i64(about)
             : about.keys == scalar::u8  ? reduce_calls_of_u8(about)
                                         : calls{};
    case operation::inclusive_sum_by_key:
    case operation::exclusive_sum_by_key:
      return sum_calls(about);
    case operation::inclusive_segmented_sum:
      return segmented_sum_calls(about);
  }
  return {};
}

std::string cccl_version() {
  return std::to_string(CCCL_MAJOR_VERSION) + "." + std::to_string(CCCL_MINOR_VERSION) + "." +
         std::to_string(CCCL_PATCH_VERSION);
}

}  // namespace rungs::bench::by_key
