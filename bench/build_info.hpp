// What was built, from what, by what.
#pragma once

#include <string>
#include <vector>

namespace rungs::bench::build {

std::string version();  // of the project
std::string commit();   // abbreviated, "-dirty" appended where sources had changes; "unknown" outside a git tree
std::string nvcc_version();
std::string cccl_version();  // of the catalog
std::string compiler_version();
std::string build_type();
std::vector<int> architectures();
std::string source_dir();
bool is_release();  // false for debug and sanitizer builds, which never publish

std::string version_text();

}  // namespace rungs::bench::build
