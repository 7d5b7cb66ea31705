// Ends the program, with words, where something hangs for good.
#pragma once

#include <string>

namespace rungs::tests::progress {

// From now on `what` is under way, which may take that long. Without seconds, nothing is.
void watch(const std::string& what, double seconds);
void watch_nothing();

}  // namespace rungs::tests::progress
