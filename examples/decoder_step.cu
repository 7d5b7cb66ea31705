// A decoder's last step with speculative decoding: a draft model's logits give a token, the target model's logits
// decide whether it stays, and what follows. From logits to tokens by three calls.
#include <rungs/rows/sampling.cuh>
#include <rungs/rows/softmax.cuh>
#include <rungs/rows/verification.cuh>

#include <cmath>

#include "example.hpp"

int main() {
  using rungs::rows::matrix;
  const std::size_t num_requests = 32, num_tokens = 50257;
  // The target's rows: one to judge the draft by, one for the token behind it.
  const array<float> draft_logits(num_requests * num_tokens), target_logits(2 * num_requests * num_tokens);
  const array<float> draft(num_requests * num_tokens), target(2 * num_requests * num_tokens);
  const array<int> drafted(num_requests), tokens(2 * num_requests), num_accepted(num_requests);
  const array<float> probabilities(num_requests);
  for (std::size_t i = 0; i < num_requests * num_tokens; ++i)
    draft_logits[i] = static_cast<float>(i * 7919 % 10007) / 800;
  for (std::size_t row = 0; row < 2 * num_requests; ++row)
    for (std::size_t token = 0; token < num_tokens; ++token)
      target_logits[row * num_tokens + token] =
          draft_logits[row / 2 * num_tokens + token] + static_cast<float>((row + token) % 97) / 97;

  // 1. The draft: the model's own probabilities, so that what is drawn and what is verified agree.
  rungs::rows::sampling how;
  how.seed = 2026;
  check(rungs::rows::sample(matrix{draft_logits.data(), num_requests, num_tokens}, drafted.data(), how, nullptr,
                            {nullptr, probabilities.data()}));
  // 2. Both models' probabilities.
  check(rungs::rows::softmax(draft_logits.data(), draft.data(), num_requests, num_tokens));
  check(rungs::rows::softmax(target_logits.data(), target.data(), 2 * num_requests, num_tokens));
  // 3. The draft stays or another token takes its place; where it stays, one more follows.
  rungs::rows::verification judged;
  judged.seed = 2026;
  judged.offset = 1;
  check(rungs::rows::verify(matrix{target.data(), 2 * num_requests, num_tokens},
                            matrix{draft.data(), num_requests, num_tokens}, matrix{drafted.data(), num_requests, 1},
                            matrix{tokens.data(), num_requests, 2}, num_accepted.data(), judged));
  check(cudaDeviceSynchronize());

  double worst = 0;
  bool fits = true;
  int stayed = 0;
  for (std::size_t request = 0; request < num_requests; ++request) {
    const int token = drafted[request], first = tokens[2 * request], second = tokens[2 * request + 1];
    const bool stays = num_accepted[request] == 1;
    stayed += stays;
    fits = fits && (stays ? first == token && second >= 0 : first >= 0 && second == -1);
    // What a token is drawn as a replacement has to be likelier by the target than by the draft.
    const std::size_t place = request * num_tokens + static_cast<std::size_t>(first);
    fits = fits && (stays || target[2 * request * num_tokens + static_cast<std::size_t>(first)] > draft[place]);
    worst = std::fmax(
        worst, std::fabs(probabilities[request] / draft[request * num_tokens + static_cast<std::size_t>(token)] - 1));
  }
  std::printf("%d of %zu drafts stayed, probabilities differ by up to %.1e: ", stayed, num_requests, worst);
  return verdict(fits && worst < 1e-4);
}
