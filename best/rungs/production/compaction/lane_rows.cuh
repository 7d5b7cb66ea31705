// What a lane holds of a warp's rows, and how accesses bring it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::production {

// What one access brings, or two of 16 bytes. (A struct of bytes is read byte by byte.)
struct two_vectors {
  uint4 first, second;
};
template <std::size_t num_bytes>
using access = std::conditional_t<
    num_bytes == 32, two_vectors,
    std::conditional_t<
        num_bytes == 16, uint4,
        std::conditional_t<num_bytes == 8, uint2,
                           std::conditional_t<num_bytes == 4, unsigned,
                                              std::conditional_t<num_bytes == 2, unsigned short, unsigned char>>>>>;

// `count` neighbours in the registers of a lane, laid out as one access brings them. Items of one or two bytes stay
// packed in words: each would take a register.
template <class Held, int count>
class neighbours_of {
  static constexpr std::size_t num_bytes = sizeof(Held) * count;
  static constexpr bool is_packed = sizeof(Held) <= 2 && num_bytes % 4 == 0;

 public:
  neighbours_of() = default;
  explicit __device__ neighbours_of(access<num_bytes> read) {
    static_assert(sizeof(read) == sizeof(parts_));
    memcpy(static_cast<void*>(parts_), &read, sizeof(parts_));
  }
  explicit __device__ neighbours_of(const Held (&items)[count]) {
    memcpy(static_cast<void*>(parts_), static_cast<const void*>(items), sizeof(parts_));
  }
  __device__ Held operator[](int k) const {
    if constexpr (is_packed) {
      constexpr int part_items = 4 / sizeof(Held);
      // One instruction, where a shift would be followed by a mask.
      const unsigned from = k % part_items * static_cast<unsigned>(sizeof(Held));
      const unsigned bytes = sizeof(Held) == 1 ? 0x4440 + from : 0x4410 + from * 0x11;
      const unsigned bits = __byte_perm(parts_[k / part_items], 0, bytes);
      __builtin_assume(bits < 1u << 8 * sizeof(Held));
      Held item;
      memcpy(static_cast<void*>(&item), &bits, sizeof(Held));
      return item;
    } else {
      return parts_[k];
    }
  }
  // The same, unpacked once more by another instruction: else the compiler keeps items of the time before in registers.
  __device__ Held anew(int k) const {
    if constexpr (is_packed) {
      constexpr int part_items = 4 / sizeof(Held);
      const unsigned bits = parts_[k / part_items] >> (k % part_items * 8 * static_cast<int>(sizeof(Held)));
      Held item;
      memcpy(static_cast<void*>(&item), &bits, sizeof(Held));
      return item;
    } else {
      return parts_[k];
    }
  }
  // Packed neighbours, four bytes of them.
  __device__ unsigned word(int i) const {
    static_assert(is_packed);
    return parts_[i];
  }

 private:
  static constexpr int num_parts = is_packed ? num_bytes / 4 : count;
  std::conditional_t<is_packed, unsigned, Held> parts_[num_parts];
};

template <class InputIteratorT, class Held, int count>
inline constexpr bool reads_vectors =
    parts::is_vectorisable<InputIteratorT>&& std::is_same_v<parts::item_of<InputIteratorT>, Held> &&
    sizeof(Held) * count <= sizeof(two_vectors);

// The lane's items of a tile.
template <class Shape, class Held>
struct lane_rows {
  neighbours_of<Held, Shape::neighbours> rows[Shape::num_rows];

  __device__ Held operator()(int row, int k) const { return rows[row][k]; }
  __device__ Held anew(int row, int k) const { return rows[row].anew(k); }
};

}  // namespace rungs::RUNGS_ABI::production
