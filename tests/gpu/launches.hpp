#pragma once

#include <set>
#include <string>

namespace rungs::tests {

// Mangled names of the kernels that this process launched so far.
std::set<std::string> launched_kernels();

}  // namespace rungs::tests
