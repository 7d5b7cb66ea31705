// The chains of the studies of costs, one link and one thread after the other, in the type of the values: what the
// cases and the bench expect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog.hpp"
#include "rungs/parts/chains.cuh"

namespace rungs::tests {

struct chain_call {
  catalog::operation operation{};
  catalog::op op{};
  catalog::scalar type{};  // of a collective's values
  std::size_t num_links = 0, num_blocks = 1, num_threads = 1;
  unsigned seed = 0;

  std::size_t num_words() const {
    return operation == catalog::operation::collective_reduce ? 1 : num_blocks * num_threads;
  }
};

bool has_reference(const chain_call& call);
std::vector<std::uint32_t> words_after(const chain_call& call);
std::vector<unsigned char> bytes_after(const chain_call& call);

// Empty where the words are as they must be: what bytes_after answered.
std::optional<std::string> disagreement(const chain_call& call, const std::vector<unsigned char>& expected,
                                        const void* words);

}  // namespace rungs::tests
