// The loss and the most likely token of every position of a language model, in one read of its logits.
#include <rungs/rows/cross_entropy.cuh>

#include <cmath>

#include "example.hpp"

int main() {
  const std::size_t num_positions = 200, num_tokens = 50257;
  const array<float> logits(num_positions * num_tokens), losses(num_positions);
  const array<int> targets(num_positions), tokens(num_positions);
  for (std::size_t i = 0; i < num_positions * num_tokens; ++i) logits[i] = static_cast<float>(i * 7919 % 10007) / 500;
  for (std::size_t row = 0; row < num_positions; ++row) targets[row] = static_cast<int>(row * 31 % num_tokens);

  rungs::rows::cross_entropy_results<int> also;
  also.d_arg_max = tokens.data();
  const rungs::rows::matrix matrix{logits.data(), num_positions, num_tokens};
  check(rungs::rows::cross_entropy(matrix, targets.data(), losses.data(), also));
  check(cudaDeviceSynchronize());

  double worst = 0;
  bool all_greatest = true;
  for (std::size_t row = 0; row < num_positions; ++row) {
    const float* const logit = matrix.row(row);
    double sum = 0;
    std::size_t greatest = 0;
    for (std::size_t i = 0; i < num_tokens; ++i) {
      sum += std::exp(double(logit[i]));
      if (logit[i] > logit[greatest]) greatest = i;
    }
    worst = std::fmax(worst, std::fabs(losses[row] - (std::log(sum) - logit[targets[row]])));
    all_greatest = all_greatest && tokens[row] == static_cast<int>(greatest);
  }
  std::printf("loss of %zu positions, error up to %.1e: ", num_positions, worst);
  return verdict(worst < 1e-4 && all_greatest);
}
