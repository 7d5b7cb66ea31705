// A CUDA runtime without a GPU: linked in with --wrap, it answers for a device that need not exist. It runs nothing,
// keeps a list of what was asked and enqueued, and fails the call it is told to fail; several threads may call it. Or
// it executes, for one thread: memory is the host's, a stream runs each launch at once, and time passes by what
// launches say they take.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rungs::tests::fake {

struct call {
  std::string name;
  bool enqueues = false;  // puts work on a stream
  unsigned long long grid_blocks = 0;
  unsigned block_threads = 0;
  // What it was given, where it takes such a thing.
  cudaStream_t stream = nullptr;
  const void* memory = nullptr;
  // Of a launch.
  const void* kernel = nullptr;
  int cluster_blocks = 0;  // 0: no attribute asks for clusters
  bool overlaps = false;   // may start before the launch in front of it has ended
  bool is_cooperative = false;

  bool launches() const { return kernel != nullptr; }
};

struct runtime {
  // The device.
  int multiprocessors = 132, capability = 90, shared_bytes_optin = 232448, blocks_per_multiprocessor = 8, clusters = 16,
      cluster_blocks = 16;
  // What kernels were compiled for, and what their code is for now; 0: the device's capability.
  int ptx_version = 0, binary_version = 0;
  // What every stream says of its capture.
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  // The fault: the failing_call-th call from now on returns `error`; 0: none does.
  int failing_call = 0;
  bool failing_ever_after = false;
  cudaError_t error = cudaErrorUnknown;
  // The record.
  std::vector<call> calls;
  cudaError_t last_error = cudaSuccess;
  std::map<const void*, std::size_t> shared_bytes_allowed;  // of kernels that were allowed more than others have
  std::vector<const void*> unregistered;  // what was launched or asked about, and is no kernel of this program

  // Where it executes, it keeps no list and knows no kernels but what is given to launch().
  bool executes = false;
  double now_us = 0;
  std::size_t static_shared_bytes = 0;  // of every kernel
  struct {
    int block_threads = 0;
    std::size_t dynamic_shared_bytes = 0;
  } asked = {};                      // of the last question how many blocks fit a multiprocessor
  bool in_view = false;              // a profiler looks on
  int seen = 0, flushed_before = 0;  // launches that it saw, and how often a flush was the last thing before it did
  bool flushed = false;              // nothing was launched since the last flush; whoever flushes says so

  bool failed() const { return failing_call > 0 && static_cast<int>(calls.size()) >= failing_call; }
};

// Assigning {} to it begins anew.
runtime& current();

// The kernels that the files of this program have registered: what the host launches them by, and their mangled names.
// Anything else cannot be launched.
const std::map<const void*, std::string>& registered_kernels();

// Some work as a kernel that takes so long. Captured where a stream is being captured.
cudaError_t launch(double microseconds, std::function<void()> work);

// How many allocations have not been freed. It outlives what current() is assigned.
std::size_t num_allocations();

}  // namespace rungs::tests::fake
