// Counters of a block in shared memory: one for each value of a byte in each of some channels, in `copies` interleaved
// copies, and as many that nobody reads. With 32 copies each lane has a bank of its own.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr int byte_values = 256;

template <int num_channels, int copies>
struct value_counters {
  static constexpr int num_values = num_channels * byte_values;
  static constexpr int num_vectors = ((num_values + 1) * copies + 3) / 4;
  static constexpr std::size_t bytes = num_vectors * sizeof(uint4);  // aligned to 16
  unsigned* counters;

  // All threads of the block; they meet at a barrier before they count.
  template <int block_threads>
  __device__ void clear() const {
    for (int i = threadIdx.x; i < num_vectors; i += block_threads)
      reinterpret_cast<uint4*>(counters)[i] = uint4{0, 0, 0, 0};
  }

  // The first counter of the calling thread's copy.
  __device__ unsigned* mine() const { return counters + threadIdx.x % copies; }
  // Of a channel that is not counted, the counter that nobody reads.
  __device__ void count(unsigned* mine, unsigned channel, unsigned char sample) const {
    const unsigned value = channel * byte_values + sample;
    atomicAdd(&mine[(channel < num_channels ? value : num_values) * copies], 1u);
  }

  // What all copies counted, after a barrier. Lanes begin at different copies, so as not to share a bank.
  __device__ unsigned total(int value) const {
    const int lane = threadIdx.x % warp_threads;
    unsigned sum = 0;
#pragma unroll
    for (int copy = 0; copy < copies; ++copy) sum += counters[value * copies + (copy + lane) % copies];
    return sum;
  }
};

// Sends the total of a value to its bin; by all lanes of a warp, for values that follow each other. Values of one bin
// are neighbours, and those in a warp are added up before memory sees them: in sums, one for each value, which hold 0.
template <class CounterT>
__device__ void send_merged(int value, unsigned total, const unsigned* bin_of_value, unsigned* sums, unsigned num_bins,
                            CounterT* d_histogram) {
  const unsigned bin = bin_of_value[value];
  const int lane = threadIdx.x % warp_threads;
  const unsigned bin_before = __shfl_up_sync(full_mask, bin, 1);
  const bool is_first = lane == 0 || bin != bin_before;
  const unsigned firsts = __ballot_sync(full_mask, is_first) & (full_mask >> (31 - lane));
  atomicAdd(&sums[value - lane + 31 - __clz(firsts)], total);
  __syncwarp();
  const unsigned sum = sums[value];
  if (is_first && sum != 0 && bin < num_bins) atomicAdd(&d_histogram[bin], CounterT(sum));
}

// All threads of the block, with the first channel's bins, which they have prepared: the bin of each value, and 0 for
// what send_merged adds up. They meet before they send. Channels: active_channels.
template <int block_threads, class Sample, class Bins, class Channels>
__device__ void find_bins(Bins& bins, const Channels& channels, unsigned* bin_of_value, unsigned* sum_of_bin) {
#pragma unroll
  for (int channel = 0; channel < Channels::num_active; ++channel) {
    if (channel > 0) bins = channels.bins[channel];
    for (int i = threadIdx.x; i < byte_values; i += block_threads) {
      const auto sample = static_cast<Sample>(static_cast<unsigned char>(i));
      bin_of_value[channel * byte_values + i] = bins.bin_of(sample);
      sum_of_bin[channel * byte_values + i] = 0;
    }
  }
}

// All threads of the block: send_merged for the values of all channels.
template <int block_threads, class Counters, class Channels>
__device__ void send_values(const Counters& counters, const Channels& channels, const unsigned* bin_of_value,
                            unsigned* sum_of_bin) {
#pragma unroll
  for (int channel = 0; channel < Channels::num_active; ++channel)
    for (int i = threadIdx.x; i < byte_values; i += block_threads) {
      const int value = channel * byte_values + i;
      const unsigned total = counters.total(value);
      send_merged(value, total, bin_of_value, sum_of_bin, channels.bins[channel].num_bins,
                  channels.d_histograms[channel]);
    }
}

}  // namespace rungs::RUNGS_ABI::parts
