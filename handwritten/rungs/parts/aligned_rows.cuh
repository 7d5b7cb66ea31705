// Rows whose ends are known to be aligned, or to be made of whole vectors, and the choice of those that suit a call.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

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

// Of what with_aligned_rows calls, the rows that begin at item `first`: the first `ahead` items are not there.
template <class Rows, class Index, class ScanOpT>
__device__ void load_from(Rows& rows, typename Rows::input_iterator d_in, Index first, std::size_t num_items, int ahead,
                          bool by_vectors, ScanOpT scan_op) {
  if (Rows::may_lack_first && ahead > 0 && first == 0)
    rows.load_behind(d_in, ahead, num_items, scan_op);
  else
    rows.load_present(d_in, first, num_items, by_vectors, scan_op);
}
template <class Rows, class Index>
__device__ void store_from(const Rows& rows, typename Rows::output_iterator d_out, Index first, std::size_t num_items,
                           int ahead, bool by_vectors) {
  if (Rows::may_lack_first && ahead > 0 && first == 0)
    rows.store_behind(d_out, ahead, num_items);
  else
    rows.store_present(d_out, first, num_items, by_vectors);
}

// Calls call(type<...>) with whole_vectors<Rows> where that will do, else with Rows.
template <class Rows, class Call>
cudaError_t with_rows(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out, std::size_t num_items,
                      Call call) {
  if constexpr (Rows::reads_vectors && Rows::writes_vectors) {
    if (Rows::vectorised(d_in, d_out) && num_items % Rows::lane_items == 0) return call(type<whole_vectors<Rows>>{});
  }
  return call(type<Rows>{});
}

// Calls launch as with_aligned_rows does, for the rows that suit both ends best: whole vectors where both ends are
// aligned, and there are fewer than most_items. The order of additions must not depend on where rows begin, which only
// integers do not mind.
template <class Rows, class Launch>
cudaError_t with_suiting_rows(typename Rows::input_iterator d_in, typename Rows::output_iterator d_out,
                              std::size_t num_items, std::size_t most_items, Launch launch) {
  if constexpr (Rows::reads_vectors && Rows::writes_vectors) {
    if (Rows::vectorised(d_in, d_out) && num_items % Rows::lane_items == 0 && num_items < most_items)
      return launch(type<whole_vectors<Rows>>{}, d_in, d_out, num_items, 0);
  }
  if constexpr (std::is_integral_v<typename Rows::accumulator>)
    return with_aligned_rows<true, Rows>(d_in, d_out, num_items, launch);
  else
    return launch(type<Rows>{}, d_in, d_out, num_items, 0);
}

}  // namespace rungs::RUNGS_ABI::parts
