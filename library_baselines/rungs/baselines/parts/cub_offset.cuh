// CUB's histograms count in the type of num_samples: what they are told decides which kernel runs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// Whether CUB's kernel can step over the end of the samples in an int. The widest step is what all blocks of a GPU read
// at a time, a few million samples.
inline bool fits_int(std::size_t num_samples) {
  constexpr std::size_t widest_step = std::size_t(1) << 26;
  return num_samples <= (std::size_t(1) << 31) - widest_step;
}

// call(num_samples) with an int where that will do, else with a long long.
template <class Call>
cudaError_t with_offset(std::size_t num_samples, Call call) {
  if (fits_int(num_samples)) return call(static_cast<int>(num_samples));
  return call(static_cast<long long>(num_samples));
}

}  // namespace rungs::RUNGS_ABI::baselines::parts
