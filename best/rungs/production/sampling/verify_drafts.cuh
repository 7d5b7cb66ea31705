// Speculative verification: how many of a request's drafts stay, and the token that follows them.
//
// A block has a request, or a cluster. Each of its blocks decides about the drafts. The row that the next token is
// drawn from is known then. A block has a range of its columns, cut in segments. Warps add up segments as integers. The
// block in whose range the draw lies finds the segment, and a warp of it finds the token in the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/operators.cuh"
#include "rungs/parts/warp.cuh"
#include "rungs/production/rows/row_group.cuh"
#include "rungs/production/sampling/random.cuh"
#include "rungs/production/sampling/row_blocks.cuh"

namespace rungs::RUNGS_ABI::production {

// A probability in units of 2^-40, rounded. NaN is 0, and so is what is less; what is more than 1 is 1.
//
// A float from 2^23 to 2^24 has its whole number in its last bits. So a part of 17 bits and one of 23 are found without
// a conversion.
__host__ __device__ inline weight_sum fixed_probability(float probability) {
  constexpr float mark = 0x1p23f;
  constexpr unsigned mark_bits = 0x4b000000;
  const float within = rounded::less(probability > 0 ? probability : 0.0f, 1);
  const float high = rounded::marked_whole(rounded::multiply(within, 0x1p17f));
  const float rest = rounded::fused(rounded::add(high, -mark), -mark, rounded::multiply(within, 0x1p40f));
  const float low = rounded::add(rest, mark);
  return (static_cast<weight_sum>(rounded::bits_of(high) - mark_bits) << 23) + (rounded::bits_of(low) - mark_bits);
}
// What is left of a target's probability at the first draft that is refused.
__host__ __device__ inline weight_sum residual_of(float target, float draft) {
  const auto left = static_cast<long long>(fixed_probability(target) - fixed_probability(draft));
  return left < 0 ? 0 : static_cast<weight_sum>(left);
}
// Whether a draft stays. The product of floats is exact in double precision.
__host__ __device__ inline bool is_accepted(double uniform, float target, float draft) {
  return uniform * static_cast<double>(draft) < static_cast<double>(target);
}

template <class T>
struct verification_task {
  const T *target, *draft;  // of each request num_drafts + 1 rows, and num_drafts
  std::size_t target_stride, draft_stride;
  unsigned num_columns, num_drafts;
  const int* drafted;
  std::size_t drafted_stride;
  int* tokens;
  std::size_t tokens_stride;
  int* accepted;
  const float* uniforms;  // of each request num_drafts + 1; null: random numbers by counting
  random_source random;
  const unsigned long long* offset;
  unsigned num_blocks, segment_columns;
};

// Four neighbours of a row. Those that are not in it are 0. They stay as they are read until each is asked for: where
// halves were taken apart at once, each read waited for the one before.
template <class T>
struct four_items {
  using vector = std::conditional_t<sizeof(T) == 4, uint4, uint2>;
  vector read_items;

  static __device__ four_items read(const T* row, unsigned first, unsigned num_columns) {
    const T* const from = row + first;
    if (first < num_columns && num_columns - first >= 4 && reinterpret_cast<std::uintptr_t>(from) % sizeof(vector) == 0)
      return {*reinterpret_cast<const vector*>(from)};
    T items[4] = {};
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      if (first + i < num_columns) items[i] = from[i];
    four_items read{};
    memcpy(&read.read_items, items, sizeof(vector));
    return read;
  }
  __device__ float value(unsigned i) const {
    T items[4];
    memcpy(items, &read_items, sizeof(vector));
    return to_float(items[i]);
  }
};

struct verification_memory {
  weight_bins segments;
  bin_scan scan;
  row_blocks_memory blocks;
  weight_sum totals[2][cluster::parts::greatest_cluster_blocks];  // peers write them
  unsigned num_accepted;
};

struct verify_drafts {
  static constexpr unsigned lanes = parts::warp_threads, step_columns = 4 * lanes, at_once = 4;
  static constexpr std::size_t most_drafts = 8, most_columns = std::size_t{1} << 22;

  // The sum of all lanes' parts, each less than 2^47, in the first lane.
  static __device__ weight_sum sum_of_warp(weight_sum of_lane) {
    constexpr unsigned low_bits = 26;  // 32 of such numbers have a word
    const unsigned low = parts::warp_reduce(static_cast<unsigned>(of_lane) & ((1u << low_bits) - 1), plus{}),
                   high = parts::warp_reduce(static_cast<unsigned>(of_lane >> low_bits), plus{});
    return (static_cast<weight_sum>(high) << low_bits) + low;
  }
  // What is left of four neighbours, and the sum of it.
  template <class T>
  static __device__ weight_sum residuals_of(const four_items<T>& target, const four_items<T>& draft,
                                            weight_sum (&each)[4]) {
    weight_sum sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += each[i] = residual_of(target.value(i), draft.value(i));
    return sum;
  }

  template <class T>
  static __device__ void verify(const verification_task<T>& task, unsigned request, verification_memory& own) {
    const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    row_blocks group(own.blocks, task.num_blocks);
    random_source random = task.random;
    if (task.offset != nullptr) random.offset += *task.offset;
    const T* const targets = task.target + std::size_t{request} * (task.num_drafts + 1) * task.target_stride;
    const T* const drafts = task.draft + std::size_t{request} * task.num_drafts * task.draft_stride;
    const int* const drafted = task.drafted + request * task.drafted_stride;
    const float* const uniforms =
        task.uniforms == nullptr ? nullptr : task.uniforms + std::size_t{request} * (task.num_drafts + 1);
    int* const tokens = task.tokens + request * task.tokens_stride;

    own.segments.clear();
    if (warp == 0) {
      bool stays = false;
      int token = -1;
      if (lane < task.num_drafts) {
        token = drafted[lane];
        const double uniform =
            uniforms != nullptr ? uniforms[lane] : random.of_tokens(request, lane / 4).word(lane) * 0x1p-32;
        stays = token >= 0 && static_cast<unsigned>(token) < task.num_columns &&
                is_accepted(uniform, to_float(targets[lane * task.target_stride + token]),
                            to_float(drafts[lane * task.draft_stride + token]));
      }
      const unsigned num_accepted = __ffs(static_cast<int>(~__ballot_sync(parts::full_mask, stays))) - 1;
      if (lane == 0) own.num_accepted = num_accepted;
      if (group.rank() == 0) {
        if (lane != num_accepted && lane <= task.num_drafts) tokens[lane] = lane < num_accepted ? token : -1;
        if (lane == 0) task.accepted[request] = static_cast<int>(num_accepted);
      }
    }
    __syncthreads();
    const unsigned num_accepted = own.num_accepted;
    const T* const target = targets + num_accepted * task.target_stride;
    const T* draft = num_accepted < task.num_drafts ? drafts + num_accepted * task.draft_stride : nullptr;

    // Sums of the block's segments, and of all blocks. Where nothing is left of the target, it is drawn from itself.
    const unsigned num_segments = (task.num_columns + task.segment_columns - 1) / task.segment_columns;
    const unsigned own_segments = (num_segments + task.num_blocks - 1) / task.num_blocks;
    const unsigned first_segment = group.rank() * own_segments;
    weight_sum sum = 0, before = 0, own_sum = 0;
    group.settle();
    for (int pass = 0; pass < 2; ++pass) {
#pragma unroll 1
      for (unsigned s = warp; s < own_segments; s += at_once * weight_bins::warps) {
        weight_sum of_lane[at_once] = {};
#pragma unroll 1
        for (unsigned column = 0; column < task.segment_columns; column += step_columns) {
          four_items<T> of_target[at_once], of_draft[at_once];
#pragma unroll
          for (unsigned i = 0; i < at_once; ++i) {
            const unsigned segment = s + i * weight_bins::warps;
            const unsigned first = segment < own_segments
                                       ? (first_segment + segment) * task.segment_columns + column + 4 * lane
                                       : task.num_columns;
            of_target[i] = four_items<T>::read(target, first, task.num_columns);
            of_draft[i] = draft != nullptr ? four_items<T>::read(draft, first, task.num_columns) : four_items<T>{};
          }
#pragma unroll
          for (unsigned i = 0; i < at_once; ++i) {
            weight_sum each[4];
            of_lane[i] += residuals_of(of_target[i], of_draft[i], each);
          }
        }
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i) {
          const weight_sum of_segment = sum_of_warp(of_lane[i]);
          if (lane == 0 && s + i * weight_bins::warps < own_segments)
            own.segments.set(s + i * weight_bins::warps, {of_segment, 0});
        }
      }
      __syncthreads();
      own.scan.find(own.segments, false, 0);  // for the total
      own_sum = own.scan.total.sum;
      if (threadIdx.x < task.num_blocks) *group.of_rank(own.totals[pass] + group.rank(), threadIdx.x) = own_sum;
      group.meet();
      sum = before = 0;
#pragma unroll 1
      for (unsigned block = 0; block < task.num_blocks; ++block) {
        if (block < group.rank()) before += own.totals[pass][block];
        sum += own.totals[pass][block];
      }
      if (sum > 0 || draft == nullptr) break;
      draft = nullptr;
    }
    if (sum == 0) {
      if (group.rank() == 0 && threadIdx.x == 0) tokens[num_accepted] = -1;
      return;
    }

    const weight_sum fraction =
        uniforms != nullptr ? fraction_of(uniforms[task.num_drafts]) : random.of_row(request).fraction();
    weight_sum needed = rounded::upper_product(sum, fraction) + 1;
    if (needed <= before || needed > before + own_sum) return;  // in another block's range
    const found_bin segment = own.scan.find(own.segments, false, needed - before);
    if (warp != 0) return;
    needed -= before + segment.before.sum;
    const unsigned begin = (first_segment + segment.bin) * task.segment_columns;
    for (unsigned column = begin;; column += step_columns) {
      weight_sum each[4];
      const unsigned first = column + 4 * lane;
      const auto of_target = four_items<T>::read(target, first, task.num_columns);
      const auto of_draft = draft != nullptr ? four_items<T>::read(draft, first, task.num_columns) : four_items<T>{};
      weight_sum up_to = residuals_of(of_target, of_draft, each);
      const weight_sum own_four = up_to;
#pragma unroll
      for (unsigned distance = 1; distance < lanes; distance *= 2) {
        const weight_sum below = __shfl_up_sync(parts::full_mask, up_to, distance);
        if (lane >= distance) up_to += below;
      }
      const unsigned reached = __ballot_sync(parts::full_mask, up_to >= needed);
      if (reached != 0) {
        if (lane != static_cast<unsigned>(__ffs(static_cast<int>(reached)) - 1)) return;
        unsigned token = first;
        weight_sum at = up_to - own_four;
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          at += each[i];
          token += at < needed;
        }
        tokens[num_accepted] = static_cast<int>(token);
        return;
      }
      needed -= __shfl_sync(parts::full_mask, up_to, lanes - 1);
    }
  }
};

template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    verify_drafts_kernel(const __grid_constant__ verification_task<T> task) {
  __shared__ verification_memory own;
  verify_drafts::verify(task, blockIdx.x / task.num_blocks, own);
}

// The greatest target / draft of a pair of rows.
template <class T>
struct ratio_task {
  const T *target, *draft;
  std::size_t target_stride, draft_stride;
  unsigned num_columns, num_drafts;
  float* ratios;
  std::size_t ratios_stride;
  unsigned num_blocks;
};

template <class T>
__device__ void greatest_ratio(const ratio_task<T>& task, unsigned pair, row_blocks_memory& own) {
  row_blocks group(own, task.num_blocks);
  const unsigned request = pair / task.num_drafts, position = pair % task.num_drafts;
  const T* const target = task.target + (std::size_t{request} * (task.num_drafts + 1) + position) * task.target_stride;
  const T* const draft = task.draft + std::size_t{pair} * task.draft_stride;
  const unsigned thread = group.rank() * weight_bins::block_threads + threadIdx.x;
  float greatest = 0;
#pragma unroll 4
  for (unsigned first = 4 * thread; first < task.num_columns;
       first += 4 * weight_bins::block_threads * task.num_blocks) {
    const auto of_target = four_items<T>::read(target, first, task.num_columns),
               of_draft = four_items<T>::read(draft, first, task.num_columns);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      greatest = rounded::greater(greatest, rounded::divide(of_target.value(i), of_draft.value(i)));
  }
  candidate best = rounded::bits_of(greatest), unused = best;
  group.template share_extremes<true>(unused, best);
  if (group.rank() == 0 && threadIdx.x == 0)
    task.ratios[request * task.ratios_stride + position] = rounded::of_bits(static_cast<unsigned>(best));
  group.settle();
}

template <class T>
__global__ void __launch_bounds__(weight_bins::block_threads, 2)
    greatest_ratios_kernel(const __grid_constant__ ratio_task<T> task) {
  __shared__ row_blocks_memory own;
  greatest_ratio(task, blockIdx.x / task.num_blocks, own);
}

// Launches either kernel with the blocks that its rows get, all at once or not.
template <class Kernel, class Task>
cudaError_t launch_over_rows(Kernel kernel, Task task, std::size_t num_rows, bool at_once, cudaStream_t stream) {
  constexpr std::size_t least_columns = 4096;  // of a block of a cluster
  constexpr int block_threads = weight_bins::block_threads;
  parts::device_limits limits;
  cudaError_t error = limits.ask();
  if (error != cudaSuccess) return error;
  int blocks = blocks_of_a_row(limits, num_rows, 2, task.num_columns / least_columns, at_once);
  if (blocks > cluster::parts::portable_cluster_blocks)
    error = cluster::parts::fit_cluster(kernel, block_threads, blocks);
  if (error != cudaSuccess) return error;
  task.num_blocks = static_cast<unsigned>(blocks);
  if (blocks == 1) return parts::launch(kernel, num_rows, block_threads, stream, task);
  return cluster::parts::launch_clusters(kernel, num_rows, {blocks, block_threads}, stream, task);
}

}  // namespace rungs::RUNGS_ABI::production
