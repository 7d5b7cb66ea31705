// Each row of a packed matrix reduced to one item.
#include <rungs/device/device_segmented_reduce.cuh>

#include "types.cuh"

namespace rungs_torch {
namespace {

// Halves are compared as floats, so that NaN is found among them. The least item is found as the greatest of the
// reverse order, so that one kernel serves both.
template <class T>
using compared_as = std::conditional_t<std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, float, T>;

template <class T>
struct items_to_compare {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = compared_as<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  const T* d_in;
  bool reverses;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    const auto item = static_cast<value_type>(d_in[i]);
    if constexpr (std::is_integral_v<value_type>)
      return reverses ? ~item : item;
    else
      return reverses ? -item : item;
  }
  template <class Offset>
  __device__ items_to_compare operator+(Offset i) const {
    return {d_in + i, reverses};
  }
};

// Of pairs {key, value}, writes the keys alone.
template <class T>
struct written_indices {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = rungs::KeyValuePair<long long, compared_as<T>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  struct reference {
    long long* d_index;
    __device__ void operator=(const value_type& pair) const { *d_index = pair.key; }
  };

  long long* d_indices;

  template <class Offset>
  __device__ reference operator[](Offset i) const {
    return {d_indices + i};
  }
};

}  // namespace
}  // namespace rungs_torch

using namespace rungs_torch;

int rungs_reduce_rows(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                      void* d_out, size_t num_rows, size_t num_columns, void* stream) {
  using rungs::DeviceSegmentedReduce;
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const auto items = static_cast<const T*>(d_in);
    switch (operation) {
      case rungs_sum:
        return DeviceSegmentedReduce::Sum(d_temp_storage, *temp_storage_bytes, items, static_cast<sum_of<T>*>(d_out),
                                          num_rows, num_columns, stream_of(stream));
      case rungs_min:
        return DeviceSegmentedReduce::Min(d_temp_storage, *temp_storage_bytes, items, static_cast<T*>(d_out), num_rows,
                                          num_columns, stream_of(stream));
      case rungs_max:
        return DeviceSegmentedReduce::Max(d_temp_storage, *temp_storage_bytes, items, static_cast<T*>(d_out), num_rows,
                                          num_columns, stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}

int rungs_arg_reduce_rows(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                          long long* d_indices, size_t num_rows, size_t num_columns, void* stream) {
  using rungs::DeviceSegmentedReduce;
  if (operation != rungs_min && operation != rungs_max) return cudaErrorInvalidValue;
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const items_to_compare<T> items{static_cast<const T*>(d_in), operation == rungs_min};
    return DeviceSegmentedReduce::ArgMax(d_temp_storage, *temp_storage_bytes, items, written_indices<T>{d_indices},
                                         num_rows, num_columns, stream_of(stream));
  });
}
