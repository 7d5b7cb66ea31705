// Windows: memory of each rank that all ranks can reach, by peer access within a process and by CUDA IPC between
// several.
//
//   rungs::across::windows windows;
//   const int devices[] = {0, 1};
//   cudaError_t error = windows.create(devices, 2);   // once
//   for (int rank = 0; rank < 2; ++rank) {            // on the device and a stream of each rank
//     cudaSetDevice(devices[rank]);
//     rungs::across::one_shot::all_reduce(windows.member(rank), d_in[rank], d_out[rank], num_items, rungs::plus{},
//                                         streams[rank]);
//   }
//
// Calls of all ranks wait for each other on the device. A host thread that calls for several ranks must not wait for a
// device between these calls. So it may not copy from pageable memory, allocate, or launch a kernel whose code is not
// loaded yet (CUDA_MODULE_LOADING=EAGER loads all at the start).
//
// A block waits for blocks of its own index only. Ranks that share a GPU need streams of their own, and room for the
// blocks of all of them at once. The default number of blocks leaves that room on a GPU that does nothing else. A rank
// alone on its GPU may have more blocks than are resident: they start in the order of their indices.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "rungs/across/member.cuh"
#include "rungs/across/parts/layout.cuh"

namespace rungs::RUNGS_ABI::across {

// The same on all ranks. Sizes are rounded up to 512 bytes.
struct window_options {
  std::size_t staging_bytes = std::size_t{64} << 20;  // more items take more steps in a call; at least 1 KiB a block
  std::size_t tagged_bytes = std::size_t{512} << 10;  // most that one_shot sends in a step; at least 4 KiB
  int num_blocks = 0;                  // 0: one for each multiprocessor, shared by the ranks of the GPU, at most 128
  unsigned long long first_epoch = 0;  // where steps begin, below 2^52: for tests of counters that wrap
};

// Movable. Memory is freed at the end, so calls have to have ended then, on all ranks.
class windows {
 public:
  windows() = default;
  windows(windows&& other) noexcept { swap(other); }
  windows& operator=(windows&& other) noexcept {
    swap(other);
    return *this;
  }
  ~windows() { release(); }

  // All ranks are in this process: rank r on devices[r]. A device may be there several times. Peer access is enabled
  // where it is not yet, and stays. Windows that were there before are released first.
  //
  // Returns cudaErrorInvalidValue where num_ranks is not from 1 to 8 or a size is too small, and
  // cudaErrorPeerAccessUnsupported where two devices cannot reach each other. Nothing is kept then.
  cudaError_t create(const int* devices, int num_ranks, const window_options& options = {}) {
    cudaError_t error = release();
    if (error != cudaSuccess) return error;
    const on_device restore;
    error = restore.error;
    int num_blocks = 0;
    if (error == cudaSuccess) error = check_ranks(num_ranks, 0);
    for (int r = 0; r < num_ranks && error == cudaSuccess; ++r) {
      int multiprocessors = 0, sharing = 0;
      error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, devices[r]);
      for (int other = 0; other < num_ranks; ++other) sharing += devices[other] == devices[r];
      num_blocks = fewer(num_blocks, multiprocessors / sharing);
    }
    if (error == cudaSuccess) error = plan(num_ranks, num_blocks, options);
    for (int r = 0; r < num_ranks && error == cudaSuccess; ++r)
      for (int other = 0; other < num_ranks && error == cudaSuccess; ++other)
        error = enable_access(devices[r], devices[other]);
    for (int r = 0; r < num_ranks && error == cudaSuccess; ++r) error = allocate(r, devices[r], options.first_epoch);
    if (error != cudaSuccess) release();
    return error;
  }

  // Puts `bytes` bytes at `mine` of each rank into `all`, in the order of ranks: an all-gather of MPI, of files, or of
  // sockets. Returns cudaSuccess or an error.
  using gather_all = std::function<cudaError_t(const void* mine, void* all, std::size_t bytes)>;

  // One rank of several processes, or threads, of one machine; on the current device. Each calls it with its rank, and
  // the same options. If one of them fails, all return an error, and keep nothing; if `gather` itself fails, this one.
  //
  // Returns, beside the errors above and those of CUDA IPC, cudaErrorPeerAccessUnsupported where ranks are on several
  // machines, and cudaErrorInvalidValue where options differ.
  cudaError_t create(int rank, int num_ranks, const gather_all& gather, const window_options& options = {}) {
    cudaError_t error = release();
    if (error == cudaSuccess) error = check_ranks(num_ranks, rank);
    if (error != cudaSuccess) return error;
    std::vector<card> cards(num_ranks);
    card mine = describe(options);
    error = exchange(gather, mine, cards);
    for (int r = 0; r < num_ranks && error == cudaSuccess; ++r) {
      if (std::memcmp(cards[r].machine, mine.machine, sizeof(mine.machine)) != 0)
        error = cudaErrorPeerAccessUnsupported;
      if (std::memcmp(&cards[r].options, &mine.options, sizeof(mine.options)) != 0) error = cudaErrorInvalidValue;
    }
    if (error != cudaSuccess) return error;  // all ranks come to the same
    int num_blocks = 0;
    for (const card& each : cards) {
      int sharing = 0;
      for (const card& other : cards) sharing += std::memcmp(each.gpu, other.gpu, sizeof(each.gpu)) == 0;
      num_blocks = fewer(num_blocks, each.multiprocessors / sharing);
    }
    mine.error = plan(num_ranks, num_blocks, options);
    if (mine.error == cudaSuccess) mine.error = allocate(rank, mine.device, options.first_epoch);
    if (mine.error == cudaSuccess) mine.error = cudaIpcGetMemHandle(&mine.handle, own_[rank]);
    mine.window = own_[rank];
    error = exchange(gather, mine, cards);
    if (error == cudaSuccess) {
      mine.error = connect(rank, mine, cards);
      error = exchange(gather, mine, cards);
    }
    if (error == cudaSuccess) return cudaSuccess;
    disconnect();
    exchange(gather, mine, cards);  // nobody frees what another one has opened
    release();
    return error;
  }

  int num_ranks() const { return shape_.num_ranks; }

  // What a rank of this process passes to its calls. Of any other rank, a member that calls refuse.
  across::member member(int rank) const {
    across::member made = shape_;
    if (rank < 0 || rank >= shape_.num_ranks || own_[rank] == nullptr) made.num_ranks = 0;
    made.rank = rank;
    made.device = made.num_ranks > 0 ? devices_[rank] : -1;
    return made;
  }

  // Closes what other processes have lent. CUDA wants that before they free it: disconnect() on all ranks, a barrier of
  // the caller, and then release(). Within one process there is nothing to close.
  cudaError_t disconnect() {
    cudaError_t error = cudaSuccess;
    for (int r = 0; r < max_ranks; ++r) {
      if (opened_[r] == nullptr) continue;
      const cudaError_t closed = cudaIpcCloseMemHandle(std::exchange(opened_[r], nullptr));
      if (error == cudaSuccess) error = closed;
      shape_.windows[r] = nullptr;
    }
    return error;
  }

  // Closes, and frees the windows of this process. Returns the first error, and keeps nothing in any case.
  cudaError_t release() {
    cudaError_t error = disconnect();
    const on_device restore;
    for (int r = 0; r < max_ranks; ++r) {
      if (own_[r] == nullptr) continue;
      cudaError_t freed = cudaSetDevice(devices_[r]);
      if (freed == cudaSuccess) freed = cudaFree(own_[r]);
      if (error == cudaSuccess) error = freed;
      own_[r] = nullptr;
    }
    shape_ = {};
    return error;
  }

 private:
  // What ranks of several processes tell each other. Plain bytes.
  struct card {
    cudaError_t error;
    int device, multiprocessors;
    unsigned char gpu[16];
    char machine[64];
    unsigned long long process;
    struct {
      unsigned long long staging_bytes, tagged_bytes, first_epoch;
      long long num_blocks;
    } options;
    cudaIpcMemHandle_t handle;
    char* window;
  };

  // Comes back to the device that was current.
  struct on_device {
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    on_device() = default;
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device() {
      if (error == cudaSuccess) cudaSetDevice(device);
    }
  };

  static cudaError_t check_ranks(int num_ranks, int rank) {
    return num_ranks < 1 || num_ranks > max_ranks || rank < 0 || rank >= num_ranks ? cudaErrorInvalidValue
                                                                                   : cudaSuccess;
  }
  static int fewer(int so_far, int more) { return so_far == 0 || more < so_far ? (more > 0 ? more : 1) : so_far; }

  cudaError_t plan(int num_ranks, int num_blocks, const window_options& options) {
    constexpr int most_by_default = 128;
    const auto rounded = [](std::size_t bytes) {
      return (bytes + parts::size_unit - 1) / parts::size_unit * parts::size_unit;
    };
    if (options.num_blocks != 0)
      num_blocks = options.num_blocks;
    else if (num_blocks > most_by_default)
      num_blocks = most_by_default;
    if (num_blocks < 1 || num_blocks > most_blocks || options.tagged_bytes < parts::least_tagged_bytes ||
        options.staging_bytes < num_blocks * parts::least_staging_of_block || options.first_epoch > parts::step_mask)
      return cudaErrorInvalidValue;
    shape_.num_ranks = num_ranks;
    shape_.num_blocks = num_blocks;
    shape_.tagged_bytes = rounded(options.tagged_bytes);
    shape_.staging_bytes = rounded(options.staging_bytes);
    return cudaSuccess;
  }

  // Both ways are asked for by the caller, who comes with each pair twice.
  static cudaError_t enable_access(int from, int to) {
    int can = 0;
    if (from == to) return cudaSuccess;
    cudaError_t error = cudaDeviceCanAccessPeer(&can, from, to);
    if (error == cudaSuccess && can == 0) error = cudaErrorPeerAccessUnsupported;
    if (error == cudaSuccess) error = cudaSetDevice(from);
    if (error == cudaSuccess) error = cudaDeviceEnablePeerAccess(to, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      error = cudaSuccess;
    }
    return error;
  }

  // Zeros, but for the counters and flags of a first epoch. Blocks of 2 MiB are what IPC shares, so the window shares
  // its own with nothing else.
  cudaError_t allocate(int rank, int device, unsigned long long first_epoch) {
    constexpr std::size_t unit = std::size_t{2} << 20;
    const std::size_t bytes =
        parts::window_bytes(shape_.num_ranks, shape_.num_blocks, shape_.tagged_bytes, shape_.staging_bytes);
    const std::size_t head_bytes = parts::lines_at(shape_.num_blocks);
    std::vector<unsigned long long> head(head_bytes / sizeof(unsigned long long));
    head[0] = first_epoch << parts::block_bits;
    for (std::size_t i = parts::flags_at() / sizeof(unsigned long long); i < head.size(); ++i) head[i] = first_epoch;
    void* memory = nullptr;
    cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess) error = cudaMalloc(&memory, (bytes + unit - 1) / unit * unit);
    if (error != cudaSuccess) return error;
    own_[rank] = shape_.windows[rank] = static_cast<char*>(memory);
    devices_[rank] = device;
    error = cudaMemset(memory, 0, bytes);
    if (error == cudaSuccess) error = cudaMemcpy(memory, head.data(), head_bytes, cudaMemcpyHostToDevice);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
  }

  static card describe(const window_options& options) {
    static const unsigned long long process = [] {
      std::random_device device;
      return static_cast<unsigned long long>(device()) << 32 | device();
    }();
    card made;
    std::memset(static_cast<void*>(&made), 0, sizeof(made));  // also between members, which are compared
    cudaDeviceProp properties{};
    made.process = process;
    made.error = cudaGetDevice(&made.device);
    if (made.error == cudaSuccess) made.error = cudaGetDeviceProperties(&properties, made.device);
    made.multiprocessors = properties.multiProcessorCount;
    std::memcpy(made.gpu, &properties.uuid, sizeof(made.gpu));
    made.options = {options.staging_bytes, options.tagged_bytes, options.first_epoch, options.num_blocks};
    // One running kernel of Linux. Elsewhere IPC decides by itself.
    if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
      if (std::fgets(made.machine, sizeof(made.machine), file) == nullptr) made.machine[0] = '\0';
      std::fclose(file);
    }
    return made;
  }

  // Tells all ranks what this one has to say. The first error of any rank, which all see alike.
  static cudaError_t exchange(const gather_all& gather, const card& mine, std::vector<card>& all) {
    const cudaError_t error = gather(&mine, all.data(), sizeof(card));
    if (error != cudaSuccess) return error;
    for (const card& each : all)
      if (each.error != cudaSuccess) return each.error;
    return cudaSuccess;
  }

  cudaError_t connect(int rank, const card& mine, const std::vector<card>& cards) {
    for (int r = 0; r < shape_.num_ranks; ++r) {
      if (r == rank) continue;
      const card& peer = cards[r];
      void* memory = peer.window;
      cudaError_t error = cudaSuccess;
      if (peer.process == mine.process) {
        error = enable_access(mine.device, peer.device);
      } else {
        error = cudaIpcOpenMemHandle(&memory, peer.handle, cudaIpcMemLazyEnablePeerAccess);
        if (error == cudaSuccess) opened_[r] = memory;
      }
      if (error != cudaSuccess) return error;
      shape_.windows[r] = static_cast<char*>(memory);
    }
    return cudaSuccess;
  }

  void swap(windows& other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(own_, other.own_);
    std::swap(opened_, other.opened_);
    std::swap(devices_, other.devices_);
  }

  across::member shape_{};     // of any rank
  char* own_[max_ranks] = {};  // of the ranks of this process
  void* opened_[max_ranks] = {};
  int devices_[max_ranks] = {};
};

}  // namespace rungs::RUNGS_ABI::across
