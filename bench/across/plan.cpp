#include "across/plan.hpp"

#include <algorithm>
#include <regex>

#include "check.hpp"
#include "sizes.hpp"

namespace rungs::bench::across_gpus {
namespace {

std::size_t item_bytes(const problem& about) { return about.type == catalog::scalar::bf16 ? 2 : 4; }

// What matches, and the libraries where anything does.
std::vector<std::string> kept(const cell& about, const std::vector<contender_name>& contenders,
                              const std::regex& filter) {
  std::vector<std::string> names;
  bool any = false;
  for (const auto& each : contenders) {
    if (each.about != about.about) continue;
    const bool matches = std::regex_search(name_of(about, each.name), filter);
    any = any || matches;
    if (matches || each.kind == kind::library) names.push_back(each.name);
  }
  return any ? names : std::vector<std::string>{};
}

}  // namespace

std::size_t bytes_of(const problem& about, std::size_t items) { return items * item_bytes(about); }

std::size_t plan::largest_bytes() const {
  std::size_t largest = 0;
  for (const auto& each : cells) largest = std::max(largest, each.bytes());
  for (const auto& each : checks) largest = std::max(largest, bytes_of(each.about, each.items));
  return largest;
}

std::string name_of(const cell& about, std::string_view contender) {
  return std::string(name(about.about.operation)) + "/" + std::string(catalog::name(about.about.type)) + "/" +
         std::string(catalog::name(about.about.op)) + "/n=" + format_size(about.items) + "/" +
         std::string(name(about.mode)) + "/" + std::string(contender);
}

plan plan_of(const question& asked, const std::vector<contender_name>& contenders) {
  if (asked.from_bytes > asked.to_bytes)
    throw usage_error("--sizes-from=" + format_size(asked.from_bytes) +
                      " is more than --sizes-to=" + format_size(asked.to_bytes));
  const std::regex filter = parse_filter(asked.filter);
  plan made;
  for (std::size_t bytes = 4; bytes <= asked.to_bytes; bytes *= 4) {
    if (bytes < asked.from_bytes) continue;
    for (const problem about : problems) {
      for (const mode how : {mode::graph, mode::stream}) {
        cell each{about, bytes / item_bytes(about), how, {}};
        each.contenders = kept(each, contenders, filter);
        if (!each.contenders.empty()) made.cells.push_back(each);
      }
    }
  }
  if (made.cells.empty())
    throw usage_error("nothing is left to measure: --filter=" + asked.filter + ", from " +
                      format_size(asked.from_bytes) + " to " + format_size(asked.to_bytes) +
                      " bytes; sizes are powers of four");
  for (const problem about : problems) {
    checked_count each{about, 0, {}};
    for (const auto& of : made.cells) {
      if (of.about != about) continue;
      for (const auto& name : of.contenders) {
        if (std::ranges::count(each.contenders, name) == 0) each.contenders.push_back(name);
      }
    }
    for (const std::size_t items : checked_items) {
      each.items = items;
      if (!each.contenders.empty()) made.checks.push_back(each);
    }
  }
  return made;
}

int calls_of(std::size_t bytes) {
  constexpr double latency_us = 4, bytes_per_us = 300e3, sample_us = 400;
  return std::clamp(static_cast<int>(sample_us / (latency_us + static_cast<double>(bytes) / bytes_per_us)), 2, 100);
}

std::vector<int> devices_of(int num_ranks, int num_gpus) {
  std::vector<int> devices;
  for (int rank = 0; rank < num_ranks; ++rank) devices.push_back(rank % num_gpus);
  return devices;
}

}  // namespace rungs::bench::across_gpus
