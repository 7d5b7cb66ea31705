// What rungs/rows/verification.cuh promises, of one request on the host, bit by bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rungs::tests {

struct verified {
  int num_accepted = 0;
  std::vector<int> tokens;
};

inline std::uint64_t in_units(float probability) {
  if (!(probability > 0)) return 0;
  return static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::fmin(probability, 1.0f), 40)));
}

// target[i] and draft[i] are rows. `fraction` is the number of the last draw, in units of 2^-64.
inline verified verify_on_host(const std::vector<std::vector<float>>& target,
                               const std::vector<std::vector<float>>& draft, const std::vector<int>& drafted,
                               const std::vector<double>& uniforms, std::uint64_t fraction) {
  const std::size_t num_drafts = drafted.size(), num_tokens = target[0].size();
  verified result;
  std::size_t i = 0;
  for (; i < num_drafts; ++i) {
    const int token = drafted[i];
    if (token < 0 || static_cast<std::size_t>(token) >= num_tokens) break;
    const auto column = static_cast<std::size_t>(token);
    if (!(uniforms[i] * double(draft[i][column]) < double(target[i][column]))) break;
    result.tokens.push_back(token);
  }
  result.num_accepted = static_cast<int>(i);

  std::vector<std::uint64_t> left(num_tokens);
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < num_tokens; ++c) {
    const std::uint64_t of_target = in_units(target[i][c]), of_draft = i < num_drafts ? in_units(draft[i][c]) : 0;
    sum += left[c] = of_target > of_draft ? of_target - of_draft : 0;
  }
  if (sum == 0)
    for (std::size_t c = 0; c < num_tokens; ++c) sum += left[c] = in_units(target[i][c]);
  int token = -1;
  if (sum > 0) {
    const auto drawn = static_cast<std::uint64_t>((static_cast<unsigned __int128>(sum) * fraction) >> 64);
    std::uint64_t up_to = 0;
    while ((up_to += left[static_cast<std::size_t>(++token)]) <= drawn) {
    }
  }
  result.tokens.push_back(token);
  result.tokens.resize(num_drafts + 1, -1);
  return result;
}

// The maximum of target / draft, without 0 / 0 and NaN.
inline float greatest_ratio_on_host(const std::vector<float>& target, const std::vector<float>& draft) {
  float greatest = 0;
  for (std::size_t c = 0; c < target.size(); ++c)
    if (target[c] / draft[c] > greatest) greatest = target[c] / draft[c];
  return greatest;
}

}  // namespace rungs::tests
