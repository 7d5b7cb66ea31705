// Launching a grid of thread-block clusters, and refusing where there are none.
#pragma once

#include "rungs/parts/shared_launch.cuh"

namespace rungs::RUNGS_ABI::cluster::parts {

// Rungs of clusters find under parts:: what all rungs share, too.
using namespace rungs::parts;

// Where clusters can be placed, as tried on an H200 beside kernels that stay on multiprocessors and take all their
// shared memory. By default the blocks of a cluster lie on different multiprocessors of one GPC, and a cluster of two
// waits until a GPC has two that are free; with 32 of 132 free, spread over the chip, none was placed. Where the
// hardware may balance the load, which it does not where there is room, up to eight blocks share a multiprocessor: a
// cluster of up to eight blocks begins beside kernels on all others but one, as an ordinary kernel does, if one
// multiprocessor holds all its blocks. Sixteen blocks need two in one GPC. Parts of a device (green contexts) have no
// clusters of more than eight.
inline constexpr int blocks_on_one_multiprocessor = 8;

// The second bound of a kernel whose blocks are small enough for that. Below sm_90, where such kernels are empty, and
// from sm_120 on, a multiprocessor holds fewer threads.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)
template <bool is_compact>
inline constexpr int blocks_to_fit = 1;
#else
template <bool is_compact>
inline constexpr int blocks_to_fit = is_compact ? blocks_on_one_multiprocessor : 1;
#endif

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
  bool balanced = false;          // whether blocks may share a multiprocessor
};

template <class... Parameters, class... Arguments>
cudaError_t launch_clusters(void (*kernel)(Parameters...), std::size_t num_clusters, const cluster_shape& shape,
                            cudaStream_t stream, Arguments... arguments) {
  if (num_clusters > 0x7fffffffu / shape.cluster_blocks) return cudaErrorInvalidConfiguration;
  cudaError_t error = allow_cluster(kernel, shape.cluster_blocks);
  if (error == cudaSuccess && shape.dynamic_bytes > rungs::parts::plain_shared_bytes)
    error = rungs::parts::allow_shared_memory(kernel, shape.dynamic_bytes);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = shape.cluster_blocks;
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
  attributes[1].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicyLoadBalancing;
  return rungs::parts::launch_with(attributes, shape.balanced ? 2 : 1, kernel, num_clusters * shape.cluster_blocks,
                                   shape.block_threads, shape.dynamic_bytes, stream, arguments...);
}

}  // namespace rungs::RUNGS_ABI::cluster::parts
