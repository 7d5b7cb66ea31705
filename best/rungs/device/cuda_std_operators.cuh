// For calls of the front door that are given operators of libcu++: cuda::std::plus, cuda::minimum and cuda::maximum are
// then taken for rungs::plus, minimum and maximum, which the rungs know. Without this header they work, too, as any
// other operator does, and more slowly. A header of its own, because <cuda/functional> takes seconds to compile.
#pragma once

#include <cuda/functional>
#include <cuda/std/functional>

#include "rungs/device/parts/types.cuh"

namespace rungs::v0::device {

template <class T>
struct known_operator<cuda::std::plus<T>> {
  using type = plus;
  using accumulator = T;
};
template <class T>
struct known_operator<cuda::minimum<T>> {
  using type = minimum;
  using accumulator = T;
};
template <class T>
struct known_operator<cuda::maximum<T>> {
  using type = maximum;
  using accumulator = T;
};

}  // namespace rungs::v0::device
