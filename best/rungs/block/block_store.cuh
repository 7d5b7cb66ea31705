// rungs::BlockStore: cub::BlockStore's calls, the reverse of BlockLoad's.
//
//   using store = rungs::BlockStore<int, 256, 4, rungs::BLOCK_STORE_WARP_TRANSPOSE>;
//   __shared__ store::TempStorage temp_storage;
//   store(temp_storage).Store(d_out + blockIdx.x * 1024, items, valid_items);
//
// The parameters, the storage and the barriers are as in block_load.cuh, and the algorithms are called
//   BLOCK_STORE_DIRECT         blocked: thread t stores items t * ItemsPerThread and following
//   BLOCK_STORE_STRIPED        its item i is item t + i * threads of the block
//   BLOCK_STORE_VECTORIZE      blocked, by stores of up to 16 bytes where the destination is a pointer to T that is
//                              aligned to them, and all items are valid; else direct
//   BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
//                              blocked: items change places in shared memory, and each warp stores neighbouring ones.
//                              These three are one algorithm.
#pragma once

#include "rungs/block/parts/arrangement.cuh"

namespace rungs::RUNGS_ABI {

enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int BlockDimX, int ItemsPerThread, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT,
          int BlockDimY = 1, int BlockDimZ = 1>
class BlockStore {
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;
  using arranged = device::arrangement<place, T, ItemsPerThread>;
  static constexpr bool is_striped = Algorithm == BLOCK_STORE_STRIPED;
  static constexpr bool exchanges = Algorithm >= BLOCK_STORE_TRANSPOSE;

 public:
  struct TempStorage {
    std::conditional_t<exchanges, device::exchanged<T, arranged::num_items, ItemsPerThread>, device::no_exchange> items;
  };

  __device__ BlockStore() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit BlockStore(TempStorage& temp_storage) : storage_(temp_storage) {}

  // The block's items to block_itr[0] to block_itr[threads * ItemsPerThread - 1].
  template <class OutputIteratorT>
  __device__ void Store(OutputIteratorT block_itr, const T (&items)[ItemsPerThread]) {
    if constexpr (Algorithm == BLOCK_STORE_VECTORIZE && arranged::has_vectors && std::is_same_v<OutputIteratorT, T*>) {
      using vector = typename arranged::vector;
      if (arranged::is_aligned(block_itr)) {
        vector* const to = reinterpret_cast<vector*>(block_itr + arranged::blocked(0));
#pragma unroll
        for (int i = 0; i < ItemsPerThread / arranged::items_per_vector; ++i) {
          vector stored;
#pragma unroll
          for (int j = 0; j < arranged::items_per_vector; ++j)
            stored.items[j] = items[i * arranged::items_per_vector + j];
          to[i] = stored;
        }
        return;
      }
    }
    store(block_itr, items, [](int) { return true; });
  }

  // Its first valid_items items, from none to all. Nothing is written behind them.
  template <class OutputIteratorT>
  __device__ void Store(OutputIteratorT block_itr, const T (&items)[ItemsPerThread], int valid_items) {
    store(block_itr, items, [valid_items](int i) { return i < valid_items; });
  }

 private:
  template <class OutputIteratorT, class IsValid>
  __device__ void store(OutputIteratorT to, const T (&items)[ItemsPerThread], IsValid is_valid) {
    if constexpr (exchanges) {
#pragma unroll
      for (int i = 0; i < ItemsPerThread; ++i) storage_.items[arranged::blocked(i)] = device::carried<T>(items[i]);
      __syncwarp(place::warp_lanes().mask);
    }
#pragma unroll
    for (int i = 0; i < ItemsPerThread; ++i) {
      const int at = exchanges ? arranged::warp_striped(i) : is_striped ? arranged::striped(i) : arranged::blocked(i);
      if (!is_valid(at)) continue;
      if constexpr (exchanges)
        to[at] = static_cast<T>(storage_.items[at]);
      else
        to[at] = items[i];
    }
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
