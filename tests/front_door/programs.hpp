// The programs that are compiled twice, against CUB and against the front door, and what each of them answered.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace rungs::tests {

struct outcome {
  std::string program;
  cudaError_t error = cudaSuccess;
  std::vector<unsigned char> bytes;  // of the output, and of what lay behind it
};

// Every program over num_items items, which are the same for all.
std::vector<outcome> reductions_by_cub(std::size_t num_items);
std::vector<outcome> reductions_by_rungs(std::size_t num_items);
std::vector<outcome> scans_by_cub(std::size_t num_items);
std::vector<outcome> scans_by_rungs(std::size_t num_items);
std::vector<outcome> histograms_by_cub(std::size_t num_items);
std::vector<outcome> histograms_by_rungs(std::size_t num_items);
std::vector<outcome> census_by_cub(std::size_t num_items);
std::vector<outcome> census_by_rungs(std::size_t num_items);

}  // namespace rungs::tests
