// Temporary storage that is allocated once, zeroed once and reused: for callers who do not want to keep it themselves,
// and for variants whose state lives from call to call (contents::zeroed_once).
//
//   rungs::workspace workspace;
//   workspace.run<rungs::reductions::early_ticket>([&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
//     return rungs::reductions::early_ticket::reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items,
//                                                    rungs::plus{}, 0.0f, stream);
//   }, stream);
//
// One workspace serves any number of variants, types and sizes: on one device, by one host thread at a time, and on one
// stream at a time; hand_over() passes it on to another stream. It grows on demand, by stream-ordered allocation and
// only outside stream capture: make a call, or call reserve(), before a graph is captured. Inside of one it returns
// cudaErrorStreamCaptureUnsupported where it would have to grow. A graph keeps the addresses of its storage, so until
// the graph has gone, its workspace has to stay, and may not grow; a replay is a use like any other. Movable; what was
// moved from can be assigned to again.
//
// When it ends, its memory is freed on the stream that used it last, behind that use, and nobody waits. So this stream
// has to live as long as the workspace; or call release(stream), which frees the memory, before the stream is
// destroyed.
//
// A checked build, -DRUNGS_CHECKED for all files of a program, reports misuse: a call on another stream without
// hand_over(), calls by two host threads at once, and a call after the workspace was moved from. The call does nothing
// then, says on stderr what to do, and returns cudaErrorNotPermitted. Without it nothing is kept and nothing checked.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "rungs/contract.cuh"
#include "rungs/parts/storage_of.cuh"
#ifdef RUNGS_CHECKED
#include "rungs/parts/checked_use.cuh"
#endif

namespace rungs::v0 {

namespace workspaces {

// Nothing is known of the use of a workspace, and all of it is allowed.
struct unchecked_use {
  struct turn {
    turn(unchecked_use&, cudaStream_t) {}
    static constexpr cudaError_t error = cudaSuccess;
  };
  void forget_stream() {}
};

}  // namespace workspaces

template <class Use>
class workspace_of : private Use {
 public:
  workspace_of() = default;
  workspace_of(workspace_of&& other) noexcept
      : Use(static_cast<Use&&>(other)),
        zeroed_(std::exchange(other.zeroed_, {})),
        scratch_(std::exchange(other.scratch_, {})),
        used_on_(other.used_on_) {}
  workspace_of& operator=(workspace_of&& other) noexcept {
    Use::operator=(static_cast<Use&&>(other));
    std::swap(zeroed_, other.zeroed_);
    std::swap(scratch_, other.scratch_);
    std::swap(used_on_, other.used_on_);
    return *this;
  }
  ~workspace_of() { free_on(used_on_); }

  // Asks call(nullptr, bytes) for the size, provides that much in the state that Variant wants, and calls again.
  template <class Variant, class Call>
  cudaError_t run(Call call, cudaStream_t stream = nullptr) {
    const typename Use::turn turn(*this, stream);
    if (turn.error != cudaSuccess) return turn.error;
    std::size_t bytes = 0;
    cudaError_t error = call(static_cast<void*>(nullptr), bytes);
    if (error == cudaSuccess) error = grow(temp_storage_of<Variant>, bytes, stream);
    used_on_ = stream;
    if (error != cudaSuccess) return error;
    return call(buffer_for(temp_storage_of<Variant>).memory, bytes);
  }

  // Grows the storage of that kind to at least `bytes` bytes. State that is lost by growing starts anew from zero.
  cudaError_t reserve(contents kind, std::size_t bytes, cudaStream_t stream = nullptr) {
    const typename Use::turn turn(*this, stream);
    if (turn.error != cudaSuccess) return turn.error;
    used_on_ = stream;
    return grow(kind, bytes, stream);
  }

  // Frees the memory, behind what is on `stream` now. The next call allocates anew.
  cudaError_t release(cudaStream_t stream) {
    const typename Use::turn turn(*this, stream);
    if (turn.error != cudaSuccess) return turn.error;
    used_on_ = stream;
    return free_on(stream);
  }

  // From now on the workspace is used on `to`, which waits for what is on `from`, where it was used until now.
  cudaError_t hand_over(cudaStream_t from, cudaStream_t to) {
    const typename Use::turn turn(*this, from);
    if (turn.error != cudaSuccess) return turn.error;
    cudaEvent_t used = nullptr;
    cudaError_t error = cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    error = cudaEventRecord(used, from);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(to, used, 0);
    cudaEventDestroy(used);
    if (error != cudaSuccess) return error;
    Use::forget_stream();
    used_on_ = to;
    return cudaSuccess;
  }
  // The same, by a caller who has waited for all uses until now, on the host or with the stream that comes next.
  void hand_over() { Use::forget_stream(); }

 private:
  struct buffer {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  buffer& buffer_for(contents kind) { return kind == contents::zeroed_once ? zeroed_ : scratch_; }

  // What a stream that is being captured allocates or frees belongs to the graph.
  static cudaError_t refuse_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &status);
    return error == cudaSuccess && status != cudaStreamCaptureStatusNone ? cudaErrorStreamCaptureUnsupported : error;
  }

  cudaError_t free_on(cudaStream_t stream) {
    if (zeroed_.memory == nullptr && scratch_.memory == nullptr) return cudaSuccess;
    cudaError_t error = refuse_capture(stream);
    if (error != cudaSuccess) return error;
    for (buffer* const held : {&zeroed_, &scratch_}) {
      if (held->memory == nullptr) continue;
      const cudaError_t freed = cudaFreeAsync(held->memory, stream);
      if (freed == cudaSuccess) *held = {};
      if (error == cudaSuccess) error = freed;
    }
    return error;
  }

  cudaError_t grow(contents kind, std::size_t bytes, cudaStream_t stream) {
    buffer& held = buffer_for(kind);
    if (bytes <= held.bytes) return cudaSuccess;
    cudaError_t error = refuse_capture(stream);
    if (error != cudaSuccess) return error;
    void* memory = nullptr;
    error = cudaMallocAsync(&memory, bytes, stream);
    if (error == cudaSuccess && kind == contents::zeroed_once) error = cudaMemsetAsync(memory, 0, bytes, stream);
    if (error == cudaSuccess && held.memory != nullptr) error = cudaFreeAsync(held.memory, stream);
    if (error == cudaSuccess)
      held = {memory, bytes};
    else if (memory != nullptr)
      cudaFreeAsync(memory, stream);
    return error;
  }

  buffer zeroed_, scratch_;
  cudaStream_t used_on_ = nullptr;  // last
};

#ifdef RUNGS_CHECKED
using workspace = workspace_of<workspaces::checked_use>;
#else
using workspace = workspace_of<workspaces::unchecked_use>;
static_assert(sizeof(workspace) == 5 * sizeof(void*));
#endif

}  // namespace rungs::v0
