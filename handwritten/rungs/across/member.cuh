// What one rank of an all-reduce passes to a call: who it is, and where the windows of all ranks lie.
//
// A rank is a participant: a GPU, or one of several participants on one GPU. A window is memory of a rank that all
// ranks can write and read. rungs/across/windows.cuh makes both.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::across {

inline constexpr int max_ranks = 8;
inline constexpr int most_blocks = 1024;  // of any call, on each rank

// Plain data, valid as long as its windows. All ranks have the same values but for rank, device and windows.
struct member {
  int rank, num_ranks;
  int device;
  int num_blocks;             // of a call; fewer where there are few items
  std::size_t tagged_bytes;   // most bytes that one_shot sends to a peer in one pass
  std::size_t staging_bytes;  // of each window, for the data of all other rungs
  char* windows[max_ranks];   // as this rank reaches them; windows[rank] is its own

  // Answers cudaSuccess where a call can be made with it, on the current device.
  cudaError_t check() const {
    if (num_ranks < 1 || num_ranks > max_ranks || rank < 0 || rank >= num_ranks) return cudaErrorInvalidValue;
    for (int r = 0; r < num_ranks; ++r)
      if (windows[r] == nullptr) return cudaErrorInvalidValue;
    int current = 0;
    const cudaError_t error = cudaGetDevice(&current);
    return error == cudaSuccess && current != device ? cudaErrorInvalidDevice : error;
  }
};

}  // namespace rungs::RUNGS_ABI::across
