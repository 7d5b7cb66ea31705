// RMSNorm of a product that no one else needs, silu(gate) * up: a warp a row computes it, asks for the sum of squares
// and writes. The product is never stored.
#include <rungs/rows/row_collective.cuh>

#include <cmath>

#include "example.hpp"

constexpr int row_threads = 32, block_threads = 256, items_per_thread = 16,
              most_columns = row_threads * items_per_thread;
using row_collective = rungs::rows::row_collective<row_threads, block_threads>;

__global__ void __launch_bounds__(block_threads)
    gated_norm(const float* gate, const float* up, float* out, int num_rows, int num_columns) {
  __shared__ row_collective::TempStorage temp_storage;
  const std::size_t row = std::size_t(blockIdx.x) * row_collective::block_rows + row_collective::row_of_block();
  const std::size_t first = row * num_columns;
  // Threads without a row take part in the collective, too.
  const auto exists = [&](int column) { return row < num_rows && column < num_columns; };

  float items[items_per_thread], squares = 0;
  for (int i = 0; i < items_per_thread; ++i) {
    const int column = i * row_threads + static_cast<int>(row_collective::thread());
    const float x = exists(column) ? gate[first + column] : 0;
    items[i] = exists(column) ? x / (1 + expf(-x)) * up[first + column] : 0;
    squares += items[i] * items[i];
  }
  const float scale = rsqrtf(row_collective(temp_storage).sum(squares) / static_cast<float>(num_columns) + 1e-5f);
  for (int i = 0; i < items_per_thread; ++i) {
    const int column = i * row_threads + static_cast<int>(row_collective::thread());
    if (exists(column)) out[first + column] = items[i] * scale;
  }
}

int main() {
  const int num_rows = 1001, num_columns = 500;
  static_assert(num_columns <= most_columns);
  const std::size_t n = std::size_t{num_rows} * num_columns;
  const array<float> gate(n), up(n), out(n);
  for (std::size_t i = 0; i < n; ++i) {
    gate[i] = static_cast<float>(i * 7919 % 10007) / 1000 - 5;
    up[i] = static_cast<float>(i * 104729 % 9973) / 1000 - 5;
  }

  const int num_blocks = (num_rows + row_collective::block_rows - 1) / row_collective::block_rows;
  gated_norm<<<num_blocks, block_threads>>>(gate.data(), up.data(), out.data(), num_rows, num_columns);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());

  double worst = 0;  // error, relative to the root of the mean square, which is 1
  for (int row = 0; row < num_rows; ++row) {
    const std::size_t first = std::size_t(row) * num_columns;
    const auto product = [&](int i) {
      return gate[first + i] / (1 + std::exp(-double(gate[first + i]))) * up[first + i];
    };
    double squares = 0;
    for (int i = 0; i < num_columns; ++i) squares += product(i) * product(i);
    const double scale = 1 / std::sqrt(squares / num_columns + 1e-5);
    for (int i = 0; i < num_columns; ++i) worst = std::fmax(worst, std::fabs(out[first + i] - product(i) * scale));
  }
  std::printf("gated RMSNorm of %d rows, error up to %.1e: ", num_rows, worst);
  return verdict(worst < 1e-4);
}
