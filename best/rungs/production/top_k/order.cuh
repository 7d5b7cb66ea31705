// The order of top-k as unsigned integers: of two items the one with the greater integer comes first.
//
// A key becomes an unsigned integer of its own width, by its bits alone. A candidate is that integer above the distance
// of its column from the row's last one. So no two candidates of a row are equal, and of equal keys the smaller column
// comes first. Keys of 64 bits have candidates of up to 96.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::production {

using candidate = unsigned long long;
using wide_candidate = unsigned __int128;

// From the bits of a key, `Storage` being an unsigned integer of its size, to its order. A float's magnitude is negated
// where the sign is set, so -0 equals 0. All NaN are one greatest value. Least first complements everything.
template <class Storage_, bool is_float_>
struct key_order {
  using Storage = Storage_;
  static constexpr bool is_float = is_float_;
  static constexpr int bits = 8 * sizeof(Storage);
  using word = std::conditional_t<bits == 64, unsigned long long, unsigned>;
  using candidate_type = std::conditional_t<bits == 64, wide_candidate, candidate>;
  static constexpr int word_bits = 8 * sizeof(word);
  static constexpr word sign = word{1} << (word_bits - 1);

  word flip;      // what is complemented: the sign of integers, and all where the least come first
  word infinity;  // of floats: its bits, as the upper ones of a word

  __host__ __device__ word operator()(Storage raw) const {
    const word upper = static_cast<word>(raw) << (word_bits - bits);
    word ordered = upper;
    if constexpr (is_float) {
      const word magnitude = upper & ~sign;
      ordered = sign + (upper == magnitude ? magnitude : word{0} - magnitude);
      if (magnitude > infinity) ordered = ~word{0};
    }
    return (ordered ^ flip) >> (word_bits - bits);
  }
};

// Whether the bits of a key follow from its order, which they do but for NaN and zeros of floats; then `raw` has them.
template <class Order>
__device__ bool bits_of(const Order& order, unsigned key, typename Order::Storage& raw) {
  constexpr int above = 32 - Order::bits;
  unsigned word = (key << above ^ order.flip) >> above << above;
  if constexpr (Order::is_float) {
    const unsigned ordered = word;
    word = ordered > 0x80000000 ? ordered - 0x80000000 : 0u - ordered;
    const unsigned magnitude = word & 0x7fffffff;
    if (magnitude == 0 || magnitude > order.infinity) return false;
  }
  raw = static_cast<typename Order::Storage>(word >> above);
  return true;
}

// The float of a key. 16 bits are the upper half of one: a __half has its order, too, unless it is NaN.
template <class Order>
__device__ float number_of_key(const Order& order, typename Order::Storage raw) {
  if constexpr (Order::is_float) {
    return __uint_as_float(static_cast<unsigned>(raw) << (32 - Order::bits) ^ (order.flip & 0x80000000));
  } else {
    const auto word = static_cast<unsigned>(raw) << (32 - Order::bits) ^ order.flip ^ 0x80000000;
    const auto key = word >> 1 | (word & 0x80000000);  // so that none is NaN
    return __uint_as_float(word >> 31 ? key ^ 0x7fffffff : key);
  }
}

// How many keys a thread reads at once: those of 16 bytes, and of bytes eight.
__host__ __device__ constexpr unsigned keys_at_once(int key_bits) {
  return key_bits == 8 ? 8 : 128 / static_cast<unsigned>(key_bits);
}

// What a row's candidates are made of.
struct candidate_layout {
  unsigned last;  // column of the row
  int index_bits, key_bits;

  candidate_layout() = default;
  candidate_layout(std::size_t num_columns, int key_bits)
      : last(static_cast<unsigned>(num_columns - 1)), index_bits(0), key_bits(key_bits) {
    while (index_bits < 32 && last >> index_bits != 0) ++index_bits;
  }

  __host__ __device__ int bits() const { return index_bits + key_bits; }
  __host__ __device__ candidate make(unsigned key, unsigned column) const {
    return static_cast<candidate>(key) << index_bits | (last - column);
  }
  __host__ __device__ wide_candidate make(unsigned long long key, unsigned column) const {
    return static_cast<wide_candidate>(key) << index_bits | (last - column);
  }
  __host__ __device__ unsigned key_of(candidate of) const { return static_cast<unsigned>(of >> index_bits); }
  __host__ __device__ unsigned column_of(candidate of) const {
    return last - static_cast<unsigned>(of & ((candidate{1} << index_bits) - 1));
  }
};

// The rows to choose from.
template <class Order>
struct keys_of_rows {
  using Storage = typename Order::Storage;
  const Storage* data;
  std::size_t stride;
  Order order;

  __device__ const Storage* row(std::size_t index) const { return data + index * stride; }
};

// Keys for an output iterator of the caller's, from their bits.
template <class Key, class Storage, class OutputIteratorT>
struct keys_of_bits {
  struct reference {
    OutputIteratorT to;
    std::ptrdiff_t index;
    __device__ void operator=(Storage raw) {
      Key key;
      memcpy(&key, &raw, sizeof(key));
      to[index] = key;
    }
  };

  OutputIteratorT to;

  __device__ reference operator[](std::size_t index) const { return {to, static_cast<std::ptrdiff_t>(index)}; }
};

// Where the result goes: the key as it was read, and what `values` make of its column.
template <class Storage, class Values, class KeysOut = Storage*>
struct top_k_output {
  const Storage* keys_in;
  std::size_t stride_in;
  KeysOut keys_out;
  std::size_t stride_out;
  Values values;

  __device__ void write(std::size_t row, std::size_t rank, unsigned column) const {
    write(row, rank, column, keys_in[row * stride_in + column]);
  }
  __device__ void write(std::size_t row, std::size_t rank, unsigned column, Storage key) const {
    keys_out[row * stride_out + rank] = key;
    values.write(row, rank, column);
  }
};

struct no_values {
  __device__ void write(std::size_t, std::size_t, unsigned) const {}
};
// The values beside the keys, by random-access iterators.
template <class ValueInputIteratorT, class ValueOutputIteratorT>
struct values_beside_keys {
  ValueInputIteratorT in;
  std::size_t stride_in;
  ValueOutputIteratorT out;
  std::size_t stride_out;

  __device__ void write(std::size_t row, std::size_t rank, unsigned column) const {
    ValueInputIteratorT readable = in;
    ValueOutputIteratorT writable = out;
    writable[static_cast<std::ptrdiff_t>(row * stride_out + rank)] =
        readable[static_cast<std::ptrdiff_t>(row * stride_in + column)];
  }
};
// The columns themselves.
template <class Index>
struct columns_of_keys {
  Index* out;
  std::size_t stride_out;

  __device__ void write(std::size_t row, std::size_t rank, unsigned column) const {
    out[row * stride_out + rank] = static_cast<Index>(column);
  }
};

}  // namespace rungs::RUNGS_ABI::production
