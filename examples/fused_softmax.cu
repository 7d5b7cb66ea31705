// Softmax of the rows of a matrix in one kernel: a block reads its row once, keeps it in registers, asks twice what all
// of its threads have, and writes.
#include <rungs/block/block_reduce.cuh>

#include <cmath>

#include "example.hpp"

constexpr int block_threads = 256, items_per_thread = 8, most_columns = block_threads * items_per_thread;

__global__ void __launch_bounds__(block_threads) softmax(const float* in, float* out, int num_columns) {
  using reduction = rungs::BlockReduce<float, block_threads>;
  // One for each call: the second need not wait until all have read the first one's.
  __shared__ reduction::TempStorage of_greatest, of_sum;
  in += std::size_t(blockIdx.x) * num_columns;
  out += std::size_t(blockIdx.x) * num_columns;

  float items[items_per_thread];
  for (int i = 0; i < items_per_thread; ++i) {
    const int column = i * block_threads + static_cast<int>(threadIdx.x);
    items[i] = column < num_columns ? in[column] : -INFINITY;
  }
  const float greatest = reduction(of_greatest).AllReduce(items, rungs::maximum{});
  for (float& item : items) item = expf(item - greatest);  // 0 where there is no column
  const float sum = reduction(of_sum).AllSum(items);
  for (int i = 0; i < items_per_thread; ++i) {
    const int column = i * block_threads + static_cast<int>(threadIdx.x);
    if (column < num_columns) out[column] = items[i] / sum;
  }
}

int main() {
  const int num_rows = 1000, num_columns = 1777;
  static_assert(num_columns <= most_columns);
  const std::size_t n = std::size_t{num_rows} * num_columns;
  const array<float> in(n), out(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i * 7919 % 10007) / 500 - 10;

  softmax<<<num_rows, block_threads>>>(in.data(), out.data(), num_columns);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());

  double worst = 0;  // error, relative to what is expected
  for (int row = 0; row < num_rows; ++row) {
    const float *const items = &in[std::size_t(row) * num_columns], *const results =
                                                                        &out[std::size_t(row) * num_columns];
    double sum = 0;
    for (int i = 0; i < num_columns; ++i) sum += std::exp(double(items[i]));
    for (int i = 0; i < num_columns; ++i) {
      const double expected = std::exp(double(items[i])) / sum;
      worst = std::fmax(worst, std::fabs(results[i] - expected) / expected);
    }
  }
  std::printf("softmax of %d rows, relative error up to %.1e: ", num_rows, worst);
  return verdict(worst < 1e-5);
}
