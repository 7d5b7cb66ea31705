#include "top_k/ways.hpp"

#include <cuda_bf16.h>

#include <cuda/std/version>

#if CCCL_VERSION >= 3003000
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream_ref>
#endif
#include "rungs/device/device_top_k.cuh"
#include "rungs/rows/log_sum_exp.cuh"
#include "rungs/rows/routing.cuh"
#include "rungs/rows/sampling.cuh"

namespace rungs::bench {
namespace {

using catalog::arguments;

float* keys_out(const arguments& a) { return static_cast<float*>(a.d_out); }
int* columns_out(const arguments& a) { return reinterpret_cast<int*>(keys_out(a) + a.num_rows * a.num_items); }
rows::matrix<const float> keys_in(const arguments& a) {
  return {static_cast<const float*>(a.d_in), a.num_rows, a.num_columns};
}

template <top_k_order order>
cudaError_t by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return DeviceBatchedTopK::MaxPairs(d_temp_storage, temp_storage_bytes, keys_in(a),
                                     rows::matrix{keys_out(a), a.num_rows, a.num_items}, columns_as_values{},
                                     rows::matrix{columns_out(a), a.num_rows, a.num_items}, a.num_items, stream, order);
}

// Weights, where others write keys.
cudaError_t by_routing(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  return rows::route(keys_in(a), rows::matrix{keys_out(a), a.num_rows, a.num_items},
                     rows::matrix{columns_out(a), a.num_rows, a.num_items}, {}, stream);
}

#if CCCL_VERSION >= 3003000
cudaError_t by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  namespace execution = cuda::execution;
#if CCCL_VERSION >= 3005000
  const auto required = execution::require(execution::determinism::not_guaranteed, execution::tie_break::unspecified,
                                           execution::output_ordering::unsorted);
#else
  const auto required =
      execution::require(execution::determinism::not_guaranteed, execution::output_ordering::unsorted);
#endif
  return cub::DeviceTopK::MaxPairs(d_temp_storage, temp_storage_bytes, keys_in(a).data, keys_out(a),
                                   cuda::counting_iterator<int>(0), columns_out(a), a.num_columns, a.num_items,
                                   cuda::std::execution::env{cuda::stream_ref{stream}, required});
}
#endif

enum class sampling_way { top_p, all_tokens, gumbel };
template <class T, sampling_way way>
cudaError_t by_sampling(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                        cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  rows::sampling how;
  how.seed = 1;
  if (way == sampling_way::top_p) how.top_p = sampled_share;
  if (way == sampling_way::gumbel) how.draw = rows::sampling_draw::gumbel;
  return rows::sample(rows::matrix{static_cast<const T*>(a.d_in), a.num_rows, a.num_columns},
                      static_cast<int*>(a.d_out), how, stream);
}
template <class T>
cudaError_t by_reading(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  return rows::log_sum_exp(rows::matrix{static_cast<const T*>(a.d_in), a.num_rows, a.num_columns},
                           static_cast<float*>(a.d_out), stream);
}

catalog::record way(catalog::family family, const char* rung, bool sorted, catalog::call_t call) {
  return {.family = family,
          .ladder = "top_k",
          .rung = rung,
          .input_type = catalog::scalar::f32,
          .deterministic = sorted,
          .call = call};
}

}  // namespace

std::vector<catalog::record> ways_to_choose(const top_k_shape& shape) {
  using catalog::family;
  std::vector<catalog::record> all = {way(family::handwritten, "sorted", true, by_rungs<top_k_order::sorted>),
                                      way(family::handwritten, "unsorted", false, by_rungs<top_k_order::unsorted>)};
  if (shape.num_columns <= 1024 && shape.k <= 32) all.push_back(way(family::handwritten, "route", true, by_routing));
#if CCCL_VERSION >= 3003000
  if (shape.num_rows == 1) all.push_back(way(family::library_baselines, "cub_device_top_k", false, by_cub));
#endif
  return all;
}

template <class T>
std::vector<catalog::record> all_ways_to_sample() {
  using catalog::family;
  return {way(family::handwritten, "top_p", true, by_sampling<T, sampling_way::top_p>),
          way(family::handwritten, "all_tokens", true, by_sampling<T, sampling_way::all_tokens>),
          way(family::handwritten, "gumbel", true, by_sampling<T, sampling_way::gumbel>),
          way(family::handwritten, "log_sum_exp", true, by_reading<T>)};
}
std::vector<catalog::record> ways_to_sample(const sampling_shape& shape) {
  return shape.halves ? all_ways_to_sample<__nv_bfloat16>() : all_ways_to_sample<float>();
}

std::vector<const char*> ways_left_out() {
#if CCCL_VERSION >= 3003000
  return {};
#else
  return {"cub::DeviceTopK: this CCCL is older than 3.3"};
#endif
}

}  // namespace rungs::bench
