// The exact calls by numbers instead of types, so that tests are plain C++: what is called, of which items, with which
// result. Items and results are their bits.
#pragma once

#include <rungs/workspace.cuh>

#include <cstddef>
#include <cstdint>

#include "oracles/exact_sum.hpp"

namespace rungs::tests::exact {

enum class operation { sum, dot };
enum class number { f16, bf16, f32, f64 };
inline constexpr int num_numbers = 4;

constexpr float_format format_of(number type) {
  constexpr float_format formats[] = {f16_format, bf16_format, f32_format, f64_format};
  return formats[static_cast<int>(type)];
}
constexpr std::size_t bytes_of(number type) { return type == number::f64 ? 8 : type == number::f32 ? 4 : 2; }

// What is called: a sum of items of d_a, or the dot product of d_a and d_b.
struct call {
  operation what;
  number of;
  const void *d_a, *d_b;
  std::size_t num_items;
  cudaStream_t stream;
};

cudaError_t enqueue(const call& call, number result, void* d_out, void* d_temp_storage, std::size_t& bytes);
cudaError_t enqueue(const call& call, number result, void* d_out, workspace& workspace);

// With a record as result, and what a record can do on the host.
struct records {
  operation what;
  number of;

  std::size_t bytes() const;
  cudaError_t enqueue(const call& call, void* d_record, void* d_temp_storage, std::size_t& bytes) const;
  cudaError_t enqueue(const call& call, void* d_record, workspace& workspace) const;
  void make_zero(void* record) const;
  void merge(void* record, const void* other) const;  // record += other
  std::uint64_t rounded(const void* record, number result) const;
};

}  // namespace rungs::tests::exact
