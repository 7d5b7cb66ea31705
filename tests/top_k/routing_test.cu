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
                                const std::vector<float>& bias, double base, double sum) {
  std::vector<double> all(of.num_experts);
  for (std::size_t e = 0; e < of.num_experts; ++e) {
    const float logit = static_cast<float>(logits[first + e]);
    if (!of.has_bias)
      all[e] = logit;
    else if (!of.how.scored_before)
      all[e] = logit + bias[e];
    else if (of.how.score == routing_score::softmax)
      all[e] = std::exp(logit - base) / sum + bias[e];
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
      double base = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::size_t e = 0; e < of.num_experts; ++e)
        base = std::fmax(base, double(static_cast<float>(logits[first + e])));
      for (std::size_t e = 0; e < of.num_experts; ++e) sum += std::exp(static_cast<float>(logits[first + e]) - base);
      const auto exact = preferences(logits, first, of, bias, base, sum);
      const std::vector<float> compared(exact.begin(), exact.end());
      const auto chosen = expected_indices(compared.data(), of.num_experts, of.k, true);
      double sum_of_chosen = 0, total = 0;
      std::vector<double> expected;
      for (const std::size_t e : chosen) sum_of_chosen += std::exp(static_cast<float>(logits[first + e]) - base);
      for (const std::size_t e : chosen) {
        const double logit = static_cast<float>(logits[first + e]);
        expected.push_back(of.how.score == routing_score::sigmoid
                               ? 1 / (1 + std::exp(-logit))
                               : std::exp(logit - base) / (of.how.scored_before ? sum : sum_of_chosen));
        total += expected.back();
      }
      for (std::size_t i = 0; i < of.k; ++i) {
        wrong += found[row * of.k + i] != static_cast<int>(chosen[i]);
        const double right = of.how.renormalised ? expected[i] / total : expected[i];
        const float weight = found_weights[row * of.k + i];
        wrong += std::isnan(weight) != std::isnan(right);
        if (right >= 0x1p-126) worst = std::max(worst, std::fabs(weight - right) / right);
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

// Every k, and rows of all kinds beside each other: some have too many candidates for a list.
TYPED_TEST(Routing, AllK) {
  for (const std::size_t num_experts : {3, 8, 33, 64, 100, 128, 200, 256, 384, 512, 1000, 1024})
    for (std::size_t k = 1; k <= std::min<std::size_t>(num_experts, 32); ++k) {
      const std::size_t num_tokens = 19;
      std::vector<TypeParam> logits;
      for (std::size_t row = 0; row < num_tokens; ++row) {
        constexpr keys_are kinds[] = {keys_are::random, keys_are::equal,   keys_are::random,    keys_are::ascending,
                                      keys_are::few,    keys_are::special, keys_are::descending};
        const auto of_row = make_keys<TypeParam>(kinds[row % 7], num_experts, static_cast<unsigned>(row * 32 + k));
        logits.insert(logits.end(), of_row.begin(), of_row.end());
      }
      routing how;
      how.score = k % 2 == 0 ? routing_score::softmax : routing_score::sigmoid;
      how.scored_before = k % 3 != 0;
      this->expect_right({num_tokens, num_experts, k, 0, how}, keys_are::random, logits);
    }
}

// Weights down to 2^-126. Those of large logits, too, where the type can hold them. A bias chooses.
TYPED_TEST(Routing, SmallWeights) {
  constexpr std::size_t num_experts = 256, num_tokens = 9;
  for (const double greatest : {0., 65., 1e6, 1e30}) {
    std::vector<TypeParam> logits;
    for (std::size_t i = 0; i < num_tokens * num_experts; ++i)
      logits.push_back(key_of_value<TypeParam>(greatest - static_cast<double>(i * 37 % num_experts) * 0.34));
    for (const routing_score score : {routing_score::softmax, routing_score::sigmoid})
      for (const bool renormalised : {true, false})
        for (const std::size_t k : {8, 32})
          this->expect_right({num_tokens, num_experts, k, 0, {score, true, renormalised}, true}, keys_are::random,
                             logits);
  }
}

// The bits of a row do not depend on the rows beside it, nor on addresses.
TYPED_TEST(Routing, BitsDependOnTheRowAlone) {
  constexpr std::size_t num_tokens = 23;
  for (const std::size_t num_experts : {64, 128, 256, 512, 1024})
    for (const std::size_t k : {8, 20}) {
      auto logits = make_keys<TypeParam>(keys_are::random, num_tokens * num_experts, 5);
      const auto equal = make_keys<TypeParam>(keys_are::equal, num_experts, 5);
      for (std::size_t row = 0; row < num_tokens; row += 3)
        std::copy(equal.begin(), equal.end(), logits.begin() + static_cast<std::ptrdiff_t>(row * num_experts));
      logits[num_experts] = key_of_bits<TypeParam>(0x7fffffff);
      const auto routed = [&](std::size_t offset, std::size_t gap, std::size_t tokens_a_call) {
        const std::size_t stride = num_experts + gap;
        std::vector<TypeParam> spread(num_tokens * stride);
        for (std::size_t i = 0; i < logits.size(); ++i) spread[i / num_experts * stride + i % num_experts] = logits[i];
        const guarded<TypeParam> in(spread, offset);
        const guarded<float> weights(num_tokens * k);
        const guarded<int> experts(num_tokens * k);
        routing how;
        how.renormalised = k == 20;
        for (std::size_t row = 0; row < num_tokens; row += tokens_a_call) {
          const std::size_t rows = std::min(tokens_a_call, num_tokens - row);
          EXPECT_EQ(
              rows::route(matrix{in.data() + row * stride, rows, num_experts, stride},
                          matrix{weights.data() + row * k, rows, k}, matrix{experts.data() + row * k, rows, k}, how),
              cudaSuccess);
        }
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<int> found = experts.read();
        for (const float weight : weights.read()) {
          int bits;
          std::memcpy(&bits, &weight, sizeof(bits));
          found.push_back(bits);
        }
        return found;
      };
      const auto expected = routed(0, 0, num_tokens);
      EXPECT_EQ(routed(1, 0, num_tokens), expected);
      EXPECT_EQ(routed(0, 3, num_tokens), expected);
      EXPECT_EQ(routed(0, 16, num_tokens), expected);
      EXPECT_EQ(routed(0, 0, 1), expected);
      EXPECT_EQ(routed(3, 1, 5), expected);
    }
}

// A token has eight lanes where there are many, and sixteen where there are few.
TYPED_TEST(Routing, BitsDependNotOnTheNumberOfTokens) {
  constexpr std::size_t num_tokens = 4100;
  for (const std::size_t num_experts : {100, 128, 256})
    for (const std::size_t k : {8, 12}) {
      routing how;
      how.renormalised = k == 12;
      const auto logits = make_keys<TypeParam>(keys_are::random, num_tokens * num_experts, 7);
      this->expect_right({num_tokens, num_experts, k, 0, how}, keys_are::random, logits);
      const guarded<TypeParam> in(logits);
      const guarded<float> weights(num_tokens * k);
      const guarded<int> experts(num_tokens * k);
      const auto routed = [&](std::size_t tokens_a_call) {
        for (std::size_t row = 0; row < num_tokens; row += tokens_a_call)
          EXPECT_EQ(rows::route(matrix{in.data() + row * num_experts, tokens_a_call, num_experts},
                                matrix{weights.data() + row * k, tokens_a_call, k},
                                matrix{experts.data() + row * k, tokens_a_call, k}, how),
                    cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        return std::make_pair(weights.read(), experts.read());
      };
      const auto of_many = routed(num_tokens);
      EXPECT_EQ(routed(num_tokens / 4), of_many);
    }
}

struct RoutingCalls : OnAGpu {};

__global__ void fill_shared_memory() {
  __shared__ volatile unsigned words[12 * 1024];
  for (unsigned i = threadIdx.x; i < 12 * 1024; i += blockDim.x) words[i] = 0xffffffff;
}

// Lanes without a token look nowhere, whatever their shared memory holds. Equal logits are chosen by rounds, which
// leave the places of such lanes as they are.
TEST_F(RoutingCalls, TokensThatFillNoWarp) {
  for (const std::size_t experts : {64, 256, 512}) {
    const guarded<float> logits(std::vector<float>(experts * 5, 1.0f)), weights(5 * 8);
    const guarded<int> chosen(5 * 8);
    for (const std::size_t tokens : {1, 3, 5}) {
      fill_shared_memory<<<2048, 256>>>();
      ASSERT_EQ(rows::route(matrix{logits.data(), tokens, experts}, matrix{weights.data(), tokens, 8},
                            matrix{chosen.data(), tokens, 8}),
                cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << tokens << " x " << experts;
      const std::vector<int> found = chosen.read();
      for (std::size_t i = 0; i < tokens * 8; ++i) EXPECT_EQ(found[i], static_cast<int>(i % 8));
    }
  }
}

// The eighth of the greatest is a zero of either sign.
TEST_F(RoutingCalls, ZerosOfBothSignsAreEqual) {
  std::vector<float> logits(2 * 256, -1);
  for (std::size_t i = 0; i < 10; ++i) {
    logits[25 * i] = i % 2 == 0 ? 0.0f : -0.0f;
    logits[256 + 25 * i] = i % 2 == 0 ? -0.0f : 0.0f;
  }
  const guarded<float> in(logits), weights(2 * 8);
  const guarded<int> experts(2 * 8);
  ASSERT_EQ(rows::route(matrix{in.data(), 2, 256}, matrix{weights.data(), 2, 8}, matrix{experts.data(), 2, 8}),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(experts.read(), (std::vector<int>{0, 25, 50, 75, 100, 125, 150, 175, 0, 25, 50, 75, 100, 125, 150, 175}));
}

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
