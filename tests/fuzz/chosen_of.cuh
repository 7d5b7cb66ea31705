// Selections and partitions, by flags and by a predicate.
#pragma once

#include "fuzz/by_key_of.cuh"
#include "fuzz/check.hpp"
#include "rungs/device/device_partition.cuh"
#include "rungs/device/device_select.cuh"

namespace rungs::fuzz {

// In place, what lies behind the chosen items may be anything: it becomes canaries.
template <class Item>
__global__ void forget_behind(Item* d_items, const int* d_count, u64 num_items) {
  const u64 stride = u64{gridDim.x} * blockDim.x;
  for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    if (*d_count >= 0 && i >= static_cast<u64>(*d_count)) memset(static_cast<void*>(d_items + i), canary, sizeof(Item));
}

// Flag: void, where a predicate chooses.
template <class Item, class Flag>
using flags_or_none = std::conditional_t<std::is_void_v<Flag>, no_input, flags_of<Flag>>;

template <class Item, class Flag, bool is_partition>
class chosen final : public by_key_kind<runs_of<Item>, flags_or_none<Item, Flag>, Item, void, true> {
 public:
  using base = by_key_kind<runs_of<Item>, flags_or_none<Item, Flag>, Item, void, true>;
  using base::base;
  static constexpr bool has_flags = !std::is_void_v<Flag>;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Item* const in = base::first_of(one, at);
    Item* const out = base::first_out_of(one, at);
    int* const count = base::count_of(one, at);
    const auto n = static_cast<long long>(one.n);
    const auto* const flags = base::second_of(one, at);
    const chosen_by_bits predicate = predicate_of(one);
    const cudaError_t error = with_storage(by, [&](auto&... storage) {
      if constexpr (is_partition && has_flags)
        return DevicePartition::Flagged(storage..., in, flags, out, count, n, stream);
      else if constexpr (is_partition)
        return DevicePartition::If(storage..., in, out, count, n, predicate, stream);
      else if constexpr (has_flags)
        return one.in_place ? DeviceSelect::Flagged(storage..., out, flags, count, n, stream)
                            : DeviceSelect::Flagged(storage..., in, flags, out, count, n, stream);
      else
        return one.in_place ? DeviceSelect::If(storage..., out, count, n, predicate, stream)
                            : DeviceSelect::If(storage..., in, out, count, n, predicate, stream);
    });
    const bool asks_for_size = by.keeper == nullptr && by.d_temp_storage == nullptr;
    if (error != cudaSuccess || asks_for_size || !one.in_place || one.n == 0) return error;
    forget_behind<<<num_blocks(one.n), 256, 0, stream>>>(out, count, one.n);
    return cudaGetLastError();
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Item> items = base::first_items(one, shot);
    std::vector<bool> is_chosen(items.size());
    if constexpr (has_flags) {
      const auto flags = base::second_items(one, shot);
      for (std::size_t i = 0; i < items.size(); ++i) is_chosen[i] = flags[i] != 0;
    } else {
      for (std::size_t i = 0; i < items.size(); ++i) is_chosen[i] = predicate_of(one)(items[i]);
    }
    std::vector<Item> outputs;
    for (std::size_t i = 0; i < items.size(); ++i)
      if (is_chosen[i]) outputs.push_back(items[i]);
    const std::size_t count = outputs.size();
    if (is_partition)
      for (std::size_t i = items.size(); i-- > 0;)
        if (!is_chosen[i]) outputs.push_back(items[i]);
    return base::region(one, filler, outputs, {}, count);
  }
};

}  // namespace rungs::fuzz
