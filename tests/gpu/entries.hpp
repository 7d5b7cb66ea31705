// What rungs_gpu_tests runs, each under a name of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/examination.hpp"

namespace rungs::tests {

struct entry {
  std::string suite, name;
  std::function<verdict(const examination&)> run;
};

// `changed`: of the catalog, only records that are missing, stale or pending in the GPU record.
std::vector<entry> all_entries(bool changed);

}  // namespace rungs::tests
