// The ranks of this process and what they call, as plain functions. Only ranks.cu sees rungs' types: the names of these
// depend on the compiler and its architectures.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "across/plan.hpp"

namespace rungs::bench::across_gpus {

struct rung_facts {
  std::string name, idea, against, gains, costs;
  problem about;
  std::size_t position = 0;  // among the enrolled
};

// Every rung with a type and an operator that are measured, in the ladder's order.
std::vector<rung_facts> enrolled();

// cub::DeviceReduce::Sum of floats. With no storage it answers the bytes.
cudaError_t sum_by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const void* d_in, void* d_out,
                       std::size_t num_items, cudaStream_t stream);

class connected_ranks {
 public:
  // Rank r is on devices[r]. Throws cuda_error.
  explicit connected_ranks(const std::vector<int>& devices);
  ~connected_ranks();

  // The same call on all ranks, each from a thread of its own whose current device is the rank's.
  // all_reduce, or fused_sum::sum.
  cudaError_t planned(problem about, int rank, const void* d_in, void* d_out, std::size_t num_items,
                      cudaStream_t stream) const;
  cudaError_t rung(std::size_t position, int rank, const void* d_in, void* d_out, std::size_t num_items,
                   cudaStream_t stream) const;

 private:
  struct windows_of_all;
  std::unique_ptr<windows_of_all> windows_;
};

}  // namespace rungs::bench::across_gpus
