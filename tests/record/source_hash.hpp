// A hash of what a kernel is made of: its file and, transitively, the files of this tree that it includes, without
// their comments and without regard to white space. Editing a comment asks for no new run on a GPU; anything else does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::tests::record {

// Comments become one space, runs of white space one space or, where the line ends, one newline. Literals stay as they
// are.
std::string without_comments(std::string_view source);

// The files that `source` (relative to the root) is made of, itself first, each once, in the order they are met.
// Throws std::runtime_error when `source` cannot be read. Includes that are not found under the roots are not ours.
std::vector<std::string> sources_of(const std::filesystem::path& root, const std::string& source);

// 16 hexadecimal digits of the sources and the compiler's flags.
std::string hash_of(const std::filesystem::path& root, const std::string& source, std::string_view compile_flags);

}  // namespace rungs::tests::record
