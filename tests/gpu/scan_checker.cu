// The checker of scans and reductions on the device: oracles/scan_check.hpp, a part of the items to a thread.
#include <algorithm>

#include "gpu/site.hpp"

namespace rungs::tests::device {
namespace {

constexpr int block_threads = 256;
constexpr int most_ranges = block_threads;       // one thread each can read the states of all of them
constexpr std::size_t least_range_items = 4096;  // of a block

struct made_items {
  const scan_task& task;
  __device__ std::uint64_t operator()(const sample& made, std::size_t i) const;
};
// Not inlined: a kernel would hold the makers of all types several times over.
__device__ __noinline__ std::uint64_t make_item(catalog::scalar type, const sample& made, std::size_t i) {
  return widened_item(type, made, i);
}
__device__ std::uint64_t made_items::operator()(const sample& made, std::size_t i) const {
  return make_item(task.input, made, i);
}

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

// A warp takes a row: its lanes have every 32nd item. States whose order matters are none of rows.
template <class State>
__global__ void __launch_bounds__(block_threads)
    judge_rows(scan_task task, std::size_t num_rows, std::size_t row_items, note wrong) {
  constexpr unsigned lanes = 32;
  __shared__ alignas(State) unsigned char storage[block_threads * sizeof(State)];
  auto* const mine = reinterpret_cast<State*>(storage) + threadIdx.x;
  const unsigned lane = threadIdx.x % lanes;
  const std::size_t stride = std::size_t(gridDim.x) * (block_threads / lanes);
  for (std::size_t row = blockIdx.x * (block_threads / lanes) + threadIdx.x / lanes; row < num_rows; row += stride) {
    State of_lane;
    for (std::size_t i = lane; i < row_items; i += lanes)
      of_lane.absorb(task, make_item(task.input, task.made, row * row_items + i));
    __syncwarp();
    *mine = of_lane;
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
      __syncwarp();
      if (lane < distance) mine->merge(task, mine[distance]);
    }
    if (lane == 0) judge_row(task, *mine, row, wrong);
  }
}

// In the answers: the report, then the states of the ranges.
constexpr std::size_t state_bytes = 128, states_begin = 4096;
static_assert(states_begin + most_ranges * state_bytes <= answers::bytes && sizeof(scan_report) <= states_begin);
template <class State>
State* states() {
  static_assert(sizeof(State) <= state_bytes);
  return reinterpret_cast<State*>(static_cast<char*>(answers::mine().on_device) + states_begin);
}

// One to a block.
struct ranges {
  unsigned count;
  std::size_t items;  // of each
  explicit ranges(const scan_task& task)
      : count(static_cast<unsigned>(
            std::clamp<std::size_t>((task.num_items + least_range_items - 1) / least_range_items, 1, most_ranges))),
        items((task.num_items + count - 1) / count) {}
};

// What the kernel notes that launch(note) launches. Where an output is wrong, it is launched again: what is said of the
// first such output is in the answer then.
template <class Launch>
scan_report noted(cudaStream_t stream, const Launch& launch) {
  const answers& mine = answers::mine();
  auto* const d_report = static_cast<scan_report*>(mine.on_device);
  scan_report report;
  for (report.first = ~0ull;;) {
    const unsigned long long explained = report.first;
    check(cudaMemsetAsync(d_report, 0, sizeof(scan_report), stream));
    launch(note{d_report, explained});
    check(cudaGetLastError());
    report = *static_cast<const scan_report*>(mine.fetch(sizeof(scan_report), stream));
    report.first = ~report.first;
    if (report.num_wrong == 0 || report.first == explained) return report;
  }
}

}  // namespace

scan_report check_scan(const scan_task& task, cudaStream_t stream) {
  if (task.num_items == 0) return {};
  const ranges of(task);
  return with_scan_state(task, [&](auto none) {
    using state = decltype(none);
    if (of.count > 1) {
      summarise_ranges<state><<<of.count, block_threads, 0, stream>>>(task, of.items, states<state>());
      check(cudaGetLastError());
    }
    return noted(stream, [&](note wrong) {
      judge_ranges<state><<<of.count, block_threads, 0, stream>>>(task, of.items, states<state>(), wrong);
    });
  });
}

scan_report check_rows(const scan_task& task, std::size_t row_items, cudaStream_t stream) {
  const std::size_t num_rows = task.num_items / row_items;
  if (num_rows == 0) return {};
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(num_rows, 4096));
  return with_scan_state(task, [&](auto none) {
    return noted(stream, [&](note wrong) {
      judge_rows<decltype(none)><<<blocks, block_threads, 0, stream>>>(task, num_rows, row_items, wrong);
    });
  });
}

scan_report check_reduction(const scan_task& task, cudaStream_t stream) {
  const ranges of(task);
  return with_scan_state(task, [&](auto none) {
    using state = decltype(none);
    summarise_ranges<state><<<of.count, block_threads, 0, stream>>>(task, of.items, states<state>());
    check(cudaGetLastError());
    const void* const fetched = answers::mine().fetch(states_begin + of.count * sizeof(state), stream);
    const auto* const of_ranges = reinterpret_cast<const state*>(static_cast<const char*>(fetched) + states_begin);
    state all;
    for (unsigned r = 0; r < of.count; ++r) all.merge(task, of_ranges[r]);
    return judge_total(task, all);
  });
}

}  // namespace rungs::tests::device
