// The GPU of a run: what it is, the suite's own stream, and memory that frees itself.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "check.hpp"

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

// The device of this number, from then on the current one; empty with the reason where there is no usable GPU (no
// driver, or no device). Other errors throw.
std::optional<device_facts> find_device(std::string& why_not, int ordinal = 0);

template <auto destroy>
struct destroyer {
  void operator()(auto* handle) const { destroy(handle); }
};
using stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroyer<cudaStreamDestroy>>;
using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroyer<cudaEventDestroy>>;
using graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, destroyer<cudaGraphDestroy>>;
using graph_exec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroyer<cudaGraphExecDestroy>>;

class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t num_bytes) : size_(num_bytes) {
    void* address = nullptr;
    if (num_bytes != 0) check(cudaMalloc(&address, num_bytes));
    address_.reset(address);
  }
  void* get() const { return address_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<void, destroyer<cudaFree>> address_;
  std::size_t size_ = 0;
};

stream make_stream();  // non-blocking
event make_event();

}  // namespace rungs::bench
