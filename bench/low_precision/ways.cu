#include "low_precision/ways.hpp"

#include <utility>

#include "rungs/rows/fp8_rows.cuh"
#include "rungs/rows/low_precision.cuh"

namespace rungs::bench {
namespace {

using catalog::arguments;
using rows::matrix;
namespace lp = low_precision;

template <work does>
cudaError_t run(const arguments& a, cudaStream_t stream) {
  const low_precision_cell cell{does, a.num_rows, a.num_columns};
  const std::size_t num_rows = a.num_rows, num_columns = a.num_columns, packed = num_columns / 2;
  auto* const scales_out = static_cast<std::byte*>(a.d_out) + cell.result_bytes();
  auto* const floats = static_cast<float*>(a.d_out);
  auto* const powers_out = reinterpret_cast<__nv_fp8_e8m0*>(scales_out);
  const matrix halves{static_cast<const __nv_bfloat16*>(a.d_in), num_rows, num_columns};
  const matrix halves_out{static_cast<__nv_bfloat16*>(a.d_out), num_rows, num_columns};
  const matrix fp8{static_cast<const __nv_fp8_e4m3*>(a.d_in), num_rows, num_columns};
  const matrix fp8_out{static_cast<__nv_fp8_e4m3*>(a.d_out), num_rows, num_columns};
  const matrix fp4{static_cast<const unsigned char*>(a.d_in), num_rows, packed};
  const matrix fp4_out{static_cast<unsigned char*>(a.d_out), num_rows, packed};
  rows::norm_options<__nv_bfloat16> options;
  options.d_weight = static_cast<const __nv_bfloat16*>(a.d_second);

  if constexpr (does == work::sum_e4m3) {
    return lp::sum(fp8, floats, stream);
  } else if constexpr (does == work::sum_e5m2) {
    return lp::sum(matrix{static_cast<const __nv_fp8_e5m2*>(a.d_in), num_rows, num_columns}, floats, stream);
  } else if constexpr (does == work::sum_nvfp4) {
    return lp::dequantising_sum<16>(fp4, static_cast<const __nv_fp8_e4m3*>(a.d_second), floats, nullptr, stream);
  } else if constexpr (does == work::sum_mxfp4) {
    return lp::dequantising_sum<32>(fp4, static_cast<const __nv_fp8_e8m0*>(a.d_second), floats, nullptr, stream);
  } else if constexpr (does == work::fp8_groups) {
    return lp::quantise_fp8(halves, fp8_out, reinterpret_cast<float*>(scales_out), stream);
  } else if constexpr (does == work::fp8_rows) {
    return lp::quantise_fp8_rows(halves, fp8_out, reinterpret_cast<float*>(scales_out), stream);
  } else if constexpr (does == work::mxfp8) {
    return lp::quantise_mxfp8(halves, fp8_out, powers_out, stream);
  } else if constexpr (does == work::mxfp4) {
    return lp::quantise_mxfp4(halves, fp4_out, powers_out, stream);
  } else if constexpr (does == work::nvfp4) {
    return lp::quantise_nvfp4(halves, fp4_out, reinterpret_cast<__nv_fp8_e4m3*>(scales_out), nullptr, stream);
  } else if constexpr (does == work::softmax) {
    return rows::softmax(fp8, {static_cast<const float*>(a.d_second), false}, halves_out, stream);
  } else if constexpr (does == work::rms_norm) {
    return rows::rms_norm(fp8, {}, halves_out, options, stream);
  } else {
    return rows::rms_norm(halves, fp8_out, reinterpret_cast<float*>(scales_out), options, stream);
  }
}

template <work does, bool ours>
cudaError_t call(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  if constexpr (ours)
    return run<does>(a, stream);
  else
    return by_toolkit({does, a.num_rows, a.num_columns}, a, stream);
}

template <work does>
std::vector<inference::named_call> ways() {
  using inference::role;
  return {{role::rungs, "rungs", call<does, true>}, {role::rival, "toolkit", call<does, false>}};
}
template <std::size_t... each>
std::vector<inference::named_call> ways_of_number(std::size_t number, std::index_sequence<each...>) {
  constexpr std::vector<inference::named_call> (*by_number[])() = {ways<static_cast<work>(each)>...};
  return by_number[number]();
}

}  // namespace

const char* low_precision_cell::name() const {
  constexpr const char* names[] = {"sum_e4m3",
                                   "sum_e5m2",
                                   "sum_nvfp4",
                                   "sum_mxfp4",
                                   "quantise_fp8",
                                   "quantise_fp8_rows",
                                   "quantise_mxfp8",
                                   "quantise_mxfp4",
                                   "quantise_nvfp4",
                                   "softmax_e4m3_to_bf16",
                                   "rms_norm_e4m3_to_bf16",
                                   "rms_norm_bf16_to_e4m3"};
  return names[static_cast<int>(does)];
}

const char* low_precision_cell::input() const {
  if (reads_halves()) return "bf16";
  return does == work::sum_e5m2 ? "e5m2" : does == work::sum_nvfp4 || does == work::sum_mxfp4 ? "e2m1" : "e4m3";
}

std::size_t low_precision_cell::group() const {
  switch (does) {
    case work::sum_nvfp4:
    case work::nvfp4:
      return 16;
    case work::sum_mxfp4:
    case work::mxfp8:
    case work::mxfp4:
      return 32;
    case work::fp8_groups:
      return 128;
    default:
      return num_columns;
  }
}

std::size_t low_precision_cell::in_bytes() const {
  const std::size_t items = num_rows * num_columns;
  if (reads_halves()) return 2 * items;
  return does == work::sum_nvfp4 || does == work::sum_mxfp4 ? items / 2 : items;
}

std::size_t low_precision_cell::second_bytes() const {
  switch (does) {
    case work::sum_nvfp4:
    case work::sum_mxfp4:
      return num_rows * (num_columns / group());
    case work::softmax:
      return sizeof(float);
    case work::rms_norm:
    case work::rms_norm_to_codes:
      return 2 * num_columns;
    default:
      return 0;
  }
}

std::size_t low_precision_cell::result_bytes() const {
  const std::size_t items = num_rows * num_columns;
  if (is_sum()) return num_rows * sizeof(float);
  if (writes_fp4()) return items / 2;
  return reads_halves() ? items : 2 * items;
}

std::size_t low_precision_cell::scale_bytes() const {
  if (!reads_halves()) return 0;
  const bool are_floats = does == work::fp8_groups || does == work::fp8_rows || does == work::rms_norm_to_codes;
  return num_rows * (num_columns / group()) * (are_floats ? sizeof(float) : 1);
}

std::vector<inference::named_call> ways_of(const low_precision_cell& cell) {
  constexpr std::size_t num_works = static_cast<std::size_t>(work::rms_norm_to_codes) + 1;
  return ways_of_number(static_cast<std::size_t>(cell.does), std::make_index_sequence<num_works>());
}

}  // namespace rungs::bench
