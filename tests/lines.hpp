#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::tests {

// What a file holds; nothing where there is none.
inline std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  if (std::ifstream in(file, std::ios::binary); in && in.peek() != std::ifstream::traits_type::eof())
    text << in.rdbuf();
  return text.str();
}

// The lines of a text that are not empty; a carriage return ends one too, as where a progress meter was at work.
inline std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    if (!line.empty()) all.push_back(line);
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
  }
  return all;
}

}  // namespace rungs::tests
