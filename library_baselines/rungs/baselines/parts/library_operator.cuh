// The library's own operator type for each of ours: CUB, Thrust and cooperative groups choose fast paths by type.
#pragma once

#include <cuda/functional>
#include <cuda/std/functional>

#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::baselines::parts {

// `ours` where the library has no counterpart. Transparent operators (`plus<>`) are what CUB's own Sum, Min and Max
// use; float and __half are ambiguous there, so mixed half types name the accumulator.
template <class ReductionOpT, class InputT, class AccumulatorT>
constexpr auto library_operator(ReductionOpT ours) {
  using transparent_or_named =
      std::conditional_t<std::is_same_v<InputT, AccumulatorT> || std::is_arithmetic_v<InputT>, void, AccumulatorT>;
  if constexpr (std::is_same_v<ReductionOpT, plus>)
    return cuda::std::plus<transparent_or_named>{};
  else if constexpr (std::is_same_v<ReductionOpT, minimum>)
    return cuda::minimum<transparent_or_named>{};
  else if constexpr (std::is_same_v<ReductionOpT, maximum>)
    return cuda::maximum<transparent_or_named>{};
  else
    return ours;
}

template <class IteratorT>
using value_of = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<IteratorT>())>>;

}  // namespace rungs::RUNGS_ABI::baselines::parts
