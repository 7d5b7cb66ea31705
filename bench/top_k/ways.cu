#include "top_k/ways.hpp"

#include <cuda/std/version>

#if CCCL_VERSION >= 3003000
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream_ref>
#endif
#if CCCL_VERSION >= 3005000
#include <cub/device/device_batched_topk.cuh>
#endif
#include "inference/sort_rows.cuh"
#include "rungs/device/device_top_k.cuh"
#include "rungs/rows/routing.cuh"

namespace rungs::bench {
namespace {

using catalog::arguments;

const float* keys_in(const arguments& a) { return static_cast<const float*>(a.d_in); }
float* keys_out(const arguments& a) { return static_cast<float*>(a.d_out); }
int* columns_out(const arguments& a, std::size_t stride) {
  return reinterpret_cast<int*>(keys_out(a) + a.num_rows * stride);
}
rows::matrix<const float> matrix_in(const arguments& a) { return {keys_in(a), a.num_rows, a.num_columns}; }
rows::matrix<float> matrix_out(const arguments& a) { return {keys_out(a), a.num_rows, a.num_items}; }
rows::matrix<int> matrix_of_columns(const arguments& a) {
  return {columns_out(a, a.num_items), a.num_rows, a.num_items};
}

template <top_k_order order>
cudaError_t by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return DeviceBatchedTopK::MaxPairs(d_temp_storage, temp_storage_bytes, matrix_in(a), matrix_out(a),
                                     columns_as_values{}, matrix_of_columns(a), a.num_items, stream, order);
}

cudaError_t by_routing(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  return rows::route(matrix_in(a), matrix_out(a), matrix_of_columns(a), {}, stream);
}

cudaError_t by_sorting(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return inference::sort_rows(d_temp_storage, temp_storage_bytes, keys_in(a), keys_out(a),
                              static_cast<const int*>(a.d_second), columns_out(a, a.num_columns), a.num_rows,
                              a.num_columns, stream);
}

#if CCCL_VERSION >= 3003000
auto unsorted_environment(cudaStream_t stream) {
  namespace execution = cuda::execution;
#if CCCL_VERSION >= 3005000
  const auto required = execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                                           execution::output_ordering::unsorted);
#else
  const auto required =
      execution::require(execution::determinism::not_guaranteed, execution::output_ordering::unsorted);
#endif
  return cuda::std::execution::env{cuda::stream_ref{stream}, required};
}

cudaError_t by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return cub::DeviceTopK::MaxPairs(d_temp_storage, temp_storage_bytes, keys_in(a), keys_out(a),
                                   cuda::counting_iterator<int>(0), columns_out(a, a.num_items), a.num_columns,
                                   a.num_items, unsorted_environment(stream));
}
#endif

#if CCCL_VERSION >= 3005000
// Rows of so many columns, k of each: known when it is compiled, as CUB recommends.
constexpr int batched_columns = 256, batched_k = 8;

template <class T, int columns>
struct row_at {
  T* data;
  __host__ __device__ T* operator()(long long row) const { return data + row * columns; }
};
template <int columns, class T>
auto rows_of(T* data) {
  return cuda::transform_iterator(cuda::counting_iterator<long long>(0), row_at<T, columns>{data});
}

cudaError_t by_cub_batched(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                           cudaStream_t stream) {
  return cub::DeviceBatchedTopK::MaxPairs(
      d_temp_storage, temp_storage_bytes, rows_of<batched_columns>(keys_in(a)), rows_of<batched_k>(keys_out(a)),
      cuda::constant_iterator(cuda::counting_iterator<int>(0)), rows_of<batched_k>(columns_out(a, a.num_items)),
      cuda::args::constant<batched_columns>{}, cuda::args::constant<batched_k>{},
      static_cast<cuda::std::int64_t>(a.num_rows), unsorted_environment(stream));
}
#endif

}  // namespace

std::vector<way_to_choose> ways_to_choose(const top_k_shape& shape) {
  using inference::role;
  std::vector<way_to_choose> all;
  if (shape.is_routing())
    all.push_back({{role::rungs, "route", by_routing}, /*sorted=*/true, /*writes_weights=*/true, shape.k});
  all.push_back({{role::rungs, "sorted", by_rungs<top_k_order::sorted>}, true, false, shape.k});
  all.push_back({{role::rungs, "unsorted", by_rungs<top_k_order::unsorted>}, false, false, shape.k});
#if CCCL_VERSION >= 3003000
  if (shape.num_rows == 1) all.push_back({{role::rival, "cub_device_top_k", by_cub}, false, false, shape.k});
#endif
#if CCCL_VERSION >= 3005000
  if (shape.num_columns == batched_columns && shape.k == batched_k)
    all.push_back({{role::rival, "cub_device_batched_top_k", by_cub_batched}, false, false, shape.k});
#endif
  all.push_back({{role::rival, "cub_radix_sort", by_sorting}, true, false, shape.num_columns});
  return all;
}

std::vector<way_left_out> ways_left_out(const top_k_shape& shape) {
  std::vector<way_left_out> all;
  if (CCCL_VERSION < 3003000 && shape.num_rows == 1) all.push_back({"cub_device_top_k", "this CCCL is older than 3.3"});
  if (CCCL_VERSION < 3005000 && shape.is_routing())
    all.push_back({"cub_device_batched_top_k", "this CCCL is older than 3.5"});
  if (CCCL_VERSION >= 3005000 && shape.num_rows > 1 && !shape.is_routing())
    all.push_back({"cub_device_batched_top_k", "it takes rows that fit the shared memory of a block"});
  return all;
}

}  // namespace rungs::bench
