// NCCL, loaded at run time, so that the program builds and runs without it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "across/plan.hpp"

namespace rungs::bench::across_gpus {

class nccl {
 public:
  // A library by its path or name, and a communicator for each rank; null with the reason where that cannot be. Sets
  // NCCL_NVLS_ENABLE=0 where the variable is not set: what is compared uses no multicast either.
  static std::unique_ptr<nccl> load(const std::string& library, const std::vector<int>& devices, std::string& why_not);
  ~nccl();  // leaves communicators that were not closed to the end of the process
  nccl(const nccl&) = delete;
  nccl& operator=(const nccl&) = delete;

  std::string version() const;  // 2.28.9

  // Two windows of each rank, in which symmetric kernels may work. Collective: all ranks at once, each from its thread.
  // Throws std::runtime_error; then there are none on any rank.
  void allocate_windows(int rank, std::size_t bytes);
  // Said once all ranks have done it: empty, or why there are none.
  void conclude_windows(const std::string& why_none) { why_no_windows_ = why_none; }
  bool has_windows() const { return why_no_windows_.empty(); }
  const std::string& why_no_windows() const { return why_no_windows_; }
  void* window_in(int rank) const { return windows_[static_cast<std::size_t>(rank)][0].memory; }
  void* window_out(int rank) const { return windows_[static_cast<std::size_t>(rank)][1].memory; }

  // Collective, when all calls have ended.
  void close(int rank);

  // Throws std::runtime_error.
  void all_reduce(problem about, int rank, const void* d_in, void* d_out, std::size_t num_items,
                  cudaStream_t stream) const;

 private:
  struct functions;
  nccl() = default;
  void check(int result, const char* call) const;

  std::unique_ptr<functions> call_;
  int version_ = 0;
  std::vector<struct ncclComm*> communicators_;
  struct window {
    void *memory = nullptr, *handle = nullptr;
  };
  std::vector<std::array<window, 2>> windows_;  // of each rank
  std::string why_no_windows_ = "no windows were asked for";
};

}  // namespace rungs::bench::across_gpus
