#include "device.hpp"

#include <cstdio>

#include "check.hpp"

namespace rungs::bench {

std::optional<device_facts> find_device(std::string& why_not, int ordinal) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    cudaGetLastError();
    why_not = error == cudaSuccess ? "the driver shows no GPU"
                                   : std::string(cudaGetErrorString(error)) + " (error " + std::to_string(error) + ")";
    return std::nullopt;
  }
  check(error);
#ifdef RUNGS_QUICK_BUILD
  throw usage_error("a quick build has no kernels for the GPU: configure with -DRUNGS_QUICK_BUILD=OFF");
#endif
  if (ordinal >= count)
    throw usage_error("--device: there is no GPU " + std::to_string(ordinal) + "; CUDA counts " +
                      std::to_string(count));
  check(cudaSetDevice(ordinal));
  device_facts facts;
  facts.ordinal = ordinal;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, facts.ordinal));
  facts.name = properties.name;
  char bus_id[32] = {};
  check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, facts.ordinal));
  facts.pci_bus_id = bus_id;
  char card[9] = {};
  const auto byte = [&](int i) { return static_cast<unsigned>(static_cast<unsigned char>(properties.uuid.bytes[i])); };
  std::snprintf(card, sizeof card, "%02x%02x%02x%02x", byte(0), byte(1), byte(2), byte(3));
  facts.card = card;
  facts.compute_capability = 10 * properties.major + properties.minor;
  facts.multiprocessors = properties.multiProcessorCount;
  facts.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  check(cudaMemGetInfo(&facts.free_bytes, &facts.memory_bytes));
  facts.memory_bus_bits = properties.memoryBusWidth;
  if (cudaDeviceGetAttribute(&facts.memory_clock_khz, cudaDevAttrMemoryClockRate, facts.ordinal) != cudaSuccess) {
    cudaGetLastError();
    facts.memory_clock_khz = 0;
  }
  return facts;
}

stream make_stream() {
  cudaStream_t handle;
  check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
  return stream(handle);
}

event make_event() {
  cudaEvent_t handle;
  check(cudaEventCreate(&handle));
  return event(handle);
}

}  // namespace rungs::bench
