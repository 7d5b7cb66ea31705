// rungs::rows::route against double precision on the host: the experts exactly, the weights within their bound.
#include <rungs/rows/routing.cuh>

#include "top_k/support.hpp"

namespace rungs::tests {
namespace {

using rows::matrix;
using rows::routing;
using rows::routing_score;

struct routing_case {
  std::size_t num_tokens, num_experts, k;
  std::size_t gap = 0;  // items behind each row
  routing how;
  bool has_bias = false;
};

std::string name_of(const routing_case& of) {
  return std::to_string(of.num_tokens) + " x " + std::to_string(of.num_experts) + ", k " + std::to_string(of.k) +
         (of.how.score == routing_score::softmax ? ", softmax" : ", sigmoid") +
         (of.how.scored_before ? " before" : " after") + (of.how.renormalised ? ", renormalised" : "") +
         (of.has_bias ? ", bias" : "");
}

// What the choice compares, in double precision and, where bias and logit are added in float, as the call does.
template <class T>
std::vector<double> preferences(const std::vector<T>& logits, std::size_t first, const routing_case& of,
                                const std::vector<float>& bias, double sum) {
  std::vector<double> all(of.num_experts);
  for (std::size_t e = 0; e < of.num_experts; ++e) {
    const float logit = static_cast<float>(logits[first + e]);
    if (!of.has_bias)
      all[e] = logit;
    else if (!of.how.scored_before)
      all[e] = logit + bias[e];
    else if (of.how.score == routing_score::softmax)
      all[e] = std::exp(double(logit)) / sum + bias[e];
    else
      all[e] = 1 / (1 + std::exp(-double(logit))) + bias[e];
  }
  return all;
}

template <class T>
struct Routing : OnAGpu {
  static void expect_right(const routing_case& of, keys_are kind, const std::vector<T>& logits) {
    SCOPED_TRACE(name_of(of) + ", " + name_of(kind));
    const std::size_t stride = of.num_experts + of.gap;
    // Scores are rounded. So random ones get biases that are far apart, 7 being prime to 1,024. Of few different scores
    // the sums with multiples of 1/8 are equal or far apart.
    std::vector<float> bias(of.num_experts);
    for (std::size_t e = 0; e < of.num_experts; ++e)
      bias[e] = of.how.scored_before && kind == keys_are::random ? 4 * static_cast<float>(e * 7 % 1024)
                                                                 : static_cast<float>(e * 7 % 16) / 8;
    const guarded<T> in(logits, of.gap);
    const guarded<float> d_bias(bias), weights(of.num_tokens * of.k);
    const guarded<int> experts(of.num_tokens * of.k);
    routing how = of.how;
    if (of.has_bias) how.d_bias = d_bias.data();
    ASSERT_EQ(
        rows::route(matrix{in.data(), of.num_tokens, of.num_experts, stride},
                    matrix{weights.data(), of.num_tokens, of.k}, matrix{experts.data(), of.num_tokens, of.k}, how),
        cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<float> found_weights = weights.read();
    const std::vector<int> found = experts.read();
    double worst = 0;
    std::size_t wrong = 0;
    for (std::size_t row = 0; row < of.num_tokens; ++row) {
      const std::size_t first = row * stride;
      double sum = 0;
      for (std::size_t e = 0; e < of.num_experts; ++e) sum += std::exp(double(static_cast<float>(logits[first + e])));
      const auto compared = preferences(logits, first, of, bias, sum);
      const auto chosen = expected_indices(compared.data(), of.num_experts, of.k, true);
      double sum_of_chosen = 0, total = 0;
      std::vector<double> expected;
      for (const std::size_t e : chosen) sum_of_chosen += std::exp(double(static_cast<float>(logits[first + e])));
      for (const std::size_t e : chosen) {
        const double logit = static_cast<float>(logits[first + e]);
        expected.push_back(of.how.score == routing_score::sigmoid
                               ? 1 / (1 + std::exp(-logit))
                               : std::exp(logit) / (of.how.scored_before ? sum : sum_of_chosen));
        total += expected.back();
      }
      for (std::size_t i = 0; i < of.k; ++i) {
        wrong += found[row * of.k + i] != static_cast<int>(chosen[i]);
        const double right = of.how.renormalised ? expected[i] / total : expected[i];
        worst = std::max(worst, std::fabs(found_weights[row * of.k + i] - right) / right);
      }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_LE(worst, 0x1p-16);
  }
};

using logit_types = testing::Types<float, __nv_bfloat16>;
TYPED_TEST_SUITE(Routing, logit_types);

TYPED_TEST(Routing, AllWaysOfRouting) {
  for (const std::size_t num_experts : {1, 8, 31, 64, 65, 128, 256, 257, 896, 1024})
    for (const std::size_t k : {1, 2, 8, 32}) {
      if (k > num_experts) continue;
      const std::size_t num_tokens = 21, gap = k % 3;
      for (const keys_are kind : {keys_are::random, keys_are::few}) {
        const auto logits = make_keys<TypeParam>(kind, num_tokens * (num_experts + gap), 3);
        for (const routing_score score : {routing_score::softmax, routing_score::sigmoid})
          for (const bool before : {true, false})
            for (const bool renormalised : {true, false})
              for (const bool has_bias : {true, false})
                this->expect_right({num_tokens, num_experts, k, gap, {score, before, renormalised}, has_bias}, kind,
                                   logits);
      }
    }
}

struct RoutingCalls : OnAGpu {};

TEST_F(RoutingCalls, MaskedExpertsAndNumbersThatAreNone) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {-inf, 1, -inf, 0, -inf, -inf, -inf, -inf, 2, nan, 3, nan, -0.0f, 0, -1, 0};
  const guarded<float> in(logits), weights(4 * 3);
  const guarded<int> experts(4 * 3);
  ASSERT_EQ(rows::route(matrix{in.data(), 4, 4}, matrix{weights.data(), 4, 3}, matrix{experts.data(), 4, 3}),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto found = weights.read();
  EXPECT_EQ(experts.read(), (std::vector<int>{1, 3, 0, 0, 1, 2, 1, 3, 2, 0, 1, 3}));
  EXPECT_NEAR(found[0], std::exp(1) / (std::exp(1) + 1), 1e-5);
  EXPECT_EQ(found[2], 0);
  for (int i = 3; i < 9; ++i) EXPECT_TRUE(std::isnan(found[i])) << i;
}

TEST_F(RoutingCalls, WhatIsRefused) {
  const guarded<float> in(5000), weights(5000);
  const guarded<int> experts(5000);
  const auto call = [&](std::size_t num_experts, std::size_t k, std::size_t rows_out = 2, std::size_t stride = 40) {
    return rows::route(matrix{in.data(), 2, num_experts}, matrix{weights.data(), rows_out, k, stride},
                       matrix{experts.data(), 2, k, stride});
  };
  EXPECT_EQ(call(40, 32), cudaSuccess);
  EXPECT_EQ(call(40, 33), cudaErrorInvalidValue);
  EXPECT_EQ(call(40, 0), cudaErrorInvalidValue);
  EXPECT_EQ(call(7, 8), cudaErrorInvalidValue);
  EXPECT_EQ(call(1025, 8), cudaErrorInvalidValue);
  EXPECT_EQ(call(40, 8, 1), cudaErrorInvalidValue);
  EXPECT_EQ(call(40, 8, 2, 7), cudaErrorInvalidValue);
  EXPECT_EQ(
      rows::route(matrix<const float>{nullptr, 2, 40}, matrix{weights.data(), 2, 8}, matrix{experts.data(), 2, 8}),
      cudaErrorInvalidValue);
  EXPECT_EQ(rows::route(matrix{in.data(), 0, 40}, matrix{weights.data(), 0, 8}, matrix{experts.data(), 0, 8}),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
