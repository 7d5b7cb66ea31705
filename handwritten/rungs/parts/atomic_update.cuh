// Atomics for every operator and type of the study, and the call that its rungs share.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/updates.cuh"

namespace rungs::RUNGS_ABI::parts {

enum class scope { device, system };

// Whether CUDA has one function for it.
template <class Op, class T>
inline constexpr bool has_native =
    std::is_same_v<Op, plus>        ? true
    : std::is_same_v<Op, minus>     ? std::is_same_v<T, int> || std::is_same_v<T, unsigned>
    : std::is_same_v<Op, increment> ? std::is_same_v<T, unsigned>
    : is_extreme<Op>                ? std::is_integral_v<T>
                                    : std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

// Answers what was there before. Relaxed; where nobody uses the answer, the compiler takes the form without one.
template <scope how_far = scope::device, class Op, class T>
__device__ T native_update(T* address, T value, Op) {
  static_assert(has_native<Op, T>);
  if constexpr (how_far == scope::system) {
    static_assert(std::is_same_v<Op, plus>, "of the system-wide atomics, the additions are studied");
    return atomicAdd_system(address, value);
  } else if constexpr (std::is_same_v<Op, plus> || std::is_same_v<Op, increment>) {
    return atomicAdd(address, value);
  } else if constexpr (std::is_same_v<Op, minus>) {
    return atomicSub(address, value);
  } else if constexpr (std::is_same_v<Op, minimum>) {
    return atomicMin(address, value);
  } else if constexpr (std::is_same_v<Op, maximum>) {
    return atomicMax(address, value);
  } else if constexpr (std::is_same_v<Op, bit_and>) {
    return atomicAnd(address, value);
  } else if constexpr (std::is_same_v<Op, bit_or>) {
    return atomicOr(address, value);
  } else if constexpr (std::is_same_v<Op, bit_xor>) {
    return atomicXor(address, value);
  } else {
    return atomicExch(address, value);
  }
}

// What the values of two operations on one address come to together; of two exchanges, either.
template <class Op>
struct together {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    if constexpr (is_extreme<Op>)
      return Op{}(a, b);
    else if constexpr (std::is_same_v<Op, bit_and>)
      return a & b;
    else if constexpr (std::is_same_v<Op, bit_or>)
      return a | b;
    else if constexpr (std::is_same_v<Op, bit_xor>)
      return a ^ b;
    else if constexpr (std::is_same_v<Op, exchange>)
      return b;
    else
      return a + b;
  }
};

// What a value is as a word: its bits, for a compare-and-swap, or to look at.
template <class T>
using word_of = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <class T>
__device__ word_of<T> to_word(const T& value) {
  word_of<T> word;
  static_assert(sizeof word == sizeof value);
  memcpy(&word, &value, sizeof word);
  return word;
}
template <class T>
__device__ T from_word(word_of<T> word) {
  T value;
  memcpy(&value, &word, sizeof value);
  return value;
}

// Compared with answers, so that they have to come back; that they match, one time in 2^63, does no harm.
inline constexpr unsigned long long never_seen = 0x9E3779B97F4A7C15ull;

// All threads of the block, for values in shared memory; they meet at a barrier afterwards.
template <class T>
__device__ void set_all(T* values, unsigned num_values, const T& start) {
  for (unsigned i = threadIdx.x; i < num_values; i += blockDim.x) values[i] = start;
}
// All threads of the block, after a barrier: what a block's operations came to joins what is in memory. An address that
// no operation of the block has changed is left alone.
template <class Op, class T>
__device__ void send_all(const T* values, unsigned num_values, T* d_values, Op op) {
  for (unsigned i = threadIdx.x; i < num_values; i += blockDim.x) {
    const T value = values[i];
    if (to_word(value) == to_word(updates::start<Op, T>())) continue;
    if constexpr (std::is_same_v<Op, minus>)
      native_update(d_values + i, value, plus{});
    else
      native_update(d_values + i, value, op);
  }
}

template <class T>
__global__ void set_values(T* d_values, unsigned num_values, T start) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num_values) d_values[i] = start;
}

// A rung derives from update_calls<rung> and writes two members:
//
//   template <class Op, class T>
//   static constexpr bool takes;  // whether it has a way to do Op on T
//   template <class Op, class T>
//   static cudaError_t send(T* d_values, const updates& work, Op op, std::size_t grid_blocks, cudaStream_t stream);
//
// The time of a call includes the launch that sets the addresses to their start: an atomic adds to what is there.
template <class Rung>
struct update_calls {
  // Does operations 0 to num_operations - 1 of the study (parts/updates.cuh), each on one of num_addresses values.
  // cudaErrorInvalidValue unless there are as many addresses as the rung takes, one at least.
  template <class Op, class T>
  static cudaError_t update(void* d_temp_storage, std::size_t& temp_storage_bytes, T* d_values,
                            std::size_t num_addresses, std::size_t num_operations, unsigned seed, Op op,
                            cudaStream_t stream = nullptr) {
    static_assert(Rung::template takes<Op, T>);
    constexpr int set_threads = 256;
    if (num_addresses == 0 || num_addresses > most_addresses()) return cudaErrorInvalidValue;
    char* unused;
    int num_multiprocessors;
    cudaError_t error;
    if (answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = multiprocessors(num_multiprocessors);
    if (error == cudaSuccess)
      error = launch(set_values<T>, ceil_div(num_addresses, set_threads), set_threads, stream, d_values, num_addresses,
                     updates::start<Op, T>());
    if (error != cudaSuccess || num_operations == 0) return error;
    const std::size_t grid_blocks = at_most(ceil_div(num_operations, Rung::block_threads),
                                            std::size_t(num_multiprocessors) * Rung::blocks_per_multiprocessor);
    const auto work = updates::of<Op, T>(num_operations, static_cast<unsigned>(num_addresses), seed);
    return Rung::send(d_values, work, op, grid_blocks, stream);
  }

 private:
  template <class R, class = void>
  struct limit {
    static constexpr std::size_t addresses = ~0u;
  };
  template <class R>
  struct limit<R, std::void_t<decltype(R::max_addresses)>> {
    static constexpr std::size_t addresses = R::max_addresses;
  };
  static constexpr std::size_t most_addresses() { return limit<Rung>::addresses; }
};

}  // namespace rungs::RUNGS_ABI::parts
