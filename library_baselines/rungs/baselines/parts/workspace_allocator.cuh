// Thrust without allocations.
#pragma once

#include <cstddef>
#include <new>

#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// Hands Thrust the caller's workspace, front to back.
struct workspace_allocator {
  using value_type = char;
  char* next;
  std::size_t bytes_left;

  char* allocate(std::ptrdiff_t num_bytes) {
    constexpr std::size_t alignment = rungs::parts::storage_alignment;
    const std::size_t taken = (static_cast<std::size_t>(num_bytes) + alignment - 1) / alignment * alignment;
    if (taken > bytes_left) throw std::bad_alloc();
    char* const allocated = next;
    next += taken;
    bytes_left -= taken;
    return allocated;
  }
  void deallocate(char*, std::size_t) {}
};

}  // namespace rungs::RUNGS_ABI::baselines::parts
