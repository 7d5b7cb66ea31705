#include "gpu/site.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "oracles/bits.hpp"
#include "oracles/histogram_reference.hpp"
#include "oracles/scan_reference.hpp"

namespace rungs::tests {
namespace {

constexpr int block_threads = 256;

int multiprocessors() {
  static const int count = device::attribute(cudaDevAttrMultiProcessorCount);
  return count;
}

int grid_for(std::size_t num_items, int most) {
  const std::size_t blocks = (num_items + block_threads - 1) / block_threads;
  return static_cast<int>(std::clamp<std::size_t>(blocks, 1, static_cast<std::size_t>(most)));
}

template <class F>
__global__ void __launch_bounds__(block_threads) at_each(std::size_t n, F f) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

// f(i) for each i below n, by the device or by the host.
template <class F>
void for_each(bool on_device, std::size_t n, cudaStream_t stream, const F& f) {
  if (on_device && n > 0) {
    at_each<<<grid_for(n, 8 * multiprocessors()), block_threads, 0, stream>>>(n, f);
    check(cudaGetLastError());
  } else {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
}

template <class F>
struct note_first {
  F is_wrong;
  unsigned long long* first;
  __host__ __device__ void operator()(std::size_t i) const {
    if (!is_wrong(i)) return;
#ifdef __CUDA_ARCH__
    atomicMin(first, static_cast<unsigned long long>(i));
#else
    *first = std::min<unsigned long long>(*first, i);
#endif
  }
};
// The first i below n that is wrong, if any.
template <class F>
std::optional<std::size_t> first_wrong(bool on_device, std::size_t n, cudaStream_t stream, const F& is_wrong) {
  unsigned long long first = ~0ull;
  if (on_device) {
    auto* const d_first = static_cast<unsigned long long*>(device::answers::mine().on_device);
    check(cudaMemsetAsync(d_first, 0xff, sizeof first, stream));
    for_each(true, n, stream, note_first<F>{is_wrong, d_first});
    std::memcpy(&first, device::answers::mine().fetch(sizeof first, stream), sizeof first);
  } else {
    for_each(false, n, stream, note_first<F>{is_wrong, &first});
  }
  return first == ~0ull ? std::nullopt : std::optional<std::size_t>(first);
}

template <class T>
struct generate_item {
  T* items;
  sample made;
  __host__ __device__ void operator()(std::size_t i) const { items[i] = item<T>(made, i); }
};

struct scramble_byte {
  unsigned char* bytes;
  std::uint64_t key;
  __host__ __device__ void operator()(std::size_t i) const {
    bytes[i] = static_cast<unsigned char>(detail::hash(key, i));
  }
};

// Zone after zone, each as if it were as long as the longest.
struct zone_bytes {
  zones all;
  std::uint64_t key;
  std::size_t longest = 0;

  zone_bytes(const zones& painted, std::uint64_t with_key) : all(painted), key(with_key) {
    for (int z = 0; z < all.count; ++z) longest = std::max(longest, all.each[z].bytes);
  }
  std::size_t num_bytes() const { return static_cast<std::size_t>(all.count) * longest; }
  // Null behind the end of a zone.
  __host__ __device__ unsigned char* at(std::size_t i) const {
    const zone& z = all.each[i / longest];
    return i % longest < z.bytes ? z.begin + i % longest : nullptr;
  }
  __host__ __device__ unsigned char canary(const unsigned char* address) const {
    return static_cast<unsigned char>(detail::hash(key, reinterpret_cast<std::uint64_t>(address)));
  }
};
struct paint_byte {
  zone_bytes bytes;
  __host__ __device__ void operator()(std::size_t i) const {
    if (unsigned char* const byte = bytes.at(i); byte != nullptr) *byte = bytes.canary(byte);
  }
};
struct is_changed {
  zone_bytes bytes;
  __host__ __device__ bool operator()(std::size_t i) const {
    const unsigned char* const byte = bytes.at(i);
    return byte != nullptr && *byte != bytes.canary(byte);
  }
};

// Word by word of one slot after the other.
struct differs_from_whole {
  prefix_scans scans;
  __host__ __device__ bool operator()(std::size_t i) const {
    const std::size_t slot_words = scans.slot_bytes / sizeof(unsigned), slot = i / slot_words, word = i % slot_words;
    const std::size_t written = scans.num_items[slot] * scans.item_bytes / sizeof(unsigned);
    const unsigned untouched = static_cast<unsigned>(scans.untouched) * 0x01010101u;
    return static_cast<const unsigned*>(scans.slots)[i] !=
           (word < written ? static_cast<const unsigned*>(scans.whole)[word] : untouched);
  }
};

struct is_set {
  const unsigned char* bytes;
  __host__ __device__ bool operator()(std::size_t i) const { return bytes[i] != 0; }
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    checksum_items(const T* items, std::size_t num_items, unsigned long long* sum) {
  unsigned long long mine = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride)
    mine += checksum_of(items[i], i);
  atomicAdd(sum, mine);
}

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(unsigned long long duration) {
  const unsigned long long end = nanoseconds() + duration;
  while (nanoseconds() < end) {
  }
}

__global__ void churn(unsigned* scratch, std::size_t words, unsigned long long duration) {
  const unsigned long long end = nanoseconds() + duration;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  while (nanoseconds() < end) {
    scratch[i % words] = static_cast<unsigned>(i);
    i += stride;
  }
}

__global__ void squat(volatile int* started, const volatile int* released, unsigned long long duration) {
  extern __shared__ int whole_multiprocessor[];
  const unsigned long long end = nanoseconds() + duration;
  if (threadIdx.x == 0) {
    whole_multiprocessor[0] = 1;
    atomicAdd_system(const_cast<int*>(started), 1);
    while (*released == 0 && nanoseconds() < end) {
    }
  }
  __syncthreads();
}

constexpr std::size_t most_kept = std::size_t{1} << 29;

}  // namespace

// On the device most cases need what the case before had: powers of two are kept. The caller has waited for the
// memory's last use.
void* site::allocate(std::size_t bytes, bool exact) {
  void* memory = nullptr;
  if (!on_device_) {
    memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  if (exact || bytes > most_kept) {
    check(cudaMalloc(&memory, bytes));
    return memory;
  }
  const std::size_t rounded = std::bit_ceil(std::max<std::size_t>(bytes, 65536));
  const std::lock_guard lock(guard_);
  if (const auto kept = kept_.find(rounded); kept != kept_.end()) {
    memory = kept->second;
    kept_.erase(kept);
  } else {
    check(cudaMalloc(&memory, rounded));
  }
  lent_[memory] = rounded;
  return memory;
}

void site::free(void* memory) {
  if (!on_device_) return std::free(memory);
  const std::lock_guard lock(guard_);
  if (const auto lent = lent_.find(memory); lent != lent_.end()) {
    kept_.emplace(lent->second, memory);
    lent_.erase(lent);
  } else {
    cudaFree(memory);
  }
}

std::size_t site::free_memory() const {
  std::size_t free = std::size_t{1} << 30, total = 0;
  if (on_device_) check(cudaMemGetInfo(&free, &total));
  return free;
}

void site::fill(void* memory, int byte, std::size_t bytes, cudaStream_t stream) const {
  if (on_device_)
    check(cudaMemsetAsync(memory, byte, bytes, stream));
  else
    std::memset(memory, byte, bytes);
}

void site::scramble(void* memory, std::size_t bytes, std::uint64_t key, cudaStream_t stream) const {
  for_each(on_device_, bytes, stream, scramble_byte{static_cast<unsigned char*>(memory), key});
}

void site::copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const {
  if (on_device_)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  else
    std::memcpy(to, from, bytes);
}

void site::write(void* to, const void* from, std::size_t bytes) const {
  copy(to, from, bytes, nullptr);
  wait(nullptr);
}

void site::read(void* to, const void* from, std::size_t bytes, cudaStream_t stream) const {
  copy(to, from, bytes, stream);
  wait(stream);
}

void site::wait(cudaStream_t stream) const {
  if (on_device_) check(cudaStreamSynchronize(stream));
}

void site::generate(catalog::scalar type, void* items, const sample& s, cudaStream_t stream) const {
  with_item_type(type, [&]<class T>(type_tag<T>) {
    for_each(on_device_, s.num_items, stream, generate_item<T>{static_cast<T*>(items), s});
  });
}

std::uint64_t site::checksum(catalog::scalar type, const void* items, std::size_t num_items,
                             cudaStream_t stream) const {
  unsigned long long sum = 0;
  with_item_type(type, [&]<class T>(type_tag<T>) {
    const auto* const typed = static_cast<const T*>(items);
    if (!on_device_) {
      for (std::size_t i = 0; i < num_items; ++i) sum += checksum_of(typed[i], i);
      return;
    }
    auto* const d_sum = static_cast<unsigned long long*>(device::answers::mine().on_device);
    check(cudaMemsetAsync(d_sum, 0, sizeof sum, stream));
    checksum_items<T>
        <<<grid_for(num_items, 8 * multiprocessors()), block_threads, 0, stream>>>(typed, num_items, d_sum);
    check(cudaGetLastError());
    std::memcpy(&sum, device::answers::mine().fetch(sizeof sum, stream), sizeof sum);
  });
  return sum;
}

bool site::is_all_zeros(const void* memory, std::size_t bytes, cudaStream_t stream) const {
  return !first_wrong(on_device_, bytes, stream, is_set{static_cast<const unsigned char*>(memory)});
}

scan_report site::check_scan(const scan_task& task, cudaStream_t stream) const {
  return on_device_ ? device::check_scan(task, stream) : check_on_host(task, 64);
}
scan_report site::check_rows(const scan_task& task, std::size_t row_items, cudaStream_t stream) const {
  return on_device_ ? device::check_rows(task, row_items, stream) : check_rows_on_host(task, row_items);
}
scan_report site::check_reduction(const scan_task& task, cudaStream_t stream) const {
  return on_device_ ? device::check_reduction(task, stream) : check_total_on_host(task);
}

std::optional<prefix_damage> site::compare(const prefix_scans& scans, cudaStream_t stream) const {
  const std::size_t num_bytes = static_cast<std::size_t>(scans.count) * scans.slot_bytes;
  const auto word = first_wrong(on_device_, num_bytes / sizeof(unsigned), stream, differs_from_whole{scans});
  if (!word) return std::nullopt;
  const std::size_t at = *word * sizeof(unsigned);
  return prefix_damage{static_cast<int>(at / scans.slot_bytes), at % scans.slot_bytes / scans.item_bytes};
}

void site::count(const histogram_task& task, cudaStream_t stream) const {
  if (on_device_)
    device::count(task, stream);
  else
    count_on_host(task);
}

void site::paint(const zones& painted, std::uint64_t key, cudaStream_t stream) const {
  const zone_bytes bytes(painted, key);
  for_each(on_device_, bytes.num_bytes(), stream, paint_byte{bytes});
}

std::optional<damage> site::inspect(const zones& painted, std::uint64_t key, cudaStream_t stream) const {
  const zone_bytes bytes(painted, key);
  if (bytes.num_bytes() == 0) return std::nullopt;
  const auto first = first_wrong(on_device_, bytes.num_bytes(), stream, is_changed{bytes});
  if (!first) return std::nullopt;
  return damage{static_cast<int>(*first / bytes.longest), *first % bytes.longest};
}

site& device_site() {
  static site& where = *new site(true);  // what it keeps outlives every buffer
  return where;
}
site& host_site() {
  static site& where = *new site(false);
  return where;
}

void guarded_buffer::release() {
  if (memory_ != nullptr) where_->free(memory_);
  memory_ = nullptr;
  capacity_ = 0;
}

void* guarded_buffer::place(std::size_t bytes, std::size_t offset, zones& guards) {
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

namespace device {

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

answers::answers() {
  check(cudaMalloc(&on_device, bytes));
  // Padding is copied, too. Other streams do not wait for the legacy one.
  check(cudaMemset(on_device, 0, bytes));
  check(cudaStreamSynchronize(nullptr));
  check(cudaMallocHost(&on_host, bytes));
}
answers::~answers() {
  cudaFree(on_device);
  cudaFreeHost(on_host);
}
answers& answers::mine() {
  thread_local answers it;
  return it;
}
const void* answers::fetch(std::size_t used, cudaStream_t stream) const {
  check(cudaMemcpyAsync(on_host, on_device, used, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return on_host;
}

void delay(double milliseconds, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(milliseconds * 1e6));
  check(cudaGetLastError());
}

void make_noise(double milliseconds, void* d_scratch, std::size_t scratch_bytes, cudaStream_t stream) {
  churn<<<multiprocessors() / 2 + 1, block_threads, 0, stream>>>(static_cast<unsigned*>(d_scratch),
                                                                 scratch_bytes / sizeof(unsigned),
                                                                 static_cast<unsigned long long>(milliseconds * 1e6));
  check(cudaGetLastError());
}

squatter::squatter(int left_free, double at_most_milliseconds) : blocks_(multiprocessors() - left_free) {
  const int smem = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  check(cudaFuncSetAttribute(squat, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  int* flags = nullptr;
  check(cudaHostAlloc(&flags, 2 * sizeof(int), cudaHostAllocMapped));
  flags[0] = flags[1] = 0;
  started_ = flags;
  released_ = flags + 1;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  if (blocks_ > 0) {
    squat<<<blocks_, 1024, static_cast<std::size_t>(smem), stream_>>>(
        flags, flags + 1, static_cast<unsigned long long>(at_most_milliseconds * 1e6));
    check(cudaGetLastError());
  }
}

squatter::~squatter() {
  release();
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFreeHost(const_cast<int*>(started_));
}

bool squatter::settled() const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (*started_ < blocks_) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace device
}  // namespace rungs::tests
