// Whether an output is right, against exact facts about the input that the code under test had no part in.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "catalog.hpp"
#include "workload.hpp"

namespace rungs::bench {

using value_bytes = std::array<unsigned char, 8>;  // one value of any scalar type, in its first bytes

// The init of a verification: 0 (or `offset`) for plus, the type's extreme for minimum and maximum.
value_bytes init_of(catalog::op op, catalog::scalar type, int offset);

struct judgement {
  bool right = false;
  double error_ulps = 0;  // in units of the output's last place; 0 for exact types
  std::string why = {};   // what is wrong, for a person
};

// `whole` as in workload: then floating-point sums must be exact, too. Else |error| <= gamma_h * sum|x| + u * |sum| for
// the record's summation height h.
judgement judge(const catalog::record& record, const summary_of_items& facts, std::size_t num_items, int init_offset,
                bool whole, const value_bytes& output);

}  // namespace rungs::bench
