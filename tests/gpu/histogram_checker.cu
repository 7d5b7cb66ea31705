// The checker of histograms on the device: oracles/histogram_check.hpp, a sample to a thread.
#include <algorithm>

#include "gpu/site.hpp"
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

unsigned grid_for(std::size_t num_items) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>((num_items + block_threads - 1) / block_threads, 1, most_blocks));
}

}  // namespace

void count(const histogram_task& task, cudaStream_t stream) {
  check(cudaMemsetAsync(task.counts, 0, task.num_counts() * sizeof(*task.counts), stream));
  if (task.num_items == 0) return;
  const bool near = task.num_counts() <= most_near_counts;
  const std::size_t smem = near ? task.num_counts() * sizeof(unsigned) : 0;
  with_type(task.sample, [&]<class T>(type_tag<T>) {
    count_samples<T><<<grid_for(task.num_items), block_threads, smem, stream>>>(task, near);
  });
  check(cudaGetLastError());
}

}  // namespace rungs::tests::device
