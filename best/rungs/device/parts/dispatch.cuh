// From a table's answer to the call of a rung.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/tile.cuh"

namespace rungs::v0::device {

// A name in a table, and the variant that it stands for.
template <auto name_, class Variant>
struct candidate {
  static constexpr auto name = name_;
  using variant = parts::type<Variant>;
};

// Calls call(type<variant>, d_temp_storage, temp_storage_bytes) for the candidate `chosen`. Only those that
// Choice::names are instantiated. The size that is asked for is the most that any of them needs for this call, so that
// it does not shrink as items are added.
template <class Choice, class Name, class Call, class... Candidates>
cudaError_t take(Name chosen, void* d_temp_storage, std::size_t& temp_storage_bytes, Call call, Candidates...) {
  std::size_t most_bytes = 0;
  cudaError_t error = cudaSuccess;
  const auto ask = [&](auto each) {
    if constexpr (Choice::template names<decltype(each)::name>) {
      std::size_t bytes = 0;
      if (error == cudaSuccess) error = call(typename decltype(each)::variant{}, nullptr, bytes);
      most_bytes = most_bytes < bytes ? bytes : most_bytes;
    }
  };
  (ask(Candidates{}), ...);
  if (error != cudaSuccess) return error;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = most_bytes;
    return cudaSuccess;
  }
  if (temp_storage_bytes < most_bytes) return cudaErrorInvalidValue;
  const auto call_if_chosen = [&](auto each) {
    if constexpr (Choice::template names<decltype(each)::name>)
      if (each.name == chosen) error = call(typename decltype(each)::variant{}, d_temp_storage, temp_storage_bytes);
  };
  (call_if_chosen(Candidates{}), ...);
  return error;
}

}  // namespace rungs::v0::device
