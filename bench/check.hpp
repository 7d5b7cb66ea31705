// One check for every CUDA call of the host programs: throws with the place of the call.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace rungs::bench {

struct cuda_error : std::runtime_error {
  cuda_error(cudaError_t error_code, std::source_location where)
      : std::runtime_error(std::string(cudaGetErrorName(error_code)) + " (" + std::to_string(error_code) + ", " +
                           cudaGetErrorString(error_code) + ") at " + where.file_name() + ":" +
                           std::to_string(where.line())),
        code(error_code) {}
  cudaError_t code;
};

inline void check(cudaError_t code, std::source_location where = std::source_location::current()) {
  if (code != cudaSuccess) throw cuda_error(code, where);
}

// The user's mistake: main() prints the message and returns 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace rungs::bench
