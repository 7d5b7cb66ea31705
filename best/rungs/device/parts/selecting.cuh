// From the arguments of a call that selects to the kernel's.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/device/parts/compaction.cuh"
#include "rungs/production/compaction/select_rounds.cuh"

namespace rungs::RUNGS_ABI::device {

template <class FlagIteratorT, class SelectOpT>
auto by_flag(FlagIteratorT d_flags, SelectOpT select_op) {
  const auto flags = production::as_held(d_flags);
  return production::chosen_by_flag<std::remove_const_t<decltype(flags)>, SelectOpT>{flags, select_op, false};
}

template <class Criterion>
struct criterion_aligned {
  template <int neighbours>
  static Criterion to(Criterion criterion) {
    return criterion;
  }
};
template <class FlagIteratorT, class SelectOpT>
struct criterion_aligned<production::chosen_by_flag<FlagIteratorT, SelectOpT>> {
  using criterion = production::chosen_by_flag<FlagIteratorT, SelectOpT>;
  template <int neighbours>
  static criterion to(criterion by) {
    by.by_vectors = production::is_aligned<neighbours>(by.d_flags);
    return by;
  }
};

template <production::rejected others, class Storage, class InputIteratorT, class Criterion, class Values,
          class OutputIteratorT, class NumSelectedIteratorT>
cudaError_t select(Storage storage, InputIteratorT d_in, Criterion criterion, Values values, OutputIteratorT d_out,
                   NumSelectedIteratorT d_num_selected_out, std::size_t num_items, bool in_place, cudaStream_t stream) {
  const auto items = production::as_held(d_in);
  using selection = production::selection<others, std::remove_const_t<decltype(items)>, Criterion, Values,
                                          OutputIteratorT, NumSelectedIteratorT>;
  constexpr int neighbours = selection::shape::neighbours;
  if constexpr (Values::is_any) values.by_vectors = production::is_aligned<neighbours>(values.d_in);
  const selection call{items,
                       criterion_aligned<Criterion>::template to<neighbours>(criterion),
                       values,
                       d_out,
                       d_num_selected_out,
                       num_items,
                       production::is_aligned<neighbours>(items),
                       in_place};
  return storage.run(
      [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
        return production::select(d_temp_storage, temp_storage_bytes, call, stream);
      },
      stream);
}

}  // namespace rungs::RUNGS_ABI::device
