// Calls on formats of 8 and 4 bits, for rungs_low_precision: ours, and the same by the toolkit's conversions.
#pragma once

#include <cstddef>
#include <vector>

#include "catalog.hpp"
#include "inference/calls.hpp"

namespace rungs::bench {

enum class work : unsigned char {
  sum_e4m3,
  sum_e5m2,
  sum_nvfp4,  // groups of 16 with scales of e4m3
  sum_mxfp4,  // groups of 32 with scales of e8m0
  fp8_groups,
  fp8_rows,
  mxfp8,
  mxfp4,
  nvfp4,
  softmax,            // e4m3 with a scale for all to bf16
  rms_norm,           // e4m3 with weights of bf16 to bf16
  rms_norm_to_codes,  // bf16 with weights of bf16 to e4m3 with a scale for each row
};

struct low_precision_cell {
  work does;
  std::size_t num_rows, num_columns;

  const char* name() const;
  const char* input() const;  // the format of what d_in points to
  bool is_sum() const { return does <= work::sum_mxfp4; }
  bool reads_halves() const {
    return does == work::rms_norm_to_codes || (does >= work::fp8_groups && does <= work::nvfp4);
  }
  bool writes_fp4() const { return does == work::mxfp4 || does == work::nvfp4; }
  // Items that share a scale; of a row where that is not said.
  std::size_t group() const;

  // Of what d_in, d_second and d_out point to. Scales that are written stand behind the results.
  std::size_t in_bytes() const;
  std::size_t second_bytes() const;
  std::size_t result_bytes() const;
  std::size_t scale_bytes() const;
};

// Of a call's arguments: d_in, d_second, d_out, num_rows, num_columns.
std::vector<inference::named_call> ways_of(const low_precision_cell& cell);

// By the toolkit's conversions: kernels for rows of 4,096 columns, packed and aligned.
inline constexpr std::size_t toolkit_columns = 4096;
cudaError_t by_toolkit(const low_precision_cell& cell, const catalog::arguments& a, cudaStream_t stream);

}  // namespace rungs::bench
