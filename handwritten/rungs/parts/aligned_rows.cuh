// Rows whose ends are known to be aligned, or to be made of whole vectors, and the choice of those that suit a call.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rungs/parts/rows.cuh"

namespace rungs::RUNGS_ABI::parts {

// The same rows where there is nothing but whole vectors: a short straight path. Where a kernel runs for microseconds,
// its instructions come from DRAM as its items do.
template <class Rows>
struct whole_vectors : Rows {
  using typename Rows::item;
  static constexpr bool is_whole = true;

  template <class ScanOpT>
  __device__ void load_present(typename Rows::input_iterator d_in, std::size_t first, std::size_t num_items, bool,
                               ScanOpT scan_op) {
    const int left = Rows::present(first, num_items);
    typename Rows::template vector_of_lane<typename Rows::input> loaded[Rows::rows_of_warp];
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row)
      if (Rows::position(row) < left)
        loaded[row] = Rows::template vector_at<const typename Rows::input>(d_in + first, row);
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row) {
      if (Rows::position(row) < left)
        this->unpack(row, loaded[row]);
      else
        for (item& absent : this->items[row]) absent = Rows::padding(d_in, num_items, scan_op);
    }
  }
  __device__ void store_present(typename Rows::output_iterator d_out, std::size_t first, std::size_t num_items,
                                bool) const {
    const int left = Rows::present(first, num_items);
#pragma unroll
    for (int row = 0; row < Rows::rows_of_warp; ++row)
      if (Rows::position(row) < left)
        Rows::template vector_at<typename Rows::output>(d_out + first, row) = this->pack(row);
  }
};

// The same rows, of any number of items, where both ends' vectors are aligned: without the code for those that are not,
// which would take registers.
template <class Rows>
struct aligned_vectors : Rows {
  static constexpr std::size_t bytes_of_lane = Rows::lane_items * sizeof(typename Rows::input);
  static constexpr bool may_lack_first =
      sizeof(typename Rows::input) < 16 && (Rows::pads_with_identity || bytes_of_lane == 16);

  template <class ScanOpT>
  __device__ void load_present(typename Rows::input_iterator d_in, std::size_t first, std::size_t num_items, bool,
                               ScanOpT scan_op) {
    const int left = Rows::present(first, num_items);
    this->template load_some<false>(d_in + first, left);
    if (left < Rows::warp_items) this->mask(left, Rows::padding(d_in, num_items, scan_op));
  }
  __device__ void load_shared(const typename Rows::input* from, bool) { this->load_all(from); }
  __device__ void store_present(typename Rows::output_iterator d_out, std::size_t first, std::size_t num_items,
                                bool) const {
    this->template store_some<false>(d_out + first, Rows::present(first, num_items));
  }
};

// Calls call(type<...>, d_in, d_out, num_items, ahead) with aligned_vectors<Rows> where that will do, else with Rows.
// Where may_move, and both ends begin `ahead` items behind an alignment, what is scanned begins there, and its first
// `ahead` items are not there: tiles lie elsewhere then, and floats are added up in another order. It takes an
// identity, or lanes that hold 16 bytes of the input.
template <bool may_move, class Rows, class Call>
cudaError_t with_aligned_rows(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                              std::size_t num_items, Call call) {
  if constexpr (Rows::reads_vectors && Rows::writes_vectors) {
    const int ahead =
        may_move && aligned_vectors<Rows>::may_lack_first && num_items > 0 ? Rows::items_ahead(d_in, d_out) : 0;
    if (reinterpret_cast<std::uintptr_t>(d_in - ahead) % 16 == 0 && Rows::writes_aligned(d_out - ahead))
      return call(type<aligned_vectors<Rows>>{}, d_in - ahead, d_out - ahead, num_items + ahead, ahead);
  }
  return call(type<Rows>{}, d_in, d_out, num_items, 0);
}
inline constexpr int most_ahead = 15;

// Calls call(type<...>) with whole_vectors<Rows> where that will do, else with Rows.
template <class Rows, class Call>
cudaError_t with_rows(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out, std::size_t num_items,
                      Call call) {
  if constexpr (Rows::reads_vectors && Rows::writes_vectors) {
    if (Rows::vectorised(d_in, d_out) && num_items % Rows::lane_items == 0) return call(type<whole_vectors<Rows>>{});
  }
  return call(type<Rows>{});
}

}  // namespace rungs::RUNGS_ABI::parts
