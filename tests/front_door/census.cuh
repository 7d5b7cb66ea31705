// Calls as libraries make them, with their iterators, operators, types and counts: of columns with missing values
// (cudf), of embedding tables (FBGEMM), of matrices and clusterings (raft). Included by a file for each library, which
// names it DOOR and what they are to be called CENSUS.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>

#include <cuda/functional>
#if __has_include(<cuda/iterator>)
#include <cuda/iterator>
#endif
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

namespace device = DOOR;

// ---- columns: items with a bit each that says whether they are there

// A number of 128 bits with a scale, which numbers that are added up share. No byte of it is padding.
struct decimal {
  __int128 value;
  std::int64_t precision, scale;
};
struct decimal_sum {
  __host__ __device__ decimal operator()(const decimal& a, const decimal& b) const {
    return {a.value + b.value, a.precision, a.scale};
  }
};
struct decimal_least {
  __host__ __device__ decimal operator()(const decimal& a, const decimal& b) const { return b.value < a.value ? b : a; }
};
struct numbered_decimal {
  const int* items;
  __host__ __device__ decimal operator()(int i) const { return {(static_cast<__int128>(items[i]) << 65) + i, 38, -2}; }
};

struct column {
  const int* items;
  const unsigned* bits;
  __host__ __device__ bool is_there(int i) const { return bits[i / 32] >> i % 32 & 1u; }
};
struct item_or {
  column of;
  int otherwise;
  __host__ __device__ int operator()(int i) const { return of.is_there(i) ? of.items[i] : otherwise; }
};
struct is_there {
  column of;
  __host__ __device__ bool operator()(int i) const { return of.is_there(i); }
};
// An item and whether it is there; the sum and how many are.
struct item_and_validity {
  column of;
  __host__ __device__ thrust::pair<long long, bool> operator()(int i) const { return {of.items[i], of.is_there(i)}; }
};
struct sum_of_valid {
  using pair = thrust::pair<long long, bool>;
  __host__ __device__ pair operator()(const pair& a, const pair& b) const {
    return {(a.second ? a.first : 0) + (b.second ? b.first : 0), a.second || b.second};
  }
};
struct sum_alone {
  __host__ __device__ long long operator()(const thrust::pair<long long, bool>& of) const { return of.first; }
};
struct moments_of {
  __host__ __device__ thrust::tuple<int, double, double> operator()(int item) const {
    return {1, double(item), double(item) * item};
  }
};
struct add_moments {
  using moments = thrust::tuple<int, double, double>;
  __host__ __device__ moments operator()(const moments& a, const moments& b) const {
    return {thrust::get<0>(a) + thrust::get<0>(b), thrust::get<1>(a) + thrust::get<1>(b),
            thrust::get<2>(a) + thrust::get<2>(b)};
  }
};
struct second_moment {
  __host__ __device__ double operator()(const thrust::tuple<int, double, double>& of) const {
    return thrust::get<2>(of);
  }
};
// The length of a string, from its offsets; and the last of a call, which goes elsewhere, too.
struct length_of {
  const int* offsets;
  __host__ __device__ int operator()(int i) const { return offsets[i + 1] - offsets[i]; }
};
struct put_offset {
  int* offsets;
  std::int64_t* total;
  int last;
  __device__ void operator()(std::ptrdiff_t i, std::int64_t offset) const {
    offsets[i] = static_cast<int>(offset);
    if (i == last) *total = offset;
  }
};
// An iterator of the program's own, which names no type of its items.
struct offsets_and_total {
  using iterator_category = std::random_access_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = void;
  using pointer = void;
  struct reference {
    put_offset put;
    std::ptrdiff_t at;
    __device__ const reference& operator=(std::int64_t offset) const {
      put(at, offset);
      return *this;
    }
  };
  put_offset put;
  std::ptrdiff_t at;
  __host__ __device__ offsets_and_total operator+(std::ptrdiff_t i) const { return {put, at + i}; }
  __host__ __device__ offsets_and_total& operator+=(std::ptrdiff_t i) {
    at += i;
    return *this;
  }
  __device__ reference operator*() const { return {put, at}; }
  __device__ reference operator[](std::ptrdiff_t i) const { return {put, at + i}; }
};
struct one {
  __host__ __device__ int operator()(int) const { return 1; }
};
struct group_of {
  int rows;
  __host__ __device__ int operator()(int i) const { return i / rows; }
};
struct rows_are_equal {
  const int* items;
  __host__ __device__ bool operator()(int a, int b) const { return items[a] / 300 == items[b] / 300; }
};
struct begin_of_group {
  int rows, num_items;
  __host__ __device__ int operator()(int group) const { return group * rows < num_items ? group * rows : num_items; }
};
struct second_is_there {
  column of;
  template <class Pair>
  __host__ __device__ bool operator()(const Pair& pair) const {
    return of.is_there(cuda::std::get<1>(pair));
  }
};
struct not_null_label {
  __host__ __device__ bool operator()(const thrust::tuple<int, int>& of) const { return thrust::get<1>(of) % 3 != 0; }
};

// ---- tables: rows that are looked up, by lists of indices

struct is_first_of_run {
  const std::int64_t* indices;
  __host__ __device__ int operator()(int i) const { return i == 0 || indices[i] != indices[i - 1]; }
};

// ---- matrices: rows, columns and nearest neighbours

template <class T>
struct strided {
  int stride, first;
  __host__ __device__ T operator()(T i) const { return i * stride + first; }
};
struct key_and_distance {
  const float* distances;
  int columns;
  __host__ __device__ device::KeyValuePair<int, float> operator()(int i) const { return {i % columns, distances[i]}; }
};
struct nearer {
  using pair = device::KeyValuePair<int, float>;
  __host__ __device__ pair operator()(const pair& a, const pair& b) const {
    return b.value < a.value || (b.value == a.value && b.key < a.key) ? b : a;
  }
};
struct squared {
  __host__ __device__ double operator()(float x) const { return double(x) * x; }
};

}  // namespace

std::vector<outcome> CENSUS(std::size_t num_items) {
  stage on;
  const int n = static_cast<int>(num_items), num_groups = n / 37 + 1;
  const auto n64 = static_cast<std::int64_t>(num_items);
  const device_array<int> d_ints(items<int>(num_items + 1));
  std::vector<unsigned> bits(num_items / 32 + 1);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<unsigned>(i) * 2654435761u ^ 0x5bd1e995u;
  const device_array<unsigned> d_bits(bits);
  const column column{d_ints.read(), d_bits.read()};
  const thrust::counting_iterator<int> rows(0);
  const auto transformed = [&](auto op) { return thrust::make_transform_iterator(rows, op); };
  const auto filled = transformed(item_or{column, 0});
  const auto decimals = transformed(numbered_decimal{d_ints.read()});
  const auto begins = transformed(begin_of_group{37, n});
  const auto groups = transformed(group_of{37});

  // ---- columns
  const device_array<decimal> d_decimals(num_items + 1);
  const device_array<int> d_out(3 * num_items + 8);
  const device_array<long long> d_wide(2 * num_items + 8);
  const device_array<double> d_doubles(num_items + 1);
  on.run("Sum of a column", d_wide, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., transformed(item_or{column, 0}), d_wide.get(), n);
  });
  on.run("Min of a column", d_out, [&](auto&... storage) {
    return device::DeviceReduce::Min(storage..., transformed(item_or{column, cuda::std::numeric_limits<int>::max()}),
                                     d_out.get(), n);
  });
  on.run("Reduce of items and validities", d_wide, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., transformed(item_and_validity{column}),
                                        thrust::make_transform_output_iterator(d_wide.get(), sum_alone{}), n,
                                        sum_of_valid{}, thrust::pair<long long, bool>(0, false));
  });
  on.run("Reduce of decimals", d_decimals, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., decimals, d_decimals.get(), n, decimal_sum{}, decimal{7, 38, -2});
  });
  on.run("Reduce of moments", d_doubles, [&](auto&... storage) {
    return device::DeviceReduce::TransformReduce(
        storage..., filled, thrust::make_transform_output_iterator(d_doubles.get(), second_moment{}), n64,
        add_moments{}, moments_of{}, thrust::tuple<int, double, double>(0, 0.0, 0.0));
  });
  on.run("InclusiveScan of decimals", d_decimals, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., decimals, d_decimals.get(), decimal_least{}, n);
  });
  on.run("InclusiveScan of a column, backwards", d_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., thrust::make_reverse_iterator(filled + n),
                                             thrust::make_reverse_iterator(d_out.get() + n), cuda::maximum<int>{}, n);
  });
  on.run("ExclusiveScan of lengths into offsets and a total", d_out, [&](auto&... storage) {
    const offsets_and_total to{{d_out.get(), reinterpret_cast<std::int64_t*>(d_wide.get()), n - 1}, 0};
    return device::DeviceScan::ExclusiveScan(storage..., transformed(length_of{d_ints.read()}), to, cuda::std::plus<>{},
                                             std::int64_t{0}, n);
  });
  on.run("Select If of rows", d_out, [&](auto&... storage) {
    return device::DeviceSelect::If(storage..., rows, d_out.get() + 1, d_out.get(), n, is_there{column});
  });
  on.run("Select Flagged by a transform", d_out, [&](auto&... storage) {
    return device::DeviceSelect::Flagged(storage..., d_ints.read(), transformed(is_there{column}), d_out.get() + 1,
                                         d_out.get(), n);
  });
  on.run("Select If of a zip, one half discarded", d_out, [&](auto&... storage) {
    return device::DeviceSelect::If(storage..., thrust::make_zip_iterator(d_ints.read(), groups),
                                    thrust::make_zip_iterator(d_out.get() + 1, thrust::make_discard_iterator()),
                                    d_out.get(), n, not_null_label{});
  });
  on.run("UniqueByKey of groups", d_out, [&](auto&... storage) {
    return device::DeviceSelect::UniqueByKey(storage..., groups, rows, thrust::make_discard_iterator(), d_out.get() + 1,
                                             d_out.get(), n);
  });
  on.run("Partition Flagged of rows", d_out, [&](auto&... storage) {
    return device::DevicePartition::Flagged(storage..., rows, transformed(is_there{column}), d_out.get() + 1,
                                            d_out.get(), n);
  });
  on.run("ReduceByKey, counts of groups", d_out, [&](auto&... storage) {
    return device::DeviceReduce::ReduceByKey(storage..., groups, thrust::make_discard_iterator(), transformed(one{}),
                                             d_out.get() + 1, d_out.get(), cuda::std::plus<>{}, n);
  });
  on.run("ReduceByKey, decimals of groups", d_decimals, [&](auto&... storage) {
    return device::DeviceReduce::ReduceByKey(storage..., groups, thrust::make_discard_iterator(), decimals,
                                             d_decimals.get(), d_out.get(), decimal_least{}, n);
  });
  on.run("InclusiveScanByKey of rows that compare equal", d_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScanByKey(storage..., rows, filled, d_out.get(), cuda::maximum<>{}, n,
                                                  rows_are_equal{d_ints.read()});
  });
  on.run("ExclusiveSumByKey of validities", d_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveSumByKey(storage..., groups, transformed(item_or{column, 1}), d_out.get(), n);
  });
  on.run("segmented Sum of a column", d_wide, [&](auto&... storage) {
    return device::DeviceSegmentedReduce::Sum(storage..., filled, d_wide.get(), num_groups, begins, begins + 1);
  });
  on.run("segmented Reduce of decimals", d_decimals, [&](auto&... storage) {
    return device::DeviceSegmentedReduce::Reduce(storage..., decimals, d_decimals.get(), num_groups, begins, begins + 1,
                                                 decimal_sum{}, decimal{1, 38, -2});
  });

  // ---- tables
  std::vector<std::int64_t> indices(num_items);
  for (std::size_t i = 0; i < num_items; ++i) indices[i] = static_cast<std::int64_t>(i / 3 + i / 7) << 33;
  const device_array<std::int64_t> d_indices(indices), d_unique(num_items + 1);
  on.run("InclusiveSum of counts of 64 bits", d_wide, [&](auto&... storage) {
    return device::DeviceScan::InclusiveSum(storage..., reinterpret_cast<const long long*>(d_indices.read()),
                                            d_wide.get() + 1, n64);
  });
  on.run("ExclusiveSum on another stream", d_wide, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveSum(storage..., transformed(is_first_of_run{d_indices.read()}), d_wide.get(),
                                            n64, cudaStreamPerThread);
  });
  on.run("Encode, unique indices", d_unique, [&](auto&... storage) {
    return device::DeviceRunLengthEncode::Encode(storage..., d_indices.read(), d_unique.get(), d_out.get() + 1,
                                                 d_out.get(), n);
  });
  on.run("Encode, lengths", d_out, [&](auto&... storage) {
    return device::DeviceRunLengthEncode::Encode(storage..., d_indices.read(), d_unique.get(), d_out.get() + 1,
                                                 d_out.get(), n);
  });
  on.run("Unique of indices", d_unique, [&](auto&... storage) {
    return device::DeviceSelect::Unique(storage..., d_indices.read(), d_unique.get(), d_out.get(), n);
  });
  on.run("Max of a list of lengths", d_out, [&](auto&... storage) {
    return device::DeviceReduce::Max(storage..., transformed(length_of{d_ints.read()}), d_out.get(), n);
  });

  // ---- matrices
  const int columns = 16, num_rows = n / columns;
  const device_array<float> d_floats(items<float>(num_items + 1)), d_few(num_items + 1);
  const device_array<device::KeyValuePair<int, float>> d_pairs(num_items + 1);
  const auto row_begins = thrust::make_transform_iterator(rows, strided<int>{columns, 0});
  const auto column_of_matrix = thrust::make_permutation_iterator(
      d_floats.read(), thrust::make_transform_iterator(rows, strided<int>{columns, 3}));
  on.run("segmented Reduce, nearest columns", d_pairs, [&](auto&... storage) {
    return device::DeviceSegmentedReduce::Reduce(
        storage..., transformed(key_and_distance{d_floats.read(), columns}), d_pairs.get(), num_rows + 1, row_begins,
        transformed(begin_of_group{columns, num_rows * columns}) + 1, nearer{}, nearer::pair{-1, 1e30f});
  });
  on.run("Reduce of pairs, the greatest", d_pairs, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., transformed(key_and_distance{d_floats.read(), n + 1}),
                                        d_pairs.get(), n, device::ArgMax{}, nearer::pair(-1, -1e30f));
  });
  on.run("Sum that is discarded", d_few, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., d_floats.read(), thrust::make_discard_iterator(), n);
  });
  on.run("Sum of a strided column", d_few, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., column_of_matrix, d_few.get(), num_rows);
  });
  on.run("TransformReduce, squared norm", d_doubles, [&](auto&... storage) {
    return device::DeviceReduce::TransformReduce(storage..., column_of_matrix, d_doubles.get(), num_rows,
                                                 cuda::std::plus<>{}, squared{}, 0.5);
  });
  on.run("ArgMin of floats: index", d_wide, [&](auto&... storage) {
    return device::DeviceReduce::ArgMin(storage..., d_floats.read(), d_few.get(), d_wide.get(), n64);
  });
  if (num_rows > 0)  // CUB 3.0.1 leaves open what the place of no item is
    on.run("ArgMax of a strided column: item", d_few, [&](auto&... storage) {
      return device::DeviceReduce::ArgMax(storage..., column_of_matrix, d_few.get(), d_wide.get(), num_rows);
    });
  on.run("HistogramEven of floats", d_out, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(storage..., d_floats.read(), d_out.get(), 65, -400.0f, 400.0f, n);
  });
  on.run("HistogramEven of labels, counts of 64 bits", d_wide, [&](auto&... storage) {
    return device::DeviceHistogram::HistogramEven(
        storage..., groups, reinterpret_cast<unsigned long long*>(d_wide.get()), num_groups + 1, 0, num_groups, n64);
  });
  on.run("ReduceByKey, sizes of clusters in floats", d_few, [&](auto&... storage) {
    return device::DeviceReduce::ReduceByKey(storage..., groups, d_out.get() + 1, d_floats.read(), d_few.get(),
                                             d_out.get(), cuda::std::plus<>{}, n);
  });

#if __has_include(<cuda/iterator>)  // from CCCL 3.1 on; the last of its iterators came with 3.2
  // ---- the iterators of libcu++, in the same calls
  const auto firsts = cuda::make_transform_iterator(cuda::counting_iterator<int>(0), item_or{column, 0});
  on.run("Sum of libcu++'s transform", d_wide,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., firsts, d_wide.get(), n); });
  on.run("Sum of libcu++'s strides", d_few, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., cuda::make_strided_iterator(d_floats.read(), columns), d_few.get(),
                                     num_rows);
  });
  on.run("InclusiveSum of a permutation into a transform", d_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveSum(storage..., cuda::make_permutation_iterator(d_ints.read(), groups),
                                            cuda::make_transform_output_iterator(d_out.get(), negate{}), n);
  });
  on.run("ExclusiveScan into libcu++'s tabulate", d_out, [&](auto&... storage) {
    const auto to = cuda::make_tabulate_output_iterator(
        put_offset{d_out.get(), reinterpret_cast<std::int64_t*>(d_wide.get()), n - 1});
    return device::DeviceScan::ExclusiveScan(storage..., firsts, to, cuda::std::plus<>{}, std::int64_t{5}, n);
  });
  on.run("ReduceByKey, keys discarded by libcu++", d_out, [&](auto&... storage) {
    return device::DeviceReduce::ReduceByKey(storage..., groups, cuda::make_discard_iterator(),
                                             cuda::make_constant_iterator(1), d_out.get() + 1, d_out.get(),
                                             cuda::std::plus<>{}, n);
  });
  on.run("Select If of libcu++'s zip", d_out, [&](auto&... storage) {
    return device::DeviceSelect::If(storage..., cuda::make_zip_iterator(d_ints.read(), cuda::counting_iterator<int>(0)),
                                    cuda::make_zip_iterator(d_out.get() + 1, d_out.get() + n + 1), d_out.get(), n,
                                    second_is_there{column});
  });
  const device_array<cuda::std::pair<int, float>> d_places(num_items + 1);
  if (num_rows > 0)
    on.run("ArgMin of each row, as pairs of libcu++", d_places, [&](auto&... storage) {
      return device::DeviceSegmentedReduce::ArgMin(storage..., d_floats.read(), d_places.get(), num_rows, columns);
    });
#endif
  return on.outcomes;
}

}  // namespace rungs::tests
