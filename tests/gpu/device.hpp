// What the tests do on the device beside calling variants, behind plain functions: make inputs, check them, paint and
// inspect red zones, and disturb. Everything is ordered by the stream it is given.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog.hpp"
#include "oracles/histogram_check.hpp"
#include "oracles/samples.hpp"
#include "oracles/scan_check.hpp"
#include "oracles/summary.hpp"

namespace rungs::tests::device {

// Throws std::runtime_error naming the call that failed.
void check(cudaError_t status, const char* what);

void generate(catalog::scalar type, void* d_items, const sample& s, cudaStream_t stream);

// One pass over device memory; waits for it.
summary summarise(catalog::scalar type, const void* d_items, std::size_t num_items, cudaStream_t stream);

// Checks every output of a scan against its task; waits. Made of the same parts as the checker on the host.
scan_report check_scan(const scan_task& task, cudaStream_t stream);

// Counts samples anew; then whether counters, 32 bits each, say the same; waits.
void count(const histogram_task& task, cudaStream_t stream);
histogram_report check_counts(const histogram_task& counted, const void* d_counters, cudaStream_t stream);

// Many scans of prefixes of one input, each in a slot of its own: slot k holds the outputs of the first num_items[k]
// items and `untouched` behind them. `whole` holds the outputs of a scan of as many items as any of them has. Sizes and
// addresses are multiples of 4 bytes.
struct prefix_scans {
  static constexpr int most = 64;
  const void* slots = nullptr;
  std::size_t slot_bytes = 0;
  const void* whole = nullptr;
  std::size_t item_bytes = 0;
  int untouched = 0xff;  // a byte
  int count = 0;
  unsigned num_items[most] = {};
};
// The first item of the first slot that is not what it should be, behind the last output if it was to be left alone;
// waits.
struct prefix_damage {
  int slot;
  std::size_t item;
};
std::optional<prefix_damage> compare(const prefix_scans& scans, cudaStream_t stream);

// Bytes that no test data looks like, different at every address.
struct zone {
  unsigned char* begin = nullptr;
  std::size_t bytes = 0;
};
inline constexpr int max_zones = 10;
struct zones {
  zone each[max_zones];
  int count = 0;
  void add(void* begin, std::size_t bytes) { each[count++] = {static_cast<unsigned char*>(begin), bytes}; }
};
void paint(const zones& painted, std::uint64_t key, cudaStream_t stream);
// The first changed byte, if any, as (zone, offset); waits.
struct damage {
  int zone;
  std::size_t offset;
};
std::optional<damage> inspect(const zones& painted, std::uint64_t key, cudaStream_t stream);

// Fills `bytes` with pseudo-random bytes.
void scramble(void* d_bytes, std::size_t bytes, std::uint64_t key, cudaStream_t stream);

// Spins for that long on the device.
void delay(double milliseconds, cudaStream_t stream);

// Keeps DRAM and some multiprocessors busy for that long.
void make_noise(double milliseconds, void* d_scratch, std::size_t scratch_bytes, cudaStream_t stream);

// Occupies all multiprocessors but `left_free` until it is released or its time is over.
class squatter {
 public:
  squatter(int left_free, double at_most_milliseconds);
  ~squatter();
  squatter(const squatter&) = delete;
  squatter& operator=(const squatter&) = delete;
  // Whether every block of it is running, after waiting for that for a moment.
  bool settled() const;
  void release();

 private:
  cudaStream_t stream_ = nullptr;
  int blocks_ = 0;
  volatile int* started_ = nullptr;  // mapped: counts blocks
  volatile int* released_ = nullptr;
};

}  // namespace rungs::tests::device
