// Sums of the values of each run of equal keys.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <rungs/device/device_reduce.cuh>

#include "by_key/pairs.cuh"

namespace rungs::bench::by_key {

// Each with the operator that it knows.
struct reduce_by_key {
  struct rungs_call {
    using reduce = rungs::DeviceReduce;
    using plus = rungs::plus;
  };
  struct cub_call {
    using reduce = cub::DeviceReduce;
    using plus = cuda::std::plus<>;
  };
  template <class Library, class Key, class Value>
  static cudaError_t call(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                          cudaStream_t stream) {
    const outputs<Key, Value> out(a);
    return Library::reduce::ReduceByKey(d_temp_storage, temp_storage_bytes, first_in<Key>(a), out.first,
                                        second_in<Value>(a), out.second, out.count, typename Library::plus{},
                                        num_items(a), stream);
  }
};

template <class Key>
calls reduce_calls_of(const problem& about) {
  using catalog::scalar;
  if (about.values == scalar::i32) return both_calls<reduce_by_key, Key, int>;
  if (about.values == scalar::f32) return both_calls<reduce_by_key, Key, float>;
  if (about.values == scalar::f64) return both_calls<reduce_by_key, Key, double>;
  return {};
}

}  // namespace rungs::bench::by_key
