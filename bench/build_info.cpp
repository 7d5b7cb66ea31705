#include "build_info.hpp"

#include "build_values.hpp"  // written by bench/build_values.cmake at each build
#include "catalog.hpp"

namespace rungs::bench::build {

std::string version() { return RUNGS_BUILD_VERSION; }
std::string commit() { return RUNGS_BUILD_COMMIT; }
std::string nvcc_version() { return RUNGS_BUILD_NVCC; }
std::string cccl_version() { return std::string(catalog::cccl_version()); }
std::string compiler_version() { return RUNGS_BUILD_COMPILER; }
std::string build_type() { return RUNGS_BUILD_TYPE; }
std::string source_dir() { return RUNGS_BUILD_SOURCE_DIR; }

std::vector<int> architectures() {
  std::vector<int> numbers;
  for (const int number : {RUNGS_BUILD_ARCHITECTURES}) numbers.push_back(number);
  return numbers;
}

bool is_release() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#endif
  return build_type() == "Release" || build_type() == "RelWithDebInfo" || build_type() == "MinSizeRel";
}

std::string version_text() {
  std::string text = "rungs " + version() + " (" + commit() + ", " + build_type() + ")\nnvcc " + nvcc_version() +
                     ", CCCL " + cccl_version() + ", " + compiler_version() + ", architectures";
  for (const int number : architectures()) text += " " + std::to_string(number);
  return text;
}

}  // namespace rungs::bench::build
