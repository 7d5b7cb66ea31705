// Options of the form --key=value and --key.
#pragma once

#include <charconv>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/draw.hpp"

namespace rungs::fuzz {

class options {
 public:
  // Throws std::invalid_argument, as all members do.
  options(int argc, const char* const* argv, const std::set<std::string>& known) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view text = argv[i];
      const std::size_t equals = text.find('=');
      const std::string key(text.substr(0, equals));
      if (!known.contains(key)) throw std::invalid_argument("unknown option '" + key + "': see --help");
      values_[key] = equals == text.npos ? "" : std::string(text.substr(equals + 1));
    }
  }
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string text(const std::string& key) const { return has(key) ? values_.at(key) : ""; }
  u64 number(const std::string& key, u64 otherwise) const {
    if (!has(key)) return otherwise;
    const std::string& text = values_.at(key);
    u64 value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size())
      throw std::invalid_argument(key + "=" + text + " is not a number");
    return value;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace rungs::fuzz
