// What a workspace of a checked build knows of its use: which stream it was used on, whether somebody uses it now, and
// whether it was moved from. Misuse is reported on stderr, and the call returns cudaErrorNotPermitted.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>

#include "rungs/version.cuh"

namespace rungs::v0::workspaces {

class checked_use {
 public:
  checked_use() = default;
  checked_use(checked_use&& other) noexcept { *this = static_cast<checked_use&&>(other); }
  checked_use& operator=(checked_use&& other) noexcept {
    if (this == &other) return *this;
    was_used_ = other.was_used_;
    stream_ = other.stream_;
    was_moved_from_ = other.was_moved_from_;
    other.was_moved_from_ = true;
    return *this;
  }

  // One use, for as long as this lives.
  class turn {
   public:
    turn(checked_use& of, cudaStream_t stream) : of_(of), is_alone_(!of.is_in_use_.exchange(true)) {
      if (!is_alone_)
        error = of.refuse("is used by two host threads at once: give each its own, or lock it around each call");
      else if (of.was_moved_from_)
        error = of.refuse("is used after it was moved from: use the one that it was moved to, or assign to this first");
      else if (of.was_used_ && of.stream_ != stream)
        error = of.refuse(
            "is used on another stream than before: order that stream behind the last one by hand_over(from, to)");
      if (error != cudaSuccess) return;
      of.was_used_ = true;
      of.stream_ = stream;
    }
    ~turn() {
      if (is_alone_) of_.is_in_use_ = false;
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    cudaError_t error = cudaSuccess;

   private:
    checked_use& of_;
    bool is_alone_;
  };

  // The next use may be on any stream.
  void forget_stream() { was_used_ = false; }

 private:
  cudaError_t refuse(const char* why) const {
    std::fprintf(stderr, "rungs::workspace at %p %s\n", static_cast<const void*>(this), why);
    return cudaErrorNotPermitted;
  }

  std::atomic<bool> is_in_use_ = false;
  bool was_moved_from_ = false, was_used_ = false;
  cudaStream_t stream_ = nullptr;
};

}  // namespace rungs::v0::workspaces
