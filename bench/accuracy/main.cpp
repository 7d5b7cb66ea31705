// rungs_accuracy: how far each way to add floats, or products of floats, is from the exact sum, how long it takes, and
// how often it answers something else. docs/accuracy.md says what follows.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include "accuracy/exact.hpp"
#include "accuracy/kinds.hpp"
#include "accuracy/sweep.hpp"
#include "accuracy/ways.hpp"
#include "build_info.hpp"
#include "called.hpp"
#include "check.hpp"
#include "contender.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"
#include "instruments.hpp"
#include "program.hpp"
#include "sizes.hpp"
#include "statistics.hpp"

namespace rungs::bench {
namespace {

// What answers the study's questions, of all that the catalog holds.
constexpr char default_ways[] =
    "accumulators/|front_door_of_|exact/|reductions/atomic_per_|dots/|baselines/(cub_device_reduce|thrust_reduce|"
    "host_serial|host_float)";

struct settings {
  std::string items = "16Mi", out, only = default_ways, sizes_to = "1Gi";
  int runs = 100;
  bool list = false;
};

std::string path_of(const catalog::record& one) {
  return std::string(name(one.family)) + "/" + std::string(one.ladder) + "/" + std::string(one.rung);
}

// Of sums or of dot products, of f32.
std::vector<catalog::record> ways_to_add(catalog::operation operation, const std::string& only) {
  std::vector<catalog::record> all(catalog::all().begin(), catalog::all().end()), wanted;
  for (const auto& one : more_ways()) all.push_back(one);
  const std::regex expression(only);
  for (const auto& one : all) {
    if (one.operation == operation && one.op == catalog::op::plus && one.input_type == catalog::scalar::f32 &&
        one.accumulator_type == catalog::scalar::f32 && std::regex_search(path_of(one), expression))
      wanted.push_back(one);
  }
  return wanted;
}

// Results by their bits: the most frequent first, and of equals the nearest to the exact sum.
json distribution(const std::vector<float>& results, const exact_sum& exact, double magnitudes) {
  std::map<std::uint32_t, int> counts;
  for (const float result : results) {
    std::uint32_t bits;
    std::memcpy(&bits, &result, sizeof bits);
    ++counts[bits];
  }
  const float rounded = exact.rounded();  // where it overflows, that infinity is the right answer
  json values = json::array();
  for (const auto& [bits, count] : counts) {
    float result;
    std::memcpy(&result, &bits, sizeof result);
    const double error = std::isfinite(result) && std::isfinite(rounded) ? -exact.minus(result)
                         : result == rounded                             ? 0
                                                                         : std::numeric_limits<double>::infinity();
    values.push_back({{"bits", bits},
                      {"count", count},
                      {"error_ulp", finite(error / last_place(std::isfinite(rounded) ? rounded : 0))},
                      {"error_of_magnitudes", finite(magnitudes > 0 ? error / magnitudes : error)}});
  }
  std::stable_sort(values.begin(), values.end(), [](const json& a, const json& b) { return a["count"] > b["count"]; });
  return values;
}

// Of ways to add floats, or where there are factors, products.
class study {
 public:
  study(const device_facts& device, const settings& given, std::span<const catalog::record> ways, bool has_factors)
      : given_(given),
        host_items_(parse_size(given.items)),
        host_factors_(has_factors ? host_items_.size() : 0),
        device_items_(host_items_.size() * sizeof(float)),
        device_factors_(host_factors_.size() * sizeof(float)),
        host_results_(static_cast<std::size_t>(given.runs)),
        device_results_(host_results_.size() * sizeof(float)),
        bench_(device) {
    for (const auto& one : ways) {
      const bool on_host = one.executes_on == executor::host;
      contender each;
      each.record = &one;
      each.arguments.d_in = on_host ? host_items_.data() : device_items_.get();
      if (has_factors) each.arguments.d_second = on_host ? host_factors_.data() : device_factors_.get();
      each.arguments.d_out = on_host ? host_results_.data() : device_results_.get();
      each.arguments.num_items = host_items_.size();
      each.arguments.init = &init_;
      contenders_.push_back(each);
      ways_.push_back({{"family", name(one.family)},
                       {"ladder", one.ladder},
                       {"rung", one.rung},
                       {"idea", one.idea},
                       {"deterministic", one.deterministic},
                       {"executes_on", on_host ? "host" : "device"},
                       {"results", json::array()}});
    }
  }

  void examine(kind what) {
    std::cerr << name(what) << '\n';
    make(what, host_items_);
    make_factors(what, host_factors_);
    exact_sum exact, magnitude;
    for (std::size_t i = 0; i < host_items_.size(); ++i) {
      const float item = host_items_[i], factor = host_factors_.empty() ? 1 : host_factors_[i];
      exact.add_product(item, factor);
      magnitude.add_product(std::fabs(item), factor);
    }
    const double magnitudes = magnitude.in_double();
    kinds_.push_back({{"kind", name(what)},
                      {"description", description(what)},
                      {"exact", exact.in_double()},
                      {"magnitudes", magnitudes}});
    check(cudaMemcpy(device_items_.get(), host_items_.data(), device_items_.size(), cudaMemcpyHostToDevice));
    check(cudaMemcpy(device_factors_.get(), host_factors_.data(), device_factors_.size(), cudaMemcpyHostToDevice));
    std::vector<std::size_t> timed;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      json result{{"kind", name(what)}};
      const cudaError_t error = prepare(i);
      if (error == cudaSuccess) {
        result["values"] = distribution(repeat(i), exact, magnitudes);
        timed.push_back(i);
      } else if (cannot_run_here(error)) {
        cudaGetLastError();
        result["why_not"] = cudaGetErrorName(error);
      } else {
        check(error);
      }
      ways_[i]["results"].push_back(result);
    }
    time(timed);
  }

  json kinds() const { return kinds_; }
  json ways() const { return ways_; }

 private:
  bool on_host(std::size_t i) const { return contenders_[i].record->executes_on == executor::host; }

  // Storage, zeroed, in which a first call leaves what it keeps.
  cudaError_t prepare(std::size_t i) {
    contender& one = contenders_[i];
    if (one.workspace != nullptr) return cudaSuccess;
    std::size_t bytes = 0;
    cudaError_t error = one.record->call(nullptr, bytes, one.arguments, bench_.stream());
    if (error != cudaSuccess) return error;
    workspaces_.emplace_back(bytes);
    one.workspace = workspaces_.back().get();
    one.workspace_bytes = bytes;
    check(cudaMemset(one.workspace, 0, bytes));
    error = one.call(bench_.stream());
    bench_.synchronize();
    if (error != cudaSuccess) one.workspace = nullptr;
    return error;
  }

  // The results of `runs` calls in a row; the host's are the same each time.
  std::vector<float> repeat(std::size_t i) {
    contender one = contenders_[i];
    if (on_host(i)) {
      check(one.call(nullptr));
      return {host_results_[0]};
    }
    const auto out = static_cast<float*>(device_results_.get());
    check(cudaMemsetAsync(out, 0xff, device_results_.size(), bench_.stream()));
    for (int run = 0; run < given_.runs; ++run) {
      one.arguments.d_out = out + run;
      check(one.call(bench_.stream()));
    }
    bench_.synchronize();
    check(cudaMemcpy(host_results_.data(), out, device_results_.size(), cudaMemcpyDeviceToHost));
    return host_results_;
  }

  // Cold, as rungs_bench takes it: all ways together, in random orders.
  void time(const std::vector<std::size_t>& which) {
    for (const bool host : {false, true}) {
      std::vector<const contender*> own;
      std::vector<std::size_t> places;
      for (const std::size_t i : which) {
        if (on_host(i) != host) continue;
        own.push_back(&contenders_[i]);
        places.push_back(i);
      }
      if (own.empty()) continue;
      const stop_rule rule{.enough = host ? 3 : 30, .fewest = host ? 3 : 6, .most = host ? 3 : 100, .patience = 1.0};
      std::unique_ptr<instrument> clock;
      if (host)
        clock = std::make_unique<host_instrument>(own);
      else
        clock = std::make_unique<device_instrument>(bench_, mode::cold, own);
      const auto taken = sample(*clock, static_cast<int>(own.size()), rule, clocks_, seconds_now, [] { return false; });
      for (std::size_t k = 0; k < places.size(); ++k) {
        const auto about = summarise(taken[k].accepted);
        ways_[places[k]]["results"].back().update({{"median_us", finite(about.median)},
                                                   {"low_us", finite(about.low)},
                                                   {"high_us", finite(about.high)},
                                                   {"samples", about.count}});
      }
    }
  }

  const settings& given_;
  const float init_ = -0.0f;
  std::vector<float> host_items_, host_factors_;
  device_memory device_items_, device_factors_;
  std::vector<float> host_results_;
  device_memory device_results_;
  event_bench bench_;
  clock_guard clocks_;
  std::vector<contender> contenders_;
  std::vector<device_memory> workspaces_;
  json ways_ = json::array(), kinds_ = json::array();
};

int run(int argc, char** argv) {
  settings given;
  CLI::App app("How far each way to add floats is from the exact sum, and how long it takes.", "rungs_accuracy");
  app.add_option("--items", given.items, "how many floats")->capture_default_str();
  app.add_option("--runs", given.runs, "calls whose results are compared")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--only", given.only, "ways whose family/ladder/rung matches this regular expression")
      ->capture_default_str();
  app.add_option("--sizes-to", given.sizes_to,
                 "the most items at which exact sums are timed beside plain ones; 0: none")
      ->capture_default_str();
  app.add_option("--out", given.out, "the JSON file; default: standard output");
  app.add_flag("--list", given.list, "the names of the ways, and nothing else");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  const auto sums = ways_to_add(catalog::operation::reduce, given.only);
  const auto dots = ways_to_add(catalog::operation::dot, given.only);
  if (sums.empty() && dots.empty())
    throw usage_error("--only=" + given.only + " matches no way to add floats that was built");
  if (given.list) {
    for (const auto* ways : {&sums, &dots})
      for (const auto& one : *ways) std::cout << path_of(one) << '\n';
    return exit_ok;
  }
  if (!given.out.empty()) write_atomically(given.out, "");
  const environment surroundings;
  const auto device = find_device_or_tell("rungs_accuracy");
  if (!device) return exit_no_gpu;
  const std::size_t most = given.sizes_to == "0" ? 0 : parse_size(given.sizes_to);
  const auto examined = [&](std::span<const catalog::record> ways, bool has_factors) -> json {
    if (ways.empty()) return {{"kinds", json::array()}, {"ways", json::array()}};
    study of(*device, given, ways, has_factors);
    for (int what = 0; what < num_kinds; ++what) of.examine(static_cast<kind>(what));
    return {{"kinds", of.kinds()}, {"ways", of.ways()}};
  };
  const json of_sums = examined(sums, false), of_dots = examined(dots, true);
  const json file{
      {"schema", "rungs.accuracy_study/1"},
      {"gpu", slug(device->name)},
      {"run", utc_now()},
      {"commit", build::commit},
      {"device", {{"name", device->name}, {"card", device->card}, {"multiprocessors", device->multiprocessors}}},
      {"versions",
       {{"driver", surroundings.driver_version()}, {"nvcc", build::nvcc_version}, {"cccl", catalog::cccl_version()}}},
      {"items", parse_size(given.items)},
      {"runs", given.runs},
      {"kinds", of_sums["kinds"]},
      {"ways", of_sums["ways"]},
      {"dots", of_dots},
      {"sweeps", sweep_of_sizes(*device, most)}};
  write_result(given.out, file);
  return exit_ok;
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  return rungs::bench::run_program("rungs_accuracy", [&] { return rungs::bench::run(argc, argv); });
}
