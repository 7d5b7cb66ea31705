// Where a library is known to be wrong. Those cases are left out of its records, and said to be; whatever else a
// library gets wrong fails. What a fault does is seen in its own test, which is skipped with the reason as long as it
// is there.
#pragma once

#include <span>
#include <string_view>

#include "gpu/problem.hpp"

namespace rungs::tests {

struct library_fault {
  std::string_view name;    // of its test
  std::string_view reason;  // with the issue where the library was told
  bool is_harmless;         // it spoils counters, and no memory besides
  bool (*concerns)(const catalog::record& subject);
  bool (*shows)(const catalog::record& subject, const problem& p);  // of a record that it concerns
};

std::span<const library_fault> library_faults();

// The one that this record shows in this problem, or null.
const library_fault* known_fault(const catalog::record& subject, const problem& p);

}  // namespace rungs::tests
