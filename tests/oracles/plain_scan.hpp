// Scans in the plainest way: what the oracle and the checker of scans are tested with.
#pragma once

#include <cmath>
#include <vector>

#include "oracles/scan_reference.hpp"

namespace rungs::tests {

template <class Acc, class In>
Acc to_accumulator(In x) {
  if constexpr (std::is_same_v<In, affine>)
    return x;
  else if constexpr (is_float<In>)
    return static_cast<Acc>(to_double(x));
  else
    return static_cast<Acc>(x);
}

template <class Acc>
Acc combined(catalog::op which, Acc a, Acc b) {
  if constexpr (std::is_same_v<Acc, affine>) {
    return {a.slope * b.slope, a.offset * b.slope + b.offset};
  } else {
    if (which == catalog::op::plus) {
      if constexpr (std::is_integral_v<Acc>)
        return static_cast<Acc>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      else
        return a + b;
    }
    if constexpr (std::is_floating_point_v<Acc>) {
      if (std::isnan(a) || std::isnan(b)) return a + b;
      if (a == b) return (which == catalog::op::minimum) == std::signbit(a) ? a : b;
    }
    return (which == catalog::op::minimum ? b < a : a < b) ? b : a;
  }
}

// A scan of a sample, one item after the other in the type of the accumulator.
template <class In, class Acc>
struct plain_scan {
  scan_call call;
  sample made;
  std::vector<In> items;
  std::vector<Acc> outputs;  // of a plain scan, in order
  std::optional<Acc> init;

  plain_scan(catalog::op which, bool inclusive, catalog::scalar input, catalog::scalar accumulator, const sample& s,
             std::optional<Acc> from)
      : call{which, inclusive, input, accumulator, from ? std::optional(make_value(*from)) : std::nullopt},
        made(s),
        items(s.num_items),
        init(from) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = item<In>(s, i);
    outputs = scanned(init, 0, items.size());
  }

  // Of the items from first to last alone.
  std::vector<Acc> scanned(std::optional<Acc> from, std::size_t first, std::size_t last) const {
    std::vector<Acc> scan;
    for (std::size_t i = first; i < last; ++i) {
      const Acc next = to_accumulator<Acc>(items[i]);
      if (!call.inclusive) scan.push_back(from.value_or(Acc{}));
      from = from ? combined(call.op, *from, next) : next;
      if (call.inclusive) scan.push_back(*from);
    }
    return scan;
  }
};

}  // namespace rungs::tests
