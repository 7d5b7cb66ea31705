// rungs::low_precision: sums and maxima of fp8 and of scaled fp4, and quantisation to both.
//
//   namespace lp = rungs::low_precision;  using lp::matrix;
//   lp::sum(matrix{d_fp8, num_rows, num_columns}, d_sums, stream);                        // a float for each row
//   lp::sum(d_temp_storage, temp_storage_bytes, d_fp8, d_sum, num_items, stream);         // of all; CUB's two phases
//   lp::dequantising_sum<16>(matrix{d_fp4, num_rows, num_columns / 2}, d_scales, d_sums, stream);
//   lp::quantise_fp8(matrix{d_bf16, num_rows, num_columns}, matrix{d_fp8, num_rows, num_columns}, d_scales, stream);
//   lp::quantise_nvfp4(matrix{d_bf16, num_rows, num_columns}, matrix{d_fp4, num_rows, num_columns / 2}, d_scales,
//                      d_global_scale, stream);
//
// Formats   __nv_fp8_e4m3, __nv_fp8_e5m2 and __nv_fp8_e8m0 are the toolkit's. fp4 is a byte with two codes of e2m1:
//           __nv_fp4x2_e2m1 or unsigned char. The code of the even column is in its low half. docs/low_precision.md has
//           a table.
// Matrices  of rungs/rows/matrix.cuh: rows of items or of bytes, with a stride. A matrix of fp4 has half as many
//           columns as there are values. Scales are packed: [num_rows, num_columns / group].
// Pointers  may have any alignment that their types allow. Rows at multiples of 16 bytes are fastest; quantisation by
//           groups reads others item by item.
// Returns   cudaErrorInvalidValue where a pointer is null, shapes differ, rows of an output overlap, storage is too
//           small or a row is no multiple of the group; else what the launch returned. cudaErrorInvalidConfiguration:
//           more blocks than a grid has. Calls allocate nothing and wait for nobody. They may be captured in a graph.
//
// Sums are floats. The same codes have the same bits on every GPU, at any address. A row that is summed alone, or in
// any batch, has the same bits; an array is cut otherwise than a row. No item passes through more than h roundings,
// where h is row_height(bytes of a row) or array_height(bytes of all): the error is at most h u / (1 - h u) times the
// sum of magnitudes, u = 2^-24. A row is read by one block at most, an array by as many as there are.
// Sums of groups of fp4 are exact, and so are their products with scales of 8 bits. NaN and infinities propagate.
// The greatest magnitude of nothing is 0, and it is NaN where one item is.
//
// A scale is found in one read and applied in the same call. Its group's items x become codes of the nearest value to
// x * factor, ties to even, saturating: fl is a rounding to float, RNE to the format.
//
//   call             group   scale                                         factor
//   quantise_fp8     128     float: max(fl(greatest / 448), 2^-126)        fl(1 / scale)
//   quantise_fp8     128     e8m0: that, up to a power of two              1 / scale
//   quantise_fp8_rows  row   either of the two                             likewise
//   quantise_mxfp8   32      e8m0: 2^max(floor(log2 greatest) - 8, -127)   1 / scale
//   quantise_mxfp4   32      e8m0: 2^max(floor(log2 greatest) - 2, -127)   1 / scale
//   quantise_nvfp4   16      e4m3: RNE(fl(fl(greatest / 6) * fl(1 / global)))   fl(1 / fl(scale * global)), or 0
//
// The scales of mxfp8 and mxfp4 follow the OCP Microscaling specification 1.0: the greatest power of two in the group
// over the greatest of the format. So up to 1/8 (fp8) or 1/4 (fp4) of the greatest magnitude is lost to saturation.
// Infinities count as the greatest finite number of their type, and saturate. A group with a NaN has the scale NaN (255
// in e8m0, 0x7f in e4m3) and codes 0x7f (fp8) or of 6 with the sign of the item (fp4). A group of zeros has the least
// scale, 2^-126, 2^-127 or 0, and codes of zeros with their signs. Codes of 0 keep their sign. The global scale is a
// float from 2^-100 to 2^100.
//
// Compile without -ftz=true where float items or scales may be subnormal. rungs::DeviceReduce takes fp8, too, but
// converts one item at a time: 4.7 instructions an item in its SASS for sm_90, against 2.8 here.
#pragma once

#include "rungs/production/low_precision/quantise.cuh"
#include "rungs/production/low_precision/reduce_codes.cuh"
#include "rungs/rows/matrix.cuh"
#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI::low_precision {

using rows::matrix;

namespace parts {

template <class T>
inline constexpr bool is_packed_fp4 = sizeof(T) == 1 && !production::is_fp8<T> && !std::is_same_v<T, __nv_fp8_e8m0>;

template <class T>
const unsigned char* bytes_of(const T* codes) {
  static_assert(sizeof(T) == 1);
  return reinterpret_cast<const unsigned char*>(codes);
}
template <class T>
production::rows_of_codes rows_of(const matrix<T>& codes) {
  const auto bytes = static_cast<unsigned>(codes.num_columns);
  return {bytes_of(codes.data), codes.num_rows, codes.stride, bytes, bytes, rows::is_aligned(codes)};
}

template <class Op, class T>
cudaError_t reduce_rows(const Op& op, const matrix<T>& codes, cudaStream_t stream) {
  if (!rows::is_valid(codes) || (codes.num_rows > 0 && op.d_out == nullptr)) return cudaErrorInvalidValue;
  return production::reduce_rows_of_codes(op, rows_of(codes), stream);
}
template <class Op, class T>
cudaError_t reduce_all(void* d_temp_storage, std::size_t& temp_storage_bytes, const Op& op, const T* codes,
                       std::size_t bytes, cudaStream_t stream) {
  const bool is_missing = op.d_out == nullptr || (codes == nullptr && bytes > 0);
  if (d_temp_storage != nullptr && is_missing) return cudaErrorInvalidValue;
  return production::reduce_all_codes(d_temp_storage, temp_storage_bytes, op, bytes_of(codes), bytes, stream);
}

// Storage that a workspace keeps may hold anything.
struct any_storage {};

// Of the format of the scales, and of the group where that leaves none to choose.
template <class Scale, int group_size>
inline constexpr bool is_scale_of_fp4 = std::is_same_v<Scale, __nv_fp8_e4m3>   ? group_size == 16
                                        : std::is_same_v<Scale, __nv_fp8_e8m0> ? group_size == 32
                                        : std::is_same_v<Scale, float>         ? group_size == 16 || group_size == 32
                                                                               : false;

template <int group_size, class Format, class In, class Code, class Scale>
cudaError_t quantise(const matrix<In>& in, const matrix<Code>& codes, Scale* d_scales,
                     const production::format_source<Format>& source, cudaStream_t stream) {
  using T = std::remove_const_t<In>;
  static_assert(production::is_item<T>, "items to quantise are float, __half or __nv_bfloat16");
  static_assert(sizeof(Scale) == sizeof(typename Format::stored));
  constexpr std::size_t codes_per_byte = 8 / Format::code_bits;
  const bool has_shape = in.num_rows == codes.num_rows && in.num_columns == codes.num_columns * codes_per_byte;
  if (!has_shape || !rows::is_valid(in) || !rows::is_valid(codes)) return cudaErrorInvalidValue;
  if (in.num_rows > 0 && in.num_columns > 0 && d_scales == nullptr) return cudaErrorInvalidValue;
  auto* const bytes = reinterpret_cast<unsigned char*>(codes.data);
  auto* const scales = reinterpret_cast<typename Format::stored*>(d_scales);
  const matrix<const T> items = in;
  if constexpr (group_size == 0) {
    if (in.num_columns == 0) return cudaSuccess;
    return production::quantise_rows<Format>(items, bytes, codes.stride, scales, stream);
  } else {
    if (in.num_columns % group_size != 0) return cudaErrorInvalidValue;
    return production::quantise_groups<group_size>(items, bytes, codes.stride, scales, source, stream);
  }
}

template <class Scale>
using fp8_format =
    std::conditional_t<std::is_same_v<Scale, float>, production::fp8_by_floats, production::fp8_by_powers>;
template <class Scale>
inline constexpr bool is_scale_of_fp8 = std::is_same_v<Scale, float> || std::is_same_v<Scale, __nv_fp8_e8m0>;

}  // namespace parts

// Most roundings that an item of a row of so many bytes passes through, and one of an array.
constexpr std::size_t row_height(std::size_t bytes) {
  const std::size_t threads = bytes <= 512 ? 8 : bytes <= 8192 ? 32 : 256;
  return 8 * rungs::parts::ceil_div(bytes, threads * 64) + 14;
}
constexpr std::size_t array_height(std::size_t bytes) {
  const std::size_t tiles = rungs::parts::ceil_div(bytes, production::tile_bytes);
  return row_height(production::tile_bytes) + rungs::parts::ceil_div(tiles, 1024) + 10;
}

// --- fp8

// d_sums[row] = the sum of the row; of __nv_fp8_e4m3 or __nv_fp8_e5m2.
template <class In>
cudaError_t sum(const matrix<In>& in, float* d_sums, cudaStream_t stream = nullptr) {
  using F = std::remove_const_t<In>;
  static_assert(production::is_fp8<F>, "items are __nv_fp8_e4m3 or __nv_fp8_e5m2");
  return parts::reduce_rows(production::fp8_sum<F>{d_sums}, in, stream);
}
// d_maxima[row] = the greatest magnitude of the row.
template <class In>
cudaError_t abs_max(const matrix<In>& in, float* d_maxima, cudaStream_t stream = nullptr) {
  using F = std::remove_const_t<In>;
  static_assert(production::is_fp8<F>, "items are __nv_fp8_e4m3 or __nv_fp8_e5m2");
  return parts::reduce_rows(production::fp8_abs_max<F>{d_maxima}, in, stream);
}

// *d_sum = the sum of num_items items. The storage is 4 bytes for each 64 KiB. With a workspace, it is kept there.
template <class F>
cudaError_t sum(void* d_temp_storage, std::size_t& temp_storage_bytes, const F* d_in, float* d_sum,
                std::size_t num_items, cudaStream_t stream = nullptr) {
  static_assert(production::is_fp8<F>, "items are __nv_fp8_e4m3 or __nv_fp8_e5m2");
  return parts::reduce_all(d_temp_storage, temp_storage_bytes, production::fp8_sum<F>{d_sum}, d_in, num_items, stream);
}
template <class F>
cudaError_t sum(workspace& workspace, const F* d_in, float* d_sum, std::size_t num_items,
                cudaStream_t stream = nullptr) {
  return workspace.run<parts::any_storage>(
      [&](void* d_temp_storage, std::size_t& bytes) {
        return sum(d_temp_storage, bytes, d_in, d_sum, num_items, stream);
      },
      stream);
}
// *d_maximum = the greatest magnitude of num_items items.
template <class F>
cudaError_t abs_max(void* d_temp_storage, std::size_t& temp_storage_bytes, const F* d_in, float* d_maximum,
                    std::size_t num_items, cudaStream_t stream = nullptr) {
  static_assert(production::is_fp8<F>, "items are __nv_fp8_e4m3 or __nv_fp8_e5m2");
  return parts::reduce_all(d_temp_storage, temp_storage_bytes, production::fp8_abs_max<F>{d_maximum}, d_in, num_items,
                           stream);
}
template <class F>
cudaError_t abs_max(workspace& workspace, const F* d_in, float* d_maximum, std::size_t num_items,
                    cudaStream_t stream = nullptr) {
  return workspace.run<parts::any_storage>(
      [&](void* d_temp_storage, std::size_t& bytes) {
        return abs_max(d_temp_storage, bytes, d_in, d_maximum, num_items, stream);
      },
      stream);
}

// --- fp4 with a scale for each group: __nv_fp8_e4m3 for 16 codes, __nv_fp8_e8m0 for 32, float for 16 or 32

// d_sums[row] = the sum of code * scale over the row, times *d_global_scale where that is not null.
template <int group_size, class In, class Scale>
cudaError_t dequantising_sum(const matrix<In>& codes, const Scale* d_scales, float* d_sums,
                             const float* d_global_scale = nullptr, cudaStream_t stream = nullptr) {
  static_assert(parts::is_packed_fp4<std::remove_const_t<In>>, "two codes of e2m1 are a byte");
  static_assert(parts::is_scale_of_fp4<Scale, group_size>,
                "scales are __nv_fp8_e4m3 for 16 codes, __nv_fp8_e8m0 for 32, or float for either");
  constexpr std::size_t group_bytes = group_size / 2;
  if (codes.num_columns % group_bytes != 0) return cudaErrorInvalidValue;
  if (codes.num_rows > 0 && codes.num_columns > 0 && d_scales == nullptr) return cudaErrorInvalidValue;
  return parts::reduce_rows(
      production::fp4_sum<Scale, group_size>{d_scales, codes.num_columns / group_bytes, d_global_scale, d_sums}, codes,
      stream);
}

// *d_sum = that of num_items codes, which lie in num_items / 2 bytes. The storage is 4 bytes for each 64 KiB.
template <int group_size, class Packed, class Scale>
cudaError_t dequantising_sum(void* d_temp_storage, std::size_t& temp_storage_bytes, const Packed* d_codes,
                             const Scale* d_scales, float* d_sum, std::size_t num_items,
                             const float* d_global_scale = nullptr, cudaStream_t stream = nullptr) {
  static_assert(parts::is_packed_fp4<Packed>, "two codes of e2m1 are a byte");
  static_assert(parts::is_scale_of_fp4<Scale, group_size>,
                "scales are __nv_fp8_e4m3 for 16 codes, __nv_fp8_e8m0 for 32, or float for either");
  if (num_items % group_size != 0) return cudaErrorInvalidValue;
  if (d_temp_storage != nullptr && num_items > 0 && d_scales == nullptr) return cudaErrorInvalidValue;
  return parts::reduce_all(
      d_temp_storage, temp_storage_bytes,
      production::fp4_sum<Scale, group_size>{d_scales, 2 * production::tile_bytes / group_size, d_global_scale, d_sum},
      d_codes, num_items / 2, stream);
}
template <int group_size, class Packed, class Scale>
cudaError_t dequantising_sum(workspace& workspace, const Packed* d_codes, const Scale* d_scales, float* d_sum,
                             std::size_t num_items, const float* d_global_scale = nullptr,
                             cudaStream_t stream = nullptr) {
  return workspace.run<parts::any_storage>(
      [&](void* d_temp_storage, std::size_t& bytes) {
        return dequantising_sum<group_size>(d_temp_storage, bytes, d_codes, d_scales, d_sum, num_items, d_global_scale,
                                            stream);
      },
      stream);
}

// --- quantisation

// Groups of 128: d_scales[row][group] are float, or __nv_fp8_e8m0.
template <class In, class Scale>
cudaError_t quantise_fp8(const matrix<In>& in, const matrix<__nv_fp8_e4m3>& codes, Scale* d_scales,
                         cudaStream_t stream = nullptr) {
  static_assert(parts::is_scale_of_fp8<Scale>, "scales of fp8 are float or __nv_fp8_e8m0");
  return parts::quantise<128, parts::fp8_format<Scale>>(in, codes, d_scales, {}, stream);
}

// One scale a row (per token), of any number of columns: d_scales[row] are float, or __nv_fp8_e8m0. A row of more than
// 32 KB is held by the shared memory of a cluster, or read twice: see rungs/rows/softmax.cuh.
template <class In, class Scale>
cudaError_t quantise_fp8_rows(const matrix<In>& in, const matrix<__nv_fp8_e4m3>& codes, Scale* d_scales,
                              cudaStream_t stream = nullptr) {
  static_assert(parts::is_scale_of_fp8<Scale>, "scales of fp8 are float or __nv_fp8_e8m0");
  return parts::quantise<0, parts::fp8_format<Scale>>(in, codes, d_scales, {}, stream);
}

// MXFP8 with elements of e4m3, groups of 32.
template <class In>
cudaError_t quantise_mxfp8(const matrix<In>& in, const matrix<__nv_fp8_e4m3>& codes, __nv_fp8_e8m0* d_scales,
                           cudaStream_t stream = nullptr) {
  return parts::quantise<32, production::mxfp8>(in, codes, d_scales, {}, stream);
}

// MXFP4, groups of 32. `codes` has in.num_columns / 2 columns.
template <class In, class Packed>
cudaError_t quantise_mxfp4(const matrix<In>& in, const matrix<Packed>& codes, __nv_fp8_e8m0* d_scales,
                           cudaStream_t stream = nullptr) {
  static_assert(parts::is_packed_fp4<Packed>, "two codes of e2m1 are a byte");
  return parts::quantise<32, production::mxfp4>(in, codes, d_scales, {}, stream);
}

// NVFP4, groups of 16: a value is code * scale * global scale. Null stands for the global scale 1; it is usually the
// greatest magnitude of all items / (6 * 448).
template <class In, class Packed>
cudaError_t quantise_nvfp4(const matrix<In>& in, const matrix<Packed>& codes, __nv_fp8_e4m3* d_scales,
                           const float* d_global_scale = nullptr, cudaStream_t stream = nullptr) {
  static_assert(parts::is_packed_fp4<Packed>, "two codes of e2m1 are a byte");
  return parts::quantise<16, production::nvfp4>(in, codes, d_scales, {d_global_scale}, stream);
}

}  // namespace rungs::RUNGS_ABI::low_precision
