// What rungs of top-k share: candidates in one word of 64 bits, how the threads of a block read a row, and the call
// made of a launch.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/ranks.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

// The rank of an item over the distance of its column from one that no row has. The greater candidate comes first, no
// two of a row are equal, and none is 0 or has all bits set.
using candidate = unsigned long long;
inline constexpr unsigned no_column = 0xfffffffe;

template <class T>
__device__ candidate candidate_of(const T& item, unsigned column) {
  return static_cast<candidate>(~rank_of<false>(item)) << 32 | (no_column - column);
}

// Rows, and where their greatest items and the columns of these go, k of each row.
template <class T>
struct top_k_rows {
  const T* items;
  T* keys_out;
  unsigned* columns_out;
  unsigned num_columns, k;

  __host__ __device__ top_k_rows from(std::size_t row) const {
    return {items + row * num_columns, keys_out + row * k, columns_out + row * k, num_columns, k};
  }
  // Of the first row.
  __device__ candidate at(unsigned column) const { return candidate_of(items[column], column); }
  __device__ void write(unsigned place, candidate chosen) const {
    const unsigned column = no_column - static_cast<unsigned>(chosen);
    keys_out[place] = items[column];
    columns_out[place] = column;
  }
  // The threads of a block call act() for the candidates of columns begin to end - 1, with eight loads under way.
  template <int block_threads, class Act>
  __device__ void for_each(unsigned begin, unsigned end, Act act) const {
    constexpr int num_loads = 8;
    for (unsigned first = begin + threadIdx.x; first < end; first += num_loads * block_threads) {
      T loaded[num_loads];
#pragma unroll
      for (int i = 0; i < num_loads; ++i)
        if (first + i * block_threads < end) loaded[i] = items[first + i * block_threads];
#pragma unroll
      for (int i = 0; i < num_loads; ++i)
        if (first + i * block_threads < end) act(candidate_of(loaded[i], first + i * block_threads));
    }
  }
};

// A rung derives from top_k_calls<rung>, says its max_k and writes one function,
//
//   template <class T>
//   static cudaError_t enqueue(const top_k_rows<T>& rows, std::size_t num_rows, cudaStream_t stream);
//
// which is called with 1 to Rung::most_rows rows and a k of 1 or more. It needs no storage.
template <class Rung>
struct top_k_calls {
  static constexpr std::size_t most_rows = 0x7fffffff, max_columns = std::size_t{1} << 31;
  static constexpr bool deterministic = true;
  static constexpr contents temp_storage = contents::none;

  // d_keys_out[row * k … row * k + k - 1] = the greatest items of d_in[row * num_columns …], the greatest first, and
  // d_columns_out their columns. Of equal items the lesser column comes first. NaN is greater than any number, and -0
  // equals 0. cudaErrorInvalidValue where k exceeds max_k or num_columns, or these max_columns.
  template <class T>
  static cudaError_t top_k(void* d_temp_storage, std::size_t& temp_storage_bytes, const T* d_in, T* d_keys_out,
                           unsigned* d_columns_out, std::size_t num_rows, std::size_t num_columns, std::size_t k,
                           cudaStream_t stream = nullptr) {
    char* unused;
    cudaError_t error;
    if (k > Rung::max_k || k > num_columns || num_columns > Rung::max_columns) return cudaErrorInvalidValue;
    if (answered(d_temp_storage, temp_storage_bytes, 0, unused, error) || k == 0) return error;
    const top_k_rows<T> all{d_in, d_keys_out, d_columns_out, static_cast<unsigned>(num_columns),
                            static_cast<unsigned>(k)};
    for (std::size_t first = 0; error == cudaSuccess && first < num_rows; first += Rung::most_rows)
      error = Rung::enqueue(all.from(first), at_most(num_rows - first, Rung::most_rows), stream);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
