#include "oracles/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::op;
using catalog::scalar;

double as_double(scalar type, value v) {
  return with_type(type, [&](auto t) { return to_double(as<typename decltype(t)::type>(v)); });
}
value float_value(scalar type, double x) {
  return with_type(type, [&](auto t) { return make_value(from_double<typename decltype(t)::type>(x)); });
}
double unit_roundoff(scalar type) { return type == scalar::f64 ? 0x1p-53 : 0x1p-24; }

value rounded_sum(scalar type, const superaccumulator& sum) {
  return type == scalar::f64 ? make_value(sum.rounded<double>()) : make_value(sum.rounded<float>());
}

// The order of the operators: -0 before +0.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  else
    return a < b;
}

template <class T, class Items>
T extreme_of(op which, T best, std::size_t num_items, const Items& items) {
  for (std::size_t i = 0; i < num_items; ++i) {
    const T x = items(i);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) || std::isnan(best)) {
        best = std::numeric_limits<T>::quiet_NaN();
        continue;
      }
    }
    if (which == op::minimum ? before(x, best) : before(best, x)) best = x;
  }
  return best;
}

constexpr int grid_bits = 30;  // finer items are not taken for whole numbers of steps

// Finite sums: exact if a step q divides everything and no partial sum can leave the accumulator's mantissa.
bool every_partial_sum_fits(scalar type, unsigned __int128 magnitudes, std::uint64_t any_bit) {
  if (any_bit == 0) return true;
  const int mantissa = type == scalar::f64 ? 53 : 24;
  return magnitudes >> std::countr_zero(any_bit) <= static_cast<unsigned __int128>(1) << mantissa;
}

}  // namespace

std::string to_string(scalar type, value v) {
  std::ostringstream text;
  if (type == scalar::affine) {
    const auto map = as<affine>(v);
    text << map.slope << " * x + " << map.offset;
    return text.str();
  }
  if (is_floating(type)) {
    text.precision(17);
    text << as_double(type, v);
  } else {
    with_type(type, [&](auto t) {
      if constexpr (!is_float<typename decltype(t)::type>) text << +as<typename decltype(t)::type>(v);
    });
  }
  text << " (0x" << std::hex << v.bits << ')';
  return text.str();
}

expectation expect(op which, scalar input, scalar accumulator, const void* items, std::size_t num_items, value init) {
  expectation e{.op = which, .type = accumulator};
  with_type(input, [&]<class input_t>(type_tag<input_t>) {
    const auto* const typed = static_cast<const input_t*>(items);
    if (!is_floating(accumulator)) {
      with_type(accumulator, [&]<class accumulator_t>(type_tag<accumulator_t>) {
        if constexpr (!is_float<input_t> && !is_float<accumulator_t>) {
          const auto start = as<accumulator_t>(init);
          if (which == op::plus) {
            auto sum = static_cast<std::uint64_t>(start);
            for (std::size_t i = 0; i < num_items; ++i) sum += static_cast<std::uint64_t>(typed[i]);
            e.exact = make_value(static_cast<accumulator_t>(sum));
          } else {
            e.exact = make_value(extreme_of(which, start, num_items,
                                            [&](std::size_t i) { return static_cast<accumulator_t>(typed[i]); }));
          }
        }
      });
      return;
    }
    const double start = as_double(accumulator, init);
    const auto at = [&](std::size_t i) { return to_double(typed[i]); };
    if (which != op::plus) {
      const double best = extreme_of(which, start, num_items, at);
      e.is_nan = std::isnan(best);
      e.exact = float_value(accumulator, best);
      return;
    }
    bool plus_infinity = false, minus_infinity = false, only_negative_zero = true;
    unsigned __int128 scaled_magnitudes = 0;
    std::uint64_t any_bit = 0;
    bool on_grid = true;
    superaccumulator magnitudes;
    for (std::size_t i = 0; i <= num_items; ++i) {
      const double x = i == num_items ? start : at(i);
      if (x != 0 || !std::signbit(x)) only_negative_zero = false;
      if (std::isnan(x))
        e.is_nan = true;
      else if (std::isinf(x))
        (x > 0 ? plus_infinity : minus_infinity) = true;
      else {
        e.sum.add(x);
        magnitudes.add(std::abs(x));
        const double scaled = std::ldexp(std::abs(x), grid_bits);
        if (scaled < 0x1p62 && scaled == std::floor(scaled)) {
          any_bit |= static_cast<std::uint64_t>(scaled);
          scaled_magnitudes += static_cast<std::uint64_t>(scaled);
        } else {
          on_grid = false;
        }
      }
    }
    e.magnitudes = magnitudes.rounded<double>();
    e.is_exact = num_items == 0 || (on_grid && every_partial_sum_fits(accumulator, scaled_magnitudes, any_bit));
    e.exact = rounded_sum(accumulator, e.sum);
    if (only_negative_zero) e.exact = float_value(accumulator, -0.0);
    if (plus_infinity && minus_infinity) e.is_nan = true;
    if (plus_infinity || minus_infinity) {
      e.is_exact = true;
      e.exact = float_value(accumulator, plus_infinity ? std::numeric_limits<double>::infinity()
                                                       : -std::numeric_limits<double>::infinity());
    }
    e.overflows = e.magnitudes >
                  (accumulator == scalar::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max());
    if (num_items == 0) e.exact = init;
  });
  return e;
}

// A product of doubles is the sum of two: of what it is rounded to, and of what that lacks.
expectation expect_dot(scalar input, scalar accumulator, const void* x, const void* y, std::size_t num_pairs) {
  return with_type(input, [&]<class input_t>(type_tag<input_t>) {
    const auto *const xs = static_cast<const input_t*>(x), *const ys = static_cast<const input_t*>(y);
    if constexpr (is_float<input_t>) {
      std::vector<double> parts;
      for (std::size_t i = 0; i < num_pairs; ++i) {
        const double a = to_double(xs[i]), b = to_double(ys[i]), product = a * b;
        parts.push_back(product);
        if (std::isfinite(product)) parts.push_back(std::fma(a, b, -product));
      }
      return expect(op::plus, scalar::f64, accumulator, parts.data(), parts.size(), value{});
    } else {
      std::vector<std::int64_t> products;
      for (std::size_t i = 0; i < num_pairs; ++i)
        products.push_back(
            static_cast<std::int64_t>(static_cast<std::uint64_t>(xs[i]) * static_cast<std::uint64_t>(ys[i])));
      return expect(op::plus, scalar::i64, accumulator, products.data(), products.size(), value{});
    }
  });
}

place_of_extremum no_place(op which, scalar type) {
  place_of_extremum none;
  with_type(type, [&]<class T>(type_tag<T>) {
    if constexpr (is_float<T>)
      none.item = make_value(from_double<T>(which == op::minimum ? HUGE_VAL : -HUGE_VAL));
    else
      none.item = make_value(which == op::minimum ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
  });
  return none;
}

void look_at(place_of_extremum& so_far, op which, scalar type, const void* items, std::uint64_t first_index,
             std::size_t num_items) {
  with_type(type, [&]<class T>(type_tag<T>) {
    using number = std::conditional_t<is_float<T>, double, T>;
    const auto number_of = [](T item) {
      if constexpr (is_float<T>)
        return to_double(item);
      else
        return item;
    };
    const auto* const all = static_cast<const T*>(items);
    number best = so_far.any ? number_of(as<T>(so_far.item)) : number{};
    for (std::size_t i = 0; i < num_items; ++i) {
      if (so_far.any && best != best) return;  // nothing comes before a NaN that stands further in front
      const number item = number_of(all[i]);
      const bool is_beyond = which == op::minimum ? item < best : item > best;
      if (so_far.any && item == item && !is_beyond) continue;
      best = item;
      so_far = {true, first_index + i, make_value(all[i])};
    }
  });
}

void append_less(std::vector<unsigned char>& chosen, catalog::scalar type, value threshold, const void* items,
                 std::size_t num_items) {
  with_type(type, [&]<class T>(type_tag<T>) {
    const auto* const all = static_cast<const T*>(items);
    const auto number_of = [](const T& item) {
      if constexpr (is_float<T>)
        return to_double(item);
      else
        return item;
    };
    const auto most = number_of(as<T>(threshold));
    for (std::size_t i = 0; i < num_items; ++i) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&all[i]);
      if (number_of(all[i]) < most) chosen.insert(chosen.end(), bytes, bytes + sizeof(T));
    }
  });
}

double gamma(std::size_t height, double unit_roundoff) {
  const double hu = static_cast<double>(height) * unit_roundoff;
  return hu < 1 ? hu / (1 - hu) : std::numeric_limits<double>::infinity();
}

std::optional<std::string> disagreement(const expectation& e, value got, const tolerance& allowed) {
  const auto said = [&](std::string_view rule) {
    return text("got ", to_string(e.type, got), ", expected ", e.is_nan ? "NaN" : to_string(e.type, e.exact), " (",
                rule, ")");
  };
  if (!is_floating(e.type)) {
    const std::size_t bytes = catalog::size_of(e.type);
    if (same_bytes(&got, bytes, &e.exact, bytes)) return std::nullopt;
    return said("bit for bit");
  }
  const double x = as_double(e.type, got), exact = as_double(e.type, e.exact);
  if (e.is_nan) return std::isnan(x) ? std::nullopt : std::optional(said("any NaN"));
  if (got == e.exact) return std::nullopt;
  const bool zeros = x == 0 && exact == 0;
  if (e.op != op::plus) {
    if (zeros && !allowed.propagates_nan) return std::nullopt;
    return said("bit for bit, -0 before +0");
  }
  if (e.overflows && !std::isfinite(x)) return std::nullopt;
  if (zeros && !allowed.keeps_zero_sign) return std::nullopt;
  if (std::isinf(exact)) return said("an infinite item");
  if (!std::isfinite(x)) return said("finite items");
  superaccumulator difference = e.sum;
  difference.add(-x);
  const double error = std::abs(difference.rounded<double>());
  if (e.is_exact) {
    if (error <= allowed.absolute && allowed.absolute > 0) return std::nullopt;
    return said("every order of adding is exact here");
  }
  const double u = unit_roundoff(e.type);
  const double bound = gamma(allowed.height, u) * e.magnitudes + u * std::abs(exact) + allowed.absolute;
  if (error <= bound) return std::nullopt;
  return said(text("error ", error, " over the bound ", bound, " = gamma_", allowed.height, " * ", e.magnitudes,
                   " + u * |sum|"));
}

}  // namespace rungs::tests
