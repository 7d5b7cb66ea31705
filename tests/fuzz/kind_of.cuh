// Kinds of reductions and scans, made of a source of items, an output type, a call, and what the call means.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "fuzz/items.cuh"
#include "fuzz/kind.hpp"
#include "rungs/device/device_reduce.cuh"
#include "rungs/device/device_scan.cuh"

namespace rungs::fuzz {

inline unsigned num_blocks(std::size_t num_items) {
  return static_cast<unsigned>(std::min<std::size_t>((num_items + 255) / 256, 2048));
}

template <class Item>
__global__ void make_items(Item* d_items, std::size_t num_items, recipe recipe) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride)
    d_items[i] = make<Item>(recipe, i);
}

template <class Item>
__global__ void count_changed_items(const Item* d_items, std::size_t num_items, recipe recipe,
                                    unsigned* d_num_changed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_items; i += stride) {
    const Item expected = make<Item>(recipe, i);
    const unsigned char* const right = reinterpret_cast<const unsigned char*>(&expected);
    const unsigned char* const found = reinterpret_cast<const unsigned char*>(d_items + i);
    bool is_changed = false;
    for (unsigned k = 0; k < sizeof(Item); ++k) is_changed |= right[k] != found[k];
    if (is_changed) atomicAdd(d_num_changed, 1u);
  }
}

template <class Item>
__global__ void store(Item* d_out, Item item) {
  *d_out = item;
}

inline recipe recipe_of(const fuzz_case& one, u64 shot, std::size_t num_items, bool is_summed) {
  return {mixed(one.seed, shot), one.values, num_items, mixed(one.seed, 1000), is_summed};
}

// The initial value: never the identity. Of a call that reads it on the device, another one for each replay.
template <class Init>
Init init_of(const fuzz_case& one, u64 shot) {
  recipe recipe = recipe_of(one, 100 + shot, std::max<u64>(one.n, 1000), true);
  if (recipe.pattern != small_values) recipe.pattern = random_values;
  return make<Init>(recipe, 7);
}

// --- where items come from

template <class Item>
struct from_memory {
  using item = Item;
  using stored = Item;  // what lies in memory
  static constexpr std::size_t item_bytes = sizeof(Item);
  static const Item* at(void* d_in, const recipe&) { return static_cast<const Item*>(d_in); }
  static Item on_host(const recipe& recipe, u64 i) { return make<Item>(recipe, i); }
};

// As given for both iterators, so that in place one is named once.
template <class Item>
struct from_output : from_memory<Item> {
  static Item* at(void* d_in, const recipe&) { return static_cast<Item*>(d_in); }
};

// --- the calls. Storage comes last: a workspace, or a pointer and its size.

struct nothing {};

struct call_sum {
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void*, cudaStream_t stream, Storage&... by) const {
    return DeviceReduce::Sum(by..., in, out, n, stream);
  }
};
template <bool least>
struct call_extremum {
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void*, cudaStream_t stream, Storage&... by) const {
    if constexpr (least)
      return DeviceReduce::Min(by..., in, out, n, stream);
    else
      return DeviceReduce::Max(by..., in, out, n, stream);
  }
};
using call_min = call_extremum<true>;
using call_max = call_extremum<false>;
template <class Op>
struct call_reduce {
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init init, const void*, cudaStream_t stream,
                         Storage&... by) const {
    return DeviceReduce::Reduce(by..., in, out, n, op, init, stream);
  }
};
template <class Op, class Transform>
struct call_transform_reduce {
  Op op;
  Transform transform;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init init, const void*, cudaStream_t stream,
                         Storage&... by) const {
    return DeviceReduce::TransformReduce(by..., in, out, n, op, transform, init, stream);
  }
};

struct call_inclusive_sum {
  static constexpr bool is_inclusive = true, is_future = false;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void*, cudaStream_t stream, Storage&... by) const {
    if constexpr (std::is_same_v<In, Out>)
      return DeviceScan::InclusiveSum(by..., out, n, stream);
    else
      return DeviceScan::InclusiveSum(by..., in, out, n, stream);
  }
};
struct call_exclusive_sum {
  static constexpr bool is_inclusive = false, is_future = false;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void*, cudaStream_t stream, Storage&... by) const {
    if constexpr (std::is_same_v<In, Out>)
      return DeviceScan::ExclusiveSum(by..., out, n, stream);
    else
      return DeviceScan::ExclusiveSum(by..., in, out, n, stream);
  }
};
template <class Op>
struct call_inclusive_scan {
  static constexpr bool is_inclusive = true, is_future = false;
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void*, cudaStream_t stream, Storage&... by) const {
    if constexpr (std::is_same_v<In, Out>)
      return DeviceScan::InclusiveScan(by..., out, op, n, stream);
    else
      return DeviceScan::InclusiveScan(by..., in, out, op, n, stream);
  }
};
template <class Op>
struct call_exclusive_scan {
  static constexpr bool is_inclusive = false, is_future = false;
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init init, const void*, cudaStream_t stream,
                         Storage&... by) const {
    if constexpr (std::is_same_v<In, Out>)
      return DeviceScan::ExclusiveScan(by..., out, op, init, n, stream);
    else
      return DeviceScan::ExclusiveScan(by..., in, out, op, init, n, stream);
  }
};
template <class Op>
struct call_inclusive_scan_init {
  static constexpr bool is_inclusive = true, is_future = false;
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init init, const void*, cudaStream_t stream,
                         Storage&... by) const {
    return DeviceScan::InclusiveScanInit(by..., in, out, op, init, n, stream);
  }
};
// The initial value is on the device.
template <class Op>
struct call_exclusive_scan_future {
  static constexpr bool is_inclusive = false, is_future = true;
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void* d_init, cudaStream_t stream,
                         Storage&... by) const {
    return DeviceScan::ExclusiveScan(by..., in, out, op, FutureValue{static_cast<const Init*>(d_init)}, n, stream);
  }
};
template <class Op>
struct call_inclusive_scan_future {
  static constexpr bool is_inclusive = true, is_future = true;
  Op op;
  template <class In, class Out, class Init, class... Storage>
  cudaError_t operator()(In in, Out out, std::size_t n, Init, const void* d_init, cudaStream_t stream,
                         Storage&... by) const {
    return DeviceScan::InclusiveScanInit(by..., in, out, op, FutureValue{static_cast<const Init*>(d_init)}, n, stream);
  }
};

template <class Call, class... Arguments>
cudaError_t with_storage(const Call& call, const storage& by, Arguments... arguments) {
  if (by.keeper != nullptr) return call(arguments..., *by.keeper);
  void* d_temp_storage = by.d_temp_storage;
  return call(arguments..., d_temp_storage, *by.temp_storage_bytes);
}

// --- what all kinds with items of one source share

template <class Source, class Meaning>
class kind_from : public kind {
 public:
  using kind::kind;
  using item = typename Source::item;
  static constexpr bool is_in_memory = Source::item_bytes != 0;

  recipe recipe_for(const fuzz_case& one, u64 shot) const {
    return recipe_of(one, shot, in_items(one), Meaning::is_summed);
  }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    const std::size_t n = in_items(one);
    if constexpr (is_in_memory) {
      using stored = typename Source::stored;
      if (n > 0) make_items<<<num_blocks(n), 256, 0, stream>>>(static_cast<stored*>(at.d_in), n, recipe_for(one, shot));
    }
    return cudaGetLastError();
  }
  cudaError_t count_changes(const fuzz_case& one, u64 shot, const places& at, unsigned* d_num_changed,
                            cudaStream_t stream) const override {
    const std::size_t n = in_items(one);
    if constexpr (is_in_memory) {
      using stored = typename Source::stored;
      if (n > 0 && !one.in_place)
        count_changed_items<<<num_blocks(n), 256, 0, stream>>>(static_cast<const stored*>(at.d_in), n,
                                                               recipe_for(one, shot), d_num_changed);
    }
    return cudaGetLastError();
  }
};

struct as_it_is {
  template <class T>
  T operator()(const T& item) const {
    return item;
  }
};

// --- one result

template <class Source, class Output, class Init, class Call, class Meaning, class Transform>
class reduction final : public kind_from<Source, Meaning> {
 public:
  using base = kind_from<Source, Meaning>;
  static constexpr bool has_init = !std::is_same_v<Init, nothing>;

  reduction(const traits& about, Call call, Meaning meaning) : base(about), call_(call), meaning_(meaning) {}

  std::size_t out_bytes(const fuzz_case&) const override { return sizeof(Output); }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    Init init{};
    if constexpr (has_init) init = init_of<Init>(one, 0);
    return with_storage(call_, by, Source::at(at.d_in, this->recipe_for(one, 0)), static_cast<Output*>(at.d_out),
                        static_cast<std::size_t>(one.n), init, static_cast<const void*>(nullptr), stream);
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char) const override {
    const recipe recipe = this->recipe_for(one, shot);
    const auto item = [&](u64 i) { return widened(Transform{}(Source::on_host(recipe, i))); };
    using total_type = decltype(item(0));
    total_type total{};
    u64 i = 0;
    if constexpr (has_init)
      total = static_cast<total_type>(widened(init_of<Init>(one, 0)));
    else if (one.n == 0)
      total = Meaning::template of_nothing<typename Source::item>();
    else
      total = item(i++);
    for (; i < one.n; ++i) total = meaning_(total, item(i));
    std::vector<unsigned char> bytes(sizeof(Output));
    const Output out = narrowed<Output>(total);
    std::memcpy(bytes.data(), &out, sizeof(Output));
    return bytes;
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    make_nans_alike<Output>(outputs, num_bytes);
  }

 private:
  Call call_;
  Meaning meaning_;
};

// --- as many results as items

template <class Source, class Output, class Init, class Call, class Meaning>
class scan final : public kind_from<Source, Meaning> {
 public:
  using base = kind_from<Source, Meaning>;
  static constexpr bool has_init = !std::is_same_v<Init, nothing>;

  scan(const traits& about, Call call, Meaning meaning) : base(about), call_(call), meaning_(meaning) {}

  std::size_t out_bytes(const fuzz_case& one) const override { return one.n * sizeof(Output); }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    if constexpr (Call::is_future) store<<<1, 1, 0, stream>>>(static_cast<Init*>(at.d_extra), init_of<Init>(one, shot));
    return base::prepare(one, shot, at, stream);
  }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    Init init{};
    if constexpr (has_init && !Call::is_future) init = init_of<Init>(one, 0);
    return with_storage(call_, by, Source::at(at.d_in, this->recipe_for(one, 0)), static_cast<Output*>(at.d_out),
                        static_cast<std::size_t>(one.n), init, static_cast<const void*>(at.d_extra), stream);
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char) const override {
    const recipe recipe = this->recipe_for(one, shot);
    const auto item = [&](u64 i) { return widened(Source::on_host(recipe, i)); };
    using total_type = decltype(item(0));
    std::vector<unsigned char> bytes(one.n * sizeof(Output));
    const auto write = [&](u64 i, const total_type& total) {
      const Output out = narrowed<Output>(total);
      std::memcpy(bytes.data() + i * sizeof(Output), &out, sizeof(Output));
    };
    total_type total{};
    bool has_total = !Call::is_inclusive;  // a sum from nothing is one from zero
    if constexpr (has_init) {
      total = static_cast<total_type>(widened(init_of<Init>(one, Call::is_future ? shot : 0)));
      has_total = true;
    }
    for (u64 i = 0; i < one.n; ++i) {
      if (!Call::is_inclusive) write(i, total);
      total = has_total ? meaning_(total, item(i)) : item(i);
      has_total = true;
      if (Call::is_inclusive) write(i, total);
    }
    return bytes;
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    make_nans_alike<Output>(outputs, num_bytes);
  }

 private:
  Call call_;
  Meaning meaning_;
};

// --- entries of the table

template <class Source, class Output, class Meaning>
traits traits_of(std::string name, family family) {
  traits about;
  about.name = std::move(name);
  about.family = family;
  about.in_bytes = Source::item_bytes;
  about.out_bytes = sizeof(Output);
  about.has_special_values =
      is_float<typename Source::item> && (std::is_same_v<Meaning, minima> || std::is_same_v<Meaning, maxima>);
  return about;
}

template <class Source, class Output, class Init = nothing, class Transform = as_it_is, class Call, class Meaning>
void add_reduction(kind_table& table, std::string name, Call call, Meaning meaning) {
  table.push_back(std::make_unique<reduction<Source, Output, Init, Call, Meaning, Transform>>(
      traits_of<Source, Output, Meaning>("reduce." + name, family::reduction), call, meaning));
}

template <class Source, class Output, class Init = nothing, class Call, class Meaning>
void add_scan(kind_table& table, std::string name, Call call, Meaning meaning) {
  traits about = traits_of<Source, Output, Meaning>("scan." + name, family::scan);
  about.is_in_place = std::is_same_v<Source, from_output<Output>>;
  about.may_be_in_place = about.is_in_place || std::is_same_v<Source, from_memory<Output>>;
  table.push_back(std::make_unique<scan<Source, Output, Init, Call, Meaning>>(about, call, meaning));
}

}  // namespace rungs::fuzz
