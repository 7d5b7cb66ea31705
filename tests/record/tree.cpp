#include "record/tree.hpp"

#include <cuda_runtime_api.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>

#include "catalog.hpp"
#include "record/source_hash.hpp"

namespace rungs::tests::record {

std::filesystem::path source_root() {
  const char* const other = std::getenv("RUNGS_SOURCE_DIR");
  return other != nullptr ? other : RUNGS_SOURCE_ROOT;
}

std::vector<subject> subjects_of_catalog() {
  std::map<std::string, std::string> hashes;
  std::vector<subject> all;
  for (const catalog::record& r : catalog::all()) {
    if (r.executes_on == executor::host) continue;
    const std::string source(r.source);
    auto& hash = hashes[source];
    if (hash.empty()) hash = hash_of(source_root(), source, RUNGS_COMPILE_FLAGS);
    const auto word = [](std::string_view view) { return std::string(view); };
    all.push_back({{word(name(r.family)), word(r.ladder), word(r.rung), word(name(r.operation)), word(name(r.op)),
                    word(name(r.input_type)), word(name(r.accumulator_type))},
                   hash});
  }
  return all;
}

machine this_machine() {
  const auto version = [](int packed) {
    return std::to_string(packed / 1000) + '.' + std::to_string(packed % 1000 / 10);
  };
  machine m;
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess)
    m.gpu = properties.name;
  // The driver's own number where the kernel tells it, else the newest CUDA it supports.
  std::ifstream proc("/proc/driver/nvidia/version");
  for (std::string word; m.driver.empty() && proc >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos) m.driver = word;
  if (m.driver.empty() && cudaDriverGetVersion(&driver) == cudaSuccess) m.driver = version(driver);
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) m.toolkit = version(runtime);
  return m;
}

}  // namespace rungs::tests::record
