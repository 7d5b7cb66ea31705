// What the suite measures, as suite.json says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "instruments.hpp"
#include "shape.hpp"

namespace rungs::bench {
struct problem;
}

namespace rungs::bench::rules {

inline constexpr std::size_t most_bins = std::size_t{16} << 20;

// By the first rule that fits in the table of a plan ("full", "held_out", "histograms"; "": the default suite), else in
// that of the default suite; nothing where none fits.
std::vector<std::size_t> sizes(const std::string& plan, const problem& of);
std::vector<mode> modes(const std::string& plan, const problem& of);
// A GPU with so many multiprocessors; each shape once.
std::vector<shape> shapes(const std::string& plan, const problem& of, std::size_t multiprocessors);
int order(const problem& of);
bool wants_every_rung(const problem& of);

// The sizes at which the ladder is shown.
const std::vector<std::size_t>& ladder();

}  // namespace rungs::bench::rules
