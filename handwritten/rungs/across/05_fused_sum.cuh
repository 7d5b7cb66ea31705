// Rung 5. An array that lies on several GPUs becomes one item, by one launch on each.
// Against 02_one_shot: what is sent is not an array but the aggregate of the rank's own items, and the block that
// arrives last sends it. So no launch stands between the reduction of a GPU and the first hop, and no block but the
// last of a rank waits for another rank.
#pragma once

#include "rungs/across/02_one_shot.cuh"
#include "rungs/operators.cuh"
#include "rungs/parts/block.cuh"
#include "rungs/parts/plan.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::across {

template <class Tile, class Out, class ReductionOpT, class T>
__global__ void __launch_bounds__(Tile::block_threads, 2)
    fused_sum_kernel(const __grid_constant__ member me, typename Tile::iterator d_in, std::size_t num_items, Out* d_out,
                     ReductionOpT reduction_op, T init) {
  __shared__ parts::word drawn;
  T* const aggregates = reinterpret_cast<T*>(me.windows[me.rank] + parts::aggregates_at());
  T value = ReductionOpT::template identity<T>();
  value = Tile::reduce(d_in, num_items, blockIdx.x, gridDim.x, value, reduction_op);
  value = rungs::parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x == 0) {
    aggregates[blockIdx.x] = value;
    __threadfence();  // the aggregate before the arrival
    drawn = atomicAdd(reinterpret_cast<parts::word*>(me.windows[me.rank]), parts::word{1});
    __threadfence();  // the arrival before the others' aggregates
  }
  __syncthreads();
  if ((drawn & ((1 << parts::block_bits) - 1)) != gridDim.x - 1) return;

  value = ReductionOpT::template identity<T>();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += Tile::block_threads)
    value = reduction_op(value, aggregates[block]);
  value = rungs::parts::block_reduce<Tile::block_threads>(value, reduction_op);
  if (threadIdx.x >= rungs::parts::warp_threads) return;
  value = __shfl_sync(rungs::parts::full_mask, value, 0);
  if (threadIdx.x < static_cast<unsigned>(me.num_ranks))
    value = parts::exchange(me, value, 0, drawn >> parts::block_bits);
  T total = init;
  for (int r = 0; r < me.num_ranks; ++r) total = reduction_op(total, __shfl_sync(rungs::parts::full_mask, value, r));
  if (threadIdx.x != 0) return;
  *d_out = static_cast<Out>(total);
  atomicAdd(reinterpret_cast<parts::word*>(me.windows[me.rank]), (parts::word{1} << parts::block_bits) - gridDim.x);
}

struct fused_sum {
  static constexpr auto idea = "the last block of each GPU sends its aggregate: one launch a GPU";
  static constexpr auto against = "one_shot", gains = "no launch between a GPU's own items and the hop";
  static constexpr auto costs = "one item, not an array";
  static constexpr int block_threads = 256, vectors_per_thread = 4, blocks_per_multiprocessor = 4;
  static constexpr bool deterministic = true, fixed_rank_order = true;

  // Reduces all items of all ranks to *d_out, on every rank: init, and then the ranks in their order. Of each rank
  // num_items items at d_in, of which there may be none; the ranks' counts and pointers are their own, reduction_op and
  // init are the same. Items are folded as T, a type of up to eight bytes, so floats have the error of a tree over the
  // items of a rank, and of num_ranks additions more. The operator names its identity (rungs/operators.cuh). The same
  // bits on every rank, and in every run on GPUs of as many multiprocessors.
  //
  // Calls, streams and errors as of gather_to_one::all_reduce; one block of each rank waits.
  template <class Item, class Out, class ReductionOpT, class T>
  static cudaError_t reduce(const member& member, const Item* d_in, Out* d_out, std::size_t num_items,
                            ReductionOpT reduction_op, T init, cudaStream_t stream = nullptr) {
    static_assert(has_identity<ReductionOpT, T>, "the operator has to name an identity of the type of init");
    static_assert(sizeof(T) <= parts::aggregate_bytes);
    std::size_t grid_blocks = 0;
    cudaError_t error = member.check();
    if (error == cudaSuccess)
      error = rungs::parts::plan_grid<block_threads, vectors_per_thread>(d_in, num_items, blocks_per_multiprocessor,
                                                                         grid_blocks);
    if (error != cudaSuccess) return error;
    grid_blocks = rungs::parts::at_most(grid_blocks, most_blocks);
    return rungs::parts::with_tile_reader<block_threads, vectors_per_thread>(d_in, [&](auto tile) {
      return rungs::parts::launch(fused_sum_kernel<typename decltype(tile)::named, Out, ReductionOpT, T>, grid_blocks,
                                  block_threads, stream, member, d_in, num_items, d_out, reduction_op, init);
    });
  }

  // The sum, folded in the type of the output, or in float where that is a half.
  template <class Item, class Out>
  static cudaError_t sum(const member& member, const Item* d_in, Out* d_out, std::size_t num_items,
                         cudaStream_t stream = nullptr) {
    return reduce(member, d_in, d_out, num_items, plus{}, parts::accumulator_of<Out>{}, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::across
