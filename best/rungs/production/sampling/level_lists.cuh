// Third phase of a search by levels. Each block sends the tokens of the windows to the first one, which has a place for
// so many of each block. All blocks learn how many there are.
#pragma once

#include "rungs/cluster/parts/block_bits.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/parts/warp_scan.cuh"
#include "rungs/production/sampling/held_share.cuh"
#include "rungs/production/sampling/level_memory.cuh"
#include "rungs/production/sampling/level_windows.cuh"
#include "rungs/production/sampling/token_cuts.cuh"
#include "rungs/production/sampling/weight_bins.cuh"
#include "rungs/production/sampling/weights.cuh"

namespace rungs::RUNGS_ABI::production {

template <class T, bool of_logits>
class level_lists : public level_windows<T, of_logits> {
  using base = level_windows<T, of_logits>;
  using memory = level_memory;
  static constexpr unsigned lanes = parts::warp_threads, items_at_once = held_share<T>::items_at_once;

 public:
  using base::base;

  // Finds windows, and lists their tokens. Returns false, in all blocks alike, if there are too many of them.
  template <class Meanwhile>
  __device__ bool list(const row_levels<of_logits>& levels, unsigned least_level, const window_targets& targets,
                       Meanwhile meanwhile) {
    this->find_windows(levels, least_level, targets, meanwhile);

    const unsigned num_blocks = group_.num_blocks(), rank = group_.rank(), lane = threadIdx.x % lanes;
    capacity_ = memory::list_capacity >> cluster::parts::block_bits(num_blocks);
    if (num_blocks == 1) __syncthreads();  // all windows are told
    window_test tests[memory::num_windows];
#pragma unroll
    for (unsigned w = 0; w < memory::num_windows; ++w) tests[w] = this->test_of(w, targets);
    if (rank == 0) {
      own_.clear_fine();
      if (threadIdx.x < memory::num_windows) this->keep_window(threadIdx.x, targets);
    }
    share_.for_each_items([&](const float(&values)[items_at_once], unsigned first) {
      unsigned mask = 0;
#pragma unroll
      for (unsigned i = 0; i < items_at_once; ++i) {
        bool may_be_in = tests[1].may_have(values[i]) | tests[2].may_have(values[i]);
        if (targets.top_k > 0) may_be_in |= tests[0].may_have(values[i]);
        if (may_be_in) mask |= 1u << i;
      }
#pragma unroll 1
      for (; mask != 0; mask &= mask - 1) {
        const unsigned i = static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
        const float value = share_.value_of_item(first, i);
        const unsigned level = levels.level(value);
        if (!(tests[0].has(level) | tests[1].has(level) | tests[2].has(level))) continue;
        const unsigned place = atomicAdd(&own_.size, 1u);
        if (place < capacity_) send(rank * capacity_ + place, token_candidate(value, share_.column_of_item(first, i)));
      }
    });
    __syncthreads();
    size_ = own_.size;
    if (num_blocks > 1) {
      if (threadIdx.x < num_blocks) cluster::parts::store_remote(own_.sizes + rank, own_.has_sizes, threadIdx.x, size_);
      own_.has_sizes.wait_for_cluster(0);
      size_ = lane < num_blocks ? own_.sizes[lane] : 0;
      if (rank == 0) {
        const unsigned num_sent = parts::warp_aggregate(min(size_, capacity_), plus{});
        if (threadIdx.x == 0) own_.has_tokens.arrive_and_expect(num_sent * sizeof(candidate));
      }
    }
    return !__any_sync(parts::full_mask, size_ > capacity_);
  }
  // By the first block, also where there are too many: behind it, none are on their way.
  __device__ void wait_for_tokens() const {
    if (group_.num_blocks() > 1) own_.has_tokens.wait_for_cluster(0);
  }

 protected:
  using base::group_;
  using base::own_;
  using base::share_;

  // take(token, its place) for each of the thread's listed tokens, in the first block. Each warp has those of one peer.
  // Where there are fewer peers than warps, several warps share one.
  template <class Take>
  __device__ void for_each_token(Take take) const {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes, num_blocks = group_.num_blocks();
    const unsigned bits = cluster::parts::block_bits(num_blocks), peer = warp & (num_blocks - 1),
                   first = peer * capacity_, size = num_blocks > 1 ? __shfl_sync(parts::full_mask, size_, peer) : size_;
#pragma unroll 1
    for (unsigned i = (warp >> bits) * lanes + lane; i < size; i += weight_bins::block_threads >> bits)
      take(own_.gathered[first + i], first + i);
  }

 private:
  __device__ void send(unsigned place, candidate token) const {
    if (group_.num_blocks() > 1)
      cluster::parts::store_remote(own_.gathered + place, own_.has_tokens, 0, token);
    else
      own_.gathered[place] = token;
  }

  unsigned capacity_ = 0, size_ = 0;  // of a block's tokens; of the lane's block, or of the only one
};

}  // namespace rungs::RUNGS_ABI::production
