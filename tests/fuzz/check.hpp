// Whether a call has written what it must, and nothing else.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "fuzz/kind.hpp"

namespace rungs::fuzz {

inline constexpr unsigned char canary = 0xa5;
inline constexpr std::size_t red_zone_bytes = 256;

// `found` is the output with what lies around it, which was filled with canaries; the output begins at `begin`. Empty:
// nothing is wrong.
std::string complaint(const kind& of, const fuzz_case& one, u64 shot, std::span<const unsigned char> found,
                      std::size_t begin, std::span<const unsigned char> expected);

}  // namespace rungs::fuzz
