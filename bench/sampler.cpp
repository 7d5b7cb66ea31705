#include "sampler.hpp"

#include <algorithm>
#include <random>

#include "statistics.hpp"

namespace rungs::bench {

// Where samples are set aside, this many times `most` are taken before giving up.
constexpr int tries = 3;

bool clock_guard::accepts(double clock_mhz) {
  if (clock_mhz <= 0) return true;
  fastest_ = std::max(fastest_, clock_mhz);
  return clock_mhz >= tolerance * fastest_;
}

stop_rule sample_limits::applied_to(stop_rule rule) const {
  if (noise) {
    rule.precision = 2 * *noise;
    rule.patience = std::numeric_limits<double>::infinity();
    rule.most = most_for_noise;
  }
  if (fewest) {
    rule.fewest = rule.enough = *fewest;
    rule.most = std::max(rule.most, *fewest);
  }
  if (most) {
    rule.most = *most;
    rule.enough = std::min(rule.enough, *most);
    rule.fewest = std::min(rule.fewest, *most);
  }
  return rule;
}

std::vector<series> sample(instrument& with, int num_contenders, const stop_rule& rule, clock_guard& clocks,
                           const std::function<double()>& seconds_now, const std::function<bool()>& stop) {
  std::vector<int> order(2 * static_cast<std::size_t>(num_contenders));
  for (int i = 0; i < num_contenders; ++i) order[i] = order[num_contenders + i] = i;
  std::mt19937 random;
  const auto shuffled = [&]() -> const std::vector<int>& {
    std::shuffle(order.begin(), order.begin() + num_contenders, random);
    std::shuffle(order.begin() + num_contenders, order.end(), random);
    return order;
  };
  std::vector<series> all(static_cast<std::size_t>(num_contenders));
  if (num_contenders == 0) return all;

  const auto precise = [&] {
    return std::all_of(all.begin(), all.end(), [&](const series& one) {
      const auto about = summarise(one.accepted);
      return about.count >= static_cast<std::size_t>(rule.enough) &&
             about.high - about.low < rule.precision * about.median;
    });
  };
  const double start = seconds_now();
  with.run(shuffled());
  for (int taken = 2; !stop(); taken += 2) {
    const auto readings = with.run(shuffled());
    for (std::size_t i = 0; i < order.size(); ++i) {
      series& one = all[static_cast<std::size_t>(order[i])];
      (clocks.accepts(readings[i].clock_mhz) ? one.accepted : one.set_aside).push_back(readings[i].microseconds);
    }
    int fewest_accepted = taken;
    for (const series& one : all) fewest_accepted = std::min(fewest_accepted, static_cast<int>(one.accepted.size()));
    const double seconds = seconds_now() - start;
    if (fewest_accepted >= rule.most || taken >= tries * rule.most) break;
    if (taken >= rule.fewest && seconds >= rule.share) break;
    if (fewest_accepted >= rule.enough && (seconds >= rule.patience || precise())) break;
  }
  return all;
}

}  // namespace rungs::bench
