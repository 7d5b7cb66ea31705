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

template <class Item>
__global__ void store(Item* d_out, Item item) {
  *d_out = item;
}

inline recipe recipe_of(const fuzz_case& one, u64 shot, std::size_t num_items, numbers taken) {
  return {mixed(one.seed, shot), one.values, num_items, mixed(one.seed, 1000), taken};
}

// The initial value: never the identity. Of a call that reads it on the device, another one for each replay.
template <class Init>
Init init_of(const fuzz_case& one, u64 shot, numbers taken) {
  if constexpr (std::is_integral_v<Init> && sizeof(Init) <= 2)
    if (taken == natural_numbers) return static_cast<Init>(1 + mixed(one.seed, 100 + shot) % 100);
  recipe recipe = recipe_of(one, 100 + shot, std::max<u64>(one.n, 1000), summable_numbers);
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

// --- the calls. First come the storage, which is a workspace or a pointer and its size, and the iterators, which are
// two or, in place, one.

struct nothing {};

// What a call is given behind these.
template <class Init>
struct call_arguments {
  std::size_t n;
  Init init;
  const Init* d_init;
  cudaStream_t stream;
};

enum class outputs { one, inclusive, exclusive };

template <outputs what, bool reads_init, class Enqueue>
struct call_of {
  static constexpr outputs made = what;
  static constexpr bool reads_init_on_device = reads_init;
  Enqueue enqueue;
};
template <outputs what, bool reads_init_on_device = false, class Enqueue>
call_of<what, reads_init_on_device, Enqueue> call_for(Enqueue enqueue) {
  return {enqueue};
}

inline auto sum() {
  return call_for<outputs::one>(
      [](const auto& with, auto&... first) { return DeviceReduce::Sum(first..., with.n, with.stream); });
}
inline auto min() {
  return call_for<outputs::one>(
      [](const auto& with, auto&... first) { return DeviceReduce::Min(first..., with.n, with.stream); });
}
inline auto max() {
  return call_for<outputs::one>(
      [](const auto& with, auto&... first) { return DeviceReduce::Max(first..., with.n, with.stream); });
}
template <class Op>
auto reduce(Op op) {
  return call_for<outputs::one>([op](const auto& with, auto&... first) {
    return DeviceReduce::Reduce(first..., with.n, op, with.init, with.stream);
  });
}
template <class Op, class Transform>
auto transform_reduce(Op op, Transform transform) {
  return call_for<outputs::one>([op, transform](const auto& with, auto&... first) {
    return DeviceReduce::TransformReduce(first..., with.n, op, transform, with.init, with.stream);
  });
}
inline auto inclusive_sum() {
  return call_for<outputs::inclusive>(
      [](const auto& with, auto&... first) { return DeviceScan::InclusiveSum(first..., with.n, with.stream); });
}
inline auto exclusive_sum() {
  return call_for<outputs::exclusive>(
      [](const auto& with, auto&... first) { return DeviceScan::ExclusiveSum(first..., with.n, with.stream); });
}
template <class Op>
auto inclusive_scan(Op op) {
  return call_for<outputs::inclusive>(
      [op](const auto& with, auto&... first) { return DeviceScan::InclusiveScan(first..., op, with.n, with.stream); });
}
template <class Op>
auto exclusive_scan(Op op) {
  return call_for<outputs::exclusive>([op](const auto& with, auto&... first) {
    return DeviceScan::ExclusiveScan(first..., op, with.init, with.n, with.stream);
  });
}
template <class Op>
auto inclusive_scan_init(Op op) {
  return call_for<outputs::inclusive>([op](const auto& with, auto&... first) {
    return DeviceScan::InclusiveScanInit(first..., op, with.init, with.n, with.stream);
  });
}
// The initial value is on the device.
template <class Op>
auto exclusive_scan_future(Op op) {
  return call_for<outputs::exclusive, true>([op](const auto& with, auto&... first) {
    return DeviceScan::ExclusiveScan(first..., op, FutureValue{with.d_init}, with.n, with.stream);
  });
}
template <class Op>
auto inclusive_scan_future(Op op) {
  return call_for<outputs::inclusive, true>([op](const auto& with, auto&... first) {
    return DeviceScan::InclusiveScanInit(first..., op, FutureValue{with.d_init}, with.n, with.stream);
  });
}

// --- what all kinds with items of one source share

template <class Source, class Meaning>
class kind_from : public kind {
 public:
  using kind::kind;
  static constexpr bool is_in_memory = Source::item_bytes != 0;

  recipe recipe_for(const fuzz_case& one, u64 shot) const {
    return recipe_of(one, shot, in_items(one), Meaning::taken);
  }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    if constexpr (is_in_memory)
      return prepare_items<typename Source::stored>(at.d_in, in_items(one), recipe_for(one, shot), stream);
    else
      return cudaGetLastError();
  }
  cudaError_t count_changes(const fuzz_case& one, u64 shot, const places& at, unsigned* d_num_changed,
                            cudaStream_t stream) const override {
    if constexpr (is_in_memory)
      if (!one.in_place)
        return count_changes_of<typename Source::stored>(at.d_in, in_items(one), recipe_for(one, shot), d_num_changed,
                                                         stream);
    return cudaGetLastError();
  }
};

struct as_it_is {
  template <class T>
  T operator()(const T& item) const {
    return item;
  }
};

// --- reductions and scans

template <class Source, class Output, class Init, class Call, class Meaning, class Transform>
class accumulation final : public kind_from<Source, Meaning> {
 public:
  using base = kind_from<Source, Meaning>;
  static constexpr bool has_init = !std::is_same_v<Init, nothing>, has_one_output = Call::made == outputs::one;

  accumulation(const traits& about, Call call, Meaning meaning) : base(about), call_(call), meaning_(meaning) {}

  std::size_t out_bytes(const fuzz_case& one) const override { return (has_one_output ? 1 : one.n) * sizeof(Output); }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    if constexpr (Call::reads_init_on_device)
      store<<<1, 1, 0, stream>>>(static_cast<Init*>(at.d_extra), init_of<Init>(one, shot, Meaning::taken));
    return base::prepare(one, shot, at, stream);
  }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    call_arguments<Init> with{one.n, {}, static_cast<const Init*>(at.d_extra), stream};
    if constexpr (has_init && !Call::reads_init_on_device) with.init = init_of<Init>(one, 0, Meaning::taken);
    auto in = Source::at(at.d_in, this->recipe_for(one, 0));
    Output* out = static_cast<Output*>(at.d_out);
    return with_storage(by, [&](auto&... storage) {
      if constexpr (std::is_same_v<decltype(in), Output*>)
        return call_.enqueue(with, storage..., out);
      else
        return call_.enqueue(with, storage..., in, out);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char) const override {
    const recipe recipe = this->recipe_for(one, shot);
    const auto item = [&](u64 i) { return widened(Transform{}(Source::on_host(recipe, i))); };
    using total_type = decltype(item(0));
    std::vector<unsigned char> bytes(out_bytes(one));
    const auto write = [&](u64 i, const total_type& total) {
      const Output out = narrowed<Output>(total);
      std::memcpy(bytes.data() + i * sizeof(Output), &out, sizeof(Output));
    };
    total_type total{};
    bool has_total = Call::made == outputs::exclusive;  // a sum from nothing is one from zero
    if constexpr (has_init) {
      total =
          static_cast<total_type>(widened(init_of<Init>(one, Call::reads_init_on_device ? shot : 0, Meaning::taken)));
      has_total = true;
    } else if constexpr (has_one_output) {
      if (one.n == 0) total = Meaning::template of_nothing<typename Source::item>();
    }
    for (u64 i = 0; i < one.n; ++i) {
      if (Call::made == outputs::exclusive) write(i, total);
      total = has_total ? meaning_(total, item(i)) : item(i);
      has_total = true;
      if (Call::made == outputs::inclusive) write(i, total);
    }
    if (has_one_output) write(0, total);
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

// Init is the type of an initial value, where the call has one.
template <class Source, class Output, class Init = nothing, class Transform = as_it_is, class Call, class Meaning>
void add(kind_table& table, const std::string& name, Call call, Meaning meaning) {
  constexpr bool is_scan = Call::made != outputs::one;
  traits about = traits_of<Source, Output, Meaning>((is_scan ? "scan." : "reduce.") + name,
                                                    is_scan ? family::scan : family::reduction);
  about.is_in_place = is_scan && std::is_same_v<Source, from_output<Output>>;
  about.may_be_in_place = about.is_in_place || (is_scan && std::is_same_v<Source, from_memory<Output>>);
  table.push_back(std::make_unique<accumulation<Source, Output, Init, Call, Meaning, Transform>>(about, call, meaning));
}

// Of items in memory, with an initial value and an output of their own type.
template <class Item, class Call, class Meaning>
void add_of(kind_table& table, const std::string& name, Call call, Meaning meaning) {
  add<from_memory<Item>, Item, Item>(table, name, call, meaning);
}

}  // namespace rungs::fuzz
