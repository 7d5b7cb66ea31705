// The exact sum of an array that lies on several GPUs: the same bits on 1, 2, 4 or 8 of them, however the array is cut.
//
// Each rank adds its items up exactly, into a record (rungs/exact/record.cuh). Records are exchanged as tagged lines
// and added digit by digit, which is exact, and rounded once.
#pragma once

#include "rungs/across/parts/lines.cuh"
#include "rungs/exact/exact_sum.cuh"
#include "rungs/exact/record.cuh"
#include "rungs/parts/launch.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::across {

// A thread takes a line of the record, from all ranks; one thread adds the records up, where they lie together.
template <int block_threads, class Total, class Out>
__global__ void __launch_bounds__(block_threads, 1)
    merge_records_kernel(const __grid_constant__ member me, const Total* record, Out* d_out) {
  constexpr int num_lines = sizeof(Total) / parts::line_payload;
  static_assert(sizeof(Total) % parts::line_payload == 0 &&
                num_lines * parts::line_payload <= parts::least_tagged_bytes);
  static_assert(alignof(Total) >= 8);
  __shared__ production::room_for<Total> rooms[max_ranks];
  const parts::word step = parts::first_step(me);
  const int half = parts::half_of(step);
  for (int i = threadIdx.x; i < num_lines; i += block_threads) {
    unsigned own[2], received[2];
    memcpy(own, reinterpret_cast<const char*>(record) + i * parts::line_payload, sizeof(own));
    for (int r = 0; r < me.num_ranks; ++r)
      if (r != me.rank) parts::post(parts::lines_of(me, r, me.rank, half) + i, own, parts::tag_of(step));
    for (int r = 0; r < me.num_ranks; ++r) {
      received[0] = own[0], received[1] = own[1];
      if (r != me.rank) parts::receive(parts::lines_of(me, me.rank, r, half) + i, received, parts::tag_of(step));
      memcpy(rooms[r].bytes + i * parts::line_payload, received, sizeof(received));
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  Total& total = rooms[0].get();
  for (int r = 1; r < me.num_ranks; ++r) total += rooms[r].get();
  if constexpr (exact::is_total<Out>)
    *d_out = total;
  else
    *d_out = total.template rounded_in_place<Out>(0, Total::num_digits - 1);
  parts::leave(me, 1);
}

// *d_out = the exact sum of all items of all ranks, on every rank, rounded once to the type of d_out; or its record,
// where d_out points to a rungs::exact_sum<Item>. Of each rank num_items items, which may be none, and differ between
// ranks. Item is float, double, __half or __nv_bfloat16. NaN and infinities come out as of
// rungs::DeviceReduce::ExactSum.
//
// Storage is the rank's own, in CUB's two phases, and may hold anything. Two or three launches. Calls, streams and
// errors as of across::all_reduce, and cudaErrorInvalidValue where storage is too small.
template <class Item, class Out>
cudaError_t exact_sum(void* d_temp_storage, std::size_t& temp_storage_bytes, const member& member, const Item* d_in,
                      Out* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
  using total = rungs::exact_sum<Item>;
  constexpr std::size_t record_bytes = rungs::parts::storage_alignment * ((sizeof(total) - 1) / 256 + 1);
  constexpr int block_threads = 128;
  static_assert(rungs::parts::storage_alignment == 256);
  static_assert(!exact::is_total<Out> || std::is_same_v<Out, total>, "the record is one of the items' type");
  std::size_t sum_bytes = 0;
  char* region;
  cudaError_t error = member.check();
  if (error != cudaSuccess) return error;
  error = production::exact_door::sum(nullptr, sum_bytes, d_in, static_cast<total*>(nullptr), num_items, stream);
  if (error != cudaSuccess) return error;
  if (rungs::parts::answered(d_temp_storage, temp_storage_bytes, record_bytes + sum_bytes, region, error)) return error;
  total* const record = reinterpret_cast<total*>(region);
  error = production::exact_door::sum(region + record_bytes, sum_bytes, d_in, record, num_items, stream);
  if (error != cudaSuccess) return error;
  return rungs::parts::launch(merge_records_kernel<block_threads, total, Out>, 1, block_threads, stream, member,
                              static_cast<const total*>(record), d_out);
}

}  // namespace rungs::RUNGS_ABI::across
