#include "fuzz/check.hpp"

#include <algorithm>
#include <cstring>

namespace rungs::fuzz {
namespace {

std::string in_hex(const unsigned char* bytes, std::size_t num_bytes) {  // the last byte first, as numbers are written
  std::string text = "0x";
  for (std::size_t i = std::min<std::size_t>(num_bytes, 32); i-- > 0;) {
    text += "0123456789abcdef"[bytes[i] / 16];
    text += "0123456789abcdef"[bytes[i] % 16];
  }
  return text;
}

}  // namespace

std::string complaint(const kind& of, const fuzz_case& one, u64 shot, std::span<const unsigned char> found,
                      std::size_t begin, std::span<const unsigned char> expected) {
  const std::string where = one.replays > 0 ? " of replay " + std::to_string(shot) : "";
  const std::size_t end = begin + expected.size();
  if (found.size() < end) return "the output is shorter than what was expected";
  const auto is_spoilt = [](unsigned char byte) { return byte != canary; };
  const auto before = found.first(begin), behind = found.subspan(end);
  if (std::ranges::any_of(before, is_spoilt)) return "memory before the output was written to" + where;
  if (const auto spoilt = std::ranges::find_if(behind, is_spoilt); spoilt != behind.end())
    return "memory behind the output was written to, " + std::to_string(spoilt - behind.begin()) +
           " bytes from its end" + where;
  if (expected.empty() || std::memcmp(found.data() + begin, expected.data(), expected.size()) == 0) return "";
  std::vector<unsigned char> right(expected.begin(), expected.end());
  std::vector<unsigned char> got(found.begin() + static_cast<std::ptrdiff_t>(begin),
                                 found.begin() + static_cast<std::ptrdiff_t>(end));
  of.settle(right.data(), right.size());
  of.settle(got.data(), got.size());
  const std::size_t size = std::max<std::size_t>(of.about().out_bytes, 1), num_outputs = right.size() / size;
  std::size_t num_wrong = 0, first = 0;
  for (std::size_t i = num_outputs; i-- > 0;)
    if (std::memcmp(right.data() + i * size, got.data() + i * size, size) != 0) {
      ++num_wrong;
      first = i;
    }
  if (num_wrong == 0) return "";
  return "output " + std::to_string(first) + " of " + std::to_string(num_outputs) + where + ": expected " +
         in_hex(right.data() + first * size, size) + ", got " + in_hex(got.data() + first * size, size) +
         "; wrong outputs: " + std::to_string(num_wrong);
}

}  // namespace rungs::fuzz
