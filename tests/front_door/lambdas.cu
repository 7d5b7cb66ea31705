#include "front_door/lambdas.hpp"

#include <rungs/device/device_reduce.cuh>
#include <rungs/device/device_scan.cuh>
#include <rungs/device/device_segmented_reduce.cuh>

namespace rungs::tests {
namespace {

template <class Add, class Twice>
void append_calls(std::vector<lambda_call>& all, const std::string& lambda, Add add, Twice twice) {
  const auto append = [&](const char* name, bool is_scan, float init, float factor, bool is_exclusive, auto call) {
    using form = decltype(lambda_call::call);
    all.push_back({name + (", " + lambda), is_scan, init, factor, is_exclusive, form(call)});
  };
  append("Reduce", false, 3.0f, 1.0f, false, [=](auto d_in, auto d_out, auto n, auto stream, auto&... storage) {
    return DeviceReduce::Reduce(storage..., d_in, d_out, n, add, 3.0f, stream);
  });
  append("TransformReduce", false, 3.0f, 2.0f, false,
         [=](auto d_in, auto d_out, auto n, auto stream, auto&... storage) {
           return DeviceReduce::TransformReduce(storage..., d_in, d_out, n, add, twice, 3.0f, stream);
         });
  append("Reduce of one segment", false, 3.0f, 1.0f, false,
         [=](auto d_in, auto d_out, auto n, auto stream, auto&... storage) {
           return DeviceSegmentedReduce::Reduce(storage..., d_in, d_out, 1, n, add, 3.0f, stream);
         });
  append("InclusiveScan", true, 0.0f, 1.0f, false, [=](auto d_in, auto d_out, auto n, auto stream, auto&... storage) {
    return DeviceScan::InclusiveScan(storage..., d_in, d_out, add, n, stream);
  });
  append("ExclusiveScan", true, 3.0f, 1.0f, true, [=](auto d_in, auto d_out, auto n, auto stream, auto&... storage) {
    return DeviceScan::ExclusiveScan(storage..., d_in, d_out, add, 3.0f, n, stream);
  });
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
