// Calls that are compared, and plain kernels beside them. Without the host's headers, so that CUDA files include it.
#pragma once

#include <string>
#include <string_view>

#include "catalog.hpp"

namespace rungs::bench::inference {

enum class role : unsigned char { rungs, rival, roof };
constexpr std::string_view name(role value) {
  constexpr std::string_view names[] = {"rungs", "rival", "roof"};
  return names[static_cast<int>(value)];
}

struct named_call {
  inference::role role;
  const char* name;
  catalog::call_t call;
};

// Of a call's arguments: num_items bytes from d_in, and of a copy to d_out.
cudaError_t plain_read(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                       cudaStream_t stream);
cudaError_t plain_copy(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                       cudaStream_t stream);
cudaError_t empty_kernel(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                         cudaStream_t stream);

// Writes each item's column.
cudaError_t fill_columns(int* d_columns, std::size_t num_rows, std::size_t num_columns);

std::string cccl_version();

}  // namespace rungs::bench::inference
