// A reduction or scan of any type with any operator, made one that has an identity: nothing. Rungs pad, and what is no
// item must not reach the caller's operator, so an operator without an identity is lifted to values that may be absent.
// What is known to be there is a plain value, and costs what it costs with any operator.
#pragma once

#include <type_traits>

#include "rungs/operators.cuh"

namespace rungs::RUNGS_ABI::parts {

template <class T>
struct maybe {
  T value;
  bool present;

  maybe() = default;
  __host__ __device__ maybe(const T& value) : value(value), present(true) {}
  template <class Item>
  __host__ __device__ explicit maybe(const Item& item) : value(static_cast<T>(item)), present(true) {}
  __host__ __device__ maybe(const T& value, bool present) : value(value), present(present) {}
};

// The same value, of which the compiler knows nothing. Where it knows that the result of an operator lies below 2^8 or
// 2^16, as in a sum that saturates, ptxas 13.0 may keep that in half a register, and then add all of the register.
template <class T>
__device__ T of_unknown_range(T value) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)) {
    auto bits = static_cast<unsigned>(value);
    asm("" : "+r"(bits));
    return static_cast<T>(bits);
  } else {
    return value;
  }
}

template <class ReductionOpT>
struct lifted {
  ReductionOpT reduction_op;

  template <class M>
  static __host__ __device__ M identity() {
    return M{};
  }
  template <class T>
  __device__ maybe<T> operator()(const maybe<T>& a, const maybe<T>& b) const {
    if (!a.present) return b;
    if (!b.present) return a;
    return maybe<T>(of_unknown_range(static_cast<T>(reduction_op(a.value, b.value))), true);
  }
  template <class T>
  __device__ T operator()(const maybe<T>& a, const T& b) const {
    return a.present ? of_unknown_range(static_cast<T>(reduction_op(a.value, b))) : b;
  }
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return of_unknown_range(static_cast<T>(reduction_op(a, b)));
  }
};

// What a maybe is made of; anything else is made of itself.
template <class T>
struct type_under {
  using named = T;
};
template <class T>
struct type_under<maybe<T>> {
  using named = T;
};

// The aggregate of any number of values, of none, too.
template <class T, class Op>
struct aggregate_type {
  using named = T;
};
template <class T, class Op>
struct aggregate_type<T, lifted<Op>> {
  using named = maybe<typename type_under<T>::named>;
};
template <class T, class Op>
using aggregate_of = typename aggregate_type<T, Op>::named;

// Writes a result, which is there by now.
template <class OutputIteratorT, class T>
__device__ void store(OutputIteratorT d_out, const T& result) {
  *d_out = result;
}
template <class OutputIteratorT, class T>
__device__ void store(OutputIteratorT d_out, const maybe<T>& result) {
  *d_out = result.value;
}
// Where results wait inside a workspace they may still be absent.
template <class T>
__device__ void store(maybe<T>* d_out, const maybe<T>& result) {
  *d_out = result;
}

}  // namespace rungs::RUNGS_ABI::parts
