// All-reduce for programs that have an NCCL communicator: through windows on one machine, by NCCL beyond.
//
//   rungs::across::communicator communicator;
//   cudaError_t error = communicator.create(comm, stream);   // all ranks of comm, once
//   error = communicator.all_reduce(d_in, d_out, num_items, rungs::plus{}, stream);
//   if (communicator.uses_nccl()) std::puts(communicator.reason());
//
// The only header that includes <nccl.h>; link with -lnccl.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <type_traits>
#include <utility>

#include "rungs/across/planned.cuh"
#include "rungs/across/windows.cuh"
#include "rungs/operators.cuh"

struct __half;
struct __nv_bfloat16;

namespace rungs::RUNGS_ABI::across {

template <class T>
constexpr ncclDataType_t nccl_type() {
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>,
                "NCCL has no such type");
  if constexpr (std::is_same_v<T, __half>) return ncclFloat16;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return ncclBfloat16;
  if constexpr (std::is_same_v<T, float>) return ncclFloat32;
  if constexpr (std::is_same_v<T, double>) return ncclFloat64;
  if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? ncclInt8 : ncclUint8;
  static_assert(sizeof(T) != 2 || !std::is_integral_v<T>, "NCCL has no integers of 16 bits");
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? ncclInt32 : ncclUint32;
  return std::is_signed_v<T> ? ncclInt64 : ncclUint64;
}

template <class ReductionOpT>
constexpr ncclRedOp_t nccl_operator() {
  constexpr bool is_plus = std::is_same_v<ReductionOpT, plus>, is_minimum = std::is_same_v<ReductionOpT, minimum>;
  static_assert(is_plus || is_minimum || std::is_same_v<ReductionOpT, maximum>,
                "a communicator reduces by rungs::plus, minimum or maximum, which NCCL has, too");
  return is_plus ? ncclSum : is_minimum ? ncclMin : ncclMax;
}

// Movable. The NCCL communicator stays the caller's, and has to live as long as this one.
class communicator {
 public:
  communicator() = default;
  communicator(communicator&& other) noexcept = default;
  communicator& operator=(communicator&& other) noexcept = default;

  // Collective: every rank of `comm` calls it, on its device, each in a process or a host thread of its own, and with
  // the same options. It allocates, uses `stream` and waits for it; ranks that share a GPU begin with their calls when
  // all have come back. Where windows cannot be made, because ranks are
  // more than eight, on several machines or on GPUs that cannot reach each other, calls go to NCCL, and reason() says
  // why.
  //
  // Returns cudaErrorInvalidValue and cudaErrorMemoryAllocation as windows::create does, and cudaErrorUnknown where
  // NCCL failed.
  cudaError_t create(ncclComm_t comm, cudaStream_t stream, const window_options& options = {}) {
    int num_ranks = 0;
    comm_ = comm;
    reason_ = nullptr;
    cudaError_t error = told(ncclCommCount(comm, &num_ranks));
    if (error == cudaSuccess) error = told(ncclCommUserRank(comm, &rank_));
    if (error != cudaSuccess) return error;
    if (num_ranks > max_ranks) {
      reason_ = "there are more than eight ranks";
      return cudaSuccess;
    }
    bool failed_to_gather = false;
    const auto gather = [&](const void* mine, void* all, std::size_t bytes) {
      const cudaError_t gathered = gather_by_nccl(mine, all, bytes, num_ranks, stream);
      failed_to_gather = gathered != cudaSuccess;
      return gathered;
    };
    error = windows_.create(rank_, num_ranks, gather, options);
    if (error == cudaSuccess || failed_to_gather || error == cudaErrorInvalidValue ||
        error == cudaErrorMemoryAllocation)
      return error;
    reason_ = error == cudaErrorPeerAccessUnsupported
                  ? "ranks are on several machines, or on GPUs that cannot reach each other"
                  : "CUDA IPC does not work between the ranks";
    cudaGetLastError();
    return cudaSuccess;
  }

  // Reduces item i of all ranks to item i of d_out, on every rank. On one machine as across::all_reduce. By NCCL with
  // NCCL's order, rounding and treatment of NaN. Returns cudaErrorUnknown where NCCL failed: nccl_result() says how.
  template <class T, class ReductionOpT>
  cudaError_t all_reduce(const T* d_in, T* d_out, std::size_t num_items, ReductionOpT reduction_op,
                         cudaStream_t stream = nullptr) {
    if (!uses_nccl()) return across::all_reduce(windows_.member(rank_), d_in, d_out, num_items, reduction_op, stream);
    return told(ncclAllReduce(d_in, d_out, num_items, nccl_type<T>(), nccl_operator<ReductionOpT>(), comm_, stream));
  }

  bool uses_nccl() const { return reason_ != nullptr; }
  // Why calls go to NCCL; empty where they do not.
  const char* reason() const { return uses_nccl() ? reason_ : ""; }
  // Of the last call of NCCL that failed.
  ncclResult_t nccl_result() const { return nccl_result_; }

  // What a rank passes to other calls of rungs::across; calls refuse it where NCCL is used.
  across::member member() const { return windows_.member(rank_); }

  // As of windows: disconnect() on all ranks, a barrier, and then release().
  cudaError_t disconnect() { return windows_.disconnect(); }
  cudaError_t release() { return windows_.release(); }

 private:
  cudaError_t told(ncclResult_t result) {
    if (result == ncclSuccess) return cudaSuccess;
    nccl_result_ = result;
    return cudaErrorUnknown;
  }

  cudaError_t gather_by_nccl(const void* mine, void* all, std::size_t bytes, int num_ranks, cudaStream_t stream) {
    char* memory = nullptr;
    cudaError_t error = cudaMalloc(&memory, bytes * (num_ranks + 1));
    if (error != cudaSuccess) return error;
    char* const gathered = memory + bytes;
    error = cudaMemcpyAsync(memory, mine, bytes, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) error = told(ncclAllGather(memory, gathered, bytes, ncclInt8, comm_, stream));
    if (error == cudaSuccess) error = cudaMemcpyAsync(all, gathered, bytes * num_ranks, cudaMemcpyDeviceToHost, stream);
    const cudaError_t done = cudaStreamSynchronize(stream), freed = cudaFree(memory);
    if (error == cudaSuccess) error = done;
    return error == cudaSuccess ? freed : error;
  }

  ncclComm_t comm_ = nullptr;
  int rank_ = 0;
  const char* reason_ = nullptr;
  ncclResult_t nccl_result_ = ncclSuccess;
  across::windows windows_;
};

}  // namespace rungs::RUNGS_ABI::across
