// The two-phase temporary storage of CUB's contract.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr std::size_t storage_alignment = 256;

// Answers the size when d_temp_storage is null, else checks it and moves `region` to the first aligned byte.
// Returns true when the caller is to return `error` at once. `bytes` may be 0: the answer is never 0.
inline bool answered(void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t bytes, char*& region,
                     cudaError_t& error) {
  const std::size_t needed = bytes + storage_alignment;
  region = nullptr;
  error = cudaSuccess;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = needed;
    return true;
  }
  if (temp_storage_bytes < needed) {
    error = cudaErrorInvalidValue;
    return true;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(d_temp_storage);
  region = reinterpret_cast<char*>((address + storage_alignment - 1) / storage_alignment * storage_alignment);
  return false;
}

// The same for an array of `count` Ts and nothing else.
template <class T>
bool answered_array(void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t count, T*& array,
                    cudaError_t& error) {
  char* region;
  const bool is_answer = answered(d_temp_storage, temp_storage_bytes, count * sizeof(T), region, error);
  array = reinterpret_cast<T*>(region);
  return is_answer;
}

}  // namespace rungs::RUNGS_ABI::parts
