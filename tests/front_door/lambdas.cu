#include "front_door/lambdas.hpp"

#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>

namespace rungs::tests {
namespace {

// Both forms of call(d_in, d_out, n, stream, storage...).
template <class Call>
lambda_call in_both_forms(lambda_call call_of, Call call) {
  call_of.in_two_phases = [=](void* d_temp_storage, std::size_t& temp_storage_bytes, const float* d_in, float* d_out,
                              std::size_t n, cudaStream_t stream) {
    return call(d_in, d_out, n, stream, d_temp_storage, temp_storage_bytes);
  };
  call_of.with_workspace = [=](workspace& workspace, const float* d_in, float* d_out, std::size_t n,
                               cudaStream_t stream) { return call(d_in, d_out, n, stream, workspace); };
  return call_of;
}

template <class Add, class Twice>
void append_calls(std::vector<lambda_call>& all, const std::string& lambda, Add add, Twice twice) {
  all.push_back(in_both_forms({.name = "Reduce, " + lambda, .init = 3.0f},
                              [=](auto d_in, auto d_out, std::size_t n, cudaStream_t stream, auto&... storage) {
                                return DeviceReduce::Reduce(storage..., d_in, d_out, n, add, 3.0f, stream);
                              }));
  all.push_back(in_both_forms({.name = "TransformReduce, " + lambda, .init = 3.0f, .factor = 2.0f},
                              [=](auto d_in, auto d_out, std::size_t n, cudaStream_t stream, auto&... storage) {
                                return DeviceReduce::TransformReduce(storage..., d_in, d_out, n, add, twice, 3.0f,
                                                                     stream);
                              }));
  all.push_back(in_both_forms({.name = "InclusiveScan, " + lambda, .is_scan = true},
                              [=](auto d_in, auto d_out, std::size_t n, cudaStream_t stream, auto&... storage) {
                                return DeviceScan::InclusiveScan(storage..., d_in, d_out, add, n, stream);
                              }));
  all.push_back(in_both_forms({.name = "ExclusiveScan, " + lambda, .is_scan = true, .init = 3.0f, .is_exclusive = true},
                              [=](auto d_in, auto d_out, std::size_t n, cudaStream_t stream, auto&... storage) {
                                return DeviceScan::ExclusiveScan(storage..., d_in, d_out, add, 3.0f, n, stream);
                              }));
}

}  // namespace

std::vector<lambda_call> calls_with_lambdas() {
  std::vector<lambda_call> all;
  append_calls(
      all, "with a trailing return type", [] __device__(float a, float b) -> float { return a + b; },
      [] __device__(float x) -> float { return 2.0f * x; });
  append_calls(
      all, "without a trailing return type", [] __device__(float a, float b) { return a + b; },
      [] __device__(float x) { return 2.0f * x; });
  append_calls(
      all, "for host and device", [] __host__ __device__(float a, float b) { return a + b; },
      [] __host__ __device__(float x) { return 2.0f * x; });
  return all;
}

}  // namespace rungs::tests
