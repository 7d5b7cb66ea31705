// All-reduce across the GPUs of a machine: every rank gets the reduction of all ranks' arrays, by the rung that suits
// their size. rungs/across/windows.cuh makes the members that calls want.
#pragma once

#include "rungs/across/02_one_shot.cuh"
#include "rungs/across/03_two_shot.cuh"

namespace rungs::RUNGS_ABI::across {

enum class way : unsigned char { one_shot, two_shot };

struct planned {
  static constexpr auto idea = "one shot or two, by the bytes of an array";
  static constexpr bool deterministic = true, fixed_rank_order = true;

  // Measured on H100s, one shot's time over two_shot's. Two ranks: 0.91 at 1 MiB, 1.47 at 4 MiB. Four ranks: 0.64 at
  // 256 KiB, 1.43 at 1 MiB. (Of two ranks, ring takes 0.96 to 0.99 of two_shot's time from 1 to 64 MiB, but neither
  // folds in the order of ranks nor rounds halves once.) More ranks are derived, and not measured: one shot sends
  // 2 (num_ranks - 1) times the bytes and two_shot 2 (num_ranks - 1) / num_ranks times; what that saves may be as much
  // as where four ranks are even.
  static constexpr std::size_t most_of_one_shot(int num_ranks) {
    constexpr std::size_t of_four = std::size_t{512} << 10;
    if (num_ranks < 2) return 0;
    if (num_ranks <= 4) return of_four * (6 - num_ranks) / 2;
    const std::size_t others = num_ranks - 1;
    return of_four * 9 * num_ranks / (4 * others * others);
  }

  // The way for an array of so many bytes. It depends on what all ranks have in common.
  static constexpr way choose(std::size_t bytes, int num_ranks) {
    return bytes <= most_of_one_shot(num_ranks) ? way::one_shot : way::two_shot;
  }

  // As gather_to_one::all_reduce.
  template <class T, class ReductionOpT>
  static cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items,
                                ReductionOpT reduction_op, cudaStream_t stream = nullptr) {
    return choose(num_items * sizeof(T), member.num_ranks) == way::one_shot
               ? one_shot::all_reduce(member, d_in, d_out, num_items, reduction_op, stream)
               : two_shot::all_reduce(member, d_in, d_out, num_items, reduction_op, stream);
  }
};

// Reduces item i of the arrays of all ranks to item i of d_out, on every rank: in the order of ranks, halves in float
// and rounded once, the same bits on every rank and in every run.
//
//   rungs::across::all_reduce(windows.member(rank), d_in, d_out, num_items, rungs::plus{}, stream);
//
// T is float, double, __half, __nv_bfloat16 or an integer, or any item of 1, 2, 4 or 8 bytes that reduction_op takes;
// halves come to reduction_op as floats. Everything else is said at gather_to_one::all_reduce, and at windows.
template <class T, class ReductionOpT>
cudaError_t all_reduce(const member& member, const T* d_in, T* d_out, std::size_t num_items, ReductionOpT reduction_op,
                       cudaStream_t stream = nullptr) {
  return planned::all_reduce(member, d_in, d_out, num_items, reduction_op, stream);
}

}  // namespace rungs::RUNGS_ABI::across
