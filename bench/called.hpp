// What the studies beside rungs_bench share: a call with its storage, and what a file tells of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "check.hpp"
#include "contender.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "statistics.hpp"

namespace rungs::bench {

struct called {
  catalog::record record;
  contender who;
  device_memory storage;

  called(const catalog::record& of, const catalog::arguments& arguments, cudaStream_t stream) : record(of) {
    who.record = &record;
    who.arguments = arguments;
    check(record.call(nullptr, who.workspace_bytes, arguments, stream));
    storage = device_memory(std::max<std::size_t>(who.workspace_bytes, 1));  // a null pointer asks for the size
    who.workspace = storage.get();
  }
  called(const called&) = delete;
  called& operator=(const called&) = delete;
};

inline json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

inline json times_of(std::span<const double> samples) {
  const auto about = summarise(samples);
  return {{"samples", about.count}, {"median_us", about.median}, {"low_us", about.low},
          {"high_us", about.high},  {"iqr_us", about.iqr},       {"min_us", about.min}};
}

// How many times as fast as `rival` the samples `own` are.
inline json speedup_of(std::span<const double> rival, std::span<const double> own, double floor) {
  const ratio speedup = ratio_of_medians(rival, own, ratio_confidence);
  return {{"value", speedup.value},
          {"low", finite(speedup.low)},
          {"high", finite(speedup.high)},
          {"verdict", verdict(speedup, floor)}};
}

}  // namespace rungs::bench
