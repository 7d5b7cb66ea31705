// Every rung across GPUs that was built, with its types and operators: what the lines rungs_across_variant of
// handwritten/CMakeLists.txt enrol (cmake/across.cmake). Bench and tests hold no list of their own.
//
// For files that nvcc compiles, for the architectures of the library: a member is a type of those (RUNGS_ABI).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "catalog.hpp"
#include "rungs/across/member.cuh"

namespace rungs::bench {

struct across_record {
  std::string_view rung{}, idea{}, against{}, gains{}, costs{};  // against: the rung that it changes; none of the first
  int number = 0;                                                // orders the ladder
  std::string_view source{};                                     // from the repository's root
  catalog::scalar type{};
  catalog::op op{};
  bool fixed_rank_order = false;  // an item is folded as ((rank 0, rank 1), rank 2) …, and rounded once

  // One of both: num_items items become as many on every rank, or all items of all ranks one item of the same type,
  // with the operator's identity as init.
  using call = cudaError_t (*)(const across::member&, const void* d_in, void* d_out, std::size_t num_items,
                               cudaStream_t);
  call all_reduce = nullptr, reduce = nullptr;
};

// Those with all_reduce, and those with reduce; both in the order of the CMake lines.
const std::vector<across_record>& across_records();
const std::vector<across_record>& across_reductions();

}  // namespace rungs::bench
