// What a reduction must return, and whether it did. result = op(init, reduce(items)); no items give init.
//
// Integers wrap and compare bit for bit. Minimum and maximum compare bit for bit: any NaN gives NaN and -0 < +0. (Any
// NaN is as good as any other: arithmetic does not specify the payload.) Floating-point sums whose every partial sum is
// representable compare exactly; the others must satisfy |error| <= gamma_h * sum|x| + u * |sum| against the exact sum.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "catalog.hpp"
#include "oracles/bits.hpp"
#include "oracles/fixed_point.hpp"

namespace rungs::tests {

struct expectation {
  catalog::op op{};
  catalog::scalar type{};  // of the accumulator
  value exact{};           // the result; of a sum that is not exact, the sum rounded once
  bool is_nan = false;
  bool is_exact = true;
  bool overflows = false;  // a sum whose partial sums may overflow in some order: any infinity or NaN is allowed too
  superaccumulator sum{};  // floating-point sums only
  double magnitudes = 0;   // of items and init
};

// The host oracle: a serial pass over host items.
expectation expect(catalog::op op, catalog::scalar input, catalog::scalar accumulator, const void* items,
                   std::size_t num_items, value init);

// Likewise of a dot product: init is 0.
expectation expect_dot(catalog::scalar input, catalog::scalar accumulator, const void* x, const void* y,
                       std::size_t num_pairs);

// The least item for minimum, the greatest for maximum, and where it stands. A NaN comes before all numbers, -0 and +0
// are equal, and of equals the first is meant. Of no items it is infinity, or the type's last number, and the index 1.
struct place_of_extremum {
  bool any = false;
  std::uint64_t index = 1;
  value item{};
};
place_of_extremum no_place(catalog::op op, catalog::scalar type);
// Likewise of what was looked at before and of num_items more items, the first of which has that index.
void look_at(place_of_extremum& so_far, catalog::op op, catalog::scalar type, const void* items,
             std::uint64_t first_index, std::size_t num_items);

// Appends the items less than the threshold to what was chosen before, in their order. A NaN is less than nothing.
void append_less(std::vector<unsigned char>& chosen, catalog::scalar type, value threshold, const void* items,
                 std::size_t num_items);

struct tolerance {
  std::size_t height = 0;       // most additions an item passes through
  bool propagates_nan = true;   // else -0 and +0 are equal, and NaN must not occur
  bool keeps_zero_sign = true;  // a sum of -0 is -0; else zeros are equal
  double absolute = 0;          // f32 atomics on global memory flush denormals
};

// gamma_h = h u / (1 - h u); infinite where h u >= 1.
double gamma(std::size_t height, double unit_roundoff);

// Empty if `got` is right, else what is wrong with it.
std::optional<std::string> disagreement(const expectation& expected, value got, const tolerance& allowed);

}  // namespace rungs::tests
