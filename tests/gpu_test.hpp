// Tests that are skipped without a GPU; calls in two phases, and calls that are captured once and replayed.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "guarded.hpp"
#include "on_a_gpu.hpp"

namespace rungs::tests {

template <class Base>
class SkippedWithoutAGpu : public Base {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  }
};
using OnAGpu = SkippedWithoutAGpu<testing::Test>;

// call(d_temp_storage, temp_storage_bytes) in two phases, on storage at an odd address that holds anything. One byte
// less has to be refused, and nothing may be written behind it.
template <class Call>
cudaError_t in_two_phases(Call call) {
  std::size_t bytes = 0;
  if (const cudaError_t error = call(static_cast<void*>(nullptr), bytes)) return error;
  EXPECT_GT(bytes, 0u);
  const guarded<unsigned char> storage(bytes, 1);
  storage.fill(0xff);
  std::size_t too_few = bytes - 1;
  EXPECT_EQ(call(storage.data(), too_few), cudaErrorInvalidValue);
  cudaError_t error = call(storage.data(), bytes);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  storage.read();
  return error;
}

// A stream that does not wait for the legacy one.
class own_stream {
 public:
  own_stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~own_stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// What call() enqueues on the stream, captured.
class captured {
 public:
  template <class Call>
  captured(cudaStream_t stream, Call call) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(call(), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&replayable_, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  ~captured() { EXPECT_EQ(cudaGraphExecDestroy(replayable_), cudaSuccess); }
  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;

  cudaError_t enqueue() const { return cudaGraphLaunch(replayable_, stream_); }
  cudaError_t replay() const {
    const cudaError_t error = enqueue();
    return error == cudaSuccess ? cudaStreamSynchronize(stream_) : error;
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t replayable_ = nullptr;
};

}  // namespace rungs::tests
