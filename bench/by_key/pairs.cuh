// Calls of keys and values of every type that the plan has for them.
#pragma once

#include "by_key/places.cuh"

namespace rungs::bench::by_key {

// Both libraries' calls of an operation, which names its classes and has call<class, key, value>.
template <class Operation, class Key, class Value>
inline constexpr calls both_calls = {Operation::template call<typename Operation::rungs_call, Key, Value>,
                                     Operation::template call<typename Operation::cub_call, Key, Value>};

// Keys of i32 and i64, values of i32 and f32.
template <class Operation>
calls calls_of_pairs(const problem& about) {
  using catalog::scalar;
  if (about.keys == scalar::i32 && about.values == scalar::i32) return both_calls<Operation, int, int>;
  if (about.keys == scalar::i32 && about.values == scalar::f32) return both_calls<Operation, int, float>;
  if (about.keys == scalar::i64 && about.values == scalar::i32) return both_calls<Operation, long long, int>;
  if (about.keys == scalar::i64 && about.values == scalar::f32) return both_calls<Operation, long long, float>;
  return {};
}

}  // namespace rungs::bench::by_key
