// The last argument of calls in two phases to which CUB lets an environment be given.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "rungs/device/parts/environment.cuh"

namespace rungs::RUNGS_ABI::device {

// A stream, or an environment, of which the stream alone is asked: the storage is there already, and these calls
// promise the same bits on every GPU anyway.
class stream_argument {
 public:
  stream_argument(cudaStream_t stream = nullptr) : stream_(stream) {}
  template <class Environment, class = std::enable_if_t<is_environment<Environment> &&
                                                        !std::is_convertible_v<const Environment&, cudaStream_t>>>
  stream_argument(const Environment& environment) : stream_(stream_of(environment)) {}

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};

}  // namespace rungs::RUNGS_ABI::device
