// What the calls must write, by loops on the host over items made there.
#pragma once

#include <string>
#include <vector>

#include "by_key/plan.hpp"

namespace rungs::bench::by_key {

struct right_outputs {
  std::vector<unsigned char> first, second;  // second: empty where there is none
  std::size_t count = 0;                     // of a partition the chosen ones; all items are outputs
};
right_outputs right_outputs_of(const cell& about);

// Items that the outputs hold: `count` of the calls that write one, but all of a partition or a scan.
std::size_t num_outputs(const cell& about, std::size_t count);

// "output 3 of 17 ..." where they differ first; empty: nowhere.
std::string difference(const char* what, const std::vector<unsigned char>& right, const std::vector<unsigned char>& got,
                       std::size_t item_bytes);

}  // namespace rungs::bench::by_key
