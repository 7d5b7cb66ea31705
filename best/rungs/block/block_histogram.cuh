// rungs::BlockHistogram: cub::BlockHistogram's calls.
//
//   __shared__ unsigned histogram[256];
//   rungs::BlockHistogram<unsigned char, 128, 4, 256>().Histogram(samples, histogram);
//   __syncthreads();
//
// T                        an integer: samples from 0 to Bins - 1. With any other sample the call is undefined.
// BlockDimX, Y, Z          the block's dimensions, 1 to 1024 threads; no multiple of 32 is needed.
// ItemsPerThread           how many samples each thread has.
// Bins                     how many counters there are.
// BlockHistogramAlgorithm  taken for the sake of CUB's callers: there is one algorithm, an atomic addition a sample.
// TempStorage              empty. There for the sake of CUB's callers.
//
// The counters are in shared or in global memory: integers of 2, 4 or 8 bytes, float or double. All threads of the
// block make a call. Counts of integers are exact modulo their range; the order of the samples does not matter. A call
// does not wait behind its additions: meet at __syncthreads() before you read the counters.
#pragma once

#include "rungs/block/parts/place.cuh"

namespace rungs::RUNGS_ABI {

namespace device {

template <class CounterT>
__device__ void count_one(CounterT* counter) {
  constexpr bool is_integer = std::is_integral_v<CounterT>;
  static_assert(is_integer ? sizeof(CounterT) > 1 : std::is_floating_point_v<CounterT>,
                "counters are integers of 2, 4 or 8 bytes, float or double");
  if constexpr (is_integer && sizeof(CounterT) == 2) {
    unsigned short* const word = reinterpret_cast<unsigned short*>(counter);
    unsigned short found = *word, expected;
    do {
      expected = found;
      found = atomicCAS(word, expected, static_cast<unsigned short>(expected + 1));
    } while (found != expected);
  } else if constexpr (is_integer && sizeof(CounterT) == 4) {
    atomicAdd(reinterpret_cast<unsigned*>(counter), 1u);
  } else if constexpr (is_integer) {
    atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ull);
  } else {
    atomicAdd(counter, CounterT(1));
  }
}

}  // namespace device

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <class T, int BlockDimX, int ItemsPerThread, int Bins, BlockHistogramAlgorithm Algorithm = BLOCK_HISTO_SORT,
          int BlockDimY = 1, int BlockDimZ = 1>
class BlockHistogram {
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;

 public:
  struct TempStorage {};

  __device__ BlockHistogram() {}
  __device__ explicit BlockHistogram(TempStorage&) {}

  // Sets all counters to zero. Meet at __syncthreads() before Composite.
  template <class CounterT>
  __device__ void InitHistogram(CounterT histogram[Bins]) {
    for (int bin = static_cast<int>(place::thread()); bin < Bins; bin += place::num_threads) histogram[bin] = 0;
  }

  // Counts the samples of all threads: from zero, or in addition to what the counters hold.
  template <class CounterT>
  __device__ void Histogram(const T (&items)[ItemsPerThread], CounterT histogram[Bins]) {
    InitHistogram(histogram);
    __syncthreads();
    Composite(items, histogram);
  }
  template <class CounterT>
  __device__ void Composite(const T (&items)[ItemsPerThread], CounterT histogram[Bins]) {
#pragma unroll
    for (int i = 0; i < ItemsPerThread; ++i) device::count_one(histogram + items[i]);
  }
};

}  // namespace rungs::RUNGS_ABI
