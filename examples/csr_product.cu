// A sparse matrix in CSR form times a vector: every row is a segment, and its items are products made while they are
// read. Rows may have any lengths, none at all included; one long row does not hold up the others.
#include <rungs/device/device_segmented_reduce.cuh>

#include <iterator>

#include "example.hpp"

// Item i is values[i] * x[columns[i]].
struct products {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = float;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = float;

  const float* values;
  const int* columns;
  const float* x;
  __host__ __device__ float operator[](std::ptrdiff_t i) const { return values[i] * x[columns[i]]; }
  __host__ __device__ products operator+(std::ptrdiff_t i) const { return {values + i, columns + i, x}; }
};

int main() {
  const int num_rows = 100'000, num_columns = 1000;
  const array<int> offsets(num_rows + 1);
  offsets[0] = 0;
  for (int row = 0; row < num_rows; ++row)
    offsets[row + 1] = offsets[row] + (row == 777 ? 1'000'000 : row % 3 == 0 ? 0 : row * 7919 % 21);
  const array<float> values(offsets[num_rows]), x(num_columns), y(num_rows);
  const array<int> columns(offsets[num_rows]);
  for (int i = 0; i < offsets[num_rows]; ++i) {
    values[i] = static_cast<float>(i % 5 - 2);
    columns[i] = static_cast<int>(i * 31ll % num_columns);
  }
  for (int column = 0; column < num_columns; ++column) x[column] = static_cast<float>(column % 7 - 3);

  rungs::workspace workspace;
  check(rungs::DeviceSegmentedReduce::Sum(workspace, products{values.data(), columns.data(), x.data()}, y.data(),
                                          num_rows, offsets.data(), offsets.data() + 1));
  check(cudaDeviceSynchronize());

  int num_wrong = 0;
  for (int row = 0; row < num_rows; ++row) {
    float expected = 0;  // exact: small whole numbers
    for (int i = offsets[row]; i < offsets[row + 1]; ++i) expected += values[i] * x[columns[i]];
    num_wrong += y[row] != expected;
  }
  std::printf("%d rows with %d items, the longest with 1,000,000: ", num_rows, offsets[num_rows]);
  return verdict(num_wrong == 0);
}
