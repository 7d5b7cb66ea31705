// The blocks that have a row together: one, or a cluster. What they find out is known to all their threads.
#pragma once

#include <cstddef>

#include "rungs/cluster/parts/launch.cuh"
#include "rungs/cluster/parts/peers.cuh"
#include "rungs/parts/shared_launch.cuh"
#include "rungs/production/sampling/weight_bins.cuh"

namespace rungs::RUNGS_ABI::production {

// What a block has for it. Peers write the extremes of blocks.
struct row_blocks_memory {
  candidate extremes_of_warps[weight_bins::warps][2];
  candidate extremes_of_blocks[cluster::parts::greatest_cluster_blocks][2];
};

// All threads of all blocks call each function.
class row_blocks {
  static constexpr unsigned lanes = parts::warp_threads, block_threads = weight_bins::block_threads;

 public:
  __device__ row_blocks(row_blocks_memory& own, unsigned num_blocks) : row_blocks(own, num_blocks, starts_later{}) {
    start();
  }
  // Where the block has to make barriers for its peers first, and calls start() then.
  struct starts_later {};
  __device__ row_blocks(row_blocks_memory& own, unsigned num_blocks, starts_later)
      : own_(own), num_blocks_(num_blocks), rank_(0) {
#if __CUDA_ARCH__ >= 900
    if (num_blocks > 1) rank_ = cluster::parts::block_rank();
#endif
  }
  __device__ void start() { arrive_unordered(); }
  __device__ unsigned rank() const { return rank_; }
  __device__ unsigned num_blocks() const { return num_blocks_; }

  // Peers have done what they did before they arrived. A block may leave then.
  __device__ void settle() {
#if __CUDA_ARCH__ >= 900
    if (is_waiting_) cluster::parts::wait();
    is_waiting_ = false;
#endif
  }
  __device__ void meet() {
#if __CUDA_ARCH__ >= 900
    if (num_blocks_ > 1) {
      settle();
      return cluster::parts::meet();
    }
#endif
    __syncthreads();
  }
  // The first half of it, where peers have only read.
  __device__ void arrive_unordered() {
#if __CUDA_ARCH__ >= 900
    if (num_blocks_ > 1) {
      cluster::parts::arrive_started();
      is_waiting_ = true;
    }
#endif
  }
  __device__ void arrive() {
#if __CUDA_ARCH__ >= 900
    if (num_blocks_ > 1) {
      cluster::parts::arrive();
      is_waiting_ = true;
    }
#endif
  }
  template <class T>
  __device__ T* of_rank(T* pointer, unsigned rank) const {
#if __CUDA_ARCH__ >= 900
    if (num_blocks_ > 1) return cluster::parts::of_rank(pointer, rank);
#endif
    return pointer;
  }

  // The least and the greatest of all threads of the block, or of the row.
  template <bool across>
  __device__ void share_extremes(candidate& least, candidate& greatest) {
    if (!across || num_blocks_ == 1) {
      extremes_of_block(least, greatest);
      return __syncthreads();
    }
    offer_extremes(least, greatest);
    meet();
    take_extremes(least, greatest);
    arrive();  // peers may write again
  }
  // The same in two halves: those of the row are there behind the next meeting, and stay until one behind that.
  __device__ void offer_extremes(candidate least, candidate greatest) {
    extremes_of_block(least, greatest);
    settle();
    if (threadIdx.x < num_blocks_) {
      candidate* const there = of_rank(own_.extremes_of_blocks[rank_], threadIdx.x);
      there[0] = least;
      there[1] = greatest;
    }
  }
  __device__ void take_extremes(candidate& least, candidate& greatest) const {
    const unsigned block = threadIdx.x % lanes < num_blocks_ ? threadIdx.x % lanes : 0;
    least = own_.extremes_of_blocks[block][0];
    greatest = own_.extremes_of_blocks[block][1];
    of_lanes<lanes>(least, greatest);
  }

  // The sums of all threads of the block.
  template <int num>
  __device__ void add_up(weight_sum (&sums)[num], weight_sum (&of_warps)[weight_bins::warps][num]) const {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
#pragma unroll
    for (int i = 0; i < num; ++i) {
      sums[i] = sum_of_lanes<lanes>(sums[i]);
      if (lane == 0) of_warps[warp][i] = sums[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < num; ++i) sums[i] = sum_of_lanes<weight_bins::warps>(of_warps[lane % weight_bins::warps][i]);
  }
  // The sums of 2^k neighbouring lanes.
  template <unsigned num_lanes>
  static __device__ weight_sum sum_of_lanes(weight_sum sum) {
#pragma unroll
    for (unsigned distance = 1; distance < num_lanes; distance *= 2)
      sum += __shfl_xor_sync(parts::full_mask, sum, distance);
    return sum;
  }

  // Adds up numbers in bins of all blocks, in each of them. Neighbouring threads share the blocks that have a bin.
  __device__ void merge(unsigned* counts) {
    meet();
    if (num_blocks_ == 1) return;
    const unsigned part = weight_bins::num_bins / num_blocks_;
    const unsigned sharing = part < block_threads ? block_threads / part : 1;
#pragma unroll 1
    for (unsigned i = threadIdx.x / sharing; i < part; i += block_threads / sharing) {
      const unsigned bin = rank_ * part + i;
      unsigned all = 0;
#pragma unroll 4
      for (unsigned peer = threadIdx.x % sharing; peer < num_blocks_; peer += sharing)
        all += *of_rank(counts + bin, peer);
#pragma unroll 1
      for (unsigned distance = 1; distance < sharing; distance *= 2)
        all += __shfl_xor_sync(parts::full_mask, all, distance);
#pragma unroll 4
      for (unsigned peer = threadIdx.x % sharing; peer < num_blocks_; peer += sharing)
        *of_rank(counts + bin, peer) = all;
    }
    meet();
  }
  // Adds up the bins of all blocks, in each of them. Threads that are neighbours share the blocks that have a bin.
  __device__ void merge(weight_bins& bins) {
    meet();
    if (num_blocks_ == 1) return;
    const unsigned part = weight_bins::num_bins / num_blocks_;
    const unsigned sharing = part < block_threads ? block_threads / part : 1;
#pragma unroll 1
    for (unsigned i = threadIdx.x / sharing; i < part; i += block_threads / sharing) {
      const unsigned bin = rank_ * part + i;
      token_mass all{0, 0};
#pragma unroll 4
      for (unsigned peer = threadIdx.x % sharing; peer < num_blocks_; peer += sharing) {
        const token_mass each = of_rank(&bins, peer)->mass(bin);
        all.sum += each.sum;
        all.count += each.count;
      }
#pragma unroll 1
      for (unsigned distance = 1; distance < sharing; distance *= 2) {
        all.sum += __shfl_xor_sync(parts::full_mask, all.sum, distance);
        all.count += __shfl_xor_sync(parts::full_mask, all.count, distance);
      }
#pragma unroll 4
      for (unsigned peer = threadIdx.x % sharing; peer < num_blocks_; peer += sharing)
        of_rank(&bins, peer)->set(bin, all);
    }
    meet();
  }

 private:
  __device__ void extremes_of_block(candidate& least, candidate& greatest) const {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    of_lanes<lanes>(least, greatest);
    if (lane == 0) {
      own_.extremes_of_warps[warp][0] = least;
      own_.extremes_of_warps[warp][1] = greatest;
    }
    __syncthreads();
    least = own_.extremes_of_warps[lane % weight_bins::warps][0];
    greatest = own_.extremes_of_warps[lane % weight_bins::warps][1];
    of_lanes<weight_bins::warps>(least, greatest);
  }
  template <unsigned num_lanes>
  static __device__ void of_lanes(candidate& least, candidate& greatest) {
#pragma unroll
    for (unsigned distance = 1; distance < num_lanes; distance *= 2) {
      const candidate other_least = __shfl_xor_sync(parts::full_mask, least, distance);
      const candidate other_greatest = __shfl_xor_sync(parts::full_mask, greatest, distance);
      if (other_least < least) least = other_least;
      if (other_greatest > greatest) greatest = other_greatest;
    }
  }

  row_blocks_memory& own_;
  unsigned num_blocks_, rank_;
  bool is_waiting_ = false;
};

// The places that clusters of 2^doublings blocks get at once, of one or two on each multiprocessor. A cluster is within
// a GPC, which has up to eighteen multiprocessors, and not all have sixteen. So larger clusters leave more of them out.
// On an H200, 30 clusters of four and 14 of eight have theirs, with a block a multiprocessor. 32 and 16 wait for each
// other.
inline std::size_t places_reached(std::size_t multiprocessors, std::size_t per_multiprocessor, int doublings) {
  constexpr std::size_t sixteenths[2][5] = {{16, 16, 15, 14, 10}, {16, 16, 14, 12, 10}};
  return multiprocessors * per_multiprocessor * sixteenths[per_multiprocessor - 1][doublings] / 16;
}

// The most blocks of a row, a power of two, one or two a multiprocessor. Clusters of sixteen are for few rows.
// `at_once`: those of all rows have places at once. Where rows are read once, more blocks gain more than it costs that
// some wait.
inline int blocks_of_a_row(const parts::device_limits& limits, std::size_t num_rows, std::size_t per_multiprocessor,
                           std::size_t most_blocks, bool at_once = true) {
  using namespace cluster::parts;
  if (limits.cc < 90) return 1;
  const auto multiprocessors = static_cast<std::size_t>(limits.multiprocessors);
  const bool are_few = num_rows * greatest_cluster_blocks <= multiprocessors / 2;
  const int most = are_few ? greatest_cluster_blocks : portable_cluster_blocks;
  const auto places = [&](int doublings) {
    return at_once ? places_reached(multiprocessors, per_multiprocessor, doublings)
                   : multiprocessors * per_multiprocessor;
  };
  int d = 0;
  while (2 << d <= most && std::size_t{2} << d <= most_blocks && num_rows << (d + 1) <= places(d + 1)) ++d;
  return 1 << d;
}

}  // namespace rungs::RUNGS_ABI::production
