// Operations on the rows of a matrix.
#include <rungs/device/device_reduce.cuh>
#include <rungs/rows/cross_entropy.cuh>
#include <rungs/rows/fp8_rows.cuh>
#include <rungs/rows/log_sum_exp.cuh>
#include <rungs/rows/merge_attention.cuh>
#include <rungs/rows/norms.cuh>
#include <rungs/rows/softmax.cuh>

#include "types.cuh"

namespace rungs_torch {
namespace {

namespace rows = rungs::rows;

struct norm_arguments {
  const void *d_weight, *d_bias;
  float epsilon;
  void* d_residual;
  std::size_t residual_stride;

  template <class T>
  rows::norm_options<T> of(shape of_rows) const {
    rows::norm_options<T> options;
    options.d_weight = static_cast<const T*>(d_weight);
    options.d_bias = static_cast<const T*>(d_bias);
    options.epsilon = epsilon;
    if (d_residual != nullptr) options.residual = of_rows.written<T>(d_residual, residual_stride);
    return options;
  }
};

struct joined_losses {
  float sum;
  unsigned count;
};
struct join {
  __host__ __device__ joined_losses operator()(const joined_losses& a, const joined_losses& b) const {
    return {a.sum + b.sum, a.count + b.count};
  }
};

// A loss, and whether it counts.
struct losses_to_join {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = joined_losses;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  const float* d_losses;
  const long long* d_targets;
  long long ignored;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    return {d_losses[i], d_targets[i] != ignored};
  }
  template <class Offset>
  __device__ losses_to_join operator+(Offset i) const {
    return {d_losses + i, d_targets + i, ignored};
  }
};

// Where the sum or the mean is written.
struct written_loss {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = joined_losses;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = const written_loss&;

  void* d_out;
  int type, mean;

  __device__ reference operator=(const joined_losses& all) const {
    const float loss = mean ? all.sum / static_cast<float>(all.count) : all.sum;
    if (type == rungs_f32) *static_cast<float*>(d_out) = loss;
    if (type == rungs_f16) *static_cast<__half*>(d_out) = __float2half_rn(loss);
    if (type == rungs_bf16) *static_cast<__nv_bfloat16*>(d_out) = __float2bfloat16_rn(loss);
    return *this;
  }
  __device__ reference operator*() const { return *this; }
  template <class Offset>
  __device__ reference operator[](Offset) const {
    return *this;
  }
  template <class Offset>
  __device__ written_loss operator+(Offset) const {
    return *this;
  }
};

}  // namespace
}  // namespace rungs_torch

using namespace rungs_torch;

int rungs_softmax(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride, size_t num_rows,
                  size_t num_columns, void* stream) {
  const shape of_rows{num_rows, num_columns};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::softmax(of_rows.read<T>(d_in, in_stride), of_rows.written<T>(d_out, out_stride), stream_of(stream));
  });
}

int rungs_log_softmax(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride, size_t num_rows,
                      size_t num_columns, void* stream) {
  const shape of_rows{num_rows, num_columns};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::log_softmax(of_rows.read<T>(d_in, in_stride), of_rows.written<T>(d_out, out_stride),
                             stream_of(stream));
  });
}

int rungs_layer_norm(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride, size_t num_rows,
                     size_t num_columns, const void* d_weight, const void* d_bias, float epsilon, void* d_residual,
                     size_t residual_stride, void* stream) {
  const shape of_rows{num_rows, num_columns};
  const norm_arguments arguments{d_weight, d_bias, epsilon, d_residual, residual_stride};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::layer_norm(of_rows.read<T>(d_in, in_stride), of_rows.written<T>(d_out, out_stride),
                            arguments.of<T>(of_rows), stream_of(stream));
  });
}

int rungs_rms_norm(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride, size_t num_rows,
                   size_t num_columns, const void* d_weight, const void* d_bias, float epsilon, void* d_residual,
                   size_t residual_stride, void* stream) {
  const shape of_rows{num_rows, num_columns};
  const norm_arguments arguments{d_weight, d_bias, epsilon, d_residual, residual_stride};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::rms_norm(of_rows.read<T>(d_in, in_stride), of_rows.written<T>(d_out, out_stride),
                          arguments.of<T>(of_rows), stream_of(stream));
  });
}

int rungs_rms_norm_fp8(int type, const void* d_in, size_t in_stride, void* d_codes, float* d_scales, size_t num_rows,
                       size_t num_columns, const void* d_weight, float epsilon, void* d_residual,
                       size_t residual_stride, void* stream) {
  const shape of_rows{num_rows, num_columns};
  const norm_arguments arguments{d_weight, nullptr, epsilon, d_residual, residual_stride};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::rms_norm(of_rows.read<T>(d_in, in_stride), of_rows.written<__nv_fp8_e4m3>(d_codes, num_columns),
                          d_scales, arguments.of<T>(of_rows), stream_of(stream));
  });
}

int rungs_log_sum_exp(int type, const void* d_in, size_t in_stride, float* d_out, size_t num_rows, size_t num_columns,
                      void* stream) {
  const shape of_rows{num_rows, num_columns};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::log_sum_exp(of_rows.read<T>(d_in, in_stride), d_out, stream_of(stream));
  });
}

int rungs_cross_entropy(int type, const void* d_logits, size_t logits_stride, const long long* d_targets,
                        long long ignored, float* d_losses, size_t num_rows, size_t num_columns, void* stream) {
  const shape of_rows{num_rows, num_columns};
  rows::cross_entropy_results<long long> also;
  also.ignored = ignored;
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::cross_entropy(of_rows.read<T>(d_logits, logits_stride), d_targets, d_losses, also, stream_of(stream));
  });
}

int rungs_join_losses(int type, void* d_temp_storage, size_t* temp_storage_bytes, const float* d_losses,
                      const long long* d_targets, long long ignored, int mean, void* d_out, size_t num_losses,
                      void* stream) {
  return rungs::DeviceReduce::Reduce(d_temp_storage, *temp_storage_bytes, losses_to_join{d_losses, d_targets, ignored},
                                     written_loss{d_out, type, mean}, num_losses, join{}, joined_losses{},
                                     stream_of(stream));
}

int rungs_merge_attention(int type, const void* d_outputs, const float* d_log_sum_exp, unsigned num_parts,
                          size_t num_rows, size_t num_columns, void* d_out, float* d_merged, void* stream) {
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::merge_attention(static_cast<const T*>(d_outputs), d_log_sum_exp, num_parts, num_rows, num_columns,
                                 static_cast<T*>(d_out), d_merged, stream_of(stream));
  });
}
