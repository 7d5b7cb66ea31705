#include "accuracy/sweep.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>

#include "accuracy/exact.hpp"
#include "accuracy/kinds.hpp"
#include "accuracy/ways.hpp"
#include "check.hpp"
#include "contender.hpp"
#include "environment.hpp"
#include "instruments.hpp"
#include "sampler.hpp"
#include "statistics.hpp"

namespace rungs::bench {
namespace {

using catalog::scalar;

// Longer inputs repeat this many items, so that the exact sum is a multiple of theirs, by a power of two.
constexpr std::size_t pattern_items = std::size_t{1} << 24;
constexpr std::size_t sizes[] = {std::size_t{1} << 10, std::size_t{1} << 14, std::size_t{1} << 16, std::size_t{1} << 18,
                                 std::size_t{1} << 20, std::size_t{1} << 22, std::size_t{1} << 24, std::size_t{1} << 26,
                                 std::size_t{1} << 28, std::size_t{1} << 30};

struct problem {
  catalog::operation operation;
  scalar type;
  kind data;
};
constexpr problem problems[] = {{catalog::operation::reduce, scalar::f32, kind::normal},
                                {catalog::operation::reduce, scalar::f32, kind::random_bits},
                                {catalog::operation::reduce, scalar::f64, kind::normal},
                                {catalog::operation::reduce, scalar::f16, kind::normal},
                                {catalog::operation::reduce, scalar::bf16, kind::normal},
                                {catalog::operation::dot, scalar::f32, kind::normal}};

// An item as its type holds it, which a float holds as well.
float narrowed(float item, scalar type) {
  if (type == scalar::f16) return __half2float(__float2half(item));
  if (type == scalar::bf16) return __bfloat162float(__float2bfloat16(item));
  return item;
}

template <class T>
std::vector<unsigned char> bytes_of(std::span<const float> items) {
  const std::vector<T> converted(items.begin(), items.end());
  std::vector<unsigned char> bytes(converted.size() * sizeof(T));
  std::memcpy(bytes.data(), converted.data(), bytes.size());
  return bytes;
}
std::vector<unsigned char> bytes_of(std::span<const float> items, scalar type) {
  switch (type) {
    case scalar::f64:
      return bytes_of<double>(items);
    case scalar::f16:
      return bytes_of<__half>(items);
    case scalar::bf16:
      return bytes_of<__nv_bfloat16>(items);
    default:
      return bytes_of<float>(items);
  }
}

class sweep {
 public:
  sweep(const device_facts& device, std::size_t most) : most_(most), bench_(device) {}

  json of(const problem& about) {
    const bool is_dot = about.operation == catalog::operation::dot;
    std::vector<float> pattern(pattern_items);
    make(about.data, pattern);
    for (float& item : pattern) item = narrowed(item, about.type);
    std::vector<catalog::record> ways;
    for (const auto& one : ways_at_sizes())
      if (one.operation == about.operation && one.input_type == about.type) ways.push_back(one);
    // Two arrays of 4 GiB are enough.
    const std::size_t item_bytes = about.type == scalar::f64 ? 8 : about.type == scalar::f32 ? 4 : 2;
    const std::size_t most = std::min(most_, (std::size_t{1} << 32) / item_bytes);
    const auto in_bytes = bytes_of(pattern, about.type);
    const std::size_t bytes = item_bytes * std::max(most, pattern_items);
    const device_memory items = repeated(in_bytes, bytes);
    // A pair's second item is equal, but elsewhere: read from the memory, not from a cache.
    std::vector<device_memory> others;
    if (is_dot) others.push_back(repeated(in_bytes, bytes));
    const void* const second = is_dot ? others[0].get() : nullptr;
    json by_size = json::array();
    for (const std::size_t num_items : sizes) {
      if (num_items > most) break;
      std::cerr << name(about.operation) << ' ' << name(about.type) << ' ' << name(about.data) << ' ' << num_items
                << '\n';
      const auto expected = exact_result(pattern, num_items, is_dot, about.type);
      by_size.push_back({{"items", num_items}, {"ways", at(num_items, ways, items.get(), second, expected)}});
    }
    return {{"operation", name(about.operation)},
            {"input_type", name(about.type)},
            {"kind", name(about.data)},
            {"sizes", by_size}};
  }

 private:
  static device_memory repeated(const std::vector<unsigned char>& pattern, std::size_t bytes) {
    device_memory memory(bytes);
    auto* const first = static_cast<unsigned char*>(memory.get());
    check(cudaMemcpy(first, pattern.data(), pattern.size(), cudaMemcpyHostToDevice));
    for (std::size_t have = pattern.size(); have < bytes; have *= 2)
      check(cudaMemcpy(first + have, first, std::min(have, bytes - have), cudaMemcpyDeviceToDevice));
    return memory;
  }

  // What exact ways write: a double of doubles, a float of all others.
  static std::vector<unsigned char> exact_result(std::span<const float> pattern, std::size_t num_items, bool is_dot,
                                                 scalar type) {
    exact_sum sum;
    for (const float item : pattern.first(std::min(num_items, pattern.size()))) {
      if (is_dot)
        sum.add_product(item, item);
      else
        sum.add(item);
    }
    const int doublings = num_items > pattern.size() ? std::ilogb(static_cast<double>(num_items / pattern.size())) : 0;
    std::vector<unsigned char> bytes(type == scalar::f64 ? 8 : 4);
    const double in_double = std::ldexp(sum.in_double(), doublings);
    const float in_float = std::ldexp(sum.rounded(), doublings);
    std::memcpy(bytes.data(), type == scalar::f64 ? static_cast<const void*>(&in_double) : &in_float, bytes.size());
    return bytes;
  }

  json at(std::size_t num_items, const std::vector<catalog::record>& ways, const void* items, const void* second,
          const std::vector<unsigned char>& expected) {
    std::vector<device_memory> memory;
    std::vector<contender> all;
    std::vector<std::size_t> timed;
    json told = json::array();
    const device_memory result(16);
    for (const auto& one : ways) {
      contender each;
      each.record = &one;
      each.arguments.d_in = items;
      each.arguments.d_second = second;
      each.arguments.d_out = result.get();
      each.arguments.num_items = num_items;
      each.arguments.init = &init_;
      told.push_back({{"family", name(one.family)}, {"rung", one.rung}});
      std::size_t bytes = 0;
      check(one.call(nullptr, bytes, each.arguments, bench_.stream()));
      memory.emplace_back(bytes);
      each.workspace = memory.back().get();
      each.workspace_bytes = bytes;
      check(cudaMemset(each.workspace, 0, bytes));
      check(each.call(bench_.stream()));
      bench_.synchronize();
      if (one.ladder == "exact" && !is(result, expected))
        told.back()["wrong"] = true;
      else
        timed.push_back(told.size() - 1);
      all.push_back(each);
    }
    std::vector<const contender*> own;
    for (const std::size_t i : timed) own.push_back(&all[i]);
    device_instrument clock(bench_, mode::cold, own);
    const stop_rule rule{.patience = 0.4};
    const auto taken = sample(clock, static_cast<int>(own.size()), rule, clocks_, seconds_now, [] { return false; });
    for (std::size_t k = 0; k < timed.size(); ++k) {
      const auto about = summarise(taken[k].accepted);
      if (about.count > 0)
        told[timed[k]].update(
            {{"median_us", about.median}, {"low_us", about.low}, {"high_us", about.high}, {"samples", about.count}});
    }
    return told;
  }

  static bool is(const device_memory& result, const std::vector<unsigned char>& expected) {
    std::vector<unsigned char> found(expected.size());
    check(cudaMemcpy(found.data(), result.get(), found.size(), cudaMemcpyDeviceToHost));
    return found == expected;
  }

  const std::size_t most_;
  const double init_ = 0;  // of any type
  event_bench bench_;
  clock_guard clocks_;
};

}  // namespace

json sweep_of_sizes(const device_facts& device, std::size_t most) {
  json all = json::array();
  if (most < sizes[0]) return all;
  sweep every(device, most);
  for (const problem& each : problems) all.push_back(every.of(each));
  return all;
}

}  // namespace rungs::bench
