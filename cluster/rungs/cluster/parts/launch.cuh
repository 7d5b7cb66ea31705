// Launching a grid of thread-block clusters, and refusing where there are none.
#pragma once

#include "rungs/parts/shared_launch.cuh"

namespace rungs::v0::cluster::parts {

// One block is no cluster: compute-sanitizer, for one, refuses remote stores to oneself.
inline constexpr int least_cluster_blocks = 2, portable_cluster_blocks = 8, greatest_cluster_blocks = 16;

// Sixteen blocks are beyond what every part with clusters promises: a kernel has to be allowed them.
template <class... Parameters>
cudaError_t allow_cluster(void (*kernel)(Parameters...), int cluster_blocks) {
  if (cluster_blocks <= portable_cluster_blocks) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

// Lowers cluster_blocks, a power of two, to eight where the current device does not hold sixteen blocks of this kernel.
// Returns cudaErrorNotSupported where the device has no clusters.
template <class... Parameters>
cudaError_t fit_cluster(void (*kernel)(Parameters...), int block_threads, int& cluster_blocks) {
  int device = 0, supported = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, device);
  if (error == cudaSuccess && !supported) error = cudaErrorNotSupported;
  if (error != cudaSuccess || cluster_blocks <= portable_cluster_blocks) return error;

  cudaLaunchConfig_t config{};
  config.gridDim = dim3(cluster_blocks);
  config.blockDim = dim3(block_threads);
  int greatest = portable_cluster_blocks;
  error = allow_cluster(kernel, cluster_blocks);
  if (error == cudaSuccess) error = cudaOccupancyMaxPotentialClusterSize(&greatest, kernel, &config);
  if (greatest < cluster_blocks) cluster_blocks = portable_cluster_blocks;
  return error;
}

struct cluster_shape {
  int cluster_blocks, block_threads;
  std::size_t dynamic_bytes = 0;  // of shared memory, for each block
};

template <class... Parameters, class... Arguments>
cudaError_t launch_clusters(void (*kernel)(Parameters...), std::size_t num_clusters, const cluster_shape& shape,
                            cudaStream_t stream, Arguments... arguments) {
  if (num_clusters > 0x7fffffffu / shape.cluster_blocks) return cudaErrorInvalidConfiguration;
  cudaError_t error = allow_cluster(kernel, shape.cluster_blocks);
  if (error == cudaSuccess && shape.dynamic_bytes > v0::parts::plain_shared_bytes)
    error = v0::parts::allow_shared_memory(kernel, shape.dynamic_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute dimension{};
  dimension.id = cudaLaunchAttributeClusterDimension;
  dimension.val.clusterDim.x = shape.cluster_blocks;
  dimension.val.clusterDim.y = dimension.val.clusterDim.z = 1;
  return v0::parts::launch_as(&dimension, kernel, num_clusters * shape.cluster_blocks, shape.block_threads,
                              shape.dynamic_bytes, stream, arguments...);
}

}  // namespace rungs::v0::cluster::parts
