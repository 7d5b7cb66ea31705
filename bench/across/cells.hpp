// What a run found, and the cells of the file that it becomes (report/SCHEMA.md, rungs.across/1).
#pragma once

#include <string>
#include <vector>

#include "across/plan.hpp"
#include "environment.hpp"

namespace rungs::bench::across_gpus {

struct result {
  std::string name;
  across_gpus::kind kind{};
  bool verified = true, same_bits = true;
  std::string defect = {};           // what was wrong
  std::vector<double> samples = {};  // microseconds a call; a wrong result's are told to nobody
};

struct measured_cell {
  cell about;
  int calls = 0;  // in a sample
  std::vector<result> results;
  // The first of the results again: how far equal code lies apart.
  std::vector<double> twin;
};

struct measured_count {
  checked_count about;
  std::vector<result> results;
};

// What counts as noise in each cell: by the twins of other cells of the mode within a factor of four in bytes, where
// they are five at least, else of all other cells of the mode.
std::vector<double> noise_floors(const std::vector<measured_cell>& cells);

json to_json(const std::vector<measured_cell>& cells);
json to_json(const std::vector<measured_count>& counts);

// Whether any result was wrong, or of ours not the same on all ranks.
bool any_is_wrong(const std::vector<measured_cell>& cells, const std::vector<measured_count>& counts);

}  // namespace rungs::bench::across_gpus
