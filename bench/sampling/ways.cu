#include "sampling/ways.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include "inference/sort_rows.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/rows/merge_attention.cuh"
#include "rungs/rows/sampling.cuh"
#include "rungs/rows/verification.cuh"
#include "rungs/sampling/01_cut_by_bins.cuh"

namespace rungs::bench {
namespace {

using catalog::arguments;
using inference::named_call;
using inference::role;

const sampling_shape& sampling_of(const arguments& a) { return *static_cast<const sampling_shape*>(a.init); }
const float* uniforms_of(const arguments& a) { return static_cast<const float*>(a.levels); }

template <class Call>
cudaError_t without_storage(void* d_temp_storage, std::size_t& temp_storage_bytes, const Call& call) {
  char* region;
  cudaError_t error;
  if (parts::answered(d_temp_storage, temp_storage_bytes, 0, region, error)) return error;
  return call();
}

template <class T>
cudaError_t by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return without_storage(d_temp_storage, temp_storage_bytes, [&] {
    const sampling_shape& shape = sampling_of(a);
    rows::sampling how;
    how.seed = sampling_seed;
    how.from_probabilities = shape.probabilities;
    if (shape.draw == draw::top_p) how.top_p = shape.top_p;
    if (shape.draw == draw::top_k) how.top_k = shape.top_k;
    if (shape.draw == draw::gumbel)
      how.draw = rows::sampling_draw::gumbel;
    else
      how.d_uniforms = uniforms_of(a);
    return rows::sample(rows::matrix{static_cast<const T*>(a.d_in), a.num_rows, a.num_columns},
                        static_cast<int*>(a.d_out), how, stream);
  });
}

// Storage of several arrays and of CUB's calls, which take turns with the last part.
class parts_of_storage {
 public:
  explicit parts_of_storage(void* d_temp_storage) : begin_(static_cast<char*>(d_temp_storage)) {}
  template <class T>
  T* array(std::size_t num_items) {
    T* const first = reinterpret_cast<T*>(begin_ + used_);  // of no storage it is only a size
    used_ += (num_items * sizeof(T) + 255) / 256 * 256;
    return first;
  }
  void* rest() const { return begin_ == nullptr ? nullptr : begin_ + used_; }
  std::size_t used() const { return used_; }

 private:
  char* begin_;
  std::size_t used_ = 0;
};

struct row_of {
  std::size_t num_columns;
  __host__ __device__ unsigned operator()(std::size_t i) const { return static_cast<unsigned>(i / num_columns); }
};

// Sums of each row's weights up to each item, weights being an iterator.
template <class Weights>
cudaError_t scan_rows(void* d_temp_storage, std::size_t& temp_storage_bytes, Weights weights, float* d_sums,
                      std::size_t num_rows, std::size_t num_columns, cudaStream_t stream) {
  const auto num_items = static_cast<long long>(num_rows * num_columns);
  if (num_rows == 1)
    return cub::DeviceScan::InclusiveSum(d_temp_storage, temp_storage_bytes, weights, d_sums, num_items, stream);
  const auto rows = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), row_of{num_columns});
  return cub::DeviceScan::InclusiveSumByKey(d_temp_storage, temp_storage_bytes, rows, weights, d_sums, num_items,
                                            cuda::std::equal_to<>{}, stream);
}

// The first of n ascending sums that is greater than `at`, or that is not less; n - 1 where there is none.
__device__ std::size_t first_above(const float* sums, std::size_t n, float at, bool or_equal) {
  std::size_t low = 0, high = n - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (or_equal ? sums[middle] >= at : sums[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <class T>
struct weight_of_sorted {
  const T* sorted;
  std::size_t num_columns;
  bool probabilities;
  __device__ float operator()(std::size_t i) const {
    const float value = static_cast<float>(sorted[i]);
    return probabilities ? value : expf(value - static_cast<float>(sorted[i / num_columns * num_columns]));
  }
};

// A thread cuts a row, and draws.
__global__ void cut_and_draw_kernel(const float* d_sums, const int* d_sorted_columns, const float* d_uniforms,
                                    int* d_tokens, unsigned num_rows, std::size_t num_columns, float top_p, int top_k) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= num_rows) return;
  const float* const sums = d_sums + row * num_columns;
  const std::size_t last = top_k > 0 ? static_cast<std::size_t>(top_k) - 1
                                     : first_above(sums, num_columns, top_p * sums[num_columns - 1], true);
  const std::size_t drawn = first_above(sums, last + 1, d_uniforms[row] * sums[last], false);
  d_tokens[row] = d_sorted_columns[row * num_columns + drawn];
}

// Sort, scan, cut: how the text has it, and libraries without a kernel of their own.
template <class T>
cudaError_t by_sort_and_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                             cudaStream_t stream) {
  const sampling_shape& shape = sampling_of(a);
  const std::size_t num_items = a.num_rows * a.num_columns;
  parts_of_storage storage(d_temp_storage);
  T* const sorted = storage.array<T>(num_items);
  int* const columns = storage.array<int>(num_items);
  float* const sums = storage.array<float>(num_items);
  const auto weights = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0),
                                                       weight_of_sorted<T>{sorted, a.num_columns, shape.probabilities});
  std::size_t of_sort = temp_storage_bytes - storage.used(), of_scan = of_sort;
  cudaError_t error =
      inference::sort_rows(storage.rest(), of_sort, static_cast<const T*>(a.d_in), sorted,
                           static_cast<const int*>(a.d_second), columns, a.num_rows, a.num_columns, stream);
  if (error == cudaSuccess)
    error = scan_rows(storage.rest(), of_scan, weights, sums, a.num_rows, a.num_columns, stream);
  if (error != cudaSuccess) return error;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = storage.used() + std::max(of_sort, of_scan);
    return cudaSuccess;
  }
  const auto num_rows = static_cast<unsigned>(a.num_rows);
  cut_and_draw_kernel<<<(num_rows + 31) / 32, 32, 0, stream>>>(
      sums, columns, uniforms_of(a), static_cast<int*>(a.d_out), num_rows, a.num_columns, shape.top_p,
      shape.draw == draw::top_k ? shape.top_k : 0);
  return cudaGetLastError();
}

// The rungs that teach top-p take logits.
template <class Rung, class T>
cudaError_t by_rung(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
  return Rung::sample(d_temp_storage, temp_storage_bytes, static_cast<const T*>(a.d_in), uniforms_of(a),
                      static_cast<int*>(a.d_out), a.num_rows, a.num_columns, sampling_of(a).top_p, stream);
}

template <class T>
std::vector<named_call> ways_of_type(const sampling_shape& shape) {
  std::vector<named_call> all = {{role::rungs, "rungs", by_rungs<T>}};
  if (shape.draw == draw::top_p && !shape.probabilities)
    all.insert(all.end(), {{role::rungs, "scan_then_cut", by_rung<sampling::scan_then_cut, T>},
                           {role::rungs, "cut_by_bins", by_rung<sampling::cut_by_bins, T>}});
  if (shape.draw == draw::top_p || shape.draw == draw::top_k)
    all.push_back({role::rival, "cub_sort_and_scan", by_sort_and_scan<T>});
  return all;
}

// ---- verification

struct drafts {
  verification_shape shape;
  const float *target, *draft, *uniforms;
  const int* drafted;
  int *tokens, *accepted;

  explicit drafts(const arguments& a) : shape(*static_cast<const verification_shape*>(a.init)) {
    target = static_cast<const float*>(a.d_in);
    draft = target + shape.target_rows() * shape.num_tokens;
    uniforms = uniforms_of(a);
    drafted = reinterpret_cast<const int*>(uniforms + shape.target_rows());
    tokens = static_cast<int*>(a.d_out);
    accepted = tokens + shape.target_rows();
  }
  __host__ __device__ const float* target_row(std::size_t request, std::size_t i) const {
    return target + (request * (shape.num_drafts + 1) + i) * shape.num_tokens;
  }
  __host__ __device__ const float* draft_row(std::size_t request, std::size_t i) const {
    return draft + (request * shape.num_drafts + i) * shape.num_tokens;
  }
};

cudaError_t verify_by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                            cudaStream_t stream) {
  return without_storage(d_temp_storage, temp_storage_bytes, [&] {
    const drafts of(a);
    const auto& shape = of.shape;
    rows::verification how;
    how.d_uniforms = of.uniforms;
    return rows::verify(rows::matrix{of.target, shape.target_rows(), shape.num_tokens},
                        rows::matrix{of.draft, shape.draft_rows(), shape.num_tokens},
                        rows::matrix{of.drafted, shape.num_requests, shape.num_drafts},
                        rows::matrix{of.tokens, shape.num_requests, shape.num_drafts + 1}, of.accepted, how, stream);
  });
}

// A thread finds a request's first refusal.
__global__ void accept_kernel(const drafts of) {
  const std::size_t request = blockIdx.x * blockDim.x + threadIdx.x, num_drafts = of.shape.num_drafts;
  if (request >= of.shape.num_requests) return;
  const float* const uniforms = of.uniforms + request * (num_drafts + 1);
  int* const tokens = of.tokens + request * (num_drafts + 1);
  std::size_t i = 0;
  for (; i < num_drafts; ++i) {
    const int token = of.drafted[request * num_drafts + i];
    if (!(uniforms[i] * of.draft_row(request, i)[token] < of.target_row(request, i)[token])) break;
    tokens[i] = token;
  }
  of.accepted[request] = static_cast<int>(i);
  for (; i <= num_drafts; ++i) tokens[i] = -1;
}

struct residual {
  drafts of;
  __device__ float operator()(std::size_t i) const {
    const std::size_t request = i / of.shape.num_tokens, token = i % of.shape.num_tokens;
    const auto at = static_cast<std::size_t>(of.accepted[request]);
    const float refused = at < of.shape.num_drafts ? of.draft_row(request, at)[token] : 0;
    return fmaxf(of.target_row(request, at)[token] - refused, 0);
  }
};

__global__ void draw_residual_kernel(const drafts of, const float* d_sums) {
  const std::size_t request = blockIdx.x * blockDim.x + threadIdx.x, num_drafts = of.shape.num_drafts;
  if (request >= of.shape.num_requests) return;
  const float* const sums = d_sums + request * of.shape.num_tokens;
  const float at = of.uniforms[request * (num_drafts + 1) + num_drafts] * sums[of.shape.num_tokens - 1];
  of.tokens[request * (num_drafts + 1) + of.accepted[request]] =
      static_cast<int>(first_above(sums, of.shape.num_tokens, at, false));
}

cudaError_t verify_by_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                           cudaStream_t stream) {
  const drafts of(a);
  const std::size_t num_requests = of.shape.num_requests;
  parts_of_storage storage(d_temp_storage);
  float* const sums = storage.array<float>(num_requests * of.shape.num_tokens);
  const auto grid = static_cast<unsigned>((num_requests + 31) / 32);
  if (d_temp_storage != nullptr) accept_kernel<<<grid, 32, 0, stream>>>(of);
  std::size_t of_scan = temp_storage_bytes - storage.used();
  const auto weights = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), residual{of});
  const cudaError_t error =
      scan_rows(storage.rest(), of_scan, weights, sums, num_requests, of.shape.num_tokens, stream);
  if (error != cudaSuccess) return error;
  if (d_temp_storage == nullptr) {
    temp_storage_bytes = storage.used() + of_scan;
    return cudaSuccess;
  }
  draw_residual_kernel<<<grid, 32, 0, stream>>>(of, sums);
  return cudaGetLastError();
}

cudaError_t ratios_by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                            cudaStream_t stream) {
  return without_storage(d_temp_storage, temp_storage_bytes, [&] {
    const drafts of(a);
    const auto& shape = of.shape;
    return rows::greatest_ratios(rows::matrix{of.target, shape.target_rows(), shape.num_tokens},
                                 rows::matrix{of.draft, shape.draft_rows(), shape.num_tokens},
                                 rows::matrix{static_cast<float*>(a.d_out), shape.num_requests, shape.num_drafts},
                                 stream);
  });
}

struct ratio_at {
  drafts of;
  __device__ float operator()(std::size_t i) const {
    const std::size_t row = i / of.shape.num_tokens, token = i % of.shape.num_tokens;
    const std::size_t request = row / of.shape.num_drafts, position = row % of.shape.num_drafts;
    const float ratio = of.target_row(request, position)[token] / of.draft_row(request, position)[token];
    return ratio > 0 ? ratio : 0;
  }
};

cudaError_t ratios_by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                          cudaStream_t stream) {
  const drafts of(a);
  const auto ratios = thrust::make_transform_iterator(thrust::counting_iterator<std::size_t>(0), ratio_at{of});
  const auto begins = thrust::make_transform_iterator(
      thrust::counting_iterator<long long>(0), inference::begin_of_row{static_cast<long long>(of.shape.num_tokens)});
  return cub::DeviceSegmentedReduce::Max(d_temp_storage, temp_storage_bytes, ratios, static_cast<float*>(a.d_out),
                                         static_cast<long long>(of.shape.draft_rows()), begins, begins + 1, stream);
}

cudaError_t merge_by_rungs(void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a,
                           cudaStream_t stream) {
  return without_storage(d_temp_storage, temp_storage_bytes, [&] {
    return rows::merge_attention(static_cast<const __nv_bfloat16*>(a.d_in), static_cast<const float*>(a.d_second),
                                 static_cast<unsigned>(a.num_items), a.num_rows, a.num_columns,
                                 static_cast<__nv_bfloat16*>(a.d_out), nullptr, stream);
  });
}

}  // namespace

std::vector<named_call> ways_to_sample(const sampling_shape& shape) {
  return shape.halves ? ways_of_type<__nv_bfloat16>(shape) : ways_of_type<float>(shape);
}
std::vector<named_call> ways_to_verify() {
  return {{role::rungs, "rungs", verify_by_rungs}, {role::rival, "cub_scan", verify_by_scan}};
}
std::vector<named_call> ways_to_greatest_ratios() {
  return {{role::rungs, "rungs", ratios_by_rungs}, {role::rival, "cub_segmented_reduce", ratios_by_cub}};
}
std::vector<named_call> ways_to_merge() { return {{role::rungs, "rungs", merge_by_rungs}}; }

}  // namespace rungs::bench
