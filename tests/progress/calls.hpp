// The kinds of call that are tried beside others, by CUB and by rungs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "front_door/both_forms.hpp"

namespace rungs::tests::progress {

enum class item_type { f32, i64, u8, i32, map };

struct arguments {
  const void* d_in;
  void* d_out;
  std::size_t num_items;
  cudaStream_t stream;
  const int* d_levels;  // num_levels of a histogram's bins that are not even
};
inline constexpr int num_levels = 257, most_sample = 65'536;

struct operation {
  std::string name;
  item_type in;
  std::size_t output_bytes;
  std::size_t num_outputs;  // 0: as many as items
  both_forms<const arguments&> call;

  std::size_t bytes_out(std::size_t num_items) const {
    return output_bytes * (num_outputs != 0 ? num_outputs : num_items);
  }
};

// The same in the same order.
std::vector<operation> operations_by_cub();
std::vector<operation> operations_by_rungs();

}  // namespace rungs::tests::progress
