// NCCL, loaded at run time, so that the program builds and runs without it.
#pragma once

#include <cuda_runtime_api.h>

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

  // Whether symmetric windows are there; if not, why.
  bool has_windows() const;
  std::string why_no_windows() const;
  // Memory of a rank in which symmetric kernels may work, until it is closed. Collective: all ranks at once, each from
  // its thread. Throws std::runtime_error.
  void* allocate_window(int rank, std::size_t bytes);

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
    void *memory, *handle;
  };
  std::vector<std::vector<window>> windows_;  // of each rank
};

}  // namespace rungs::bench::across_gpus
