// Exact sums and dot products; users call rungs::DeviceReduce::ExactSum and ExactDot.
#pragma once

#include "rungs/contract.cuh"
#include "rungs/production/exact/exact_kernel.cuh"

namespace rungs::RUNGS_ABI::exact {

// Their storage may hold anything.
struct front_door {
  template <class InputIteratorT, class OutputIteratorT>
  static cudaError_t sum(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                         OutputIteratorT d_out, std::size_t num_items, cudaStream_t stream) {
    check_types<InputIteratorT, OutputIteratorT>();
    return production::add_exactly(d_temp_storage, temp_storage_bytes, production::exact_items<InputIteratorT>{d_in},
                                   d_out, num_items, stream);
  }

  template <class InputIteratorT, class OtherIteratorT, class OutputIteratorT>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_x, OtherIteratorT d_y,
                         OutputIteratorT d_out, std::size_t num_items, cudaStream_t stream) {
    check_types<InputIteratorT, OutputIteratorT>();
    return production::add_exactly(d_temp_storage, temp_storage_bytes,
                                   production::exact_products<InputIteratorT, OtherIteratorT>{d_x, d_y}, d_out,
                                   num_items, stream);
  }

 private:
  template <class InputIteratorT, class OutputIteratorT>
  static constexpr void check_types() {
    using item = parts::item_of<InputIteratorT>;
    using written = device::value_or<OutputIteratorT, item>;
    static_assert(is_item<item>, "exact sums have items of type float, double, __half or __nv_bfloat16");
    static_assert(
        is_item<written> || is_total<written>,
        "an exact sum is written as float, double, __half, __nv_bfloat16, or as a rungs::exact_sum or exact_dot");
  }
};

}  // namespace rungs::RUNGS_ABI::exact
