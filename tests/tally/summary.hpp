// The summary that a test program prints: GoogleTest's, pytest's, or ours, "N passed, N failed, N skipped".
#pragma once

#include <optional>
#include <string_view>

namespace rungs::tests::tally {

struct counts {
  int passed = 0, failed = 0, skipped = 0;

  int sum() const { return passed + failed + skipped; }
  counts& operator+=(const counts& more) {
    passed += more.passed;
    failed += more.failed;
    skipped += more.skipped;
    return *this;
  }
  friend bool operator==(const counts&, const counts&) = default;
};

// What the last summary in a program's output says. Ours goes before the others, whose programs ours may have run.
std::optional<counts> read_summary(std::string_view output);

}  // namespace rungs::tests::tally
