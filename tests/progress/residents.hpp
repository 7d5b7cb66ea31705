// A kernel that stays on some multiprocessors until it is released, as a server's or a communication kernel does.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace rungs::tests::progress {

class residents {
 public:
  // One block of that much shared memory on each of num_multiprocessors, once they start. Allocates, and loads the
  // kernel.
  residents(int num_multiprocessors, std::size_t shared_bytes);
  ~residents();
  residents(const residents&) = delete;
  residents& operator=(const residents&) = delete;

  // Whether all are there, each on a multiprocessor of its own, and nothing else of their kernel is.
  bool start();
  // What comes on that stream from now on waits until they have ended.
  cudaError_t hold_up(cudaStream_t stream) const;
  // They end; waits for that.
  cudaError_t release();

 private:
  struct mapped {
    int one, num_staying;
  };
  int num_multiprocessors_;
  std::size_t shared_bytes_;
  cudaStream_t stream_ = nullptr, releasing_ = nullptr;
  volatile mapped* host_ = nullptr;
  mapped* d_host_ = nullptr;
  int* d_is_over_ = nullptr;
  unsigned* d_taken_ = nullptr;
};

}  // namespace rungs::tests::progress
