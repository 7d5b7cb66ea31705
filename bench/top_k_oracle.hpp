// Top-k of rows, judged by the host, which makes the items anew.
#pragma once

#include <cstdint>
#include <vector>

#include "verify.hpp"
#include "workload.hpp"

namespace rungs::bench {

// What a call has to write: the columns of the k greatest items of each row, the greatest first and of equals the
// first, and then the bits of these items. Items have 32 bits and are no NaN.
std::vector<std::uint32_t> choose_greatest(const workload& from, std::size_t num_columns, std::size_t k);

judgement judge_top_k(const std::vector<std::uint32_t>& expected, const std::vector<std::uint32_t>& got, std::size_t k);

}  // namespace rungs::bench
