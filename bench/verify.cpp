#include "verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace rungs::bench {
namespace {

template <class T>
T load(const value_bytes& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<float>(value);
}

// Mantissa bits (with the hidden one) and smallest exponent of a floating-point type.
template <class T>
constexpr int digits = std::is_same_v<T, double>   ? 53
                       : std::is_same_v<T, float>  ? 24
                       : std::is_same_v<T, __half> ? 11
                                                   : 8;
template <class T>
constexpr int lowest_exponent = std::is_same_v<T, double>   ? -1022
                                : std::is_same_v<T, __half> ? -14
                                                            : -126;

template <class T>
double last_place(double value) {
  const int exponent = value == 0 ? lowest_exponent<T> : std::max(std::ilogb(value), lowest_exponent<T>);
  return std::ldexp(1.0, exponent - digits<T> + 1);
}

template <class T>
T extreme(bool highest) {
  if constexpr (is_floating<T>) {
    const double most = std::ldexp(2 - std::ldexp(1.0, 1 - digits<T>), std::is_same_v<T, __half>   ? 15
                                                                       : std::is_same_v<T, double> ? 1023
                                                                                                   : 127);
    if constexpr (std::is_same_v<T, double>)
      return highest ? most : -most;
    else
      return static_cast<T>(static_cast<float>(highest ? most : -most));
  } else {
    return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
}

std::string differs(auto expected, auto got) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << "expected " << expected << ", got " << got;
  return text.str();
}

template <class T>
judgement judge_float(const catalog::record& record, const summary_of_items& facts, std::size_t num_items,
                      int init_offset, bool whole, T output) {
  const double got = to_double(output);
  if (record.op != catalog::op::plus) {
    const double init = to_double(extreme<T>(record.op == catalog::op::minimum));
    const double items = record.op == catalog::op::minimum ? facts.least : facts.greatest;
    const double expected = !facts.any                          ? init
                            : record.op == catalog::op::minimum ? std::min(init, items)
                                                                : std::max(init, items);
    if (got == expected) return {.right = true};
    return {.why = differs(expected, got)};
  }
  double high = facts.high, low = facts.low;
  add_exactly(high, low, init_offset);
  const double expected = high + low;
  if (!std::isfinite(got)) return {.why = differs(expected, got)};
  const double error = std::abs((got - high) - low);
  const double roundoff = std::ldexp(1.0, -digits<T>), magnitudes = facts.magnitudes + std::abs(init_offset);
  const double height = static_cast<double>(std::min(
                            record.summation_height ? record.summation_height(num_items) : num_items, num_items)) +
                        1;
  const double gamma =
      height * roundoff < 1 ? height * roundoff / (1 - height * roundoff) : std::numeric_limits<double>::infinity();
  double allowed = gamma * magnitudes + roundoff * std::abs(expected);
  if (whole && magnitudes < std::ldexp(1.0, digits<T>)) allowed = 0;
  judgement result{.right = error <= allowed, .error_ulps = error / last_place<T>(expected)};
  if (!result.right) result.why = differs(expected, got) + ", allowed error " + std::to_string(allowed);
  return result;
}

template <class T>
judgement judge_integer(const catalog::record& record, const summary_of_items& facts, int init_offset, T output) {
  const auto to_value = [](std::uint64_t key) {
    return static_cast<T>(std::is_signed_v<T> ? static_cast<std::uint64_t>(key ^ (1ull << 63)) : key);
  };
  T expected{};
  if (record.op == catalog::op::plus) {
    expected = static_cast<T>(facts.sum + static_cast<std::uint64_t>(static_cast<std::int64_t>(init_offset)));
  } else {
    // The keys are of the input type; its signedness may differ from the output's only for values both can hold.
    const bool input_signed = record.input_type == catalog::scalar::i8 || record.input_type == catalog::scalar::i16 ||
                              record.input_type == catalog::scalar::i32 || record.input_type == catalog::scalar::i64;
    const std::uint64_t key = record.op == catalog::op::minimum ? facts.least_key : facts.greatest_key;
    const T items =
        input_signed == std::is_signed_v<T> ? to_value(key) : static_cast<T>(input_signed ? key ^ (1ull << 63) : key);
    const T init = extreme<T>(record.op == catalog::op::minimum);
    expected = !facts.any ? init : record.op == catalog::op::minimum ? std::min(init, items) : std::max(init, items);
  }
  if (output == expected) return {.right = true};
  return {.why = differs(+expected, +output)};
}

}  // namespace

value_bytes init_of(catalog::op op, catalog::scalar type, int offset) {
  value_bytes bytes{};
  with_type(type, [&]<class T>(T) {
    T init;
    if (op == catalog::op::plus) {
      if constexpr (is_floating<T>)
        init = static_cast<T>(static_cast<float>(offset));
      else
        init = static_cast<T>(offset);
    } else {
      init = extreme<T>(op == catalog::op::minimum);
    }
    std::memcpy(bytes.data(), &init, sizeof init);
  });
  return bytes;
}

judgement judge(const catalog::record& record, const summary_of_items& facts, std::size_t num_items, int init_offset,
                bool whole, const value_bytes& output) {
  judgement result;
  const bool known = with_type(record.output_type, [&]<class T>(T) {
    if constexpr (is_floating<T>)
      result = judge_float(record, facts, num_items, init_offset, whole, load<T>(output));
    else
      result = judge_integer(record, facts, init_offset, load<T>(output));
  });
  if (!known) result.why = "no oracle for this output type";
  return result;
}

}  // namespace rungs::bench
