// Ways to add floats that are in no catalog: they answer questions about accuracy, not about speed.
#pragma once

#include <vector>

#include "catalog.hpp"

namespace rungs::bench {

// Sums of f32, called as the catalog's records are.
std::vector<catalog::record> more_ways();

}  // namespace rungs::bench
