// The catalog as the GPU record sees it.
#pragma once

#include <filesystem>
#include <vector>

#include "record/gpu_record.hpp"

namespace rungs::tests::record {

// Where the sources lie: as built, or as the environment variable RUNGS_SOURCE_DIR says.
std::filesystem::path source_root();
inline std::filesystem::path default_file() { return source_root() / "tests" / "gpu_record.json"; }

// Every record that needs a GPU, with its hash. Records that execute on the host are tested everywhere and have no
// entry.
std::vector<subject> subjects_of_catalog();

machine this_machine();

}  // namespace rungs::tests::record
