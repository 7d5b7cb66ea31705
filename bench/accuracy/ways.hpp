// Ways to add floats and products that are in no catalog: they answer questions about accuracy, not about speed.
#pragma once

#include <vector>

#include "catalog.hpp"

namespace rungs::bench {

// Sums and dot products of f32, called as the catalog's records are.
std::vector<catalog::record> more_ways();

// Exact sums and dot products, and plain ones and CUB's reproducible ones beside them, of every type.
std::vector<catalog::record> ways_at_sizes();

}  // namespace rungs::bench
