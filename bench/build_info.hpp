// What was built, from what, by what.
#pragma once

#include <string>

#include "build_values.hpp"  // written by bench/build_values.cmake at each build
#include "catalog.hpp"

namespace rungs::bench::build {

inline constexpr char version[] = RUNGS_BUILD_VERSION, source_dir[] = RUNGS_BUILD_SOURCE_DIR,
                      nvcc_version[] = RUNGS_BUILD_NVCC, compiler_version[] = RUNGS_BUILD_COMPILER,
                      type[] = RUNGS_BUILD_TYPE;
// Abbreviated, "-dirty" appended where sources had changes; "unknown" outside a git tree.
inline constexpr char commit[] = RUNGS_BUILD_COMMIT;
inline constexpr int architectures[] = {RUNGS_BUILD_ARCHITECTURES};

// False for debug and sanitizer builds, which never publish.
inline bool is_release() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#endif
  const std::string built = type;
  return built == "Release" || built == "RelWithDebInfo" || built == "MinSizeRel";
}

inline std::string version_text() {
  std::string text = std::string("rungs ") + version + " (" + commit + ", " + type + ")\nnvcc " + nvcc_version +
                     ", CCCL " + std::string(catalog::cccl_version()) + ", " + compiler_version + ", architectures";
  for (const int number : architectures) text += " " + std::to_string(number);
  return text;
}

}  // namespace rungs::bench::build
