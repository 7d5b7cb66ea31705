// Tests of calls on a GPU, skipped without one; and whether a call writes what it should, in both forms.
#pragma once

#include <gtest/gtest.h>

#include <rungs/workspace.cuh>

#include <algorithm>
#include <string>
#include <vector>

#include "arrived.hpp"
#include "front_door/stage.cuh"
#include "gpu_test.hpp"

namespace rungs::tests {

// That call(storage...) writes what is expected to d_out, in two phases and with a new workspace.
template <class T, class Call>
void expect_in_both_forms(const std::string& what, const std::vector<T>& expected, const device_array<T>& d_out,
                          Call call) {
  for (const bool has_workspace : {false, true}) {
    const std::string which = what + (has_workspace ? ", with a workspace" : ", in two phases");
    workspace workspace;
    void *d_temp_storage = nullptr, *of_size = nullptr;
    std::size_t temp_storage_bytes = 0;
    cudaError_t error = arrived(cudaMemset(d_out.get(), 0xa5, expected.size() * sizeof(T)));
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error == cudaSuccess && !has_workspace) error = call(of_size, temp_storage_bytes);
    if (error == cudaSuccess && !has_workspace) error = cudaMalloc(&d_temp_storage, temp_storage_bytes);
    if (error == cudaSuccess) error = has_workspace ? call(workspace) : call(d_temp_storage, temp_storage_bytes);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    EXPECT_EQ(error, cudaSuccess) << which;
    cudaGetLastError();
    std::vector<T> got(expected.size());
    EXPECT_EQ(cudaMemcpy(got.data(), d_out.get(), got.size() * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    const auto differ = std::mismatch(got.begin(), got.end(), expected.begin()).first;
    EXPECT_EQ(differ - got.begin(), static_cast<std::ptrdiff_t>(got.size())) << which << ": the first wrong output";
    cudaFree(d_temp_storage);
  }
}

class GpuTest : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(workspace_.release(stream_), cudaSuccess);
    cudaStreamDestroy(stream_);
    cudaGetLastError();
  }

  template <class T>
  std::vector<T> read(const device_array<T>& from, std::size_t num_items) {
    std::vector<T> host(num_items);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), from.get(), num_items * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }

  workspace workspace_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace rungs::tests
