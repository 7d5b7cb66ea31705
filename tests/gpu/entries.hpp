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

// The checker, the catalog's records by the names that are wanted, what libraries are known to get wrong of them, the
// variants wrong on purpose.
std::vector<entry> all_entries(const std::function<bool(const std::string&)>& wanted);

}  // namespace rungs::tests
