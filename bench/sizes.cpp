#include "sizes.hpp"

#include <charconv>
#include <utility>

#include "check.hpp"

namespace rungs::bench {
namespace {
// More than any memory holds, and small enough that no number of bytes overflows.
constexpr std::size_t largest = std::size_t{1} << 48;
constexpr std::pair<std::string_view, int> suffixes[] = {{"Gi", 30}, {"Mi", 20}, {"Ki", 10}, {"", 0}};
}  // namespace

std::size_t parse_size(std::string_view text, std::string_view of) {
  const auto refuse = [&](const char* why) {
    return usage_error("size '" + std::string(text) + "' " + why + "; write a positive number of " + std::string(of) +
                       " such as 1048576, 1Ki or 16Mi");
  };
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) throw refuse("is too large");
  if (error != std::errc{}) throw refuse(text.starts_with('-') ? "is negative" : "is not a number");
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  for (const auto& [name, shift] : suffixes) {
    if (suffix != name) continue;
    if (number == 0) throw refuse("is zero");
    if (number > (largest >> shift)) throw refuse("is too large");
    return number << shift;
  }
  throw refuse("has an unknown suffix");
}

namespace {

// What is in front of the first such character, which goes with it.
std::string_view take_until(char separator, std::string_view& text, bool& more) {
  const auto at = text.find(separator);
  const auto part = text.substr(0, at);
  more = at != text.npos;
  text.remove_prefix(more ? at + 1 : text.size());
  return part;
}

void add_range(std::string_view text, std::string_view of, std::vector<std::size_t>& sizes) {
  const auto refuse = [&](const char* why) {
    return usage_error("range '" + std::string(text) + "' " + why +
                       "; write FIRST:LAST or FIRST:LAST:FACTOR, such as " + "1Ki:1Gi or 1Ki:1Gi:4");
  };
  std::string_view rest = text;
  bool more = false;
  const std::size_t first = parse_size(take_until(':', rest, more), of);
  if (!more) return sizes.push_back(first);
  const std::size_t last = parse_size(take_until(':', rest, more), of);
  std::size_t factor = 2;
  if (more) factor = parse_size(take_until(':', rest, more), "times");
  if (more) throw refuse("has more than three parts");
  if (first > last) throw refuse("ends before it begins");
  if (factor < 2) throw refuse("goes nowhere");
  for (std::size_t size = first; size <= last; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) break;
  }
}

}  // namespace

std::vector<std::size_t> parse_sizes(std::string_view text, std::string_view of) {
  std::vector<std::size_t> sizes;
  for (bool more = true; more;) add_range(take_until(',', text, more), of, sizes);
  return sizes;
}

std::string format_size(std::size_t size) {
  for (const auto& [name, shift] : suffixes) {
    if (size != 0 && size % (std::size_t{1} << shift) == 0) return std::to_string(size >> shift) + std::string(name);
  }
  return std::to_string(size);
}

std::regex parse_filter(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw usage_error("--filter: '" + text + "' is not a regular expression: " + error.what());
  }
}

}  // namespace rungs::bench
