// To fp8 and fp4 with scales, and sums of them.
#include <rungs/rows/low_precision.cuh>

#include "types.cuh"

using namespace rungs_torch;
namespace lp = rungs::low_precision;

int rungs_quantize(int format, int type, int scale_type, const void* d_in, size_t in_stride, void* d_codes,
                   void* d_scales, const float* d_global_scale, size_t num_rows, size_t num_columns, void* stream) {
  const shape of_rows{num_rows, num_columns};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const auto in = of_rows.read<T>(d_in, in_stride);
    const auto fp8 = of_rows.written<__nv_fp8_e4m3>(d_codes);
    const auto fp4 = shape{num_rows, num_columns / 2}.written<unsigned char>(d_codes);
    if (format == rungs_fp8_rows || format == rungs_fp8_groups)
      return static_cast<cudaError_t>(with_type<float, __nv_fp8_e8m0>(scale_type, [&](auto of_scales) {
        const auto scales = static_cast<typename decltype(of_scales)::named*>(d_scales);
        return format == rungs_fp8_rows ? lp::quantise_fp8_rows(in, fp8, scales, stream_of(stream))
                                        : lp::quantise_fp8(in, fp8, scales, stream_of(stream));
      }));
    if (scale_type != (format == rungs_nvfp4 ? rungs_e4m3 : rungs_e8m0)) return cudaErrorNotSupported;
    switch (format) {
      case rungs_mxfp8:
        return lp::quantise_mxfp8(in, fp8, static_cast<__nv_fp8_e8m0*>(d_scales), stream_of(stream));
      case rungs_mxfp4:
        return lp::quantise_mxfp4(in, fp4, static_cast<__nv_fp8_e8m0*>(d_scales), stream_of(stream));
      case rungs_nvfp4:
        return lp::quantise_nvfp4(in, fp4, static_cast<__nv_fp8_e4m3*>(d_scales), d_global_scale, stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}

int rungs_reduce_codes(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                       float* d_out, size_t num_items, void* stream) {
  return with_fp8(type, [&](auto item) {
    const auto items = static_cast<const typename decltype(item)::named*>(d_in);
    switch (operation) {
      case rungs_sum:
        return lp::sum(d_temp_storage, *temp_storage_bytes, items, d_out, num_items, stream_of(stream));
      case rungs_abs_max:
        return lp::abs_max(d_temp_storage, *temp_storage_bytes, items, d_out, num_items, stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}

int rungs_reduce_rows_of_codes(int operation, int type, const void* d_in, size_t in_stride, float* d_out,
                               size_t num_rows, size_t num_columns, void* stream) {
  return with_fp8(type, [&](auto item) {
    const auto items = shape{num_rows, num_columns}.read<typename decltype(item)::named>(d_in, in_stride);
    switch (operation) {
      case rungs_sum:
        return lp::sum(items, d_out, stream_of(stream));
      case rungs_abs_max:
        return lp::abs_max(items, d_out, stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}

namespace {

// call(group, scales) with the group as a constant.
template <class Call>
int with_scales(int scale_type, int group, const void* d_scales, Call call) {
  using sixteen = std::integral_constant<int, 16>;
  using thirty_two = std::integral_constant<int, 32>;
  if (scale_type == rungs_e4m3 && group == 16) return call(sixteen{}, static_cast<const __nv_fp8_e4m3*>(d_scales));
  if (scale_type == rungs_e8m0 && group == 32) return call(thirty_two{}, static_cast<const __nv_fp8_e8m0*>(d_scales));
  if (scale_type == rungs_f32 && group == 16) return call(sixteen{}, static_cast<const float*>(d_scales));
  if (scale_type == rungs_f32 && group == 32) return call(thirty_two{}, static_cast<const float*>(d_scales));
  return cudaErrorNotSupported;
}

}  // namespace

int rungs_dequantizing_sum(int scale_type, int group, void* d_temp_storage, size_t* temp_storage_bytes,
                           const void* d_codes, const void* d_scales, const float* d_global_scale, float* d_out,
                           size_t num_items, void* stream) {
  return with_scales(scale_type, group, d_scales, [&](auto size, auto scales) {
    return lp::dequantising_sum<size()>(d_temp_storage, *temp_storage_bytes, static_cast<const unsigned char*>(d_codes),
                                        scales, d_out, num_items, d_global_scale, stream_of(stream));
  });
}

int rungs_dequantizing_sum_rows(int scale_type, int group, const void* d_codes, size_t codes_stride,
                                const void* d_scales, const float* d_global_scale, float* d_out, size_t num_rows,
                                size_t num_columns, void* stream) {
  return with_scales(scale_type, group, d_scales, [&](auto size, auto scales) {
    return lp::dequantising_sum<size()>(shape{num_rows, num_columns}.read<unsigned char>(d_codes, codes_stride), scales,
                                        d_out, d_global_scale, stream_of(stream));
  });
}
