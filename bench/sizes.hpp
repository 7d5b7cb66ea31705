// Numbers of items as people write them, 1000, 1Ki, 16Mi, 2Gi, and filters of names.
#pragma once

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::bench {

// Throws usage_error, naming the text, for anything but a positive whole number with an optional Ki, Mi or Gi; `of`
// says in the message what is counted.
std::size_t parse_size(std::string_view text, std::string_view of = "items");
// Also ranges: 1Ki:8Ki doubles, 1Ki:1Gi:4 grows by four, while the end is not passed.
std::vector<std::size_t> parse_sizes(std::string_view comma_separated, std::string_view of = "items");

// The shortest exact form: 16777216 is 16Mi, 1000 is 1000.
std::string format_size(std::size_t size);

// Throws usage_error where this is no regular expression.
std::regex parse_filter(const std::string& text);

}  // namespace rungs::bench
