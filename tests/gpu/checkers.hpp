// The checkers of a site against the oracles on the host, which share nothing with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/examination.hpp"
#include "gpu/site.hpp"

namespace rungs::tests {

struct checker_test {
  std::string name;
  std::function<void(site& where, const examination& how, verdict& v)> run;
};
// Inputs and reductions, one test a type; scans; rows; histograms.
std::vector<checker_test> checker_tests();

// Whatever is thrown is a finding, too.
verdict run(const checker_test& test, site& where, const examination& how);

}  // namespace rungs::tests
