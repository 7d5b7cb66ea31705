#include "sampler.hpp"

#include <algorithm>

#include "statistics.hpp"

namespace rungs::bench {

bool clock_guard::accepts(double clock_mhz) {
  if (clock_mhz <= 0) return true;
  fastest_ = std::max(fastest_, clock_mhz);
  return clock_mhz >= tolerance * fastest_;
}

std::vector<series> sample(instrument& with, int num_contenders, const stop_rule& rule, clock_guard& clocks,
                           const std::function<double()>& seconds_now, const std::function<bool()>& stop) {
  std::vector<int> order;
  for (int i = 0; i < num_contenders; ++i) order.push_back(i);
  for (int i = num_contenders; i-- > 0;) order.push_back(i);
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
  with.run(order);
  for (int taken = 2; !stop(); taken += 2) {
    const auto readings = with.run(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      series& one = all[static_cast<std::size_t>(order[i])];
      (clocks.accepts(readings[i].clock_mhz) ? one.accepted : one.set_aside).push_back(readings[i].microseconds);
    }
    if (taken >= rule.most) break;
    const double seconds = seconds_now() - start;
    if (taken >= rule.fewest && seconds >= rule.share) break;
    if (taken >= rule.enough && (seconds >= rule.patience || precise())) break;
  }
  return all;
}

}  // namespace rungs::bench
