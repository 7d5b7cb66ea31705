// Whether an output is right, against exact facts about the input that the code under test had no part in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "catalog.hpp"
#include "histogram_oracle.hpp"
#include "scan_oracle.hpp"
#include "workload.hpp"

namespace rungs::bench {

using value_bytes = std::array<unsigned char, 8>;  // one value of any scalar type, in its first bytes

// The init of a verification. With offset 0: 0 for plus, the type's extreme for minimum and maximum, the identity for
// compose. With another: a value of which the output can tell.
value_bytes init_of(catalog::op op, catalog::scalar type, int offset);

struct judgement {
  bool right = false;
  // In units of the output's last place; 0 for exact types. A scan's is the largest error of all its elements, in units
  // of the last place of the largest of them.
  double error_ulps = 0;
  std::string why = {};  // what is wrong, for a person
};

// What is wrong with two words of output, the index and one that begins with the item; empty if nothing is.
std::string find_wrong_place(catalog::scalar type, std::uint64_t index, const value_bytes& item,
                             const std::uint64_t* output);

// `whole` as in workload: then floating-point sums must be exact, too. Else |error| <= gamma_h * sum|x| + u * |sum| for
// the record's summation height h.
judgement judge(const catalog::record& record, const summary_of_items& facts, std::size_t num_items, int init_offset,
                bool whole, const value_bytes& output);

// The same for every element of a scan: first what a check must know, then what it found. `got` is the first wrong
// element, if there is one.
bool has_oracle(const catalog::record& scan);
running before_all(const catalog::record& record, int init_offset);
tolerance tolerance_of(const catalog::record& record, const workload& from);
judgement judge_scan(const catalog::record& record, const scan_question& of, const std::vector<running>& befores,
                     const tally& found, const value_bytes& got);

// Every counter of a histogram, and that they sum to as many samples as lie between the levels.
judgement judge_histogram(const histogram_question& of, const counted& expected, std::span<const std::uint32_t> got);
judgement judge_histogram(const histogram_question& of, const counted& expected, std::span<const std::uint64_t> got);

}  // namespace rungs::bench
