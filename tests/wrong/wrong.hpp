// Variants that are wrong on purpose, to prove that the suite refuses them. They are enrolled by the machinery of the
// catalog but into this list alone: neither bench nor report can see one.
#pragma once

#include <span>

#include "catalog.hpp"

namespace rungs::wrong {

struct exhibit {
  catalog::record what;
  const char* refused_by;  // the case, or the group of cases, that must refuse it
  const char* passes;      // one that it passes: the bug is not mere noise
};

std::span<const exhibit> all();

}  // namespace rungs::wrong
