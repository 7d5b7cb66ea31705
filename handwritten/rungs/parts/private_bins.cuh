// A histogram of a block in shared memory, in `copies` interleaved copies, so that lanes which count for one bin at the
// same time, or for bins of one bank, meet less.
//
// Only ever 1 is added, and nothing is returned: that is the one shared-memory atomic which merges the lanes of a warp
// that hit the same word (ATOMS.POPC.INC), so a bin that all samples belong to costs less than many bins do. Samples of
// no bin are counted, too, in a counter that nobody reads: a branch around the atomic costs more than the atomic.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace rungs::RUNGS_ABI::parts {

// Where a bin's counters lie. Skewed, so that bins at a distance of 32 or 1024, as even data has them, do not share a
// bank.
__host__ __device__ constexpr std::size_t skewed(std::size_t bin) { return bin + (bin >> 5) + (bin >> 10); }

__host__ __device__ constexpr std::size_t private_bins_bytes(std::size_t num_bins, unsigned copies) {
  return (skewed(num_bins) + 1) * copies * sizeof(unsigned);
}

// The same in whole vectors.
__host__ __device__ constexpr std::size_t private_bins_room(std::size_t num_bins, unsigned copies) {
  return (private_bins_bytes(num_bins, copies) + 15) / 16 * 16;
}

struct private_bins {
  unsigned* counters;
  unsigned num_bins, copies;  // copies: a power of two

  // All threads of the block; they meet at a barrier before they count. May write 12 bytes more than
  // private_bins_bytes.
  __device__ void clear() const {
    const auto vectors = reinterpret_cast<uint4*>(counters);
    const unsigned num_vectors = static_cast<unsigned>((private_bins_bytes(num_bins, copies) + 15) / 16);
    for (unsigned i = threadIdx.x; i < num_vectors; i += blockDim.x) vectors[i] = uint4{0, 0, 0, 0};
  }

  // The first counter of the calling thread's copy.
  __device__ unsigned* mine() const { return counters + (threadIdx.x & (copies - 1)); }
  __device__ void count(unsigned* mine, unsigned bin) const {
    atomicAdd(mine + static_cast<unsigned>(skewed(bin)) * copies, 1u);
  }

  // What all copies counted for a bin, after a barrier. Threads begin at different copies, so as not to share a bank.
  __device__ unsigned total(unsigned bin) const {
    const unsigned* const first = counters + static_cast<unsigned>(skewed(bin)) * copies;
    unsigned sum = 0;
    for (unsigned i = 0; i < copies; ++i) sum += first[(i + bin * copies / 32) & (copies - 1)];
    return sum;
  }

  // Adds the totals to memory, after a barrier. Senders begin at different bins: if all began at the first, they would
  // meet on the same lines of the L2 (4096 bins, 1 Mi i32 on an H200: 8.3 us against 8.6).
  template <class CounterT>
  __device__ void send(unsigned sender, CounterT* d_histogram) const {
    const unsigned start = __umulhi(sender * 0x9e3779b1u, num_bins) & ~31u;
    for (unsigned i = threadIdx.x; i < num_bins; i += blockDim.x) {
      const unsigned bin = i + start < num_bins ? i + start : i + start - num_bins;
      const unsigned sum = total(bin);
      if (sum != 0) atomicAdd(&d_histogram[bin], CounterT(sum));
    }
  }

  // The same for many bins in one copy. A thread's bins lie a row apart, and so do their counters, so several are read
  // before the first is sent, and an empty bin costs seven instructions, not 15 (65536 bins, 16 Mi i32 in one of them
  // on an H200: 23.8 us against 25.5; for 256 bins it costs 0.2 us).
  template <int block_threads, class CounterT>
  __device__ void send_rows(unsigned sender, CounterT* d_histogram) const {
    constexpr unsigned row_bins = 1024, rows_at_a_time = 4;
    constexpr auto row_counters = static_cast<unsigned>(skewed(row_bins));
    static_assert(block_threads == row_bins, "a thread has one bin in a row");
    const unsigned start = __umulhi(sender * 0x9e3779b1u, num_bins) & ~31u;
    const unsigned column = (start + threadIdx.x) % row_bins;
    const unsigned num_rows = (num_bins + row_bins - 1 - column) / row_bins;
    const unsigned first_row = min(start / row_bins, num_rows);
    const auto send = [&](unsigned row, unsigned end) {
      const unsigned* counter = counters + skewed(column) + row * row_counters;
      CounterT* bin = d_histogram + column + row * row_bins;
#pragma unroll 1
      for (; row + rows_at_a_time <= end; row += rows_at_a_time) {
        unsigned counts[rows_at_a_time];
#pragma unroll
        for (unsigned i = 0; i < rows_at_a_time; ++i) counts[i] = counter[i * row_counters];
#pragma unroll
        for (unsigned i = 0; i < rows_at_a_time; ++i)
          if (counts[i] != 0) atomicAdd(bin + i * row_bins, CounterT(counts[i]));
        counter += rows_at_a_time * row_counters;
        bin += rows_at_a_time * row_bins;
      }
#pragma unroll 1
      for (; row < end; ++row, counter += row_counters, bin += row_bins)
        if (*counter != 0) atomicAdd(bin, CounterT(*counter));
    };
    send(first_row, num_rows);
    send(0, first_row);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
