// Prefix sums of each row of a packed matrix: one scan of all items, in which a row's first item forgets what was
// before.
#include <rungs/device/device_scan.cuh>

#include "types.cuh"

namespace rungs_torch {
namespace {

template <class T>
using added_as = std::conditional_t<std::is_integral_v<T>, long long, std::conditional_t<sizeof(T) == 8, T, float>>;

template <class T>
struct sum_in_row {
  T sum;
  std::conditional_t<sizeof(T) == 8, long long, int> begins;  // whether it holds the first item of a row
};

struct add_in_row {
  template <class T, class Sum = decltype(T::sum)>
  static __host__ __device__ constexpr T identity() {
    return {rungs::plus::identity<Sum>(), 0};
  }
  template <class T>
  __host__ __device__ sum_in_row<T> operator()(const sum_in_row<T>& a, const sum_in_row<T>& b) const {
    return {b.begins ? b.sum : a.sum + b.sum, a.begins | b.begins};
  }
};

template <class T>
struct items_of_rows {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = sum_in_row<added_as<T>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  const T* d_in;
  std::size_t first, num_columns;

  template <class Offset>
  __device__ value_type operator[](Offset i) const {
    const std::size_t at = first + static_cast<std::size_t>(i);
    const bool is_short = (at | num_columns) >> 32 == 0;
    const std::size_t column =
        is_short ? static_cast<unsigned>(at) % static_cast<unsigned>(num_columns) : at % num_columns;
    return {static_cast<added_as<T>>(d_in[at]), column == 0};
  }
  template <class Offset>
  __device__ items_of_rows operator+(Offset i) const {
    return {d_in, first + static_cast<std::size_t>(i), num_columns};
  }
};

template <class T>
struct written_sums {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = sum_in_row<added_as<T>>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  struct reference {
    sum_of<T>* d_sum;
    __device__ void operator=(const value_type& value) const { *d_sum = static_cast<sum_of<T>>(value.sum); }
  };

  sum_of<T>* d_out;

  __device__ reference operator*() const { return {d_out}; }
  template <class Offset>
  __device__ reference operator[](Offset i) const {
    return {d_out + i};
  }
  template <class Offset>
  __device__ written_sums operator+(Offset i) const {
    return {d_out + i};
  }
};

}  // namespace
}  // namespace rungs_torch

using namespace rungs_torch;

int rungs_scan_rows(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in, void* d_out,
                    size_t num_rows, size_t num_columns, void* stream) {
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rungs::DeviceScan::InclusiveScan(
        d_temp_storage, *temp_storage_bytes, items_of_rows<T>{static_cast<const T*>(d_in), 0, num_columns},
        written_sums<T>{static_cast<sum_of<T>*>(d_out)}, add_in_row{}, num_rows * num_columns, stream_of(stream));
  });
}
