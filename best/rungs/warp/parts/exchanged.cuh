// Items of neighbouring lanes in shared memory, through which they change places.
#pragma once

#include "rungs/warp/parts/lanes.cuh"

namespace rungs::RUNGS_ABI::device {

// A word of padding behind every 32 items keeps lanes that read or write items_per_thread apart off each other's
// banks. Other numbers than powers of two hardly meet there.
template <class T, int num_items, int items_per_thread>
class exchanged {
  static constexpr bool is_padded = items_per_thread > 4 && (items_per_thread & (items_per_thread - 1)) == 0;
  static __host__ __device__ constexpr int place(int i) { return is_padded ? i + i / parts::warp_threads : i; }

 public:
  __device__ carried<T>& operator[](int i) { return items_[place(i)]; }

 private:
  carried<T> items_[place(num_items - 1) + 1];
};

}  // namespace rungs::RUNGS_ABI::device
