// What the programs beside rungs_bench have in common.
#pragma once

#include <chrono>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "check.hpp"
#include "contender.hpp"
#include "device.hpp"
#include "exit_codes.hpp"
#include "instruments.hpp"
#include "results.hpp"
#include "sampler.hpp"
#include "statistics.hpp"

namespace rungs::bench {

// What main() returns: that of `run`, or the code of what it throws, which is told.
template <class Run>
int run_program(const std::string& name, const Run& run) {
  try {
    return run();
  } catch (const usage_error& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return exit_usage;
  } catch (const std::regex_error& error) {
    std::cerr << name << ": a wrong regular expression: " << error.what() << '\n';
    return exit_usage;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return exit_internal;
  }
}

// None where there is no usable GPU, which is told.
inline std::optional<device_facts> find_device_or_tell(const std::string& name) {
  std::string why_not;
  auto device = find_device(why_not);
  if (!device) std::cerr << name << ": no usable GPU: " << why_not << '\n';
  return device;
}

// To standard output where no file is named.
inline void write_result(const std::string& path, const nlohmann::json& file) {
  if (path.empty())
    std::cout << file.dump(1) << '\n';
  else
    write_atomically(path, file.dump(1) + "\n");
}

// Times of the contenders, all together and cold.
inline std::vector<summary_of_samples> cold_times(const event_bench& bench, clock_guard& clocks,
                                                  const std::vector<const contender*>& contenders) {
  std::vector<summary_of_samples> times;
  if (contenders.empty()) return times;
  const auto now = [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  device_instrument clock(bench, mode::cold, contenders);
  const auto taken = sample(clock, static_cast<int>(contenders.size()), stop_rule{}, clocks, now, [] { return false; });
  for (const auto& one : taken) times.push_back(summarise(one.accepted));
  return times;
}

inline nlohmann::json to_json(const summary_of_samples& times) {
  return {{"median_us", times.median}, {"low_us", times.low}, {"high_us", times.high}, {"samples", times.count}};
}

}  // namespace rungs::bench
