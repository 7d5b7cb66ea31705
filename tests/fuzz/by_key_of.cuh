// What selections and calls on runs of equal keys share: items in runs, flags, and outputs that share one region.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "fuzz/items.cuh"
#include "fuzz/kind.hpp"

namespace rungs::fuzz {

// --- inputs

// The number of the run that item i is in, where a run has 2^runs items in the mean. Two neighbours have 2^(runs + 1)
// items, split at random.
__host__ __device__ inline unsigned long long run_of(unsigned long long seed, unsigned long long runs,
                                                     unsigned long long i) {
  if (runs == 0) return i;
  const unsigned long long both = 2ull << runs, place = i % both;
  return 2 * (i / both) + (place > scrambled(~seed, i / both) % (both - 1) ? 1 : 0);
}

struct run_recipe {
  recipe of_runs;
  unsigned long long runs;
};
template <class Item>
__host__ __device__ Item make(const run_recipe& recipe, unsigned long long i) {
  return make<Item>(recipe.of_runs, run_of(recipe.of_runs.seed, recipe.runs, i));
}

// Of 256 runs of flags so many are true.
struct flag_recipe {
  unsigned long long seed, runs;
  unsigned rate;
};
template <class Flag>
__host__ __device__ Flag make(const flag_recipe& recipe, unsigned long long i) {
  const unsigned long long bits = scrambled(recipe.seed, run_of(recipe.seed, recipe.runs, i));
  return static_cast<Flag>(bits % 256 < recipe.rate ? 1 + scrambled(recipe.seed, i) % 100 : 0);
}
inline unsigned rate_of(const fuzz_case& one) {
  constexpr unsigned rates[] = {0, 1, 128, 255, 256};
  return rates[mixed(one.seed, 300) % std::size(rates)];
}

// An input: its items, and how they are made.
template <class T>
struct runs_of {
  using item = T;
  static run_recipe recipe_for(const fuzz_case& one, u64 shot) {
    return {{mixed(one.seed, shot), one.values, one.n, 0, any_numbers}, one.runs};
  }
};
template <class T, numbers taken = summable_numbers>
struct values_of {
  using item = T;
  static recipe recipe_for(const fuzz_case& one, u64 shot) {
    return {mixed(one.seed, 200 + shot), one.values, one.n, 0, taken};
  }
};
template <class T>
struct flags_of {
  using item = T;
  static flag_recipe recipe_for(const fuzz_case& one, u64 shot) {
    return {mixed(one.seed, 200 + shot), one.runs, rate_of(one)};
  }
};
struct no_input {
  using item = unsigned char;
};

// The bytes of an item decide, so that equal items are chosen alike.
struct chosen_by_bits {
  unsigned long long seed;
  unsigned rate;
  template <class T>
  __host__ __device__ bool operator()(const T& item) const {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(&item);
    unsigned long long bits = seed;
    for (unsigned k = 0; k < sizeof(T); ++k) bits = bits * 0x100000001b3ull + bytes[k];
    return scrambled(bits, 0) % 256 < rate;
  }
};
inline chosen_by_bits predicate_of(const fuzz_case& one) { return {mixed(one.seed, 301), rate_of(one)}; }

// --- kinds

// The first input is where a case says, the second a few items behind the begin of what is beside it. The first outputs
// begin a few items behind the region's begin, the second ones behind them, and the number of outputs comes last.
template <class First, class Second, class FirstOut, class SecondOut, bool has_count>
class by_key_kind : public kind {
 public:
  using first_item = typename First::item;
  using second_item = typename Second::item;
  static constexpr bool has_second_in = !std::is_same_v<Second, no_input>;
  static constexpr bool has_second_out = !std::is_void_v<SecondOut>;
  using second_out = std::conditional_t<has_second_out, SecondOut, unsigned char>;
  static constexpr std::size_t second_bytes = has_second_out ? sizeof(second_out) : 0;
  static constexpr std::size_t unit = (sizeof(FirstOut) + second_bytes + 15) / 16 * 16;

  using kind::kind;
  static traits traits_for(const char* name, bool may_be_in_place, bool has_special_values = false) {
    traits about;
    about.name = name;
    about.family = family::by_key;
    about.in_bytes = sizeof(first_item);
    about.out_bytes = unit;
    about.may_be_in_place = may_be_in_place;
    about.has_special_values = has_special_values;
    return about;
  }

  std::size_t out_bytes(const fuzz_case& one) const override { return places_of(one).end; }
  std::size_t extra_bytes(const fuzz_case& one) const override {
    return has_second_in ? (one.n + 16) * sizeof(second_item) : 16;
  }
  cudaError_t prepare(const fuzz_case& one, u64 shot, const places& at, cudaStream_t stream) const override {
    if constexpr (has_second_in) {
      const cudaError_t error =
          prepare_items<second_item>(second_of(one, at), one.n, Second::recipe_for(one, shot), stream);
      if (error != cudaSuccess) return error;
    }
    return prepare_items<first_item>(first_of(one, at), one.n, First::recipe_for(one, shot), stream);
  }
  cudaError_t count_changes(const fuzz_case& one, u64 shot, const places& at, unsigned* d_num_changed,
                            cudaStream_t stream) const override {
    if constexpr (has_second_in) {
      const cudaError_t error = count_changes_of<second_item>(second_of(one, at), one.n, Second::recipe_for(one, shot),
                                                              d_num_changed, stream);
      if (error != cudaSuccess) return error;
    }
    if (one.in_place) return cudaSuccess;
    return count_changes_of<first_item>(first_of(one, at), one.n, First::recipe_for(one, shot), d_num_changed, stream);
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    make_nans_alike<FirstOut>(outputs, num_bytes);  // the lengths behind them are too small to look like NaNs
  }

 protected:
  struct output_places {
    std::size_t first, second, count, end;  // bytes
  };
  static output_places places_of(const fuzz_case& one) {
    const auto up = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
    output_places at;
    at.first = one.out_offset % 16 * sizeof(FirstOut);
    at.second = at.first + one.n * sizeof(FirstOut);
    if (has_second_out) at.second = up(at.second, alignof(second_out)) + one.out_offset * 5 % 16 * second_bytes;
    at.count = up(at.second + one.n * second_bytes, sizeof(int));
    at.end = up(at.count + (has_count ? sizeof(int) : 0), unit);
    return at;
  }
  static first_item* first_of(const fuzz_case& one, const places& at) {
    if (one.in_place) return reinterpret_cast<first_item*>(first_out_of(one, at));
    return static_cast<first_item*>(at.d_in);
  }
  static second_item* second_of(const fuzz_case& one, const places& at) {
    return static_cast<second_item*>(at.d_extra) + one.in_offset * 5 % 16;
  }
  static FirstOut* first_out_of(const fuzz_case& one, const places& at) {
    return reinterpret_cast<FirstOut*>(static_cast<char*>(at.d_out) + places_of(one).first);
  }
  static second_out* second_out_of(const fuzz_case& one, const places& at) {
    return reinterpret_cast<second_out*>(static_cast<char*>(at.d_out) + places_of(one).second);
  }
  static int* count_of(const fuzz_case& one, const places& at) {
    return reinterpret_cast<int*>(static_cast<char*>(at.d_out) + places_of(one).count);
  }

  static std::vector<first_item> first_items(const fuzz_case& one, u64 shot) { return items_of<First>(one, shot); }
  static std::vector<second_item> second_items(const fuzz_case& one, u64 shot) { return items_of<Second>(one, shot); }

  // The region with these outputs, and the filler elsewhere.
  static std::vector<unsigned char> region(const fuzz_case& one, unsigned char filler,
                                           const std::vector<FirstOut>& first, const std::vector<second_out>& second,
                                           std::size_t count) {
    const output_places at = places_of(one);
    std::vector<unsigned char> bytes(at.end, filler);
    const auto put = [&](std::size_t where, const void* from, std::size_t num_bytes) {
      if (num_bytes > 0) std::memcpy(bytes.data() + where, from, num_bytes);
    };
    put(at.first, first.data(), first.size() * sizeof(FirstOut));
    put(at.second, second.data(), second.size() * second_bytes);
    const int number = static_cast<int>(count);
    if (has_count) put(at.count, &number, sizeof number);
    return bytes;
  }

 private:
  template <class Source>
  static std::vector<typename Source::item> items_of(const fuzz_case& one, u64 shot) {
    const auto recipe = Source::recipe_for(one, shot);
    std::vector<typename Source::item> items(one.n);
    for (u64 i = 0; i < one.n; ++i) items[i] = make<typename Source::item>(recipe, i);
    return items;
  }
};

// Calls f(first item, length) for each run, in order.
template <class Item, class Function>
void for_each_run(const std::vector<Item>& items, Function f) {
  for (std::size_t begin = 0, end; begin < items.size(); begin = end) {
    for (end = begin + 1; end < items.size() && items[end - 1] == items[end];) ++end;
    f(begin, end - begin);
  }
}

template <class Kind>
void add_by_key(kind_table& table, const char* name, bool may_be_in_place = false, bool has_special_values = false) {
  table.push_back(std::make_unique<Kind>(Kind::traits_for(name, may_be_in_place, has_special_values)));
}

}  // namespace rungs::fuzz
