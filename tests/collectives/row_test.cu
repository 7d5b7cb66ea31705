// rungs::rows::row_collective against sums in double precision: one lane a row to 32 warps a row, rows shorter than
// their threads, masks, infinities, NaN, and that all threads of a row get the same bits. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/rows/row_collective.cuh>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "front_door/stage.cuh"
#include "on_a_gpu.hpp"

namespace rungs::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

struct result {
  float sum, maximum, log_sum_exp, share, log_sum_exp_at_once, count, mean, variance, mean_at_once, variance_at_once;
};

// Every thread of a row that exists writes what it was told. The rows of the last block may not exist.
template <int row_threads, int block_threads>
__global__ void tell_all(const float* in, result* out, int num_rows, int num_columns) {
  using collective = rows::row_collective<row_threads, block_threads>;
  __shared__ typename collective::TempStorage storage[6];
  const int row = blockIdx.x * collective::block_rows + collective::row_of_block(), thread = collective::thread();
  const float* const items = in + std::size_t(row) * num_columns;
  const bool exists = row < num_rows;

  float sum = 0, greatest = -INFINITY;
  rows::log_sum exponentials, exponentials_at_once;
  rows::moments moments, moments_at_once;
  constexpr int at_once = 3;
  for (int first = exists ? thread * at_once : num_columns; first < num_columns; first += row_threads * at_once) {
    float several[at_once];
    const int num = min(at_once, num_columns - first);
    for (int i = 0; i < num; ++i) {
      const float item = several[i] = items[first + i];
      sum += item;
      greatest = fmaxf(greatest, item);
      exponentials.add(item);
      moments.add(item);
    }
    if (num == at_once) {
      exponentials_at_once.add(several);
      moments_at_once.add(several);
    }
    for (int i = 0; num < at_once && i < num; ++i) {
      exponentials_at_once.add(several[i]);
      moments_at_once.add(several[i]);
    }
  }
  result told;
  told.sum = collective(storage[0]).sum(sum);
  told.maximum = collective(storage[1]).maximum(greatest);
  exponentials = collective(storage[2]).merge(exponentials);
  told.log_sum_exp = exponentials.log_sum_exp();
  told.share = exists ? exponentials.softmax(items[num_columns / 2]) : 0;
  told.log_sum_exp_at_once = collective(storage[3]).merge(exponentials_at_once).log_sum_exp();
  moments = collective(storage[4]).merge(moments);
  told.count = moments.count;
  told.mean = moments.mean;
  told.variance = moments.variance();
  moments_at_once = collective(storage[5]).merge(moments_at_once);
  told.mean_at_once = moments_at_once.mean;
  told.variance_at_once = moments_at_once.variance();
  if (exists) out[std::size_t(row) * row_threads + thread] = told;
}

// Rows of different kinds, in turn.
std::vector<float> rows_of(int num_rows, int num_columns) {
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> items;
  for (int row = 0; row < num_rows; ++row)
    for (int column = 0; column < num_columns; ++column) {
      const float x = normal(engine);
      const bool is_masked = column != num_columns / 2 && column % 3 != 0, is_special = column == num_columns / 2;
      const float kinds[] = {x,
                             1000 + 100 * x,             // exponentials overflow without the maximum
                             -1000 + 100 * x,            // and vanish
                             4096 + x / 8,               // E[x²] - mean² has no correct digit
                             is_masked ? -infinity : x,  //
                             -infinity,                  // nothing but masks
                             is_special ? infinity : x,  //
                             is_special ? nan : x};
      items.push_back(kinds[row % 8]);
    }
  return items;
}

void expect_near(float found, double expected, double tolerance, const std::string& what) {
  if (std::isnan(expected) || std::isinf(expected))
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected)
        << what << " " << found << " " << expected;
  else
    EXPECT_NEAR(found, expected, tolerance) << what;
}

template <int row_threads, int block_threads>
void check(int num_columns) {
  constexpr int num_rows = 8 * (block_threads / row_threads) + 5;  // the last block is not full
  const std::vector<float> items = rows_of(num_rows, num_columns);
  const device_array<float> in(items);
  const device_array<result> out(std::size_t{num_rows} * row_threads);
  const int num_blocks = (num_rows * row_threads + block_threads - 1) / block_threads;
  tell_all<row_threads, block_threads><<<num_blocks, block_threads>>>(in.read(), out.get(), num_rows, num_columns);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<result> results = copied_back(out);

  for (int row = 0; row < num_rows; ++row) {
    const std::string place = std::to_string(row_threads) + " of " + std::to_string(block_threads) + " threads, row " +
                              std::to_string(row) + " of " + std::to_string(num_columns) + " columns: ";
    const float* const x = &items[std::size_t(row) * num_columns];
    double sum = 0, magnitudes = 0, greatest = -infinity, exponentials = 0, squares = 0;
    for (int i = 0; i < num_columns; ++i) {
      sum += x[i];
      magnitudes += std::fabs(x[i]);
      greatest = std::fmax(greatest, double(x[i]));
    }
    const double base = std::isinf(greatest) ? 0 : greatest;
    for (int i = 0; i < num_columns; ++i) {
      exponentials += std::exp(x[i] - base);
      squares += (x[i] - sum / num_columns) * (x[i] - sum / num_columns);
    }
    const double variance = squares / num_columns, log_sum_exp = base + std::log(exponentials);
    const double share = std::exp(x[num_columns / 2] - base) / exponentials;
    // Rounding: a few units of the last place of the magnitudes, per item of a thread and per merge.
    const double unit = 0x1p-24, depth = num_columns / row_threads + 16.0;
    const double of_mean = depth * unit * magnitudes / num_columns;
    const double of_variance = 4 * depth * unit * (variance + std::sqrt(variance) * of_mean) + of_mean * of_mean +
                               2 * std::sqrt(variance) * of_mean;
    const result& told = results[std::size_t(row) * row_threads];
    const bool finite = std::isfinite(sum);
    expect_near(told.sum, sum, depth * unit * magnitudes, place + "sum");
    expect_near(told.maximum, greatest, 0, place + "maximum");
    const double of_log = 4 * depth * unit + 4 * unit * std::fabs(base);
    expect_near(told.log_sum_exp, log_sum_exp, of_log, place + "log-sum-exp");
    expect_near(told.log_sum_exp_at_once, log_sum_exp, of_log, place + "log-sum-exp, several at once");
    expect_near(told.share, greatest == infinity ? nan : share, 4 * depth * unit * share + 1e-30, place + "share");
    EXPECT_EQ(told.count, num_columns) << place;
    if (finite) {
      expect_near(told.mean, sum / num_columns, of_mean, place + "mean");
      expect_near(told.mean_at_once, sum / num_columns, of_mean, place + "mean, several at once");
      expect_near(told.variance, variance, of_variance, place + "variance");
      expect_near(told.variance_at_once, variance, of_variance, place + "variance, several at once");
    } else {
      EXPECT_TRUE(std::isnan(told.variance) && std::isnan(told.variance_at_once)) << place;
    }
    for (int thread = 1; thread < row_threads; ++thread)
      ASSERT_EQ(std::memcmp(&told, &told + thread, sizeof(told)), 0) << place << "thread " << thread;
  }
}

template <int row_threads, int block_threads>
void check_lengths() {
  for (const int num_columns : {1, 2, 31, 33, 1000, 4097}) check<row_threads, block_threads>(num_columns);
}

TEST(RowCollective, TellsEveryThreadOfARow) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  check_lengths<1, 32>();
  check_lengths<4, 96>();
  check_lengths<32, 32>();
  check_lengths<32, 256>();
  check_lengths<64, 192>();
  check_lengths<256, 256>();
  check_lengths<512, 1024>();
  check_lengths<1024, 1024>();
}

}  // namespace
}  // namespace rungs::tests
