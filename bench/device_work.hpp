// The instrument's own kernels: plain functions, so that the host programs need no CUDA syntax. All are asynchronous.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "workload.hpp"

namespace rungs::bench::device_work {

// How many SM clocks and nanoseconds a kernel saw pass: their quotient is the SM clock.
struct stamp {
  unsigned long long clocks, nanoseconds;
};

// Reads the whole buffer, so that the caches hold it, clean, and nothing else.
cudaError_t read_flush(const void* buffer, std::size_t num_bytes, stamp* seen, cudaStream_t stream);

// One block of one thread that waits by %globaltimer.
cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t stream);

cudaError_t generate(const workload& from, void* items, cudaStream_t stream);

inline constexpr int max_summaries = 1024;
// Writes max_summaries partial summaries, to be merged on the host.
cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t stream);

}  // namespace rungs::bench::device_work
