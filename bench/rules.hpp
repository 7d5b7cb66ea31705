// What the suite measures, as suite.json says.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catalog.hpp"
#include "instruments.hpp"
#include "samples.hpp"
#include "shape.hpp"

namespace rungs::bench::rules {

inline constexpr std::size_t most_bins = std::size_t{16} << 20;

// One line of the suite: what records compute that answer the same question.
struct question {
  catalog::operation operation{};
  catalog::op combine{};
  catalog::scalar input{}, accumulator{}, output{};
  bool on_host = false;
  int num_channels = 1, num_active_channels = 1;
  auto operator<=>(const question&) const = default;
};

// What a rule is asked about.
struct cell {
  question line;
  bench::shape shape = {};
  bench::distribution distribution = bench::distribution::uniform;
  std::size_t num_items = 0;
};

// By the first rule that fits in the table of a plan ("full", "held_out", "histograms"; "": the default suite), else in
// that of the default suite; nothing where none fits.
std::vector<std::size_t> sizes(const std::string& plan, const cell& of);
std::vector<mode> modes(const std::string& plan, const cell& of);
// A GPU with so many multiprocessors; each shape once.
std::vector<shape> shapes(const std::string& plan, const question& of, std::size_t multiprocessors);
int order(const question& of);
bool wants_every_rung(const cell& of);

// The sizes at which the ladder is shown.
const std::vector<std::size_t>& ladder();

}  // namespace rungs::bench::rules
