// What the suite measures, as suite.json says.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "catalog.hpp"
#include "instruments.hpp"
#include "samples.hpp"
#include "shape.hpp"

namespace rungs::bench::rules {

// What a rule is asked about.
struct cell {
  catalog::operation operation{};
  catalog::op combine{};
  catalog::scalar input{}, accumulator{};
  bool on_host = false;
  bench::shape shape = {};
  bench::distribution distribution = bench::distribution::uniform;
  std::size_t num_items = 0;
};

// By the first rule of the table that fits: the sizes at which it is measured, nothing where none fits.
std::optional<std::vector<std::size_t>> sizes(std::string_view table, const cell& of);
std::vector<mode> modes(std::string_view table, const cell& of);
int order(const cell& of);
bool wants_every_rung(const cell& of);

// A list of numbers.
const std::vector<std::size_t>& numbers(std::string_view list);

// Whether samples of the type tell so many bins apart.
bool holds(catalog::scalar type, std::size_t bins);

}  // namespace rungs::bench::rules
