// What describes a problem beside its number of items: named numbers in order, "bins=256" or "bins=256 channels=4
// active=3". Empty where items are all there is.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::bench {

struct dimension {
  std::string_view name;  // a literal
  std::size_t value = 0;
  auto operator<=>(const dimension&) const = default;
};

struct shape {
  std::vector<dimension> dimensions;

  bool empty() const { return dimensions.empty(); }
  std::size_t operator[](std::string_view name) const {  // 0 where there is none of this name
    for (const dimension& one : dimensions) {
      if (one.name == name) return one.value;
    }
    return 0;
  }
  auto operator<=>(const shape&) const = default;
};

inline std::string to_text(const shape& of, char separator = ' ') {
  std::string text;
  for (const dimension& one : of.dimensions) {
    if (!text.empty()) text += separator;
    text += std::string(one.name) + "=" + std::to_string(one.value);
  }
  return text;
}

}  // namespace rungs::bench
