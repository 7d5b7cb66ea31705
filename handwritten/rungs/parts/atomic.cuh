// One read-modify-write for every operator and accumulator type of the ladders.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/launch.cuh"

namespace rungs::RUNGS_ABI::parts {

// *address = reduction_op(*address, value), atomically, relaxed, at device scope.
//
// The bits of floats order like integers within a sign, so minimum and maximum need no compare-and-swap loop: one
// signed minimum for what is positive, one unsigned maximum for what is negative, and the other way round. A NaN is
// sent as the pattern that no number can displace.
template <class T, class ReductionOpT>
__device__ void atomic_combine(T* address, T value, ReductionOpT) {
  constexpr bool is_plus = std::is_same_v<ReductionOpT, plus>, is_minimum = std::is_same_v<ReductionOpT, minimum>;
  static_assert(is_plus || is_minimum || std::is_same_v<ReductionOpT, maximum>, "no atomic for this operator");
  if constexpr (is_plus && std::is_same_v<T, long long>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
  } else if constexpr (is_plus) {
    atomicAdd(address, value);
  } else if constexpr (!std::is_floating_point_v<T>) {
    is_minimum ? atomicMin(address, value) : atomicMax(address, value);
  } else {
    using signed_bits = std::conditional_t<sizeof(T) == 4, int, long long>;
    using unsigned_bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    signed_bits bits;
    if constexpr (sizeof(T) == 4)
      bits = __float_as_int(value);
    else
      bits = __double_as_longlong(value);
    if (value != value) bits = is_minimum ? signed_bits(-1) : signed_bits(unsigned_bits(-1) >> 1);
    const auto as_signed = reinterpret_cast<signed_bits*>(address);
    const auto as_unsigned = reinterpret_cast<unsigned_bits*>(address);
    if (is_minimum) {
      bits >= 0 ? (void)atomicMin(as_signed, bits) : (void)atomicMax(as_unsigned, unsigned_bits(bits));
    } else {
      bits >= 0 ? (void)atomicMax(as_signed, bits) : (void)atomicMin(as_unsigned, unsigned_bits(bits));
    }
  }
}

template <class T>
__global__ void store_value(T* d_out, T value) {
  *d_out = value;
}

// Atomics add to what is there, so a launch before them puts init there.
template <class OutputIteratorT, class T>
cudaError_t initialise(OutputIteratorT d_out, T init, cudaStream_t stream) {
  static_assert(std::is_same_v<OutputIteratorT, T*>, "atomics need a pointer to the accumulator type");
  return launch(store_value<T>, 1, 1, stream, d_out, init);
}

}  // namespace rungs::RUNGS_ABI::parts
