// The JUnit files that CTest writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rungs::tests::tally {

// One program that CTest ran: its status is run, fail, notrun or disabled.
struct junit_case {
  std::string name, status, output;
  bool skipped = false;
};

// Knows as much of XML as such a file holds. Throws std::runtime_error on what is no XML or was cut off.
std::vector<junit_case> read_junit(std::string_view xml);

}  // namespace rungs::tests::tally
