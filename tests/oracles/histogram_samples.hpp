// The tables from which samples for a histogram are drawn; see samples.hpp for how.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "oracles/histogram_levels.hpp"
#include "oracles/samples.hpp"

namespace rungs::tests {

// The next value of the type in that direction, -1 or 1; what has none stays.
template <class T>
T neighbour(T x, int direction) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, direction * std::numeric_limits<T>::infinity());
  } else if constexpr (is_float<T>) {
    const double wide = to_double(x);
    if (wide == 0) return T{static_cast<std::uint16_t>(direction < 0 ? 0x8001 : 1)};
    if (!std::isfinite(wide)) return x;
    return T{static_cast<std::uint16_t>(x.bits + ((wide > 0) == (direction > 0) ? 1 : -1))};
  } else {
    using limits = std::numeric_limits<T>;
    if (x == (direction < 0 ? limits::lowest() : limits::max())) return x;
    return static_cast<T>(x + direction);
  }
}

// Values of the sample's type, in ascending order, NaN last; at least one, and what they are does not depend on a seed.
//   inside    in range; where there are none, as edges
//   edges     every edge (of too many, some) with the samples before and behind it, and what is special in the type
//   outside   out of range, NaN with it; where there are none, as edges
enum class table_kind : int { inside, edges, outside };

constexpr table_kind table_of(distribution kind) {
  return kind == distribution::edges     ? table_kind::edges
         : kind == distribution::outside ? table_kind::outside
                                         : table_kind::inside;
}
std::vector<unsigned char> make_table(const histogram_call& call, table_kind kind);

}  // namespace rungs::tests
