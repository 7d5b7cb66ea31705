// rungs::BlockLoad: cub::BlockLoad's calls.
//
//   using load = rungs::BlockLoad<int, 256, 4, rungs::BLOCK_LOAD_WARP_TRANSPOSE>;
//   __shared__ load::TempStorage temp_storage;
//   int items[4];
//   load(temp_storage).Load(d_in + blockIdx.x * 1024, items, valid_items, 0);
//
// T                   any type that CUB takes.
// BlockDimX, Y, Z     the block's dimensions, 1 to 1024 threads; no multiple of 32 is needed.
// ItemsPerThread      how many items each thread gets.
// BlockLoadAlgorithm  how they are read, and who gets which:
//   BLOCK_LOAD_DIRECT          blocked: thread t gets items t * ItemsPerThread and following
//   BLOCK_LOAD_STRIPED         its item i is item t + i * threads of the block
//   BLOCK_LOAD_VECTORIZE       blocked, by loads of up to 16 bytes where all items are valid and the source is a
//                              pointer to T that is aligned to them; else direct
//   BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
//                              blocked: each warp reads neighbouring items, which then change places in shared memory.
//                              These three are one algorithm.
// TempStorage         shared memory: where items change places one T an item, and where ItemsPerThread is a power of
//                     two above 4, one more for 32 items; else none. Without one the collective brings its own, one for
//                     each type.
//
// All threads of the block make a call. None waits at the block's barrier: warps exchange items among themselves.
// Before the storage is used again, by a second call or for something else, they have to meet at __syncthreads().
#pragma once

#include "rungs/block/parts/arrangement.cuh"

namespace rungs::RUNGS_ABI {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};

template <class T, int BlockDimX, int ItemsPerThread, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT,
          int BlockDimY = 1, int BlockDimZ = 1>
class BlockLoad {
  using place = device::place_in_block<BlockDimX, BlockDimY, BlockDimZ>;
  using arranged = device::arrangement<place, T, ItemsPerThread>;
  static constexpr bool is_striped = Algorithm == BLOCK_LOAD_STRIPED;
  static constexpr bool exchanges = Algorithm >= BLOCK_LOAD_TRANSPOSE;

 public:
  struct TempStorage {
    std::conditional_t<exchanges, device::exchanged<T, arranged::num_items, ItemsPerThread>, device::no_exchange> items;
  };

  __device__ BlockLoad() : storage_(device::own_storage<TempStorage>()) {}
  __device__ explicit BlockLoad(TempStorage& temp_storage) : storage_(temp_storage) {}

  // The block's items block_src_it[0] to block_src_it[threads * ItemsPerThread - 1].
  template <class RandomAccessIterator>
  __device__ void Load(RandomAccessIterator block_src_it, T (&dst_items)[ItemsPerThread]) {
    if constexpr (Algorithm == BLOCK_LOAD_VECTORIZE && arranged::has_vectors &&
                  (std::is_same_v<RandomAccessIterator, T*> || std::is_same_v<RandomAccessIterator, const T*>)) {
      using vector = typename arranged::vector;
      if (arranged::is_aligned(block_src_it)) {
        const vector* const from = reinterpret_cast<const vector*>(block_src_it + arranged::blocked(0));
#pragma unroll
        for (int i = 0; i < ItemsPerThread / arranged::items_per_vector; ++i) {
          const vector loaded = from[i];
#pragma unroll
          for (int j = 0; j < arranged::items_per_vector; ++j)
            dst_items[i * arranged::items_per_vector + j] = loaded.items[j];
        }
        return;
      }
    }
    load(
        block_src_it, dst_items, [](int) { return true; }, [](T&) {});
  }

  // Its first block_items_end items, from none to all. The others stay as they were, or become oob_default.
  template <class RandomAccessIterator>
  __device__ void Load(RandomAccessIterator block_src_it, T (&dst_items)[ItemsPerThread], int block_items_end) {
    load(
        block_src_it, dst_items, [block_items_end](int i) { return i < block_items_end; }, [](T&) {});
  }
  template <class RandomAccessIterator, class DefaultT>
  __device__ void Load(RandomAccessIterator block_src_it, T (&dst_items)[ItemsPerThread], int block_items_end,
                       DefaultT oob_default) {
    load(
        block_src_it, dst_items, [block_items_end](int i) { return i < block_items_end; },
        [&oob_default](T& item) { item = static_cast<T>(oob_default); });
  }

 private:
  template <class RandomAccessIterator, class IsValid, class Default>
  __device__ void load(RandomAccessIterator from, T (&items)[ItemsPerThread], IsValid is_valid, Default set_default) {
    if constexpr (exchanges) {
#pragma unroll
      for (int i = 0; i < ItemsPerThread; ++i) {
        const int at = arranged::warp_striped(i);
        if (is_valid(at)) storage_.items[at] = device::carried<T>(static_cast<T>(from[at]));
      }
      __syncwarp(place::warp_lanes().mask);
    }
#pragma unroll
    for (int i = 0; i < ItemsPerThread; ++i) {
      const int at = is_striped ? arranged::striped(i) : arranged::blocked(i);
      if (!is_valid(at))
        set_default(items[i]);
      else if constexpr (exchanges)
        items[i] = static_cast<T>(storage_.items[at]);
      else
        items[i] = static_cast<T>(from[at]);
    }
  }

  TempStorage& storage_;
};

}  // namespace rungs::RUNGS_ABI
