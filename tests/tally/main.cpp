// rungs_tally [--require-gpu] FOLDER: counts the single tests in what tests/run left in a folder.
#include <iostream>
#include <string_view>

#include "tally/tally.hpp"

int main(int argc, char** argv) {
  std::string_view folder;
  bool require_gpu = false, understood = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--require-gpu")
      require_gpu = true;
    else if (folder.empty() && !argument.starts_with('-'))
      folder = argument;
    else
      understood = false;
  }
  if (folder.empty() || !understood) {
    std::cerr << "rungs_tally [--require-gpu] FOLDER: counts single tests in what tests/run left in a folder; with "
                 "--require-gpu a skipped GPU test is a failure\n";
    return 2;
  }
  const auto total = rungs::tests::tally::tally(folder, require_gpu);
  for (const std::string& remark : total.remarks) std::cout << remark << '\n';
  std::cout << total.sum.passed << " passed, " << total.sum.failed << " failed, " << total.sum.skipped << " skipped\n";
  return total.sum.failed == 0 ? 0 : 1;
}
