// The integers that sampling stands on, on the host: weights, random numbers, and the noise of Gumbel draws.
#include <gtest/gtest.h>

#include <random>

#include "rungs/production/sampling/random.cuh"
#include "sampling/oracle.hpp"

namespace rungs::tests {
namespace {

using namespace rungs::production;

TEST(SamplingWeights, AllLevelsRiseAndAreExact) {
  for (const bool of_logits : {true, false}) {
    SCOPED_TRACE(of_logits ? "logits" : "probabilities");
    const auto weight_of = [=](unsigned level) {
      return of_logits ? weight_of_level<true>(level) : weight_of_level<false>(level);
    };
    EXPECT_EQ(weight_of(0), 0u);
    EXPECT_EQ(weight_of(most_level), most_weight);
    std::size_t falls = 0, off = 0;
    unsigned before = 0;
    for (unsigned level = 1; level <= most_level; ++level) {
      const unsigned weight = weight_of(level);
      const double whole = std::ldexp(1.0, static_cast<int>(level >> level_bits) - 1),
                   part = (level & 0x1ffff) * 0x1p-17;
      const double right = whole * (of_logits ? std::exp2(part) : 1 + part);
      falls += weight == 0 || weight < before;
      off += !(std::fabs(weight - right) <= 0.5 + right * 0x1p-22);
      before = weight;
    }
    EXPECT_EQ(falls, 0u);
    EXPECT_EQ(off, 0u);
  }
}

TEST(SamplingWeights, LevelsAreLogarithmsOfProbabilities) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> below(0, 25);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const float greatest = below(engine), value = greatest - below(engine), temperature = 0.25f + below(engine) / 10;
    const row_levels<true> levels(greatest, static_cast<float>(1.4426950408889634 / temperature));
    const double right = 32 + (double(value) - greatest) * 1.4426950408889634 / temperature;
    worst = std::max(worst, std::fabs(levels.level(value) * 0x1p-17 - std::max(right, 0.0)));
  }
  EXPECT_LE(worst, 0x1p-16);
  const row_levels<true> of_infinity(INFINITY, 1);
  EXPECT_EQ(of_infinity.level(INFINITY), most_level);
  EXPECT_EQ(of_infinity.level(FLT_MAX), most_level);
  EXPECT_EQ(of_infinity.level(1e38f), 0u);
  EXPECT_EQ(of_infinity.level(NAN), 0u);
  const row_levels<true> levels(1, 1.4426950f);
  for (const float nothing : {NAN, -NAN, -INFINITY, -100.0f}) EXPECT_EQ(levels.level(nothing), 0u);
  const row_levels<false> probabilities(0.5f, 1);
  for (const float nothing : {NAN, 0.0f, -0.5f, -INFINITY}) EXPECT_EQ(probabilities.level(nothing), 0u);
  EXPECT_EQ(probabilities.level(0.5f), most_level);
  EXPECT_EQ(probabilities.level(0.25f), most_level - (1u << level_bits));
}

template <bool of_logits>
std::size_t weights_that_differ(const row_levels<of_logits>& levels, float low, float high) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> within(low, high);
  std::size_t wrong = 0;
  const auto look = [&](float value) {
    wrong += !(value > levels.greatest) && levels.weight(value) != weight_of_level<of_logits>(levels.level(value));
  };
  for (int i = 0; i < 1000000; ++i) look(within(engine));
  for (const float value : {NAN, -INFINITY, 0.0f, -0.0f, -1e30f, 1e-42f, low, high, levels.greatest}) look(value);
  return wrong;
}
TEST(SamplingWeights, OfValuesAreThoseOfTheirLevels) {
  EXPECT_EQ(weights_that_differ<true>({5.5f, 1.4426950f}, -20, 5.5f), 0u);
  EXPECT_EQ(weights_that_differ<true>({5.5f, 0.01f}, -3000, 5.5f), 0u);
  EXPECT_EQ(weights_that_differ<true>({-7, FLT_MAX}, -7.00001f, -7), 0u);
  EXPECT_EQ(weights_that_differ<false>({0.7f, 1}, 0, 0.7f), 0u);
  EXPECT_EQ(weights_that_differ<false>({1e-5f, 1}, 0, 1e-5f), 0u);
  EXPECT_EQ(weights_that_differ<false>({0x1p-96f, 1}, 0, 0x1p-96f), 0u);
  EXPECT_EQ(weights_that_differ<false>({0.7f, 1}, 0, 0x1p-30f), 0u);
}

TEST(SamplingWeights, SharesAndFractions) {
  EXPECT_EQ(share_of_sum(1000, 0), 1u);
  EXPECT_EQ(share_of_sum(1000, 0x80000000), 500u);
  EXPECT_EQ(share_of_sum(1001, 0x80000000), 501u);
  EXPECT_EQ(share_of_sum(weight_sum{1} << 55, 0xffffffff), (weight_sum{1} << 55) - (1u << 23));
  EXPECT_EQ(fraction_of(0.5f), weight_sum{1} << 63);
  EXPECT_EQ(fraction_of(-1), 0u);
  EXPECT_EQ(fraction_of(NAN), 0u);
  EXPECT_EQ(fraction_of(1), ~weight_sum{0});
  EXPECT_EQ(rounded::upper_product(~weight_sum{0}, ~weight_sum{0}), ~weight_sum{0} - 1);
  for (const float share : {0.0f, 1e-9f, 0.1f, 0.5f, 1.0f}) {
    const unsigned least = least_level_of<true>(share);
    EXPECT_GE(weight_of_level<true>(least), share * 0x1p31);
    EXPECT_TRUE(least == 1 || weight_of_level<true>(least - 1) < share * 0x1p31);
  }
}

TEST(SamplingWeights, TokensKeepTheirValues) {
  for (const float value : {0.0f, 1.5f, -1.5f, 1e-42f, -1e-42f, INFINITY, -INFINITY, FLT_MAX})
    EXPECT_EQ(value_of_token(token_candidate(value, 7)), value);
  EXPECT_EQ(token_candidate(-0.0f, 3), token_candidate(0.0f, 3));
  EXPECT_GT(token_candidate(1, 3), token_candidate(1, 4));
  EXPECT_GT(token_candidate(1.5f, 4), token_candidate(1, 3));
  EXPECT_EQ(column_of_token(token_candidate(1, 12345)), 12345u);
}

// The answers of Random123's known-answer file.
TEST(SamplingRandom, PhiloxIsTheKnownOne) {
  const auto expect = [](const random_words& counter, unsigned long long key, const random_words& answer) {
    const random_words found = philox(counter, key);
    const auto [of_host] = host_philox(std::bit_cast<philox_words>(counter), key);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(found.words[i], answer.words[i]);
      EXPECT_EQ(of_host[i], answer.words[i]);
    }
  };
  expect({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect({{~0u, ~0u, ~0u, ~0u}}, ~0ull, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(SamplingRandom, NoiseIsGumbels) {
  std::mt19937 engine(9);
  double worst = 0;
  const auto look = [&](std::uint32_t word) {
    const double below_one = (static_cast<double>(~word) + 0.5) * 0x1p-32;
    const double waited = -std::log1p(-below_one) / std::log(2.0);
    worst = std::max(worst, std::fabs(gumbel_noise(word) * 0x1p-25 - (8 - std::log2(waited))));
  };
  for (std::uint32_t i = 0; i < 1000; ++i) {
    look(i);
    look(~i);
    look(0xb504f334 - 500 + i);
    look(0x80000000 - 500 + i);
  }
  for (int i = 0; i < 1000000; ++i) look(engine());
  EXPECT_LE(worst, 0x1p-20);
  EXPECT_LT(std::uint64_t{most_level} * 256 + gumbel_noise(~0u), std::uint64_t{1} << 32);
}

// What draws by noise compare, of all levels, and of probabilities to the odds that are promised.
TEST(SamplingRandom, ScoresOfProbabilitiesAreTheirLogarithms) {
  double worst = 0;
  std::size_t falls = 0;
  unsigned before = 0;
  for (unsigned level = 1; level <= most_level; ++level) {
    const double share = std::ldexp(1 + (level & 0x1ffff) * 0x1p-17, static_cast<int>(level >> level_bits));
    const unsigned found = gumbel_level<false>(level);
    worst = std::max(worst, std::fabs(found * 0x1p-25 - std::log2(share)));
    falls += found <= before;
    before = found;
  }
  EXPECT_LE(worst, 0x1p-22);
  EXPECT_EQ(falls, 0u);
  EXPECT_EQ(gumbel_level<false>(most_level), 1u << 30);
  EXPECT_EQ(gumbel_level<true>(most_level), 1u << 30);

  std::mt19937 engine(11);
  std::uniform_real_distribution<float> below(0, 0.7f);
  const row_levels<false> levels(0.7f, 1);
  double worst_odds = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float p = below(engine);
    const unsigned level = levels.level(p);
    if (level == 0) continue;
    const double odds = std::exp2(gumbel_level<false>(level) * 0x1p-25 - 32) / (double(p) / 0.7f);
    worst_odds = std::max(worst_odds, std::fabs(odds - 1));
  }
  EXPECT_LE(worst_odds, 0.5e-5);  // of one token, and the greatest has none
}

}  // namespace
}  // namespace rungs::tests
