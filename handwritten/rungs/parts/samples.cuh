// All samples of a call, sixteen a thread at a time, by 16-byte loads.
//
// What is counted has no order, so vectors are counted from the first address that is aligned to 16 bytes, wherever the
// samples begin; less than a vector lies before the first one, and less than a vector behind the last.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

inline constexpr int samples_per_thread = 16;

// A block for every tile of block_threads * samples_per_thread samples, at most blocks_per_multiprocessor on each
// multiprocessor.
inline cudaError_t plan_sample_grid(std::size_t num_samples, int block_threads, int blocks_per_multiprocessor,
                                    std::size_t& grid_blocks) {
  int num_multiprocessors;
  const cudaError_t error = multiprocessors(num_multiprocessors);
  if (error != cudaSuccess) return error;
  grid_blocks = at_most(ceil_div(num_samples, std::size_t(block_threads) * samples_per_thread),
                        std::size_t(num_multiprocessors) * blocks_per_multiprocessor);
  return cudaSuccess;
}

template <class Sample>
__device__ vector<Sample> load_samples(const vector<Sample>* from) {
  vector<Sample> loaded;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: the compiler would delay it to its use
               : "=r"(loaded.words[0]), "=r"(loaded.words[1]), "=r"(loaded.words[2]), "=r"(loaded.words[3])
               : "l"(from));
  return loaded;
}

// Calls visit(present, sample) for every sample of the block's tiles, and after_tile() after each tile. All threads of
// the block make the same number of calls, side by side, so both may use the whole warp and after_tile() a barrier;
// where there is no sample left for a thread, `present` is false.
template <int block_threads, class SampleIteratorT, class Visit, class AfterTile>
__device__ void for_each_sample(SampleIteratorT d_samples, std::size_t num_samples, Visit visit, AfterTile after_tile) {
  using sample = item_of<SampleIteratorT>;
  const auto visit_one = [&](SampleIteratorT from, std::size_t i, std::size_t end) {
    visit(i < end, i < end ? static_cast<sample>(from[i]) : sample{});
  };
  if constexpr (is_vectorisable<SampleIteratorT>) {
    constexpr int vector_samples = vector<sample>::num_items, num_vectors = samples_per_thread / vector_samples;
    constexpr int tile_vectors = block_threads * num_vectors;
    const unsigned misaligned = reinterpret_cast<std::uintptr_t>(d_samples) % 16;
    const std::size_t num_before = at_most((16 - misaligned) % 16 / sizeof(sample), num_samples);
    const std::size_t whole_vectors = (num_samples - num_before) / vector_samples;
    const auto vectors = reinterpret_cast<const vector<sample>*>(d_samples + num_before);
    std::size_t first = std::size_t(blockIdx.x) * tile_vectors;
    for (; first + tile_vectors <= whole_vectors; first += std::size_t(gridDim.x) * tile_vectors) {
      vector<sample> loaded[num_vectors];
#pragma unroll
      for (int k = 0; k < num_vectors; ++k) loaded[k] = load_samples(vectors + first + k * block_threads + threadIdx.x);
#pragma unroll
      for (int k = 0; k < num_vectors; ++k)
#pragma unroll
        for (int i = 0; i < vector_samples; ++i) visit(true, loaded[k][i]);
      after_tile();
    }
    if (first < whole_vectors) {
#pragma unroll 1
      for (std::size_t mine = first + threadIdx.x; mine < first + tile_vectors; mine += block_threads) {
        const bool present = mine < whole_vectors;
        vector<sample> loaded{};
        if (present) loaded = load_samples(vectors + mine);
#pragma unroll
        for (int i = 0; i < vector_samples; ++i) visit(present, loaded[i]);
      }
      after_tile();
    }
    if (blockIdx.x == 0) {
      visit_one(d_samples, threadIdx.x, num_before);
      visit_one(d_samples, num_before + whole_vectors * vector_samples + threadIdx.x, num_samples);
      after_tile();
    }
  } else {
    constexpr int tile_samples = block_threads * samples_per_thread;
    for (std::size_t first = std::size_t(blockIdx.x) * tile_samples; first < num_samples;
         first += std::size_t(gridDim.x) * tile_samples) {
#pragma unroll
      for (int k = 0; k < samples_per_thread; ++k)
        visit_one(d_samples, first + k * block_threads + threadIdx.x, num_samples);
      after_tile();
    }
  }
}

template <int block_threads, class SampleIteratorT, class Visit>
__device__ void for_each_sample(SampleIteratorT d_samples, std::size_t num_samples, Visit visit) {
  for_each_sample<block_threads>(d_samples, num_samples, visit, [] {});
}

}  // namespace rungs::RUNGS_ABI::parts
