// The checker of scans on the device: oracles/scan_check.hpp, a part of the items to a thread.
#include <algorithm>

#include "gpu/device.hpp"
#include "gpu/lent.cuh"

namespace rungs::tests::device {
namespace {

constexpr int block_threads = 256;
constexpr int most_ranges = block_threads;       // one thread each can read the states of all of them
constexpr std::size_t least_range_items = 4096;  // of a block

struct made_items {
  const scan_task& task;
  __device__ std::uint64_t operator()(std::size_t i) const;
};
// Not inlined: a kernel would hold the makers of all types several times over.
__device__ __noinline__ std::uint64_t make_item(catalog::scalar type, const sample& made, std::size_t i) {
  return widened_item(type, made, i);
}
__device__ std::uint64_t made_items::operator()(std::size_t i) const { return make_item(task.input, task.made, i); }

// The calling thread's items: a part of its block's range.
struct part {
  std::size_t first, last;
  __device__ part(const scan_task& task, std::size_t range_items) {
    const std::size_t begin = blockIdx.x * range_items, each = (range_items + block_threads - 1) / block_threads;
    const std::size_t end = smaller(begin + range_items, task.num_items);
    first = smaller(begin + threadIdx.x * each, end);
    last = smaller(first + each, end);
  }
  static __device__ std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
};

// What the threads before the calling one have, put together; `all` is what all of them have.
template <class State>
__device__ State preceding(const State& mine, const scan_task& task, State& all) {
  __shared__ alignas(State) unsigned char storage[block_threads * sizeof(State)];
  auto* const of_threads = reinterpret_cast<State*>(storage);
  of_threads[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned offset = 1; offset < block_threads; offset *= 2) {
    State joined = of_threads[threadIdx.x];
    if (threadIdx.x >= offset) {
      joined = of_threads[threadIdx.x - offset];
      joined.merge(task, of_threads[threadIdx.x]);
    }
    __syncthreads();
    of_threads[threadIdx.x] = joined;
    __syncthreads();
  }
  all = of_threads[block_threads - 1];
  const State before = threadIdx.x > 0 ? of_threads[threadIdx.x - 1] : State{};
  __syncthreads();
  return before;
}

template <class State>
__global__ void __launch_bounds__(block_threads)
    summarise_ranges(scan_task task, std::size_t range_items, State* of_ranges) {
  const part mine(task, range_items);
  State all;
  preceding(state_of_part<State>(task, mine.first, mine.last, made_items{task}), task, all);
  if (threadIdx.x == 0) of_ranges[blockIdx.x] = all;
}

struct note {
  scan_report* report;
  unsigned long long explained;
  __device__ void operator()(std::size_t i, std::uint64_t got, const scan_outcome& outcome) const {
    atomicAdd(&report->num_wrong, 1ull);
    atomicMax(&report->first, ~static_cast<unsigned long long>(i));  // the least, inverted: it starts from 0
    if (i != explained) return;
    report->got = got;
    report->outcome = outcome;
  }
};

template <class State>
__global__ void __launch_bounds__(block_threads)
    judge_ranges(scan_task task, std::size_t range_items, const State* of_ranges, note wrong) {
  State before = state_of_init<State>(task), all;
  if (blockIdx.x > 0) {
    State earlier;
    if (threadIdx.x < blockIdx.x) earlier = of_ranges[threadIdx.x];
    preceding(earlier, task, all);
    before.merge(task, all);
  }
  const part mine(task, range_items);
  const made_items items{task};
  before.merge(task, preceding(state_of_part<State>(task, mine.first, mine.last, items), task, all));
  judge_part(task, before, mine.first, mine.last, items, wrong);
}

// Block b looks at slot b. Encodes the first wrong word of it, inverted.
__global__ void __launch_bounds__(block_threads) compare_slots(prefix_scans scans, unsigned long long* first) {
  const auto* const slot =
      reinterpret_cast<const unsigned*>(static_cast<const unsigned char*>(scans.slots) + blockIdx.x * scans.slot_bytes);
  const auto* const whole = static_cast<const unsigned*>(scans.whole);
  const std::size_t written = scans.num_items[blockIdx.x] * scans.item_bytes / sizeof(unsigned);
  const unsigned untouched = static_cast<unsigned>(scans.untouched) * 0x01010101u;
  for (std::size_t w = threadIdx.x; w < scans.slot_bytes / sizeof(unsigned); w += block_threads)
    if (slot[w] != (w < written ? whole[w] : untouched))
      atomicMax(first, ~(static_cast<unsigned long long>(blockIdx.x) << 40 | w));
}

// Small answers travel through pinned memory.
struct scan_buffers {
  static constexpr std::size_t state_bytes = 128;
  void* d_states = nullptr;
  scan_report *d_report = nullptr, *h_report = nullptr;
  unsigned long long *d_first = nullptr, *h_first = nullptr;
  scan_buffers() {
    check(cudaMalloc(&d_states, most_ranges * state_bytes), "cudaMalloc");
    // Padding is copied, too. Other streams do not wait for the legacy one.
    check(cudaMemset(d_states, 0, most_ranges * state_bytes), "cudaMemset");
    check(cudaStreamSynchronize(nullptr), "cudaMemset");
    check(cudaMalloc(&d_report, sizeof(scan_report)), "cudaMalloc");
    check(cudaMallocHost(&h_report, sizeof(scan_report)), "cudaMallocHost");
    check(cudaMalloc(&d_first, sizeof(*d_first)), "cudaMalloc");
    check(cudaMallocHost(&h_first, sizeof(*h_first)), "cudaMallocHost");
  }
  ~scan_buffers() {
    cudaFree(d_states);
    cudaFree(d_report);
    cudaFreeHost(h_report);
    cudaFree(d_first);
    cudaFreeHost(h_first);
  }
};

// What `explained` says of that output is in the answer.
template <class State>
scan_report judge(const scan_task& task, unsigned num_ranges, std::size_t range_items, unsigned long long explained,
                  cudaStream_t stream) {
  static_assert(sizeof(State) <= scan_buffers::state_bytes);
  auto& buffers = lent<scan_buffers>::mine();
  check(cudaMemsetAsync(buffers.d_report, 0, sizeof(scan_report), stream), "cudaMemsetAsync");
  judge_ranges<State><<<num_ranges, block_threads, 0, stream>>>(
      task, range_items, static_cast<const State*>(buffers.d_states), note{buffers.d_report, explained});
  check(cudaGetLastError(), "judge_ranges");
  check(cudaMemcpyAsync(buffers.h_report, buffers.d_report, sizeof(scan_report), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "judge_ranges");
  scan_report report = *buffers.h_report;
  report.first = ~report.first;
  return report;
}

}  // namespace

scan_report check_scan(const scan_task& task, cudaStream_t stream) {
  if (task.num_items == 0) return {};
  const auto num_ranges = static_cast<unsigned>(
      std::min<std::size_t>(most_ranges, (task.num_items + least_range_items - 1) / least_range_items));
  const std::size_t range_items = (task.num_items + num_ranges - 1) / num_ranges;
  return with_scan_state(task, [&](auto none) {
    using state = decltype(none);
    if (num_ranges > 1) {
      summarise_ranges<state><<<num_ranges, block_threads, 0, stream>>>(
          task, range_items, static_cast<state*>(lent<scan_buffers>::mine().d_states));
      check(cudaGetLastError(), "summarise_ranges");
    }
    const scan_report found = judge<state>(task, num_ranges, range_items, ~0ull, stream);
    return found.num_wrong == 0 ? found : judge<state>(task, num_ranges, range_items, found.first, stream);
  });
}

std::optional<prefix_damage> compare(const prefix_scans& scans, cudaStream_t stream) {
  if (scans.count == 0) return std::nullopt;
  auto& buffers = lent<scan_buffers>::mine();
  check(cudaMemsetAsync(buffers.d_first, 0, sizeof(*buffers.d_first), stream), "cudaMemsetAsync");
  compare_slots<<<scans.count, block_threads, 0, stream>>>(scans, buffers.d_first);
  check(cudaGetLastError(), "compare_slots");
  check(cudaMemcpyAsync(buffers.h_first, buffers.d_first, sizeof(*buffers.d_first), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "compare_slots");
  if (*buffers.h_first == 0) return std::nullopt;
  const unsigned long long first = ~*buffers.h_first, word = first & ((1ull << 40) - 1);
  return prefix_damage{static_cast<int>(first >> 40), word * sizeof(unsigned) / scans.item_bytes};
}

}  // namespace rungs::tests::device
