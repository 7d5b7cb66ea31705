// rungs::rows::row_collective: what the threads of a row know together, for kernels of one's own.
//
//   using row = rungs::rows::row_collective<64, 256>;        // 64 threads a row, 256 threads a block: 4 rows a block
//   __shared__ row::TempStorage temp_storage;
//   float own = 0;
//   for (unsigned column = row::thread(); column < num_columns; column += 64) own += x[column];
//   float sum = row(temp_storage).sum(own);                  // in every thread of the row
//
// row_threads     threads of a row: a power of two, 1 to 1024. They are neighbours in a block.
// block_threads   threads of the block: a multiple of 32 and of row_threads. The block has one dimension.
// TempStorage     shared memory; nothing is kept there where a row has up to 32 threads.
//
//   sum(x), maximum(x)   of a float a thread. maximum leaves NaN out, as fmaxf does.
//   merge(known)         of a log_sum or a moments a thread, to which the thread has added its columns.
//
//   log_sum              Σ exp(x) beside the greatest x, in one pass and without overflow: softmax and log-sum-exp.
//   moments              mean and variance, the latter never by E[x²] - mean²: LayerNorm.
//
// All threads of the block make a call, also those whose row does not exist. They meet once at the block's barrier
// where a row has more than a warp, else not at all. Before its storage is used again they have to meet at
// __syncthreads().
//
// All threads of a row get the same bits. They depend on what each thread has, not on the row's place in the block.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "rungs/production/rows/row_group.cuh"
#include "rungs/rows/norms.cuh"
#include "rungs/rows/parts/log_sum.cuh"

namespace rungs::RUNGS_ABI::rows {

// sum = Σ exp(x - base()) over what was added. With +inf among it the sum is infinite, with NaN it is NaN.
struct log_sum : parts::log_sum {
  __device__ void add(float value) {
    const float values[] = {value};
    add(values);
  }
  // Several at once are faster: the sum is scaled once.
  template <int n>
  __device__ void add(const float (&values)[n]) {
    float greatest = maximum;
#pragma unroll
    for (const float value : values) greatest = fmaxf(greatest, value);
    const float base = base_of(greatest);
    sum *= expf(maximum - base);
#pragma unroll
    for (const float value : values) sum += expf(value - base);
    maximum = greatest;
  }

  // log(Σ exp(x)): -inf of nothing.
  __device__ float log_sum_exp() const { return base() + logf(sum); }
  // The share of x, one of the values added, in the sum. NaN where all of them are -inf.
  __device__ float softmax(float x) const { return maximum == INFINITY ? NAN : expf(x - base()) / sum; }
};

// How many values were added, their mean, and the sum of squared differences from it.
struct moments : parts::moments {
  // One value: Welford's step.
  __device__ void add(float value) {
    count += 1;
    const float difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
  }
  // Several at once: their own mean first, then Chan's merge.
  template <int n>
  __device__ void add(const float (&values)[n]) {
    float sum = 0;
#pragma unroll
    for (const float value : values) sum += value;
    parts::moments of_values{static_cast<float>(n), sum / n, 0};
#pragma unroll
    for (const float value : values) of_values.squares += (value - of_values.mean) * (value - of_values.mean);
    static_cast<parts::moments&>(*this) = parts::moments::merge(*this, of_values);
  }

  // The mean squared difference from the mean: NaN of nothing.
  __device__ float variance() const { return squares / count; }
};

template <int row_threads, int block_threads = row_threads>
class row_collective {
  static constexpr int warp_threads = rungs::parts::warp_threads;
  static constexpr int lanes = row_threads < warp_threads ? row_threads : warp_threads;
  static constexpr int row_warps = row_threads / lanes, block_warps = block_threads / warp_threads;
  static_assert(row_threads >= 1 && row_threads <= 1024 && (row_threads & (row_threads - 1)) == 0,
                "a row has a power of two of threads, 1024 at most");
  static_assert(block_threads % row_threads == 0 && block_threads % warp_threads == 0 && block_threads <= 1024,
                "a block has whole rows and whole warps, 1024 threads at most");

  struct none {};
  struct of_warps {
    float words[block_warps][3];  // moments have most words
  };

 public:
  static constexpr int block_rows = block_threads / row_threads;
  using TempStorage = std::conditional_t<(row_warps > 1), of_warps, none>;

  // The thread's row in the block, and its place among the row's threads.
  __device__ static unsigned row_of_block() { return threadIdx.x / row_threads; }
  __device__ static unsigned thread() { return threadIdx.x % row_threads; }

  __device__ explicit row_collective(TempStorage& temp_storage) : storage_(temp_storage) {}

  __device__ float sum(float value) const { return all<add_up>(value); }
  __device__ float maximum(float value) const { return all<take_greatest>(value); }
  __device__ log_sum merge(const log_sum& known) const { return all<unite>(known); }
  __device__ moments merge(const moments& known) const { return all<unite>(known); }

 private:
  struct add_up {
    template <int num_lanes>
    __device__ static float merge(float value) {
      return production::sum_of_lanes<num_lanes>(value);
    }
  };
  struct take_greatest {
    template <int num_lanes>
    __device__ static float merge(float value) {
      return production::greatest_of_lanes<num_lanes>(value);
    }
  };
  struct unite {
    template <int num_lanes>
    __device__ static log_sum merge(const log_sum& known) {
      return {known.parts::log_sum::template merge<num_lanes, float>()};
    }
    template <int num_lanes>
    __device__ static moments merge(const moments& known) {
      return {known.parts::moments::template merge<num_lanes>()};
    }
  };

  // Lanes first, then each warp merges what the row's warps know.
  template <class Merge, class Known>
  __device__ Known all(Known known) const {
    known = Merge::template merge<lanes>(known);
    if constexpr (row_warps > 1) {
      static_assert(sizeof(Known) <= sizeof(storage_.words[0]));
      const unsigned warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
      if (lane == 0) memcpy(storage_.words[warp], &known, sizeof(known));
      __syncthreads();
      memcpy(&known, storage_.words[warp / row_warps * row_warps + lane % row_warps], sizeof(known));
      known = Merge::template merge<row_warps>(known);
    }
    return known;
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI::rows
