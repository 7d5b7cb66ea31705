// What the chains of the studies of costs must come to: the same work (rungs/parts/chains.cuh), done by code that
// shares nothing else with the variants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catalog.hpp"

namespace rungs::bench {

struct chain_question {
  catalog::operation operation{};
  catalog::op op{};
  std::size_t num_links = 0;
  std::size_t num_blocks = 1, num_threads = 1;
  unsigned seed = 0;
};

bool has_oracle_of_chains(const catalog::record& record);

// Every word of the output. Whole numbers: the types of values that are studied hold them exactly.
std::vector<std::uint32_t> words_of(const chain_question& of);

// What is wrong with these words; empty where nothing is.
std::string find_wrong(const chain_question& of, std::span<const std::uint32_t> expected, const void* words);

}  // namespace rungs::bench
