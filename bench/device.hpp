// The GPU of a run: what it is, the suite's own stream, and memory that frees itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rungs::bench {

struct device_facts {
  int ordinal = 0;
  std::string name, pci_bus_id;
  std::string card;            // the first eight digits of its UUID: tells the cards of one model apart
  int compute_capability = 0;  // 10 * major + minor
  int multiprocessors = 0;
  std::size_t l2_bytes = 0, memory_bytes = 0, free_bytes = 0;
  int memory_bus_bits = 0, memory_clock_khz = 0;

  // Two transfers a clock, as the driver tells clock and bus; 0 where it does not.
  double peak_gb_per_s() const { return 2.0 * memory_clock_khz * (memory_bus_bits / 8) * 1e-6; }
};

// The current device; empty with the reason where there is no usable GPU (no driver, or no device). Other errors throw.
std::optional<device_facts> find_device(std::string& why_not);

class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t num_bytes);
  device_memory(device_memory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_memory& operator=(device_memory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_memory() { cudaFree(address_); }

  void* get() const { return address_; }
  std::size_t size() const { return size_; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

template <class Handle, cudaError_t (*destroy)(Handle)>
class cuda_handle {
 public:
  cuda_handle() = default;
  explicit cuda_handle(Handle handle) : handle_(handle) {}
  cuda_handle(cuda_handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  cuda_handle& operator=(cuda_handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~cuda_handle() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using stream = cuda_handle<cudaStream_t, cudaStreamDestroy>;
using event = cuda_handle<cudaEvent_t, cudaEventDestroy>;
using graph = cuda_handle<cudaGraph_t, cudaGraphDestroy>;
using graph_exec = cuda_handle<cudaGraphExec_t, cudaGraphExecDestroy>;

stream make_stream();  // non-blocking
event make_event();

}  // namespace rungs::bench
