#pragma once

#include <sstream>
#include <string>

namespace rungs::tests {

// text("n=", 3, " of ", total): the parts, one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.precision(6);
  (out << ... << parts);
  return out.str();
}

}  // namespace rungs::tests
