// Chains of collectives and of barriers in which one bug can be planted.
#pragma once

#include "rungs/parts/collective_calls.cuh"
#include "rungs/parts/phase_calls.cuh"
#include "wrong/bug.cuh"

namespace rungs::wrong {

namespace chaining {

template <int lanes, class T, class Op>
__device__ T reduce_lanes(T value, Op op, int last_offset) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    const T other = __shfl_down_sync(0xffffffffu, value, offset);
    if (offset >= last_offset) value = op(value, other);
  }
  return value;
}

// A whole warp runs, and the first `threads` lanes take part.
template <bug planted, int threads, class T, class Op>
__global__ void reductions_kernel(unsigned* d_notes, unsigned num_links, parts::collective_chain chain, Op op) {
  const unsigned word = chain.word_of(threadIdx.x);
  T value = static_cast<T>(chain.value_of(word, 0));
  unsigned note = 0;
  if (planted == bug::last_collective_left_out && num_links > 32) --num_links;
  for (unsigned link = 0; link < num_links; ++link) {
    constexpr int lanes = planted == bug::mask_too_wide ? 32 : threads;
    const T result = reduce_lanes<lanes>(value, op, planted == bug::lane_left_out ? 2 : 1);
    note = chain.noted(note, static_cast<int>(result));
    value = threadIdx.x == 0 ? -result : static_cast<T>(chain.value_of(word, link + 1));
  }
  if (threadIdx.x == 0) *d_notes = note;
}

template <bug planted>
__global__ void block_kernel(unsigned* d_words, unsigned num_phases, parts::phase_chain chain) {
  parts::block_phases<1024>(d_words, num_phases, chain, [] {
    if (planted != bug::barrier_left_out)
      __syncthreads();
    else if (threadIdx.x / 32 == 0)
      dawdle();
  });
}

template <bug planted>
__global__ void grid_kernel(unsigned* d_words, unsigned* shown, unsigned* arrivals, unsigned num_phases,
                            parts::phase_chain chain) {
  parts::grid_phases(d_words, shown, num_phases, chain, [=](unsigned phase) {
    constexpr bool careless = planted == bug::one_block_not_waited_for;
    __syncthreads();
    if (threadIdx.x == 0) {
      if (careless && blockIdx.x == 0) dawdle();
      const unsigned all = phase * (gridDim.x - careless);
      __threadfence();
      atomicAdd(arrivals, 1u);
      while (atomicAdd(arrivals, 0u) < all) {
      }
      __threadfence();
    }
    __syncthreads();
  });
}

template <class Word>
__global__ void first_words_kernel(Word* words, parts::phase_chain chain) {
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  words[own] = chain.first_word(own);
}
template <class Word>
__global__ void next_words_kernel(const Word* shown, Word* words, unsigned phase, parts::phase_chain chain) {
  const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  words[own] = chain.next_word(shown[chain.neighbour_of(own)], phase);
}

}  // namespace chaining

template <bug planted>
struct reductions_with : parts::collective_calls<reductions_with<planted>> {
  static constexpr auto idea = variant::idea;
  static constexpr int block_threads = 32;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;

  template <class T, class Op>
  static cudaError_t chain(void* d_temp_storage, std::size_t& temp_storage_bytes, unsigned* d_notes,
                           std::size_t num_threads, std::size_t num_links, unsigned seed, Op op, cudaStream_t stream) {
    char* unused;
    cudaError_t error;
    if ((num_threads != 16 && num_threads != 32) || num_links > parts::most_links) return cudaErrorInvalidValue;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    const auto kernel = num_threads == 16 ? chaining::reductions_kernel<planted, 16, T, Op>
                                          : chaining::reductions_kernel<planted, 32, T, Op>;
    return parts::launch(kernel, 1, 32, stream, d_notes, num_links, parts::collective_chain{seed}, op);
  }
};

template <bug planted>
struct block_with : parts::phase_calls<block_with<planted>> {
  static constexpr auto idea = variant::idea;
  static constexpr int block_threads = 1024;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t) { return num_blocks == 1; }
  static cudaError_t enqueue(char*, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    return parts::launch(chaining::block_kernel<planted>, 1, chain.num_threads, stream, d_words, num_phases, chain);
  }
};

template <bug planted>
struct grid_with : parts::phase_calls<grid_with<planted>> {
  static constexpr auto idea = variant::idea;
  static constexpr int block_threads = 256;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    return num_blocks > 1 && num_threads <= block_threads;
  }
  static constexpr std::size_t room_for(std::size_t participants) {
    return parts::storage_alignment + 2 * participants * sizeof(unsigned);
  }
  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    const auto arrivals = reinterpret_cast<unsigned*>(region);
    const auto shown = reinterpret_cast<unsigned*>(region + parts::storage_alignment);
    const cudaError_t error = cudaMemsetAsync(arrivals, 0, sizeof *arrivals, stream);
    if (error != cudaSuccess) return error;
    return parts::launch_cooperatively(chaining::grid_kernel<planted>, chain.num_blocks, chain.num_threads, 0, stream,
                                       d_words, shown, arrivals, num_phases, chain);
  }
};

// Of an odd number of phases the words end up in the workspace.
struct kernels_with_one_place_too_few : parts::phase_calls<kernels_with_one_place_too_few> {
  static constexpr auto idea = variant::idea;
  static constexpr int block_threads = 256;
  static constexpr bool takes_group(std::size_t num_blocks, std::size_t) { return num_blocks > 1; }
  static constexpr std::size_t room_for(std::size_t participants) { return participants * sizeof(unsigned); }
  static cudaError_t enqueue(char* region, unsigned* d_words, unsigned num_phases, const parts::phase_chain& chain,
                             cudaStream_t stream) {
    unsigned* const both[] = {d_words, reinterpret_cast<unsigned*>(region)};
    cudaError_t error = parts::launch(chaining::first_words_kernel<unsigned>, chain.num_blocks, chain.num_threads,
                                      stream, both[0], chain);
    for (unsigned phase = 1; phase <= num_phases && error == cudaSuccess; ++phase)
      error = parts::launch(chaining::next_words_kernel<unsigned>, chain.num_blocks, chain.num_threads, stream,
                            both[(phase - 1) % 2], both[phase % 2], phase, chain);
    return error;
  }
};

}  // namespace rungs::wrong
