// Where a record works: the device, or the host for the host baselines. The cases are written once, over this: memory,
// inputs, checks and red zones. Everything is ordered by the stream it is given; what gives an answer waits for it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "catalog.hpp"
#include "check.hpp"
#include "oracles/histogram_check.hpp"
#include "oracles/samples.hpp"
#include "oracles/scan_check.hpp"

namespace rungs::tests {

using bench::check;

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
// The first item of the first slot that is not what it should be.
struct prefix_damage {
  int slot;
  std::size_t item;
};

// Bytes that no test data looks like, different at every address.
struct zone {
  unsigned char* begin = nullptr;
  std::size_t bytes = 0;
};
struct zones {
  static constexpr int most = 10;
  zone each[most];
  int count = 0;
  void add(void* begin, std::size_t bytes) { each[count++] = {static_cast<unsigned char*>(begin), bytes}; }
};
// The first changed byte.
struct damage {
  int zone;
  std::size_t offset;
};

class site {
 public:
  explicit site(bool on_device) : on_device_(on_device) {}

  // Memory that was freed may be kept and given out again; exact memory is of just this size, and the driver's own.
  void* allocate(std::size_t bytes, bool exact = false);
  void free(void* memory);
  std::size_t free_memory() const;

  void fill(void* memory, int byte, std::size_t bytes, cudaStream_t stream) const;
  void scramble(void* memory, std::size_t bytes, std::uint64_t key, cudaStream_t stream) const;  // pseudo-random bytes
  void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const;
  void write(void* to, const void* from, std::size_t bytes) const;  // from the host; waits
  void read(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const;
  void wait(cudaStream_t stream) const;

  void generate(catalog::scalar type, void* items, const sample& s, cudaStream_t stream) const;
  std::uint64_t checksum(catalog::scalar type, const void* items, std::size_t num_items, cudaStream_t stream) const;
  bool is_all_zeros(const void* memory, std::size_t bytes, cudaStream_t stream) const;
  // Checks every output of a scan against its task; or the output of a reduction, which is on the host; or one output a
  // row of so many items.
  scan_report check_scan(const scan_task& task, cudaStream_t stream) const;
  scan_report check_rows(const scan_task& task, std::size_t row_items, cudaStream_t stream) const;
  scan_report check_reduction(const scan_task& task, cudaStream_t stream) const;
  std::optional<prefix_damage> compare(const prefix_scans& scans, cudaStream_t stream) const;
  // Counts samples anew.
  void count(const histogram_task& task, cudaStream_t stream) const;
  void paint(const zones& painted, std::uint64_t key, cudaStream_t stream) const;
  std::optional<damage> inspect(const zones& painted, std::uint64_t key, cudaStream_t stream) const;

 private:
  bool on_device_;
  std::mutex guard_;
  std::multimap<std::size_t, void*> kept_;
  std::map<void*, std::size_t> lent_;
};

site& device_site();
site& host_site();

// Memory for one role of a call, `red_zone` bytes of canaries on each side of the payload. It grows and is kept, so
// that most cases allocate nothing; an exact one is allocated anew each time and ends where the payload ends, for
// compute-sanitizer.
class guarded_buffer {
 public:
  static constexpr std::size_t red_zone = 1024;

  explicit guarded_buffer(site& where, bool exact = false) : where_(&where), exact_(exact) {}
  ~guarded_buffer() { release(); }
  guarded_buffer(const guarded_buffer&) = delete;
  guarded_buffer& operator=(const guarded_buffer&) = delete;

  // Room for `bytes` at an address that is `offset` bytes past a 256-byte boundary.
  void* place(std::size_t bytes, std::size_t offset, zones& guards);

 private:
  void release();
  site* where_;
  bool exact_;
  unsigned char* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

namespace device {

// An attribute of the current device.
int attribute(cudaDeviceAttr which);

// Small answers travel through pinned memory; a thread keeps its own.
struct answers {
  static constexpr std::size_t bytes = 65536;
  answers();
  ~answers();
  answers(const answers&) = delete;
  answers& operator=(const answers&) = delete;
  static answers& mine();
  // The device's first `used` bytes, on the host; waits.
  const void* fetch(std::size_t used, cudaStream_t stream) const;
  void *on_device = nullptr, *on_host = nullptr;
};

// The device's part of these: functions of `site`.
scan_report check_scan(const scan_task& task, cudaStream_t stream);
scan_report check_rows(const scan_task& task, std::size_t row_items, cudaStream_t stream);
scan_report check_reduction(const scan_task& task, cudaStream_t stream);
void count(const histogram_task& task, cudaStream_t stream);

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
  void release() { *released_ = 1; }

 private:
  cudaStream_t stream_ = nullptr;
  int blocks_ = 0;
  volatile int* started_ = nullptr;  // mapped: counts blocks
  volatile int* released_ = nullptr;
};

}  // namespace device
}  // namespace rungs::tests
