// Selections of the items below a threshold, judged by the host, which makes the items anew.
#pragma once

#include <cstdint>
#include <vector>

#include "verify.hpp"
#include "workload.hpp"

namespace rungs::bench {

// The item that this many per cent of general items are less than. `changed` makes it another share.
value_bytes threshold_of(catalog::scalar type, std::size_t percent, bool changed);

struct chosen_items {
  std::uint64_t count = 0;
  std::uint64_t hash = 0;  // of all of them, as bench::hash says it
};
chosen_items choose(const workload& from, const value_bytes& threshold);

// `got.hash` is of as many items as the call has counted, where there is room for them.
judgement judge_selection(const chosen_items& expected, const chosen_items& got);

}  // namespace rungs::bench
