// The program's own kernels, as plain functions: what ranks hold, and whether a result is right.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "across/items.hpp"

namespace rungs::bench::across_gpus {

// What a rank holds: whole numbers, or numbers whose sums round.
cudaError_t fill(problem about, void* items, std::size_t num_items, std::uint64_t seed, int rank, bool whole,
                 cudaStream_t stream);
// Compares with the whole numbers' result, of num_items items of each rank. `found` is in device memory.
cudaError_t examine(problem about, const void* items, std::size_t num_items, std::uint64_t seed, int num_ranks,
                    findings_of_items* found, cudaStream_t stream);

}  // namespace rungs::bench::across_gpus
