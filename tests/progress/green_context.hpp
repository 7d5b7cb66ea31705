// A part of the device's multiprocessors, as a green context. The driver's calls are looked up where the program runs,
// so that it starts without a driver, too.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace rungs::tests::progress {

class green_context {
 public:
  explicit green_context(unsigned num_multiprocessors);
  ~green_context();
  green_context(const green_context&) = delete;
  green_context& operator=(const green_context&) = delete;

  // Why there is none; empty where there is one.
  const std::string& reason() const { return reason_; }
  unsigned num_multiprocessors() const { return num_multiprocessors_; }
  // A stream of it, which waits for no other; it ends with the context. Null where there is none.
  cudaStream_t make_stream();

 private:
  bool succeeded(CUresult result, const char* call);

  CUgreenCtx context_ = nullptr;
  std::vector<cudaStream_t> streams_;
  unsigned num_multiprocessors_ = 0;
  std::string reason_;
};

}  // namespace rungs::tests::progress
