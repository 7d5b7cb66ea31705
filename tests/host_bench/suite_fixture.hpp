// A suite over records without a catalog: on the host, or where a test names one on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fake_records.hpp"
#include "suite.hpp"

namespace rungs::bench {

struct SuiteFixture : ::testing::Test {
  std::vector<catalog::record> records;
  selection wanted{.sizes = {1000}};
  suite_rules rules;
  std::optional<device_facts> gpu;
  bool interrupt = false;
  run_plan plan;
  std::unique_ptr<suite> all;

  SuiteFixture() { rules.warm_up_seconds = 0.01; }  // a fake GPU has no clock that rises
  void make() { plan = make_plan(records, wanted, gpu, "a test"); }
  void measure() {
    fakes::calls = 0;
    all = std::make_unique<suite>(plan, records, gpu, rules, [this] { return interrupt; });
    for (std::size_t i = 0; i < plan.problems.size(); ++i) all->visit(i);
    compare(all->found, gpu ? gpu->peak_gb_per_s() : 0);
  }
  void run() {
    make();
    measure();
  }
  // The rows of a rung, without CUB's twin.
  std::vector<const row*> rows_of(std::string_view rung) const {
    std::vector<const row*> rows;
    for (const row& one : all->found.rows)
      if (one.record->rung == rung && !one.twin) rows.push_back(&one);
    return rows;
  }
  const row* find(std::string_view rung, mode how) const {
    for (const row* one : rows_of(rung))
      if (one->mode == how) return one;
    return nullptr;
  }
  bool left_out(std::string_view words) const {
    return std::ranges::any_of(all->found.omissions,
                               [&](const omission& one) { return one.reason.find(words) != std::string::npos; });
  }
};

}  // namespace rungs::bench
