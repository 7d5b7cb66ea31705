// What a library is asked with in the study of collectives: its own operators.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cuda/functional>
#include <cuda/std/functional>

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

template <class T, class Op>
__device__ auto group_operator(Op op) {
  if constexpr (std::is_same_v<Op, plus>)
    return cooperative_groups::plus<T>{};
  else if constexpr (std::is_same_v<Op, minimum>)
    return cooperative_groups::less<T>{};
  else if constexpr (std::is_same_v<Op, maximum>)
    return cooperative_groups::greater<T>{};
  else
    return op;
}

template <class Op>
__device__ auto cub_operator(Op op) {
  if constexpr (std::is_same_v<Op, plus>)
    return cuda::std::plus<>{};
  else if constexpr (std::is_same_v<Op, minimum>)
    return cuda::minimum<>{};
  else if constexpr (std::is_same_v<Op, maximum>)
    return cuda::maximum<>{};
  else
    return op;
}

}  // namespace rungs::RUNGS_ABI::collectives
