// A cache of keys in fp8: every 128 neighbours of a key share a scale. Written once, read back at each step of a
// decoder for a quarter of the bytes of floats: here for the scores of one query.
#include <rungs/rows/low_precision.cuh>

#include <cmath>

#include "example.hpp"

constexpr int group = 128, head_columns = 256, block_threads = 128;
constexpr int groups = head_columns / group;

// The score of a key, by a warp: the products of a group are added up before its scale is applied.
__global__ void __launch_bounds__(block_threads)
    scores_of(const float* query, const __nv_fp8_e4m3* keys, const float* scales, float* scores, int num_keys) {
  const int key = static_cast<int>(blockIdx.x * (block_threads / 32) + threadIdx.x / 32), lane = threadIdx.x % 32;
  if (key >= num_keys) return;
  float score = 0;
  for (int g = 0; g < groups; ++g) {
    float of_group = 0;
    for (int column = g * group + lane; column < (g + 1) * group; column += 32)
      of_group += query[column] * static_cast<float>(keys[std::size_t(key) * head_columns + column]);
    score += scales[key * groups + g] * of_group;
  }
  for (int distance = 16; distance > 0; distance /= 2) score += __shfl_xor_sync(0xffffffff, score, distance);
  if (lane == 0) scores[key] = score;
}

int main() {
  const int num_keys = 5000;
  const std::size_t n = std::size_t{num_keys} * head_columns;
  const array<__nv_bfloat16> keys(n);
  const array<__nv_fp8_e4m3> codes(n);
  const array<float> scales(n / group), query(head_columns), scores(num_keys);
  for (std::size_t i = 0; i < n; ++i) keys[i] = __float2bfloat16(static_cast<float>(i * 7919 % 10007) / 1000 - 5);
  for (int i = 0; i < head_columns; ++i) query[i] = static_cast<float>(i * 31 % 67) / 33 - 1;

  using rungs::rows::matrix;
  check(rungs::low_precision::quantise_fp8(matrix{keys.data(), num_keys, head_columns},
                                           matrix{codes.data(), num_keys, head_columns}, scales.data()));
  scores_of<<<(num_keys + 3) / 4, block_threads>>>(query.data(), codes.data(), scales.data(), scores.data(), num_keys);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());

  // A code is off by half a step: 1/16 of its value where it is normal, 2^-10 of the scale where it is not.
  double worst_code = 0, worst_score = 0;
  for (int key = 0; key < num_keys; ++key) {
    double exact = 0, magnitudes = 0;
    for (int i = 0; i < head_columns; ++i) {
      const std::size_t at = std::size_t(key) * head_columns + i;
      const double value = __bfloat162float(keys[at]), scale = scales[at / group];
      const double bound = std::fmax(std::fabs(value) / 16, scale * 0x1p-10) * (1 + 1e-5);
      worst_code = std::fmax(worst_code, std::fabs(static_cast<float>(codes[at]) * scale - value) / bound);
      exact += query[i] * value;
      magnitudes += std::fabs(query[i] * value);
    }
    worst_score = std::fmax(worst_score, std::fabs(scores[key] - exact) / magnitudes);
  }
  std::printf("fp8 cache of %d keys, code error %.2f of its bound, score error up to %.1e: ", num_keys, worst_code,
              worst_score);
  return verdict(worst_code <= 1 && worst_score < 1.0 / 16);
}
