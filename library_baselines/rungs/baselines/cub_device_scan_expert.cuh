// CUB's device-wide scan as an expert feeds it, so that a win over the naive call is not sold as a win over CUB.
//   32-bit counts   CUB's offset type follows the type of num_items: below 2^32 items 32-bit arithmetic does.
//   narrow types    CUB moves items one by one, 1 or 2 bytes a load. Here it scans the aggregates of vectors of four,
//                   read at once; its output iterator is given the prefix of a vector, reads the four again (from
//                   cache), and writes their results as 16 bytes.
//   wider types     stay with pointers. Vectors of those would have to stay in cache between their two reads, and tiles
//                   of 48 KB a block, in flight on a whole H200, are all of its L2. From CCCL 3.5 on and sm_100 up,
//                   pointers are also what lets CUB take its pipelined kernel.
// Considered and left: CacheModifiedInputIterator (CUB wraps pointers in one itself; LOAD_LDG is undefined in place),
// and a policy of one's own: CUB's for sums on sm_90 are the outcome of a search over threads, items and delays. What
// one could still choose is the kernel: cub_device_scan_lookahead.
#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "rungs/baselines/cub_device_scan.cuh"
#include "rungs/parts/launch.cuh"

namespace rungs::RUNGS_ABI::baselines {

// Vector i of the items. In place of a last one with holes, vector 0: a load without a branch, so that many are in
// flight.
template <class InputT>
struct vector_of_four {
  using word = std::conditional_t<sizeof(InputT) == 1, unsigned, uint2>;
  InputT items[4];

  static __device__ vector_of_four load(const InputT* d_in, std::size_t num_items, std::size_t i) {
    static_assert(sizeof(word) == 4 * sizeof(InputT), "for items of one and two bytes");
    const word loaded = __ldg(reinterpret_cast<const word*>(d_in) + (i < num_items / 4 ? i : 0));
    return reinterpret_cast<const vector_of_four&>(loaded);
  }
};

// What CUB reads: item i is the aggregate of vector i. That of a last vector with holes reaches no output.
template <class InputT, class T, class LibraryOpT>
struct aggregate_of_four {
  const InputT* d_in;
  std::size_t num_items;

  __device__ T operator()(std::size_t i) const {
    const auto loaded = vector_of_four<InputT>::load(d_in, num_items, i);
    T aggregate = static_cast<T>(loaded.items[0]);
#pragma unroll
    for (int k = 1; k < 4; ++k) aggregate = LibraryOpT{}(aggregate, static_cast<T>(loaded.items[k]));
    return aggregate;
  }
};

// What CUB writes to: assigning a prefix to position i writes the results of vector i.
template <bool inclusive, class InputT, class T, class LibraryOpT>
struct results_of_four {
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = results_of_four;
  using iterator_category = std::random_access_iterator_tag;
  struct alignas(4 * sizeof(T)) results {
    T items[4];
  };

  const InputT* d_in;
  T* d_out;
  std::size_t num_items, i;

  __host__ __device__ results_of_four operator+(std::size_t distance) const {
    return {d_in, d_out, num_items, i + distance};
  }
  __host__ __device__ results_of_four operator[](std::size_t distance) const { return *this + distance; }
  __host__ __device__ results_of_four operator*() const { return *this; }

  __device__ void operator=(T prefix) const {
    const auto next = [&](InputT item) {
      const T with_item = LibraryOpT{}(prefix, static_cast<T>(item));
      const T result = inclusive ? with_item : prefix;
      prefix = with_item;
      return result;
    };
    const auto loaded = vector_of_four<InputT>::load(d_in, num_items, i);
    if (i < num_items / 4) {
      results scanned;
#pragma unroll
      for (int k = 0; k < 4; ++k) scanned.items[k] = next(loaded.items[k]);
      reinterpret_cast<results*>(d_out)[i] = scanned;
    } else {
      for (std::size_t k = 4 * i; k < num_items; ++k) d_out[k] = next(d_in[k]);
    }
  }
};

struct cub_device_scan_expert {
  static constexpr auto idea = "cub::DeviceScan with a 32-bit count, narrow types fed and written as vectors of four";
  static constexpr int block_threads = cub_device_scan::block_threads;
  static constexpr int items_per_thread = cub_device_scan::items_per_thread;
  static constexpr bool deterministic = false;
  static constexpr bool propagates_nan = false;
  static constexpr progress forward_progress = cub_device_scan::forward_progress;
  static constexpr std::size_t summation_height(std::size_t num_items) {
    return cub_device_scan::summation_height(num_items) + 8;  // within vectors, twice
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT>
  static cudaError_t inclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    using input = parts::value_of<InputIteratorT>;
    const auto library_op = parts::library_operator<ScanOpT, input, input>(scan_op);
    return with_count(num_items, [&](auto count) {
      return cub::DeviceScan::InclusiveScan(d_temp_storage, temp_storage_bytes, d_in, d_out, library_op, count, stream);
    });
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t inclusive_scan_init(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                         OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                         cudaStream_t stream = nullptr) {
    if constexpr (narrow<InputIteratorT, OutputIteratorT, T>) {
      return in_vectors<true>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, init, num_items, stream);
    } else {
      const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
      return with_count(num_items, [&](auto count) {
        return cub::DeviceScan::InclusiveScanInit(d_temp_storage, temp_storage_bytes, d_in, d_out, library_op, init,
                                                  count, stream);
      });
    }
  }

  template <class InputIteratorT, class OutputIteratorT, class ScanOpT, class T>
  static cudaError_t exclusive_scan(void* d_temp_storage, std::size_t& temp_storage_bytes, InputIteratorT d_in,
                                    OutputIteratorT d_out, ScanOpT scan_op, T init, std::size_t num_items,
                                    cudaStream_t stream = nullptr) {
    if constexpr (narrow<InputIteratorT, OutputIteratorT, T>) {
      return in_vectors<false>(d_temp_storage, temp_storage_bytes, d_in, d_out, scan_op, init, num_items, stream);
    } else {
      const auto library_op = parts::library_operator<ScanOpT, parts::value_of<InputIteratorT>, T>(scan_op);
      return with_count(num_items, [&](auto count) {
        return cub::DeviceScan::ExclusiveScan(d_temp_storage, temp_storage_bytes, d_in, d_out, library_op, init, count,
                                              stream);
      });
    }
  }

 private:
  template <class InputIteratorT, class OutputIteratorT, class T>
  static constexpr bool narrow = std::is_pointer_v<InputIteratorT>&& std::is_same_v<OutputIteratorT, T*> &&
                                 sizeof(parts::value_of<InputIteratorT>) < 4 && sizeof(T) == 4;

  static constexpr std::size_t max_count = std::numeric_limits<std::uint32_t>::max();

  template <class Call>
  static cudaError_t with_count(std::size_t num_items, Call call) {
    return num_items <= max_count ? call(static_cast<std::uint32_t>(num_items)) : call(num_items);
  }

  // An exclusive scan of the vectors' aggregates, whichever scan of items it is.
  template <bool inclusive, class InputT, class ScanOpT, class T>
  static cudaError_t in_vectors(void* d_temp_storage, std::size_t& temp_storage_bytes, const InputT* d_in, T* d_out,
                                ScanOpT scan_op, T init, std::size_t num_items, cudaStream_t stream) {
    const auto by_items = [&](std::size_t& bytes) {
      if constexpr (inclusive)
        return cub_device_scan::inclusive_scan_init(d_temp_storage, bytes, d_in, d_out, scan_op, init, num_items,
                                                    stream);
      else
        return cub_device_scan::exclusive_scan(d_temp_storage, bytes, d_in, d_out, scan_op, init, num_items, stream);
    };
    const auto library_op = parts::library_operator<ScanOpT, T, T>(scan_op);
    using library_op_t = std::remove_const_t<decltype(library_op)>;
    const std::size_t num_vectors = rungs::parts::ceil_div(num_items, 4);
    const auto by_vectors = [&](std::size_t& bytes) {
      const auto aggregates = thrust::make_transform_iterator(
          thrust::make_counting_iterator(0u), aggregate_of_four<InputT, T, library_op_t>{d_in, num_items});
      const results_of_four<inclusive, InputT, T, library_op_t> results{d_in, d_out, num_items, 0};
      return cub::DeviceScan::ExclusiveScan(d_temp_storage, bytes, aggregates, results, library_op, init,
                                            static_cast<std::uint32_t>(num_vectors), stream);
    };
    if (num_items < 4 || num_vectors > max_count) return by_items(temp_storage_bytes);
    if (d_temp_storage == nullptr) {  // enough for either: the addresses may be others by then
      std::size_t vectors_bytes = 0;
      if (const cudaError_t error = by_items(temp_storage_bytes)) return error;
      if (const cudaError_t error = by_vectors(vectors_bytes)) return error;
      if (temp_storage_bytes < vectors_bytes) temp_storage_bytes = vectors_bytes;
      return cudaSuccess;
    }
    const bool aligned = reinterpret_cast<std::uintptr_t>(d_in) % (4 * sizeof(InputT)) == 0 &&
                         reinterpret_cast<std::uintptr_t>(d_out) % (4 * sizeof(T)) == 0;
    return aligned ? by_vectors(temp_storage_bytes) : by_items(temp_storage_bytes);
  }
};

}  // namespace rungs::RUNGS_ABI::baselines
