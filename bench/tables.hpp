// A file of results as tables: for a spreadsheet, and for a reader.
#pragma once

#include <string>

#include "environment.hpp"

namespace rungs::bench {

// The columns that report/SCHEMA.md names, in its order, and energy_uj where a row has it. CUB's second entries are
// left out.
std::string to_csv(const json& file);

// A table for each operation, types, shape, distribution and mode: a line a variant, the smallest sizes first.
std::string to_markdown(const json& file);

}  // namespace rungs::bench
