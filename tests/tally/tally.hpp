// The single tests in what tests/run left in a folder: CTest's JUnit files, and <program>.log with <program>.status.
//
// CTest counts programs, and calls one passed in which every test was skipped. So the numbers come from the summaries
// that the programs print; a program that prints none is one test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tally/summary.hpp"

namespace rungs::tests::tally {

enum class ending { passed, failed, skipped };  // of a program, as its exit status says

// The counts of one program.
counts judge(std::string_view output, ending how);

struct total {
  counts sum;
  std::vector<std::string> remarks;  // a line for each program in which something failed
};

// All programs of a folder. gpu.xml and gpu*.log were on the GPU: where one is required, their skipped tests have
// failed, unless they say another reason. A file that cannot be read is a failure, and so is a folder without any test.
total tally(const std::filesystem::path& folder, bool require_gpu);

}  // namespace rungs::tests::tally
