// Rung 3. One instruction that reduces 32-bit integers over a warp, redux.sync (sm_80 and later).
// Against 02_shuffle_xor: one instruction in place of five shuffles and five operations.
#pragma once

#include "rungs/parts/collective_calls.cuh"

namespace rungs::RUNGS_ABI::collectives {

struct redux : parts::collective_calls<redux> {
  static constexpr auto idea = "redux.sync, one instruction for 32-bit integers";
  static constexpr int block_threads = 32, min_cc = 80;
  static constexpr bool is_scan = false;
  using groups = std::integer_sequence<int, 16, 32>;
  template <class Op, class T>
  static constexpr bool takes_type = std::is_same_v<T, int>;

  template <int threads, class T, class Op>
  static __device__ T collective(T value, Op) {
#if __CUDA_ARCH__ >= 800
    constexpr unsigned mask = parts::mask_of<threads>;
    if constexpr (std::is_same_v<Op, plus>)
      return __reduce_add_sync(mask, value);
    else if constexpr (std::is_same_v<Op, minimum>)
      return __reduce_min_sync(mask, value);
    else
      return __reduce_max_sync(mask, value);
#else
    return value;
#endif
  }
};

}  // namespace rungs::RUNGS_ABI::collectives
