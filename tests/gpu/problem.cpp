#include "gpu/problem.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "text.hpp"

namespace rungs::tests {

using catalog::op;
using catalog::scalar;

std::string describe(const problem& p) {
  constexpr std::array poisons{"0x00", "0xff", "random"};
  constexpr std::array inits{"neutral", "ordinary", "dominant"};
  const std::string what =
      p.num_bins > 0
          ? text(" bins=", p.num_bins, " levels=", name(p.levels), '+', p.levels_offset, " distribution=", name(p.kind))
          : text(" distribution=", name(p.kind), " init=", inits[static_cast<std::size_t>(p.init)]);
  const std::string rows = p.num_rows + p.num_columns > 0 ? text(" rows=", p.num_rows, " columns=", p.num_columns) : "";
  const std::string k = p.k > 0 ? text(" k=", p.k) : "";
  const std::string percent = p.percent != 50 ? text(" percent=", p.percent) : "";
  const std::string second = p.second_offset > 0 ? text(" second+", p.second_offset) : "";
  return text("n=", p.num_items, rows, k, what, percent, " data-seed=", p.seed, " in+", p.in_offset, second,
              p.in_place ? std::string(" in place") : text(" out+", p.out_offset), " workspace+", p.workspace_offset,
              " poison=", poisons[static_cast<std::size_t>(p.poison)],
              p.legacy_stream ? " stream=legacy" : " stream=own");
}

namespace {

value floating(scalar type, double x) {
  return with_type(type, [&](auto t) { return make_value(from_double<typename decltype(t)::type>(x)); });
}

value init_of(op which, scalar type, int level) {
  const bool minimum = which == op::minimum;
  if (which == op::compose)
    return make_value(level == 0 ? affine{1, 0} : level == 1 ? affine{5, 41} : affine{~0u, ~0u / 3});
  if (is_floating(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (which == op::plus) return floating(type, level == 0 ? 0.0 : level == 1 ? -17.0 : 1048576.0);
    return floating(type, level == 0   ? (minimum ? infinity : -infinity)
                          : level == 1 ? 0.125
                                       : (minimum ? -infinity : infinity));
  }
  return with_type(type, [&]<class T>(type_tag<T>) {
    if constexpr (is_float<T>)
      return value{};
    else {
      constexpr T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
      if (which == op::plus)
        return make_value(level == 0 ? T{0} : level == 1 ? static_cast<T>(41) : static_cast<T>(highest / 3));
      return make_value(level == 0   ? (minimum ? highest : lowest)
                        : level == 1 ? static_cast<T>(9)
                                     : (minimum ? lowest : highest));
    }
  });
}

}  // namespace

problem of_size(const catalog::record& subject, problem p, std::size_t num_items) {
  p.num_items = num_items - num_items % static_cast<std::size_t>(subject.num_channels);
  if (p.num_columns == 0) return p;
  p.num_rows = num_items / p.num_columns;
  p.num_items = p.num_rows * p.num_columns;
  return p;
}

value init_of(const catalog::record& subject, int level) {
  return init_of(subject.op, subject.accumulator_type, level);
}

value threshold_of(const catalog::record& subject, int percent) {
  const double share = percent / 100.0, infinity = std::numeric_limits<double>::infinity();
  if (is_floating(subject.input_type))
    return floating(subject.input_type, percent == 0 ? -infinity : percent == 100 ? infinity : 2 * share - 1);
  return with_type(subject.input_type, [&]<class T>(type_tag<T>) {
    if constexpr (is_float<T>)
      return value{};
    else {
      constexpr T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
      const double range = static_cast<double>(highest) - static_cast<double>(lowest);
      return make_value(percent == 0     ? lowest
                        : percent == 100 ? highest
                                         : static_cast<T>(static_cast<double>(lowest) + share * range));
    }
  });
}

tolerance allowed_for(const catalog::record& subject, std::size_t num_items) {
  tolerance t;
  t.height = (subject.summation_height != nullptr ? subject.summation_height(num_items) : num_items) + 1;  // and init
  t.propagates_nan = subject.propagates_nan;
  t.keeps_zero_sign = subject.family != catalog::family::library_baselines;
  // f32 atomics on global memory flush denormals to zero: what does not repeat may use them.
  const bool of_products = subject.operation == catalog::operation::dot;
  if (!subject.deterministic && subject.accumulator_type == scalar::f32 &&
      (of_products || subject.operation == catalog::operation::reduce))
    t.absolute = static_cast<double>(num_items + 1) * 0x1p-126;
  if (!of_products) return t;
  ++t.height;                 // a product is rounded, too
  t.keeps_zero_sign = false;  // one that is too small for its type leaves a zero of either sign
  const double least = subject.accumulator_type == scalar::f64 ? 0x1p-1074 : 0x1p-149;
  t.absolute = std::max(t.absolute, static_cast<double>(num_items + 1) * least);
  return t;
}

}  // namespace rungs::tests
