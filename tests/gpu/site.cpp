#include "gpu/site.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "oracles/bits.hpp"
#include "oracles/scan_reference.hpp"

namespace rungs::tests {
namespace {

class on_device : public site {
 public:
  // Most cases need what the case before had: powers of two are kept. The caller has waited for the memory's last use.
  void* allocate(std::size_t bytes, bool exact) override {
    void* memory = nullptr;
    if (exact || bytes > most_kept) {
      device::check(cudaMalloc(&memory, bytes), "cudaMalloc");
      return memory;
    }
    const std::size_t rounded = std::bit_ceil(std::max<std::size_t>(bytes, 65536));
    const std::lock_guard lock(guard_);
    if (const auto kept = kept_.find(rounded); kept != kept_.end()) {
      memory = kept->second;
      kept_.erase(kept);
    } else {
      device::check(cudaMalloc(&memory, rounded), "cudaMalloc");
    }
    lent_[memory] = rounded;
    return memory;
  }
  void free(void* memory) override {
    const std::lock_guard lock(guard_);
    if (const auto lent = lent_.find(memory); lent != lent_.end()) {
      kept_.emplace(lent->second, memory);
      lent_.erase(lent);
    } else {
      cudaFree(memory);
    }
  }
  void generate(catalog::scalar type, void* items, const sample& s, cudaStream_t stream) override {
    device::generate(type, items, s, stream);
  }
  summary summarise(catalog::scalar type, const void* items, std::size_t num_items, cudaStream_t stream) override {
    return device::summarise(type, items, num_items, stream);
  }
  void count(const histogram_task& task, cudaStream_t stream) override { device::count(task, stream); }
  histogram_report check_counts(const histogram_task& counted, const void* counters, cudaStream_t stream) override {
    return device::check_counts(counted, counters, stream);
  }
  scan_report check_scan(const scan_task& task, cudaStream_t stream) override {
    return device::check_scan(task, stream);
  }
  std::optional<device::prefix_damage> compare(const device::prefix_scans& scans, cudaStream_t stream) override {
    return device::compare(scans, stream);
  }
  void paint(const device::zones& painted, std::uint64_t key, cudaStream_t stream) override {
    device::paint(painted, key, stream);
  }
  std::optional<device::damage> inspect(const device::zones& painted, std::uint64_t key, cudaStream_t stream) override {
    return device::inspect(painted, key, stream);
  }
  void fill(void* memory, int byte, std::size_t bytes, cudaStream_t stream) override {
    device::check(cudaMemsetAsync(memory, byte, bytes, stream), "cudaMemsetAsync");
  }
  void scramble(void* memory, std::size_t bytes, std::uint64_t key, cudaStream_t stream) override {
    device::scramble(memory, bytes, key, stream);
  }
  void write(void* to, const void* from, std::size_t bytes) override {
    device::check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    wait(nullptr);
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) override {
    device::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
  }
  void read(void* to, const void* from, std::size_t bytes, cudaStream_t stream) override {
    device::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    wait(stream);
  }
  void wait(cudaStream_t stream) override { device::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }
  std::size_t free_memory() const override {
    std::size_t free = 0, total = 0;
    device::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{1} << 29;
  std::mutex guard_;
  std::multimap<std::size_t, void*> kept_;
  std::map<void*, std::size_t> lent_;
};

class on_host : public site {
 public:
  void* allocate(std::size_t bytes, bool) override {
    void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  void generate(catalog::scalar type, void* items, const sample& s, cudaStream_t) override {
    with_item_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < s.num_items; ++i) static_cast<T*>(items)[i] = item<T>(s, i);
    });
  }
  summary summarise(catalog::scalar type, const void* items, std::size_t num_items, cudaStream_t) override {
    summary all;
    with_item_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < num_items; ++i) all.absorb(static_cast<const T*>(items)[i], i);
    });
    return all;
  }
  void count(const histogram_task& task, cudaStream_t) override { count_on_host(task); }
  histogram_report check_counts(const histogram_task& counted, const void* counters, cudaStream_t) override {
    return check_counts_on_host(counted, static_cast<const std::uint32_t*>(counters));
  }
  scan_report check_scan(const scan_task& task, cudaStream_t) override { return check_on_host(task, 64); }
  std::optional<device::prefix_damage> compare(const device::prefix_scans& scans, cudaStream_t) override {
    for (int k = 0; k < scans.count; ++k) {
      const auto* const slot =
          static_cast<const unsigned char*>(scans.slots) + static_cast<std::size_t>(k) * scans.slot_bytes;
      const std::size_t written = scans.num_items[k] * scans.item_bytes;
      for (std::size_t b = 0; b < scans.slot_bytes; ++b)
        if (slot[b] != (b < written ? static_cast<const unsigned char*>(scans.whole)[b] : scans.untouched))
          return device::prefix_damage{k, b / scans.item_bytes};
    }
    return std::nullopt;
  }
  void paint(const device::zones& painted, std::uint64_t key, cudaStream_t) override {
    for (int z = 0; z < painted.count; ++z)
      for (std::size_t i = 0; i < painted.each[z].bytes; ++i)
        painted.each[z].begin[i] = canary(painted.each[z].begin + i, key);
  }
  std::optional<device::damage> inspect(const device::zones& painted, std::uint64_t key, cudaStream_t) override {
    for (int z = 0; z < painted.count; ++z)
      for (std::size_t i = 0; i < painted.each[z].bytes; ++i)
        if (painted.each[z].begin[i] != canary(painted.each[z].begin + i, key)) return device::damage{z, i};
    return std::nullopt;
  }
  void fill(void* memory, int byte, std::size_t bytes, cudaStream_t) override { std::memset(memory, byte, bytes); }
  void scramble(void* memory, std::size_t bytes, std::uint64_t key, cudaStream_t) override {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(memory)[i] = static_cast<unsigned char>(detail::hash(key, i));
  }
  void write(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, cudaStream_t) override { std::memcpy(to, from, bytes); }
  void read(void* to, const void* from, std::size_t bytes, cudaStream_t) override { std::memcpy(to, from, bytes); }
  void wait(cudaStream_t) override {}
  std::size_t free_memory() const override { return std::size_t{1} << 30; }

 private:
  static unsigned char canary(const unsigned char* address, std::uint64_t key) {
    return static_cast<unsigned char>(detail::hash(key, reinterpret_cast<std::uint64_t>(address)));
  }
};

}  // namespace

site& device_site() {
  static on_device where;
  return where;
}
site& host_site() {
  static on_host where;
  return where;
}

void guarded_buffer::release() {
  if (memory_ != nullptr) where_->free(memory_);
  memory_ = nullptr;
  capacity_ = 0;
}

void* guarded_buffer::place(std::size_t bytes, std::size_t offset, device::zones& guards) {
  if (exact_) {
    release();
    memory_ = static_cast<unsigned char*>(where_->allocate(offset + bytes > 0 ? offset + bytes : 1, true));
    return memory_ + offset;
  }
  const std::size_t needed = red_zone + offset + bytes + red_zone;
  if (needed > capacity_) {
    release();
    memory_ = static_cast<unsigned char*>(where_->allocate(needed));
    capacity_ = needed;
  }
  guards.add(memory_, red_zone + offset);
  guards.add(memory_ + red_zone + offset + bytes, red_zone);
  return memory_ + red_zone + offset;
}

}  // namespace rungs::tests
