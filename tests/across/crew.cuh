// Ranks to be tested: their windows, streams and memory, and how what they wrote is compared, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "across/oracle.hpp"
#include "arrived.hpp"
#include "device.hpp"
#include "rungs/across/windows.cuh"
#include "watchdog.hpp"

namespace rungs::tests::across {

using bench::check;

// Calls of ranks wait for each other. Whoever waits for them says so here, and is ended if it takes long.
inline heartbeat pulse;

// Copies host memory to a device. The copy has arrived when it returns: cudaMemcpy alone may return earlier, and
// streams that do not wait for the legacy stream would read what was there before.
inline void upload(void* to, const void* from, std::size_t num_bytes) {
  check(arrived(cudaMemcpy(to, from, num_bytes, cudaMemcpyHostToDevice)));
}

struct memory : bench::device_memory {
  memory() = default;
  using device_memory::device_memory;
  explicit memory(const std::vector<unsigned char>& host) : device_memory(host.size() + 1) {
    upload(get(), host.data(), host.size());
  }
  unsigned char* get() const { return static_cast<unsigned char*>(device_memory::get()); }
};

// Keeps a stream busy for so many microseconds.
static __global__ void delay_kernel(unsigned microseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < microseconds * 1000ull);
}

// The first byte that differs, of num_bytes expected ones, and of margin bytes of canary in front of and behind them.
static __global__ void compare_kernel(const unsigned char* found, const unsigned char* expected, std::size_t num_bytes,
                                      std::size_t margin, unsigned char canary, unsigned long long* first) {
  const std::size_t all = margin + num_bytes + margin, threads = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += threads) {
    const bool inside = i >= margin && i < margin + num_bytes;
    if (found[i] != (inside ? expected[i - margin] : canary)) atomicMin(first, i);
  }
}

class crew {
 public:
  static constexpr std::size_t margin = 64;
  static constexpr unsigned char canary = 0xa5;

  crew(const std::vector<int>& devices, std::size_t most_bytes, const rungs::across::window_options& options)
      : devices_(devices) {
    check(windows.create(devices.data(), num_ranks(), options));
    for (const int device : devices) {
      check(cudaSetDevice(device));
      streams.emplace_back();
      check(cudaStreamCreateWithFlags(&streams.back(), cudaStreamNonBlocking));
      in_.emplace_back(most_bytes + 2 * margin);
      out_.emplace_back(most_bytes + 2 * margin);
      first_.emplace_back(sizeof(unsigned long long));
    }
    check(cudaSetDevice(0));
  }
  ~crew() {
    for (const cudaStream_t stream : streams) cudaStreamDestroy(stream);
  }
  crew(const crew&) = delete;

  int num_ranks() const { return static_cast<int>(devices_.size()); }
  rungs::across::member member(int rank) const { return windows.member(rank); }
  unsigned char* in(int rank, std::size_t offset = 0) const { return in_[rank].get() + margin + offset; }
  unsigned char* out(int rank, std::size_t offset = 0) const { return out_[rank].get() + margin + offset; }

  // f(rank) with the rank's device current.
  template <class F>
  void each(F f) const {
    for (int r = 0; r < num_ranks(); ++r) {
      check(cudaSetDevice(devices_[r]));
      f(r);
    }
    check(cudaSetDevice(0));
  }
  void fill(int rank, unsigned char* begin, std::size_t num_bytes) const {
    check(cudaMemsetAsync(begin - margin, canary, num_bytes + 2 * margin, streams[rank]));
  }
  void copy(int rank, unsigned char* to, const unsigned char* from, std::size_t num_bytes) const {
    check(cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyDefault, streams[rank]));
  }
  void delay(int rank, unsigned microseconds) const { delay_kernel<<<1, 1, 0, streams[rank]>>>(microseconds); }
  void wait(const std::string& what) const {
    pulse.begins(what);
    each([&](int r) { check(cudaStreamSynchronize(streams[r])); });
    pulse.rests();
  }
  // Empty where rank's bytes are those expected, between canaries; else what is wrong.
  std::string difference(int rank, const unsigned char* found, const unsigned char* expected,
                         std::size_t num_bytes) const {
    auto* const first = reinterpret_cast<unsigned long long*>(first_[rank].get());
    unsigned long long at = ~0ull;
    check(cudaSetDevice(devices_[rank]));
    check(cudaMemsetAsync(first, 0xff, sizeof(at), streams[rank]));
    const unsigned blocks = num_bytes < (1 << 20) ? 16 : 256;
    compare_kernel<<<blocks, 256, 0, streams[rank]>>>(found - margin, expected, num_bytes, margin, canary, first);
    check(cudaMemcpyAsync(&at, first, sizeof(at), cudaMemcpyDeviceToHost, streams[rank]));
    check(cudaStreamSynchronize(streams[rank]));
    check(cudaSetDevice(0));
    if (at == ~0ull) return {};
    const long long byte = static_cast<long long>(at) - static_cast<long long>(margin);
    return "rank " + std::to_string(rank) + ": byte " + std::to_string(byte) + " of " + std::to_string(num_bytes);
  }

  rungs::across::windows windows;
  std::vector<cudaStream_t> streams;

 private:
  std::vector<int> devices_;
  std::vector<memory> in_, out_, first_;
};

// Items and answers in the memory of a device, made once.
class library {
 public:
  static constexpr std::uint64_t seed = 20261126;

  const unsigned char* items_of(catalog::scalar type, items kind, int rank, std::size_t num_items) {
    return held({static_cast<int>(type), -1, static_cast<int>(kind), rank}, num_items,
                [&](std::size_t enough) { return across::items_of(type, kind, rank, enough, seed); });
  }
  const unsigned char* answers_of(catalog::scalar type, catalog::op op, items kind, int num_ranks,
                                  std::size_t num_items) {
    return held({static_cast<int>(type), static_cast<int>(op), static_cast<int>(kind), num_ranks}, num_items,
                [&](std::size_t enough) { return across::answers_of(type, op, kind, num_ranks, enough, seed); });
  }

 private:
  using key = std::tuple<int, int, int, int>;
  struct shelf {
    std::size_t num_items = 0;
    memory bytes;
  };
  // As many as will be asked for next, too.
  template <class Make>
  const unsigned char* held(const key& which, std::size_t num_items, Make make) {
    shelf& found = shelves_[which];
    if (found.bytes.get() == nullptr || found.num_items < num_items) {
      std::size_t enough = 1 << 17;
      while (enough < num_items) enough *= 8;
      found = {enough, memory(make(enough))};
    }
    return found.bytes.get();
  }
  std::map<key, shelf> shelves_;
};

}  // namespace rungs::tests::across
