// The checker of histograms on the device: oracles/histogram_check.hpp, an item to a thread.
#include <algorithm>

#include "gpu/device.hpp"
#include "gpu/lent.cuh"
#include "oracles/bits.hpp"

namespace rungs::tests::device {
namespace {

constexpr int block_threads = 256;
constexpr std::size_t most_blocks = 1056;
constexpr std::size_t most_near_counts =
    4096 + 3;  // these fit in a block's shared memory: many like samples meet there

template <class T>
__global__ void __launch_bounds__(block_threads) count_samples(histogram_task task, bool near) {
  extern __shared__ unsigned near_counts[];
  const std::size_t num_counts = task.num_counts();
  if (near)
    for (std::size_t k = threadIdx.x; k < num_counts; k += block_threads) near_counts[k] = 0;
  __syncthreads();
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * block_threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_threads + threadIdx.x; i < task.num_items;
       i += stride) {
    const std::size_t place = task.place(static_cast<const T*>(task.samples)[i], i);
    if (place >= num_counts) continue;
    if (near)
      atomicAdd(near_counts + place, 1u);
    else
      atomicAdd(task.counts + place, 1ull);
  }
  __syncthreads();
  if (near)
    for (std::size_t k = threadIdx.x; k < num_counts; k += block_threads)
      if (near_counts[k] != 0) atomicAdd(task.counts + k, static_cast<unsigned long long>(near_counts[k]));
}

struct found {
  unsigned long long num_wrong, first_inverted, sum, inside;  // all begin at 0
};

__global__ void __launch_bounds__(block_threads)
    compare_counts(histogram_task counted, const unsigned* counters, found* report) {
  found mine{};
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * block_threads;
  for (std::size_t b = static_cast<std::size_t>(blockIdx.x) * block_threads + threadIdx.x; b < counted.num_counters();
       b += stride) {
    mine.sum += counters[b];
    mine.inside += counted.counts[b];
    if (counters[b] == static_cast<unsigned>(counted.counts[b])) continue;
    ++mine.num_wrong;
    atomicMax(&report->first_inverted, ~static_cast<unsigned long long>(b));
  }
  if (mine.num_wrong != 0) atomicAdd(&report->num_wrong, mine.num_wrong);
  if (mine.sum != 0) atomicAdd(&report->sum, mine.sum);
  if (mine.inside != 0) atomicAdd(&report->inside, mine.inside);
}

// Small answers travel through pinned memory.
struct report_buffers {
  found *d_found = nullptr, *h_found = nullptr;
  report_buffers() {
    check(cudaMalloc(&d_found, sizeof(found)), "cudaMalloc");
    check(cudaMallocHost(&h_found, sizeof(found)), "cudaMallocHost");
  }
  ~report_buffers() {
    cudaFree(d_found);
    cudaFreeHost(h_found);
  }
};

unsigned grid_for(std::size_t num_items) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((num_items + block_threads - 1) / block_threads, 1, most_blocks));
}

}  // namespace

void count(const histogram_task& task, cudaStream_t stream) {
  check(cudaMemsetAsync(task.counts, 0, task.num_counts() * sizeof(*task.counts), stream), "cudaMemsetAsync");
  if (task.num_items == 0) return;
  const bool near = task.num_counts() <= most_near_counts;
  const std::size_t smem = near ? task.num_counts() * sizeof(unsigned) : 0;
  with_type(task.sample, [&](auto tag) {
    using T = typename decltype(tag)::type;
    count_samples<T><<<grid_for(task.num_items), block_threads, smem, stream>>>(task, near);
  });
  check(cudaGetLastError(), "count_samples");
}

histogram_report check_counts(const histogram_task& counted, const void* d_counters, cudaStream_t stream) {
  auto& buffers = lent<report_buffers>::mine();
  check(cudaMemsetAsync(buffers.d_found, 0, sizeof(found), stream), "cudaMemsetAsync");
  compare_counts<<<grid_for(counted.num_counters()), block_threads, 0, stream>>>(
      counted, static_cast<const unsigned*>(d_counters), buffers.d_found);
  check(cudaGetLastError(), "compare_counts");
  check(cudaMemcpyAsync(buffers.h_found, buffers.d_found, sizeof(found), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "compare_counts");
  const found& f = *buffers.h_found;
  histogram_report report;
  report.num_wrong = f.num_wrong;
  report.sum = f.sum;
  report.inside = f.inside;
  if (f.num_wrong == 0) return report;
  report.first = ~f.first_inverted;
  unsigned long long expected = 0;
  check(cudaMemcpyAsync(&report.got, static_cast<const unsigned*>(d_counters) + report.first, sizeof(unsigned),
                        cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaMemcpyAsync(&expected, counted.counts + report.first, sizeof expected, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaMemcpyAsync");
  report.expected = static_cast<unsigned>(expected);
  return report;
}

}  // namespace rungs::tests::device
