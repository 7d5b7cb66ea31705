// The energy of a call, by a counter of the whole GPU that only moves every few milliseconds.
#pragma once

#include <functional>
#include <optional>

#include "sampler.hpp"

namespace rungs::bench {

// All energy so far, in joules; empty where nobody counts it.
using energy_counter = std::function<std::optional<double>()>;

// In joules, of calls back to back that begin and end where the counter moves, at least so many seconds apart. Idle
// power while they run is part of it. Empty where the counter stands still or `stop` answers true.
std::optional<double> energy_of_call(instrument& with, int which, double call_us, const energy_counter& counter,
                                     double seconds, const std::function<double()>& seconds_now,
                                     const std::function<bool()>& stop);

}  // namespace rungs::bench
