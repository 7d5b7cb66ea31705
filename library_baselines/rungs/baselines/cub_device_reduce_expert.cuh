// CUB's device-wide reduction as an expert feeds it, so that a win over the naive call is not sold as a win over CUB.
//   32-bit counts   CUB's offset type follows the type of num_items: below 2^32 items 32-bit arithmetic does.
//   narrow types    CUB loads at most 4 items at once, and __half and __nv_bfloat16 one by one (they are not
//   "primitive"
//                   to it). Here its input is an iterator whose item is the aggregate of 16 bytes, loaded at once.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_reduce.cuh>

#include <cstdint>
#include <limits>

#include "rungs/baselines/parts/library_operator.cuh"
#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI::baselines {

// Item i of the iterator: the aggregate of 16-byte vector i, or, behind the vectors, a single item from the ends that
// fill no vector.
template <class InputT, class T, class LibraryOpT>
struct vector_aggregate {
  static constexpr unsigned vector_items = 16 / sizeof(InputT);
  struct alignas(16) vector {
    InputT items[vector_items];
  };
  const InputT* d_in;
  unsigned long long head, num_vectors;  // items before the first vector; vectors

  __device__ T operator()(unsigned long long i) const {
    if (i < num_vectors) {
      const uint4 words = __ldg(reinterpret_cast<const uint4*>(d_in + head) + i);
      const vector loaded = reinterpret_cast<const vector&>(words);
      T aggregate = static_cast<T>(loaded.items[0]);
#pragma unroll
      for (unsigned k = 1; k < vector_items; ++k) aggregate = LibraryOpT{}(aggregate, static_cast<T>(loaded.items[k]));
      return aggregate;
    }
    const unsigned long long single = i - num_vectors;
    return static_cast<T>(d_in[single < head ? single : single + num_vectors * vector_items]);
  }
};

struct cub_device_reduce_expert {
  static constexpr auto idea = "cub::DeviceReduce::Reduce with a 32-bit count, narrow types fed as 16-byte vectors";
  static constexpr int block_threads = 256, items_per_thread = 16;
  static constexpr bool deterministic = false;  // as cub_device_reduce: the address decides who adds what
  static constexpr bool propagates_nan = false;

  // As cub_device_reduce, with up to 16 narrow items added up before CUB sees them.
  static constexpr std::size_t summation_height(std::size_t num_items) {
    const std::size_t chained = num_items / (5 * 128) + 272;
    return chained < num_items + 1 ? chained : num_items + 1;
  }

  template <class InputIteratorT, class OutputIteratorT, class ReductionOpT, class T>
  static cudaError_t reduce(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                            OutputIteratorT d_out, std::size_t num_items, ReductionOpT reduction_op, T init,
                            cudaStream_t stream = nullptr) {
    using input = parts::value_of<InputIteratorT>;
    if constexpr (sizeof(input) < 4 && std::is_pointer_v<InputIteratorT>) {
      const auto library_op = parts::library_operator<ReductionOpT, T, T>(reduction_op);
      using aggregate = vector_aggregate<input, T, std::remove_const_t<decltype(library_op)>>;
      const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(d_in) % 16 / sizeof(input);
      const std::size_t before = misaligned == 0 ? 0 : aggregate::vector_items - misaligned;
      const std::size_t head = before < num_items ? before : num_items;
      const std::size_t num_vectors = (num_items - head) / aggregate::vector_items;
      const std::size_t num_aggregates = num_items - num_vectors * (aggregate::vector_items - 1);
      const auto vectors = [&](auto first) {
        return thrust::make_transform_iterator(thrust::make_counting_iterator(first),
                                               aggregate{d_in, head, num_vectors});
      };
      if (num_aggregates <= std::numeric_limits<unsigned>::max())
        return cub::DeviceReduce::Reduce(d_temp_storage, temp_storage_bytes, vectors(0u), d_out,
                                         static_cast<unsigned>(num_aggregates), library_op, init, stream);
      return cub::DeviceReduce::Reduce(d_temp_storage, temp_storage_bytes, vectors(0ull), d_out, num_aggregates,
                                       library_op, init, stream);
    } else {
      const auto library_op = parts::library_operator<ReductionOpT, input, T>(reduction_op);
      if (num_items <= std::numeric_limits<unsigned>::max())
        return cub::DeviceReduce::Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out,
                                         static_cast<unsigned>(num_items), library_op, init, stream);
      return cub::DeviceReduce::Reduce(d_temp_storage, temp_storage_bytes, d_in, d_out, num_items, library_op, init,
                                       stream);
    }
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
