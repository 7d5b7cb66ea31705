#include "inference/calls.hpp"

#include <cuda/std/version>

#include "rungs/roofs/copy.cuh"
#include "rungs/roofs/empty.cuh"
#include "rungs/roofs/stream_read.cuh"

namespace rungs::bench::inference {
namespace {

template <class Roof>
cudaError_t move(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                 cudaStream_t stream) {
  return Roof::move(d_temp_storage, temp_storage_bytes, static_cast<const unsigned char*>(a.d_in),
                    static_cast<unsigned char*>(a.d_out), a.num_items, stream);
}

__global__ void fill_columns_kernel(int* d_columns, std::size_t num_items, std::size_t num_columns) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    d_columns[i] = static_cast<int>(i % num_columns);
}

}  // namespace

cudaError_t fill_columns(int* d_columns, std::size_t num_rows, std::size_t num_columns) {
  fill_columns_kernel<<<1024, 512>>>(d_columns, num_rows * num_columns, num_columns);
  return cudaGetLastError();
}

cudaError_t plain_read(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                       cudaStream_t stream) {
  return move<roofs::stream_read>(d_temp_storage, temp_storage_bytes, a, stream);
}
cudaError_t plain_copy(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                       cudaStream_t stream) {
  return move<roofs::copy>(d_temp_storage, temp_storage_bytes, a, stream);
}
cudaError_t empty_kernel(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                         cudaStream_t stream) {
  return move<roofs::empty>(d_temp_storage, temp_storage_bytes, a, stream);
}

std::string cccl_version() {
  return std::to_string(CCCL_MAJOR_VERSION) + "." + std::to_string(CCCL_MINOR_VERSION) + "." +
         std::to_string(CCCL_PATCH_VERSION);
}

}  // namespace rungs::bench::inference
