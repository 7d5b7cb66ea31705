// Shows cases to a profiler, each call once: cold, between cudaProfilerStart and cudaProfilerStop, in an NVTX range of
// its own, and nothing else inside. Not a clock: what a profiler looks at takes longer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "contender.hpp"
#include "device.hpp"
#include "planner.hpp"
#include "results.hpp"

namespace rungs::bench {

struct profiled_case {
  const bench_case* which = nullptr;
  std::optional<launched> launches = {};
  std::string why_not = "";  // empty where the profiler saw it
  bool wrong = false;        // and not only unable to run here
};

// Every case that was asked for in the mode cold, in the order of the plan. Each is verified before the profiler sees
// it, and what it saw after. Throws usage_error where there is none.
std::vector<profiled_case> profile(const run_plan& plan, const device_facts& device, std::uint64_t seed,
                                   const std::function<void(const std::string&)>& on_progress);

// The name of the range that the i-th case runs in.
std::string range_name(std::size_t i);

json to_json(const std::vector<profiled_case>& all, const run_plan& plan, const run_facts& about);

}  // namespace rungs::bench
