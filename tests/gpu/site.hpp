// Where a record works: the device, or the host for the host baselines. The cases are written once, over this.
#pragma once

#include <memory>
#include <optional>

#include "gpu/device.hpp"

namespace rungs::tests {

class site {
 public:
  virtual ~site() = default;
  // Memory that was freed may be kept and given out again; exact memory is of just this size, and the driver's own.
  virtual void* allocate(std::size_t bytes, bool exact = false) = 0;
  virtual void free(void* memory) = 0;
  virtual void generate(catalog::scalar type, void* items, const sample& s, cudaStream_t stream) = 0;
  virtual summary summarise(catalog::scalar type, const void* items, std::size_t num_items, cudaStream_t stream) = 0;
  virtual void count(const histogram_task& task, cudaStream_t stream) = 0;
  virtual histogram_report check_counts(const histogram_task& counted, const void* counters,
                                        cudaStream_t stream) = 0;                  // waits
  virtual scan_report check_scan(const scan_task& task, cudaStream_t stream) = 0;  // waits
  virtual std::optional<device::prefix_damage> compare(const device::prefix_scans& scans,
                                                       cudaStream_t stream) = 0;  // waits
  virtual void paint(const device::zones& painted, std::uint64_t key, cudaStream_t stream) = 0;
  virtual std::optional<device::damage> inspect(const device::zones& painted, std::uint64_t key,
                                                cudaStream_t stream) = 0;
  virtual void fill(void* memory, int byte, std::size_t bytes, cudaStream_t stream) = 0;
  virtual void scramble(void* memory, std::size_t bytes, std::uint64_t key, cudaStream_t stream) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;  // from the host; waits
  virtual void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) = 0;
  virtual void read(void* to, const void* from, std::size_t bytes, cudaStream_t stream) = 0;  // waits
  virtual void wait(cudaStream_t stream) = 0;
  virtual std::size_t free_memory() const = 0;
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
  void* place(std::size_t bytes, std::size_t offset, device::zones& guards);

 private:
  void release();
  site* where_;
  bool exact_;
  unsigned char* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace rungs::tests
