// Temporary storage that is allocated once, zeroed once and reused: for callers who do not want to keep it themselves,
// and for variants whose state lives from call to call (contents::zeroed_once).
//
//   rungs::workspace workspace;
//   workspace.run<rungs::reductions::early_ticket>([&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
//     return rungs::reductions::early_ticket::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
//                                                    rungs::plus{}, 0.0f, stream);
//   }, stream);
//
// One workspace serves any number of variants, types and sizes, one stream at a time: a call on another stream has to
// be ordered behind the last one by the caller. It grows on demand, by stream-ordered allocation and only outside
// stream capture; call reserve() first where a graph is to be captured. Movable; frees its memory when it ends.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "rungs/contract.cuh"

namespace rungs::v0 {

// How a variant wants its storage.
template <class Variant, class = void>
inline constexpr contents temp_storage_of = contents::uninitialised;
template <class Variant>
inline constexpr contents temp_storage_of<Variant, decltype(void(Variant::temp_storage))> = Variant::temp_storage;

class workspace {
 public:
  workspace() = default;
  workspace(workspace&& other) noexcept
      : zeroed_(std::exchange(other.zeroed_, {})), scratch_(std::exchange(other.scratch_, {})) {}
  workspace& operator=(workspace&& other) noexcept {
    std::swap(zeroed_, other.zeroed_);
    std::swap(scratch_, other.scratch_);
    return *this;
  }
  ~workspace() {
    cudaFree(zeroed_.memory);
    cudaFree(scratch_.memory);
  }

  // Asks call(nullptr, bytes) for the size, provides that much in the state that Variant wants, and calls again.
  template <class Variant, class Call>
  cudaError_t run(Call call, cudaStream_t stream = nullptr) {
    std::size_t bytes = 0;
    cudaError_t error = call(static_cast<void*>(nullptr), bytes);
    if (error == cudaSuccess) error = reserve(temp_storage_of<Variant>, bytes, stream);
    if (error != cudaSuccess) return error;
    return call(buffer_for(temp_storage_of<Variant>).memory, bytes);
  }

  // Grows the storage of that kind to at least `bytes` bytes. State that is lost by growing starts anew from zero.
  cudaError_t reserve(contents kind, std::size_t bytes, cudaStream_t stream = nullptr) {
    buffer& held = buffer_for(kind);
    if (bytes <= held.bytes) return cudaSuccess;
    void* memory = nullptr;
    cudaError_t error = cudaMallocAsync(&memory, bytes, stream);
    if (error == cudaSuccess && kind == contents::zeroed_once) error = cudaMemsetAsync(memory, 0, bytes, stream);
    if (error == cudaSuccess && held.memory != nullptr) error = cudaFreeAsync(held.memory, stream);
    if (error == cudaSuccess) held = {memory, bytes};
    return error;
  }

 private:
  struct buffer {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  buffer& buffer_for(contents kind) { return kind == contents::zeroed_once ? zeroed_ : scratch_; }

  buffer zeroed_, scratch_;
};

}  // namespace rungs::v0
