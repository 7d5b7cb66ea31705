// Items that tell their place, made and compared on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "progress/calls.hpp"

#ifdef __CUDACC__
#define RUNGS_TESTS_BOTH __host__ __device__
#else
#define RUNGS_TESTS_BOTH
#endif

namespace rungs::tests::progress {

// x -> slope * x + offset: applying one, then the other, does not commute.
struct map {
  unsigned slope, offset;
};
struct then {
  RUNGS_TESTS_BOTH map operator()(const map& a, const map& b) const {
    return {a.slope * b.slope, a.offset * b.slope + b.offset};
  }
};

std::size_t bytes_of(item_type type);
// Floats are whole numbers, few of them other than 0: sums of 2^28 are exact in any order.
cudaError_t fill(item_type type, void* d_items, std::size_t num_items);
// Whether the bytes are the same, a multiple of 4; waits.
cudaError_t compare(const void* d_a, const void* d_b, std::size_t bytes, bool& are_same);

}  // namespace rungs::tests::progress
