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

// Minimum and maximum start in the middle where they do not start at the extreme: from there the first items move them.
template <class T>
T init_value(catalog::op op, int offset) {
  if constexpr (std::is_same_v<T, affine>) {
    return {2 * static_cast<unsigned>(offset) + 1, static_cast<unsigned>(offset)};
  } else {
    if (op != catalog::op::plus && offset == 0) return extreme<T>(op == catalog::op::minimum);
    if (op == catalog::op::maximum && (is_floating<T> || std::is_signed_v<T>)) offset = -offset;
    if constexpr (std::is_unsigned_v<T>) {
      if (op == catalog::op::minimum) return std::numeric_limits<T>::max() / 2;
    }
    if constexpr (is_floating<T>)
      return static_cast<T>(static_cast<float>(offset));
    else
      return static_cast<T>(offset);
  }
}

template <class T>
tolerance tolerance_in(const catalog::record& record, std::size_t num_items, bool whole) {
  tolerance within;
  if (record.op != catalog::op::plus) return within;
  within.roundoff = std::ldexp(1.0, -digits<T>);
  const double height = static_cast<double>(std::min(
                            record.summation_height ? record.summation_height(num_items) : num_items, num_items)) +
                        (record.operation == catalog::operation::dot ? 2 : 1);  // init; and a product is rounded, too
  within.gamma = height * within.roundoff < 1
                     ? height * within.roundoff / (1 - height * within.roundoff)
                     : std::numeric_limits<double>::max();  // of magnitudes 0 nothing, all the same
  if (whole) within.exact_below = std::ldexp(1.0, digits<T>);
  return within;
}

std::string differs(auto expected, auto got) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << "expected " << expected << ", got " << got;
  return text.str();
}

std::string in_words(const affine& map) { return std::to_string(map.slope) + " x + " + std::to_string(map.offset); }

template <class T>
judgement judge_float(const catalog::record& record, const summary_of_items& facts, std::size_t num_items,
                      int init_offset, bool whole, T output) {
  const double got = to_double(output);
  if (record.op != catalog::op::plus) {
    const double init = to_double(init_value<T>(record.op, init_offset));
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
  const double allowed = tolerance_in<T>(record, num_items, whole)
                             .allowed(facts.magnitudes + std::abs(static_cast<double>(init_offset)), expected);
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
    const T init = init_value<T>(record.op, init_offset);
    expected = !facts.any ? init : record.op == catalog::op::minimum ? std::min(init, items) : std::max(init, items);
  }
  if (output == expected) return {.right = true};
  return {.why = differs(+expected, +output)};
}

}  // namespace

value_bytes init_of(catalog::op op, catalog::scalar type, int offset) {
  value_bytes bytes{};
  with_type(type, [&]<class T>(T) {
    const T init = init_value<T>(op, offset);
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
    else if constexpr (is_number<T>)
      result = judge_integer(record, facts, init_offset, load<T>(output));
    else
      result.why = "no oracle for reductions of this type";
  });
  if (!known) result.why = "no oracle for this output type";
  return result;
}

// Whole numbers are summed as whole numbers, and compared as what they are.
bool has_oracle(const catalog::record& scan) {
  enum class kind { other, real, natural, integer };
  const auto kind_of = [](catalog::scalar type) {
    kind found = kind::other;
    with_type(type, [&]<class T>(T) {
      if constexpr (is_floating<T>)
        found = kind::real;
      else if constexpr (is_number<T>)
        found = std::is_signed_v<T> ? kind::integer : kind::natural;
    });
    return found;
  };
  const kind input = kind_of(scan.input_type), output = kind_of(scan.output_type);
  return scan.accumulator_type == scan.output_type && input == output;
}

running before_all(const catalog::record& record, int init_offset) {
  running before;
  if (!record.takes_init) return before;
  const value_bytes init = init_of(record.op, record.accumulator_type, init_offset);
  with_type(record.accumulator_type, [&]<class T>(T) { include(before, record.op, load<T>(init)); });
  return before;
}

tolerance tolerance_of(const catalog::record& record, const workload& from) {
  tolerance within;
  with_type(record.output_type, [&]<class T>(T) {
    if constexpr (is_floating<T>) within = tolerance_in<T>(record, from.num_items, from.whole);
  });
  return within;
}

judgement judge_scan(const catalog::record& record, const scan_question& of, const std::vector<running>& befores,
                     const tally& found, const value_bytes& got) {
  judgement result{.right = found.num_wrong == 0};
  with_type(record.output_type, [&]<class T>(T) {
    if constexpr (is_floating<T>) result.error_ulps = found.largest_error / last_place<T>(found.largest_magnitude);
    if (result.right) return;
    const running expected = running_at(of, befores, found.first_wrong);
    const T value = load<T>(got);
    result.why = "element " + std::to_string(found.first_wrong) + " of " + std::to_string(of.num_outputs()) + ": ";
    if constexpr (is_floating<T>)
      result.why += differs(expected.high + expected.low, to_double(value));
    else if constexpr (is_number<T>)
      result.why += differs(+static_cast<T>(integer_of<T>(of, expected)), +value);
    else
      result.why += differs(in_words(map_of(expected)), in_words(value));
    result.why += "; wrong elements: " + std::to_string(found.num_wrong);
  });
  return result;
}

namespace {

template <class Counter>
judgement judge_counters(const histogram_question& of, const counted& expected, std::span<const Counter> got) {
  judgement result{.right = true};
  // Counters of 32 bits wrap, and so does their sum.
  Counter sum = 0;
  std::size_t num_wrong = 0, first_wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    sum += got[i];
    if (got[i] == static_cast<Counter>(expected.counters[i])) continue;
    if (num_wrong++ == 0) first_wrong = i;
  }
  if (num_wrong == 0 && sum == static_cast<Counter>(expected.inside)) return result;
  result.right = false;
  if (num_wrong != 0) {
    result.why = "bin " + std::to_string(first_wrong % of.num_bins) + " of " + std::to_string(of.num_bins);
    if (of.num_channels > 1) result.why += ", channel " + std::to_string(first_wrong / of.num_bins);
    result.why += ": " + differs(expected.counters[first_wrong], got[first_wrong]) +
                  "; wrong bins: " + std::to_string(num_wrong) + "; ";
  }
  result.why += "the bins sum to " + std::to_string(sum) + ", samples in range: " + std::to_string(expected.inside);
  return result;
}

}  // namespace

judgement judge_histogram(const histogram_question& of, const counted& expected, std::span<const std::uint32_t> got) {
  return judge_counters(of, expected, got);
}
judgement judge_histogram(const histogram_question& of, const counted& expected, std::span<const std::uint64_t> got) {
  return judge_counters(of, expected, got);
}

std::string find_wrong_place(catalog::scalar type, std::uint64_t index, const value_bytes& item,
                             const std::uint64_t* output) {
  if (output[0] != index) return "index: " + differs(index, output[0]);
  if (std::memcmp(&output[1], item.data(), catalog::size_of(type)) == 0) return "";
  return "the item is not the one at index " + std::to_string(index);
}

}  // namespace rungs::bench
