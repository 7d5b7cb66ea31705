// CUB's three calls for a scan, made of one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/called.cuh"
#include "rungs/parts/maybe.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::parts {

// Item i of the output: seed and the items 0 … i, or seed and the items 0 … i - 1.
enum class scan_kind { inclusive, exclusive };

// A rung derives from scan_calls<rung> and writes one function,
//
//   template <scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
//   static cudaError_t scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
//                           OutputIteratorT d_out, ScanOpT scan_op, T seed, std::size_t num_items,
//                           cudaStream_t stream);
//
// whose operator always has an identity: one that names none is lifted to values that may be absent (parts/maybe.cuh).
// T is the type that everything is accumulated in.
template <class Rung>
struct scan_calls {
  // d_out[i] = d_in[0] + … + d_in[i]. Accumulates in the items' own type. d_out may be d_in.
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using T = item_of<InputIteratorT>;
    const auto op = as_scanned<T>(scan_op);
    using Op = std::remove_const_t<decltype(op)>;
    if constexpr (has_identity<Op, T>)
      return Rung::template scan<scan_kind::inclusive>(d_temp_storage, temp_storage_bytes, d_in, d_out, op,
                                                       Op::template identity<T>(), num_items, stream);
    else
      return Rung::template scan<scan_kind::inclusive>(d_temp_storage, temp_storage_bytes, d_in, d_out, lifted<Op>{op},
                                                       maybe<T>{}, num_items, stream);
  }

  // d_out[i] = init + d_in[0] + … + d_in[i]. Accumulates in the type of init.
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    return from<scan_kind::inclusive>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, init, num_items,
                                      stream);
  }

  // d_out[i] = init + d_in[0] + … + d_in[i - 1]. Accumulates in the type of init.
  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    return from<scan_kind::exclusive>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, init, num_items,
                                      stream);
  }

 private:
  template <scan_kind kind, class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t from(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                          OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items, cudaStream_t stream) {
    const auto op = as_scanned<T>(scan_op);
    using Op = std::remove_const_t<decltype(op)>;
    if constexpr (has_identity<Op, T>)
      return Rung::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, op, init, num_items, stream);
    else
      return Rung::template scan<kind>(d_temp_storage, temp_storage_bytes, d_in, d_out, lifted<Op>{op},
                                       maybe<T>(init, true), num_items, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::parts
