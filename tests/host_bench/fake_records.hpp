// Variants that run on the host, right ones and wrong ones, as records without a catalog.
#pragma once

#include <cstddef>
#include <string_view>

#include "catalog.hpp"

namespace rungs::bench::fakes {

inline std::size_t calls = 0;  // since a test set it to 0

inline bool only_size(void* workspace, std::size_t& num_bytes) {
  if (workspace != nullptr) return false;
  num_bytes = 16;
  return true;
}

template <class T>
T sum(const catalog::arguments& a, std::size_t num_items) {
  T total = *static_cast<const T*>(a.init);
  for (std::size_t i = 0; i < num_items; ++i) total += static_cast<const T*>(a.d_in)[i];
  return total;
}

template <class T>
cudaError_t right(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  *static_cast<T*>(a.d_out) = sum<T>(a, a.num_items);
  return cudaSuccess;
}

template <class T>
cudaError_t drops_the_last(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  *static_cast<T*>(a.d_out) = sum<T>(a, a.num_items - 1);
  return cudaSuccess;
}

// Right while it is looked at first, wrong once it is timed.
inline cudaError_t tires(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  *static_cast<int*>(a.d_out) = sum<int>(a, a.num_items) + (++calls > 30);
  return cudaSuccess;
}

// Remembers the first answer it gave.
inline cudaError_t remembers(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  static int first = 0;
  if (calls++ == 0) first = sum<int>(a, a.num_items);
  *static_cast<int*>(a.d_out) = first;
  return cudaSuccess;
}

inline cudaError_t does_nothing(void* workspace, std::size_t& num_bytes, const catalog::arguments&, cudaStream_t) {
  only_size(workspace, num_bytes);
  return cudaSuccess;
}

inline cudaError_t fails(void* workspace, std::size_t& num_bytes, const catalog::arguments&, cudaStream_t) {
  return only_size(workspace, num_bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

inline cudaError_t refuses(void* workspace, std::size_t& num_bytes, const catalog::arguments&, cudaStream_t) {
  return only_size(workspace, num_bytes) ? cudaSuccess : cudaErrorNotSupported;
}

inline catalog::record record(std::string_view rung, catalog::call_t call, catalog::scalar type = catalog::scalar::i32,
                              executor where = executor::host) {
  catalog::record about;
  about.family = catalog::family::library_baselines;
  about.ladder = "fakes";
  about.rung = rung;
  about.operation = catalog::operation::reduce;
  about.op = catalog::op::plus;
  about.input_type = about.accumulator_type = about.output_type = type;
  about.executes_on = where;
  about.call = call;
  return about;
}

}  // namespace rungs::bench::fakes
