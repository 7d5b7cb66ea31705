#include "energy.hpp"

#include <algorithm>

namespace rungs::bench {
namespace {
constexpr double batch_us = 5'000;     // between looks at the counter: what a tick is found to
constexpr double longest_still_s = 2;  // without a tick, it counts nothing
}  // namespace

std::optional<double> energy_of_call(instrument& with, int which, double call_us, const energy_counter& counter,
                                     double seconds, const std::function<double()>& seconds_now,
                                     const std::function<bool()>& stop) {
  const int batch = static_cast<int>(std::clamp(batch_us / std::max(call_us, 0.1), 1.0, 5000.0));
  long long calls = 0;
  struct tick {
    double joules;
    long long calls;
    double seconds;
  };
  // The first tick after a time.
  const auto tick_after = [&](double time) -> std::optional<tick> {
    auto before = counter();
    while (before && !stop() && seconds_now() < time + longest_still_s) {
      with.repeat(which, batch);
      calls += batch;
      const auto joules = counter();
      if (joules && *joules != *before && seconds_now() >= time) return tick{*joules, calls, seconds_now()};
      before = joules;
    }
    return std::nullopt;
  };
  const auto first = tick_after(seconds_now());
  if (!first) return std::nullopt;
  const auto last = tick_after(first->seconds + seconds);
  if (!last || last->joules <= first->joules) return std::nullopt;
  return (last->joules - first->joules) / static_cast<double>(last->calls - first->calls);
}

}  // namespace rungs::bench
