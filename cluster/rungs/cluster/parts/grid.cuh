// Clusters of a size that is given or chosen, as many of them as the device holds at once.
#pragma once

#include "rungs/cluster/parts/launch.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// Stands for a cluster's size where the queries choose it.
inline constexpr int any_size = 0;

// cluster_blocks is `asked`, or cudaErrorNotSupported is returned; of any size, the least power of two that has a block
// for each of num_tiles tiles, at most what the device holds.
template <int asked, class... Parameters>
cudaError_t choose_cluster(void (*kernel)(Parameters...), int block_threads, std::size_t num_tiles,
                           int& cluster_blocks) {
  static_assert(asked >= 0 && asked <= greatest_cluster_blocks && (asked & (asked - 1)) == 0, "a power of two");
  cluster_blocks = asked == any_size ? least_cluster_blocks : asked;
  while (asked == any_size && cluster_blocks < greatest_cluster_blocks && std::size_t(cluster_blocks) < num_tiles)
    cluster_blocks *= 2;
  const cudaError_t error = fit_cluster(kernel, block_threads, cluster_blocks);
  return error == cudaSuccess && cluster_blocks < asked ? cudaErrorNotSupported : error;
}

// How many clusters of this shape the device holds at once, one at least.
// Returns cudaErrorNotSupported where it has no clusters, or holds none of this shape.
template <class... Parameters>
cudaError_t resident_clusters(void (*kernel)(Parameters...), const cluster_shape& shape, std::size_t& num_clusters) {
  int fitting_blocks = shape.cluster_blocks, most = 0;
  cudaError_t error = fit_cluster(kernel, shape.block_threads, fitting_blocks);
  if (error == cudaSuccess && fitting_blocks < shape.cluster_blocks) error = cudaErrorNotSupported;
  if (error == cudaSuccess && shape.dynamic_bytes > rungs::parts::plain_shared_bytes)
    error = rungs::parts::allow_shared_memory(kernel, shape.dynamic_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute dimension{};
  dimension.id = cudaLaunchAttributeClusterDimension;
  dimension.val.clusterDim.x = shape.cluster_blocks;
  dimension.val.clusterDim.y = dimension.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.cluster_blocks);
  config.blockDim = dim3(shape.block_threads);
  config.dynamicSmemBytes = shape.dynamic_bytes;
  config.attrs = &dimension;
  config.numAttrs = 1;
  error = cudaOccupancyMaxActiveClusters(&most, kernel, &config);
  num_clusters = static_cast<std::size_t>(most);
  return error == cudaSuccess && most == 0 ? cudaErrorNotSupported : error;
}

// Sixteen blocks of much shared memory need a multiprocessor each, and the device may hold no such cluster. Then the
// shape becomes one of eight.
template <class... Parameters>
cudaError_t fit_memory(void (*kernel)(Parameters...), cluster_shape& shape) {
  if (shape.cluster_blocks <= portable_cluster_blocks || shape.dynamic_bytes <= rungs::parts::plain_shared_bytes)
    return cudaSuccess;
  std::size_t most_clusters;
  const cudaError_t error = resident_clusters(kernel, shape, most_clusters);
  if (error != cudaErrorNotSupported) return error;
  shape.cluster_blocks = portable_cluster_blocks;
  return cudaSuccess;
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
