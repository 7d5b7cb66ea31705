// The call that the study of collectives' rungs share: a chain of dependent collectives in one block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/contract.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/capability.cuh"
#include "rungs/parts/chains.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// The lanes of one warp that take part, whose block has no more threads than these.
template <int threads>
inline constexpr unsigned mask_of = threads >= 32 ? 0xffffffffu : (1u << threads % 32) - 1;

// The next values are made while a collective runs; what the chain adds to it is a negation and a choice.
template <class Rung, int threads, class T, class Op>
__global__ void __launch_bounds__(threads)
    collectives_kernel(unsigned* d_notes, unsigned num_links, collective_chain chain, Op op) {
  constexpr unsigned chained = Rung::is_scan ? threads - 1 : 0;
  const unsigned word = chain.word_of(threadIdx.x);
  T value = static_cast<T>(chain.value_of(word, 0));
  unsigned note = 0;
#pragma unroll 1
  for (unsigned link = 0; link < num_links; ++link) {
    const T result = Rung::template collective<threads>(value, op);
    note = chain.noted(note, static_cast<int>(result));
    value = threadIdx.x == chained ? -result : static_cast<T>(chain.value_of(word, link + 1));
  }
  if (Rung::is_scan || threadIdx.x == 0) d_notes[threadIdx.x] = note;
}

// A rung derives from collective_calls<rung> and writes:
//
//   static constexpr bool is_scan;                           // else it reduces
//   using groups = std::integer_sequence<int, 16, 32>;       // numbers of threads that it is studied with
//   template <class Op, class T>
//   static constexpr bool takes_type;                        // left out: any
//   template <int threads, class T, class Op>
//   static __device__ T collective(T value, Op op);          // a reduction's result is valid in thread 0
template <class Rung>
struct collective_calls {
  static constexpr std::size_t max_items = most_links;
  static constexpr contents temp_storage = contents::none;
  static constexpr bool deterministic = true;
  static constexpr int items_per_thread = 1, min_cc = 75;
  template <class Op, class T>
  static constexpr bool takes_type = true;

  static constexpr bool takes_group(std::size_t num_blocks, std::size_t num_threads) {
    return num_blocks == 1 && is_among(typename Rung::groups{}, num_threads);
  }

  // num_links collectives in a row in one block of num_threads. Writes one note of a reduction's results, and one for
  // each thread of a scan's. cudaErrorInvalidValue for a number of threads that the rung does not take.
  template <class T, class Op>
  static cudaError_t chain(void* d_temp_storage, std::size_t& temp_storage_bytes, unsigned* d_notes,
                           std::size_t num_threads, std::size_t num_links, unsigned seed, Op op,
                           cudaStream_t stream = nullptr) {
    static_assert(Rung::template takes_type<Op, T>);
    char* unused;
    cudaError_t error;
    if (!takes_group(1, num_threads) || num_links > max_items) return cudaErrorInvalidValue;
    if (answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    if constexpr (Rung::min_cc > 75)
      if (const cudaError_t lacking = require(Rung::min_cc)) return lacking;
    return launch_one<T>(typename Rung::groups{}, d_notes, num_threads, num_links, seed, op, stream);
  }

 private:
  template <int... groups>
  static constexpr bool is_among(std::integer_sequence<int, groups...>, std::size_t num_threads) {
    return ((num_threads == groups) || ...);
  }
  template <class T, class Op, int... groups>
  static cudaError_t launch_one(std::integer_sequence<int, groups...>, unsigned* d_notes, std::size_t num_threads,
                                std::size_t num_links, unsigned seed, Op op, cudaStream_t stream) {
    cudaError_t error = cudaErrorInvalidValue;
    ((num_threads == groups ? void(error = launch(collectives_kernel<Rung, groups, T, Op>, 1, groups, stream, d_notes,
                                                  num_links, collective_chain{seed}, op))
                            : void()),
     ...);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
