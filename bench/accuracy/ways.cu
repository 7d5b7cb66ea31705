#include "accuracy/ways.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include <cuda/std/version>
#include <type_traits>

#if CCCL_VERSION >= 3005000
#include <cub/device/device_reduce.cuh>

#include "rungs/baselines/parts/one_phase.cuh"
#endif
#include "rungs/device/device_reduce.cuh"
#include "rungs/dots/06_tagged_sums.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::bench {
namespace {

template <class Sum>
cudaError_t on_host(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  const auto items = static_cast<const float*>(a.d_in);
  Sum sum = 0;
  const auto factors = static_cast<const float*>(a.d_second);  // of a sum, none
  if (factors == nullptr)
    for (std::size_t i = 0; i < a.num_items; ++i) sum += static_cast<Sum>(items[i]);
  else
    for (std::size_t i = 0; i < a.num_items; ++i) sum += static_cast<Sum>(items[i]) * static_cast<Sum>(factors[i]);
  *static_cast<float*>(a.d_out) = static_cast<float>(sum);
  return cudaSuccess;
}

struct product {
  template <class Pair>
  __host__ __device__ float operator()(const Pair& pair) const {
    return thrust::get<0>(pair) * thrust::get<1>(pair);
  }
};

#if CCCL_VERSION >= 3005000
template <class Determinism, class Item = float>
cudaError_t by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                   cudaStream_t stream) {
  return baselines::parts::in_one_phase(d_temp_storage, temp_storage_bytes, stream, [&](const auto& workspace) {
    const auto env = cuda::std::execution::env{workspace, cuda::execution::require(Determinism{})};
    return cub::DeviceReduce::Sum(static_cast<const Item*>(a.d_in), static_cast<Item*>(a.d_out), a.num_items, env);
  });
}
#endif

catalog::record way(catalog::family family, const char* ladder, const char* rung, const char* idea,
                    catalog::call_t call) {
  return {.family = family,
          .ladder = ladder,
          .rung = rung,
          .idea = idea,
          .operation = catalog::operation::reduce,
          .op = catalog::op::plus,
          .input_type = catalog::scalar::f32,
          .accumulator_type = catalog::scalar::f32,
          .output_type = catalog::scalar::f32,
          .deterministic = true,
          .call = call};
}

catalog::record dot(catalog::family family, const char* ladder, const char* rung, const char* idea,
                    catalog::call_t call) {
  catalog::record one = way(family, ladder, rung, idea, call);
  one.operation = catalog::operation::dot;
  return one;
}
catalog::record exact_dot(const char* idea) {
  return dot(
      catalog::family::handwritten, "exact", "exact_dot", idea,
      [](void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a, cudaStream_t stream) {
        return DeviceReduce::ExactDot(d_temp_storage, temp_storage_bytes, static_cast<const float*>(a.d_in),
                                      static_cast<const float*>(a.d_second), static_cast<float*>(a.d_out), a.num_items,
                                      stream);
      });
}

template <class Item>
using result_of = std::conditional_t<std::is_same_v<Item, double>, double, float>;

template <class Item>
void add_sums(std::vector<catalog::record>& all, catalog::scalar type) {
  using catalog::arguments;
  using catalog::family;
  const auto add = [&](family family, const char* ladder, const char* rung, catalog::call_t call) {
    all.push_back(way(family, ladder, rung, "", call));
    all.back().input_type = type;
  };
  add(family::handwritten, "plain", "sum",
      [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
        return DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, static_cast<const Item*>(a.d_in),
                                 static_cast<result_of<Item>*>(a.d_out), a.num_items, stream);
      });
  add(family::handwritten, "exact", "exact_sum",
      [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
        return DeviceReduce::ExactSum(d_temp_storage, temp_storage_bytes, static_cast<const Item*>(a.d_in),
                                      static_cast<result_of<Item>*>(a.d_out), a.num_items, stream);
      });
#if CCCL_VERSION >= 3005000
  if constexpr (std::is_floating_point_v<Item>)
    add(family::library_baselines, "baselines", "cub_device_reduce_gpu_to_gpu",
        by_cub<cuda::execution::determinism::gpu_to_gpu_t, Item>);
#endif
}

}  // namespace

std::vector<catalog::record> ways_at_sizes() {
  using catalog::arguments;
  using catalog::family;
  using catalog::scalar;
  std::vector<catalog::record> all;
  add_sums<float>(all, scalar::f32);
  add_sums<double>(all, scalar::f64);
  add_sums<__half>(all, scalar::f16);
  add_sums<__nv_bfloat16>(all, scalar::bf16);
  all.push_back(dot(family::handwritten, "plain", "dot", "",
                    [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
                      return dots::tagged_sums::dot(
                          d_temp_storage, temp_storage_bytes, static_cast<const float*>(a.d_in),
                          static_cast<const float*>(a.d_second), static_cast<float*>(a.d_out), a.num_items, stream);
                    }));
  all.push_back(exact_dot(""));
  return all;
}

std::vector<catalog::record> more_ways() {
  using catalog::arguments;
  using catalog::family;
  std::vector<catalog::record> all;
  all.push_back(way(family::handwritten, "exact", "exact_sum", "rungs::DeviceReduce::ExactSum: rounded once",
                    [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
                      return DeviceReduce::ExactSum(d_temp_storage, temp_storage_bytes,
                                                    static_cast<const float*>(a.d_in), static_cast<float*>(a.d_out),
                                                    a.num_items, stream);
                    }));
  all.push_back(exact_dot("rungs::DeviceReduce::ExactDot: rounded once"));
  all.push_back(dot(family::handwritten, "front_door_of_dots", "transform_reduce",
                    "rungs::DeviceReduce::TransformReduce over a zip iterator",
                    [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
                      const auto pairs = thrust::make_zip_iterator(
                          thrust::make_tuple(static_cast<const float*>(a.d_in), static_cast<const float*>(a.d_second)));
                      return DeviceReduce::TransformReduce(d_temp_storage, temp_storage_bytes, pairs,
                                                           static_cast<float*>(a.d_out), a.num_items, plus{}, product{},
                                                           0.0f, stream);
                    }));
#if CCCL_VERSION >= 3005000
  all.push_back(way(family::library_baselines, "baselines", "cub_device_reduce_run_to_run",
                    "cub::DeviceReduce::Sum, run_to_run asked for",
                    by_cub<cuda::execution::determinism::run_to_run_t>));
  all.push_back(way(family::library_baselines, "baselines", "cub_device_reduce_gpu_to_gpu",
                    "cub::DeviceReduce::Sum, gpu_to_gpu asked for",
                    by_cub<cuda::execution::determinism::gpu_to_gpu_t>));
#endif
  const auto host = [&](const char* rung, const char* idea, catalog::call_t call) {
    all.push_back(way(family::library_baselines, "baselines", rung, idea, call));
    all.push_back(dot(family::library_baselines, "dots", rung, idea, call));
    for (std::size_t i = all.size() - 2; i < all.size(); ++i) {
      all[i].executes_on = executor::host;
      all[i].waits_for_host = true;
    }
  };
  host("host_serial_float", "one float, item after item, on the host",
       [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
         return on_host<float>(d_temp_storage, temp_storage_bytes, a);
       });
  host("host_float_from_double", "one double, item after item, on the host, rounded to float",
       [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t) {
         return on_host<double>(d_temp_storage, temp_storage_bytes, a);
       });
  return all;
}

}  // namespace rungs::bench
