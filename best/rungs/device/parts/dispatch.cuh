// From a table's answer to the call of a rung.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/storage_of.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::device {

// A name in a table, and the variant that it stands for.
template <auto name_, class Variant>
struct candidate {
  static constexpr auto name = name_;
  using variant = parts::type<Variant>;
};

// Whose the storage of a call is.
//   callers     as large as it pleases the caller: what is too small is refused
//   workspaces  as large as the same call has asked for just before
enum class storage_is : unsigned char { callers, workspaces };

// Calls call(type<variant>, d_temp_storage, temp_storage_bytes) for the candidate `chosen`. Only those that
// Choice::names are instantiated. The size that is asked for is the most that any of them needs for this call, so that
// it does not shrink as items are added.
template <class Choice, storage_is whose, class Name, class Call, class... Candidates>
cudaError_t call_chosen(Name chosen, void* d_temp_storage, std::size_t& temp_storage_bytes, Call call, Candidates...) {
  cudaError_t error = cudaSuccess;
  if (whose == storage_is::callers || d_temp_storage == nullptr) {
    std::size_t most_bytes = parts::storage_alignment;  // what answered() says of no bytes
    const auto ask = [&](auto each) {
      using variant = typename decltype(each)::variant;
      if constexpr (Choice::template names<decltype(each)::name> &&
                    temp_storage_of<typename variant::named> != contents::none) {
        std::size_t bytes = 0;
        if (error == cudaSuccess) error = call(variant{}, nullptr, bytes);
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
  }
  error = cudaErrorInvalidDeviceFunction;  // a rung that was not compiled
  const auto call_if_chosen = [&](auto each) {
    if constexpr (Choice::template names<decltype(each)::name>)
      if (each.name == chosen) error = call(typename decltype(each)::variant{}, d_temp_storage, temp_storage_bytes);
  };
  (call_if_chosen(Candidates{}), ...);
  return error;
}

}  // namespace rungs::RUNGS_ABI::device
