// The cases that every rung across GPUs has to pass.
#pragma once

#include <string>
#include <vector>

#include "catalog.hpp"

namespace rungs::tests::across {

struct verdict {
  int cases = 0;
  std::vector<std::string> findings;  // at most a few
};

// Of record `index` of across_records(), or of across_reductions().
verdict examine_all_reduce(std::size_t index);
verdict examine_reduce(std::size_t index);

// Frees what examinations keep on the device from one to the next.
void clear_examinations();

}  // namespace rungs::tests::across
