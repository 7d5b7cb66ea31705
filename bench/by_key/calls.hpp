// The calls that rungs_by_key compares: ours and CUB's, of the same arguments.
#pragma once

#include "by_key/plan.hpp"

namespace rungs::bench::by_key {

// Of a call's arguments: d_in is the first input, d_second the second one, num_items, num_rows the segments. The
// outputs lie one behind the other where d_out points, as places_of says, and behind them the number of outputs, an
// int.
struct calls {
  catalog::call_t rungs = nullptr, cub = nullptr;
};

// Null where the plan has no such types.
calls calls_of(const problem& about);

calls selection_calls(const problem& about);
calls unique_by_key_calls(const problem& about);
calls run_length_calls(const problem& about);
calls reduce_calls_of_i32(const problem& about);
calls reduce_calls_of_i64(const problem& about);
calls reduce_calls_of_u8(const problem& about);
calls sum_calls(const problem& about);
calls segmented_sum_calls(const problem& about);

// Copies num_items bytes from d_in to d_out: the ceiling.
cudaError_t copy(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                 cudaStream_t stream);

// Makes both inputs.
cudaError_t fill(const problem& about, std::size_t num_items, void* first, void* second, cudaStream_t stream);

// The release of CUB.
std::string cccl_version();

}  // namespace rungs::bench::by_key
