// What was found, and what it becomes in the file.
#pragma once

#include <string>
#include <vector>

#include "by_key/plan.hpp"
#include "environment.hpp"
#include "statistics.hpp"

namespace rungs::bench::by_key {

// Of one library in one cell.
struct result {
  bool ran = false;       // else the cell is among the omissions
  bool verified = false;  // its outputs were right
  std::string defect;     // what was wrong
  std::size_t storage_bytes = 0;
  std::vector<double> samples;

  bool is_timed() const { return verified && !samples.empty(); }
};

struct measured_cell {
  cell about;
  std::size_t outputs = 0;
  bool by_host = false;  // outputs were compared with the host's, else with CUB's
  result rungs, cub;
  std::vector<double> twin;  // CUB's second entry
  std::vector<double> copy;  // of as many bytes as the call has to read and write

  std::size_t bytes() const { return footprint(about, outputs); }
};

struct omission {
  cell about;
  std::string name, reason;  // rungs or cub
};

// How far CUB lies from itself, entered twice, in other cells with at most four times as many or as few bytes.
std::vector<double> noise_floors(const std::vector<measured_cell>& cells);

json to_json(const std::vector<measured_cell>& cells);
json to_json(const std::vector<omission>& omissions);

}  // namespace rungs::bench::by_key
