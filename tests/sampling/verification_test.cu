// rungs::rows::verify and greatest_ratios against the host, bit by bit, and the tokens' distribution by chi-square.
#include <rungs/rows/verification.cuh>

#include "sampling/support.hpp"
#include "sampling/verification_oracle.hpp"

namespace rungs::tests {
namespace {

using rows::matrix;
using rows::verification;

enum class pairs_are { near, same, zero, special };

// Probabilities of a request's rows, each with a stride of its own.
template <class T>
struct verification_case {
  std::size_t num_requests, num_drafts, num_tokens, target_stride, draft_stride;
  std::vector<T> target, draft;
  std::vector<int> drafted;
  std::vector<float> uniforms;

  verification_case(std::size_t num_requests, std::size_t num_drafts, std::size_t num_tokens, pairs_are kind,
                    unsigned seed)
      : num_requests(num_requests),
        num_drafts(num_drafts),
        num_tokens(num_tokens),
        target_stride(num_tokens + seed % 3),
        draft_stride(num_tokens + seed % 2),
        target(num_requests * (num_drafts + 1) * target_stride),
        draft(num_requests * num_drafts * draft_stride) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<double> of_target(num_tokens), of_draft(num_tokens);
    for (std::size_t request = 0; request < num_requests; ++request)
      for (std::size_t i = 0; i <= num_drafts; ++i) {
        double sum_of_target = 0, sum_of_draft = 0;
        for (std::size_t c = 0; c < num_tokens; ++c) {
          sum_of_target += of_target[c] = std::exp(2 * normal(engine));
          sum_of_draft += of_draft[c] = of_target[c] * std::exp(0.5 * normal(engine));
        }
        // Drafts that the model would draw, and some that are no token.
        const double drawn = static_cast<double>(engine()) * 0x1p-32 * sum_of_draft;
        std::size_t token = 0;
        for (double up_to = of_draft[0]; up_to < drawn && token + 1 < num_tokens;) up_to += of_draft[++token];
        if (i < num_drafts)
          drafted.push_back(engine() % 40 == 0 ? -1 : engine() % 40 == 0 ? 1 << 30 : static_cast<int>(token));
        uniforms.push_back(static_cast<float>(engine() >> 8) * 0x1p-24f);
        T* const to_target = target.data() + (request * (num_drafts + 1) + i) * target_stride;
        T* const to_draft = draft.data() + (request * num_drafts + i) * draft_stride;
        for (std::size_t c = 0; c < num_tokens; ++c) {
          float p = static_cast<float>(of_target[c] / sum_of_target),
                q = static_cast<float>(of_draft[c] / sum_of_draft);
          if (kind == pairs_are::same) q = p;
          if (kind == pairs_are::zero) p = 0;
          if (kind == pairs_are::special) {
            constexpr float values[] = {0,      -0.0f,
                                        1,      2,
                                        -1,     std::numeric_limits<float>::quiet_NaN(),
                                        1e-42f, std::numeric_limits<float>::infinity()};
            if (engine() % 8 == 0) p = values[engine() % 8];
            if (engine() % 8 == 0) q = values[engine() % 8];
          }
          to_target[c] = T(p);
          if (i < num_drafts) to_draft[c] = T(q);
        }
      }
  }

  std::vector<float> target_row(std::size_t request, std::size_t i) const {
    return row_as_floats(target, (request * (num_drafts + 1) + i) * target_stride, num_tokens);
  }
  std::vector<float> draft_row(std::size_t request, std::size_t i) const {
    return row_as_floats(draft, (request * num_drafts + i) * draft_stride, num_tokens);
  }
};

template <class T>
struct Verification : OnAGpu {
  static void expect_right(const verification_case<T>& of, std::size_t offset = 0) {
    SCOPED_TRACE(std::to_string(of.num_requests) + " requests of " + std::to_string(of.num_drafts) + " drafts, " +
                 std::to_string(of.num_tokens) + " tokens");
    const guarded<T> d_target(of.target, offset), d_draft(of.draft, 2 * offset);
    const guarded<int> drafted(of.drafted);
    const guarded<float> uniforms(of.uniforms);
    const matrix target{d_target.data(), of.num_requests * (of.num_drafts + 1), of.num_tokens, of.target_stride};
    const matrix draft{d_draft.data(), of.num_requests * of.num_drafts, of.num_tokens, of.draft_stride};
    for (const bool by_seed : {false, true}) {
      SCOPED_TRACE(by_seed);
      verification how;
      how.seed = 99;
      how.offset = 0x200000003;
      if (!by_seed) how.d_uniforms = uniforms.data();
      const guarded<int> tokens(of.num_requests * (of.num_drafts + 1)), accepted(of.num_requests);
      ASSERT_EQ(rows::verify(target, draft, matrix{drafted.data(), of.num_requests, of.num_drafts},
                             matrix{tokens.data(), of.num_requests, of.num_drafts + 1}, accepted.data(), how),
                cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const auto found = tokens.read(), found_accepted = accepted.read();
      for (std::size_t request = 0; request < of.num_requests; ++request) {
        SCOPED_TRACE(request);
        const auto right = expected(of, request, by_seed, how);
        EXPECT_EQ(found_accepted[request], right.num_accepted);
        const auto begin = found.begin() + static_cast<std::ptrdiff_t>(request * (of.num_drafts + 1));
        EXPECT_EQ(std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(of.num_drafts + 1)), right.tokens);
      }
    }
    const guarded<float> ratios(of.num_requests * of.num_drafts);
    ASSERT_EQ(rows::greatest_ratios(target, draft, matrix{ratios.data(), of.num_requests, of.num_drafts}), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const auto found = ratios.read();
    for (std::size_t request = 0; request < of.num_requests; ++request)
      for (std::size_t i = 0; i < of.num_drafts; ++i)
        EXPECT_EQ(found[request * of.num_drafts + i],
                  greatest_ratio_on_host(of.target_row(request, i), of.draft_row(request, i)));
  }

  static verified expected(const verification_case<T>& of, std::size_t request, bool by_seed, const verification& how) {
    std::vector<std::vector<float>> target, draft;
    std::vector<double> uniforms;
    const auto random = [&](std::uint32_t four) {
      return host_philox({{four, static_cast<std::uint32_t>(request), static_cast<std::uint32_t>(how.offset),
                           static_cast<std::uint32_t>(how.offset >> 32)}},
                         how.seed);
    };
    for (std::size_t i = 0; i <= of.num_drafts; ++i) {
      target.push_back(of.target_row(request, i));
      if (i == of.num_drafts) break;
      draft.push_back(of.draft_row(request, i));
      uniforms.push_back(by_seed ? random(static_cast<std::uint32_t>(i / 4)).words[i % 4] * 0x1p-32
                                 : double(of.uniforms[request * (of.num_drafts + 1) + i]));
    }
    const auto [words] = random(0xffffffff);
    const std::uint64_t fraction = by_seed
                                       ? static_cast<std::uint64_t>(words[1]) << 32 | words[0]
                                       : host_row::fraction_of(of.uniforms[(request + 1) * (of.num_drafts + 1) - 1]);
    const auto begin = of.drafted.begin() + static_cast<std::ptrdiff_t>(request * of.num_drafts);
    return verify_on_host(target, draft, {begin, begin + static_cast<std::ptrdiff_t>(of.num_drafts)}, uniforms,
                          fraction);
  }
};

using probability_types = testing::Types<float, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(Verification, probability_types);

TYPED_TEST(Verification, EveryNumberOfDrafts) {
  unsigned seed = 1;
  for (const std::size_t num_tokens : {1, 3, 129, 1000, 5003})
    for (std::size_t num_drafts = 1; num_drafts <= 8; ++num_drafts)
      for (const pairs_are kind : {pairs_are::near, pairs_are::same, pairs_are::zero, pairs_are::special}) {
        ++seed;
        this->expect_right({3, num_drafts, num_tokens, kind, seed}, seed % 5);
      }
}

// A request by a cluster of 16, by smaller ones, and by a block.
TYPED_TEST(Verification, AVocabularyInEveryNumberOfRequests) {
  for (const auto& [num_requests, num_tokens] :
       {std::pair<std::size_t, std::size_t>{1, 128512}, {7, 50257}, {40, 32000}, {300, 2000}, {1, 600001}})
    this->expect_right({num_requests, 2, num_tokens, pairs_are::near, static_cast<unsigned>(num_requests)}, 1);
}

struct VerificationCalls : OnAGpu {};

// Whether drafts stay or not, the first token follows the target's probabilities. Drafts come from the draft's.
TEST_F(VerificationCalls, AMillionFirstTokensFollowTheTarget) {
  const std::size_t num_requests = 1000000, num_tokens = 300;
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  std::vector<double> target(num_tokens), draft(num_tokens);
  double target_sum = 0, draft_sum = 0;
  for (std::size_t c = 0; c < num_tokens; ++c) {
    target_sum += target[c] = std::exp(1.5 * normal(engine));
    draft_sum += draft[c] = std::exp(1.5 * normal(engine));
  }
  std::vector<float> target_row(num_tokens), draft_row(num_tokens);
  for (std::size_t c = 0; c < num_tokens; ++c) {
    target_row[c] = static_cast<float>(target[c] / target_sum);
    draft_row[c] = static_cast<float>(draft[c] / draft_sum);
  }
  std::discrete_distribution<int> drawn(draft.begin(), draft.end());
  std::vector<int> drafts(num_requests);
  for (int& each : drafts) each = drawn(engine);
  const guarded<float> d_target(target_row), d_draft(draft_row);
  const guarded<int> drafted(drafts), tokens(2 * num_requests), accepted(num_requests);
  verification how;
  how.seed = 5;
  // All rows are one, read with a stride of 0.
  ASSERT_EQ(rows::verify(matrix<const float>{d_target.data(), 2 * num_requests, num_tokens, 0},
                         matrix<const float>{d_draft.data(), num_requests, num_tokens, 0},
                         matrix{drafted.data(), num_requests, 1}, matrix{tokens.data(), num_requests, 2},
                         accepted.data(), how),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto found = tokens.read(), found_accepted = accepted.read();
  std::vector<int> first(num_requests);
  std::size_t num_accepted = 0;
  for (std::size_t request = 0; request < num_requests; ++request) {
    first[request] = found[2 * request];
    num_accepted += found_accepted[request] == 1;
  }
  const chi_square fit(first, num_tokens, [&](std::size_t c) { return target[c] / target_sum; });
  EXPECT_TRUE(fit.is_likely()) << fit.statistic << " with " << fit.freedom << " degrees of freedom";
  double overlap = 0;  // the probability that a draft stays
  for (std::size_t c = 0; c < num_tokens; ++c) overlap += std::min(target[c] / target_sum, draft[c] / draft_sum);
  EXPECT_NEAR(static_cast<double>(num_accepted) / num_requests, overlap, 0.0025);
}

TEST_F(VerificationCalls, WhatIsRefused) {
  const guarded<float> target(std::vector<float>(6 * 10, 0.1f)), draft(std::vector<float>(4 * 10, 0.1f)), ratios(4);
  const guarded<int> drafted(std::vector<int>(4, 3)), tokens(6), accepted(2);
  const auto call = [&](std::size_t target_rows, std::size_t draft_rows, std::size_t num_drafts, std::size_t columns) {
    return rows::verify(matrix{target.data(), target_rows, 10}, matrix{draft.data(), draft_rows, columns},
                        matrix{drafted.data(), 2, num_drafts}, matrix{tokens.data(), 2, num_drafts + 1},
                        accepted.data());
  };
  EXPECT_EQ(call(6, 4, 2, 10), cudaSuccess);
  EXPECT_EQ(call(5, 4, 2, 10), cudaErrorInvalidValue);
  EXPECT_EQ(call(6, 3, 2, 10), cudaErrorInvalidValue);
  EXPECT_EQ(call(6, 4, 2, 9), cudaErrorInvalidValue);
  EXPECT_EQ(call(2, 0, 0, 10), cudaErrorInvalidValue);
  EXPECT_EQ(call(20, 18, 9, 10), cudaErrorInvalidValue);
  EXPECT_EQ(rows::verify(matrix{target.data(), 6, 10}, matrix{draft.data(), 4, 10}, matrix{drafted.data(), 2, 2},
                         matrix{tokens.data(), 2, 3}, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(rows::verify(matrix{target.data(), 6, 10}, matrix{draft.data(), 4, 10}, matrix{drafted.data(), 2, 2},
                         matrix{tokens.data(), 2, 2}, accepted.data()),
            cudaErrorInvalidValue);
  EXPECT_EQ(
      rows::greatest_ratios(matrix{target.data(), 6, 10}, matrix{draft.data(), 4, 10}, matrix{ratios.data(), 2, 2}),
      cudaSuccess);
  EXPECT_EQ(
      rows::greatest_ratios(matrix{target.data(), 6, 10}, matrix{draft.data(), 4, 10}, matrix{ratios.data(), 4, 1}),
      cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(VerificationUnits, AreThoseOfRoundedProbabilities) {
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 0xffffff00; bits += 251) {
    const float probability = production::rounded::of_bits(bits);
    wrong += production::fixed_probability(probability) != in_units(probability);
  }
  for (std::uint32_t below_one = 0; below_one < 100000; ++below_one) {
    const float probability = production::rounded::of_bits(0x3f800000 - below_one);
    wrong += production::fixed_probability(probability) != in_units(probability);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace rungs::tests
