// Softmax and norms of rows of fp8.
#include <rungs/rows/fp8_rows.cuh>

#include "types.cuh"

using namespace rungs_torch;
namespace rows = rungs::rows;

namespace {

// call(in, out) with matrices of their types.
template <class Call>
int with_codes(int type, int out_type, shape of_rows, const void* d_in, size_t in_stride, void* d_out,
               size_t out_stride, Call call) {
  return with_fp8(type, [&](auto code) {
    return static_cast<cudaError_t>(with_float(out_type, [&](auto item) {
      return call(of_rows.read<typename decltype(code)::named>(d_in, in_stride),
                  of_rows.written<typename decltype(item)::named>(d_out, out_stride));
    }));
  });
}

}  // namespace

int rungs_softmax_of_codes(int logarithm, int type, int out_type, const void* d_in, size_t in_stride,
                           const float* d_scales, int scale_of_rows, void* d_out, size_t out_stride, size_t num_rows,
                           size_t num_columns, void* stream) {
  const rows::code_scale scale{d_scales, scale_of_rows != 0};
  return with_codes(type, out_type, {num_rows, num_columns}, d_in, in_stride, d_out, out_stride,
                    [&](const auto& in, const auto& out) {
                      return logarithm ? rows::log_softmax(in, scale, out, stream_of(stream))
                                       : rows::softmax(in, scale, out, stream_of(stream));
                    });
}

int rungs_norm_of_codes(int centred, int type, int out_type, const void* d_in, size_t in_stride, const float* d_scales,
                        int scale_of_rows, void* d_out, size_t out_stride, size_t num_rows, size_t num_columns,
                        const void* d_weight, const void* d_bias, float epsilon, void* stream) {
  const rows::code_scale scale{d_scales, scale_of_rows != 0};
  return with_codes(type, out_type, {num_rows, num_columns}, d_in, in_stride, d_out, out_stride,
                    [&](const auto& in, const auto& out) {
                      using T = std::remove_pointer_t<decltype(out.data)>;
                      rows::norm_options<T> options;
                      options.d_weight = static_cast<const T*>(d_weight);
                      options.d_bias = static_cast<const T*>(d_bias);
                      options.epsilon = epsilon;
                      return centred ? rows::layer_norm(in, scale, out, options, stream_of(stream))
                                     : rows::rms_norm(in, scale, out, options, stream_of(stream));
                    });
}
