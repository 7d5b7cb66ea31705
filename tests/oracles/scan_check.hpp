// Checks the output of a scan of any length, or of a reduction, which is a scan's last output. The items are a pure
// function of (sample, i): the checker makes them anew, as the scan may have written over them, and adds them up
// without rounding. It works in parts: what precedes a part is put together from the states of the parts before it,
// then each of its outputs is judged. Host and device run this same code; it is tested against the host oracle
// (scan_reference.hpp), which shares none.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "catalog.hpp"
#include "oracles/fixed_point.hpp"
#include "oracles/keys.hpp"
#include "oracles/samples.hpp"

namespace rungs::tests {

__host__ __device__ inline std::uint64_t widened_item(catalog::scalar type, const sample& s, std::size_t i) {
  using catalog::scalar;
  switch (type) {
    case scalar::i8:
      return widened(item<std::int8_t>(s, i));
    case scalar::u8:
      return widened(item<std::uint8_t>(s, i));
    case scalar::i16:
      return widened(item<std::int16_t>(s, i));
    case scalar::u16:
      return widened(item<std::uint16_t>(s, i));
    case scalar::i32:
      return widened(item<std::int32_t>(s, i));
    case scalar::u32:
      return widened(item<std::uint32_t>(s, i));
    case scalar::i64:
      return widened(item<std::int64_t>(s, i));
    case scalar::u64:
      return widened(item<std::uint64_t>(s, i));
    case scalar::f16:
      return widened(item<f16>(s, i));
    case scalar::bf16:
      return widened(item<bf16>(s, i));
    case scalar::f32:
      return widened(item<float>(s, i));
    case scalar::f64:
      return widened(item<double>(s, i));
    default:
      return widened(item<affine>(s, i));
  }
}

// What is to be checked. The scan accumulates in the type of its output.
struct scan_task {
  sample made{};  // d_in[i] was item i, for the first num_items
  std::size_t num_items = 0;
  catalog::scalar input{}, output{};
  catalog::op op{};
  sample second{};  // of a dot product: what d_second was made of
  bool has_pairs = false;
  bool inclusive = true;
  bool has_init = false;
  std::uint64_t init = 0;  // widened
  const void* outputs = nullptr;
  // Of the types, filled in by task_of().
  int output_bytes = 0;
  bool output_is_signed = false, output_is_float = false;
  int grid = 0;  // what a fixed_point's lowest bit weighs
  // What a sum of floats may be off by: gamma_h * sum|x| + unit_roundoff * |sum| + absolute.
  double gamma = 0, unit_roundoff = 0, absolute = 0;
  bool keeps_zero_sign = true, zeros_alike = false;  // of sums; of minima and maxima
};

enum class scan_rule : int { bit_for_bit, any_nan, infinite_item, finite_items, exact_in_any_order, error_bound };

struct scan_outcome {
  bool right = true;
  scan_rule rule = scan_rule::bit_for_bit;
  std::uint64_t expected = 0;  // in the output's type
  double error = 0, bound = 0;
};

namespace detail {

__host__ __device__ inline std::uint64_t in_output(const scan_task& task, std::uint64_t integer) {
  return task.output_bytes == 8 ? integer : integer & ((1ull << 8 * task.output_bytes) - 1);
}
// A finite or infinite value of an output that is f32 or f64.
__host__ __device__ inline std::uint64_t float_in_output(const scan_task& task, double value) {
  return task.output_bytes == 8 ? bit_copy<std::uint64_t>(value) : bit_copy<std::uint32_t>(static_cast<float>(value));
}
__host__ __device__ inline double float_of_output(const scan_task& task, std::uint64_t bits) {
  return task.output_bytes == 8 ? bit_copy<double>(bits)
                                : static_cast<double>(bit_copy<float>(static_cast<std::uint32_t>(bits)));
}
__host__ __device__ inline std::uint64_t output_at(const scan_task& task, std::size_t i) {
  switch (task.output_bytes) {
    case 1:
      return static_cast<const std::uint8_t*>(task.outputs)[i];
    case 2:
      return static_cast<const std::uint16_t*>(task.outputs)[i];
    case 4:
      return static_cast<const std::uint32_t*>(task.outputs)[i];
    default: {  // by halves: affine maps are aligned to four bytes
      const auto* const halves = static_cast<const std::uint32_t*>(task.outputs) + 2 * i;
      return std::uint64_t{halves[1]} << 32 | halves[0];
    }
  }
}

}  // namespace detail

// The states: what a run of items amounts to. A state of none precedes every other without changing it. absorb() adds
// an item behind, merge() a run; judge() says whether an output may be what init and the absorbed items give.

struct integer_sum {
  std::uint64_t sum = 0;
  __host__ __device__ void absorb(const scan_task&, std::uint64_t x) { sum += x; }
  __host__ __device__ void merge(const scan_task&, const integer_sum& right) { sum += right.sum; }
  __host__ __device__ scan_outcome judge(const scan_task& task, std::uint64_t got) const {
    scan_outcome o;
    o.expected = detail::in_output(task, sum);
    o.right = got == o.expected;
    return o;
  }
};

struct composition {
  std::uint32_t slope = 1, offset = 0;
  __host__ __device__ void absorb(const scan_task&, std::uint64_t x) {
    append(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32));
  }
  __host__ __device__ void merge(const scan_task&, const composition& right) { append(right.slope, right.offset); }
  __host__ __device__ scan_outcome judge(const scan_task&, std::uint64_t got) const {
    scan_outcome o;
    o.expected = std::uint64_t{offset} << 32 | slope;
    o.right = got == o.expected;
    return o;
  }

 private:
  __host__ __device__ void append(std::uint32_t then_slope, std::uint32_t then_offset) {
    slope *= then_slope;
    offset = offset * then_slope + then_offset;
  }
};

// Minimum or maximum, as a key whose unsigned order is that of the values.
struct extreme {
  std::uint64_t key = 0;
  bool present = false, nan = false;
  __host__ __device__ void absorb(const scan_task& task, std::uint64_t x) {
    extreme one;
    one.present = true;
    if (task.output_is_float) {
      const auto value = detail::bit_copy<double>(x);
      one.nan = value != value;
      one.key = order_key(value);
    } else {
      one.key = x ^ sign_bit(task);
    }
    merge(task, one);
  }
  __host__ __device__ void merge(const scan_task& task, const extreme& right) {
    if (!right.present) return;
    const bool better = task.op == catalog::op::minimum ? right.key < key : right.key > key;
    if (!present || better) key = right.key;
    present = true;
    nan = nan || right.nan;
  }
  __host__ __device__ scan_outcome judge(const scan_task& task, std::uint64_t got) const {
    scan_outcome o;
    if (!task.output_is_float) {
      o.expected = detail::in_output(task, key ^ sign_bit(task));
      o.right = got == o.expected;
      return o;
    }
    const double value = detail::float_of_output(task, got);
    if (nan) {
      o.rule = scan_rule::any_nan;
      o.right = value != value;
      return o;
    }
    const auto best = detail::bit_copy<double>(key >> 63 != 0 ? key ^ 1ull << 63 : ~key);
    o.expected = detail::float_in_output(task, best);
    o.right = got == o.expected || (task.zeros_alike && value == 0 && best == 0);
    return o;
  }

 private:
  static __host__ __device__ std::uint64_t sign_bit(const scan_task& task) {
    return task.output_is_signed ? 1ull << 63 : 0;
  }
};

template <int num_words>
struct float_sum {
  enum : unsigned { nan = 1, plus_infinity = 2, minus_infinity = 4, more_than_negative_zeros = 8 };
  static constexpr int no_bit = 1 << 20;
  fixed_point<num_words> sum;
  double magnitudes = 0;
  int lowest_bit = no_bit;  // exponent of the lowest bit that is set in any item
  unsigned seen = 0;

  __host__ __device__ void absorb(const scan_task& task, std::uint64_t x) {
    const auto value = detail::bit_copy<double>(x);
    const bool is_zero = x << 1 == 0;
    if (!is_zero || x == 0) seen |= more_than_negative_zeros;
    if (value != value) {
      seen |= nan;
    } else if ((x >> 52 & 0x7ff) == 0x7ff) {
      seen |= value > 0 ? plus_infinity : minus_infinity;
    } else if (!is_zero) {
      sum.add(value, task.grid);
      magnitudes += std::fabs(value);
      const detail::taken_apart parts = detail::take_apart(value);
      const int lowest = parts.exponent + detail::trailing_zeros(parts.significand);
      if (lowest < lowest_bit) lowest_bit = lowest;
    }
  }
  __host__ __device__ void merge(const scan_task&, const float_sum& right) {
    sum.add(right.sum);
    magnitudes += right.magnitudes;
    if (right.lowest_bit < lowest_bit) lowest_bit = right.lowest_bit;
    seen |= right.seen;
  }

  __host__ __device__ scan_outcome judge(const scan_task& task, std::uint64_t got) const {
    scan_outcome o;
    const double value = detail::float_of_output(task, got);
    const bool is_finite = value - value == 0;
    const unsigned both = plus_infinity | minus_infinity;
    if ((seen & nan) != 0 || (seen & both) == both) {
      o.rule = scan_rule::any_nan;
      o.right = value != value;
      return o;
    }
    if ((seen & both) != 0) {
      const auto infinity = detail::bit_copy<double>(std::uint64_t{0x7ff} << 52);
      o.rule = scan_rule::infinite_item;
      o.expected = detail::float_in_output(task, (seen & plus_infinity) != 0 ? infinity : -infinity);
      o.right = got == o.expected;
      return o;
    }
    const double exact = (seen & more_than_negative_zeros) != 0 ? sum.template rounded<double>(task.grid) : -0.0;
    o.expected = detail::float_in_output(task, exact);
    if (got == o.expected) return o;
    if (value == 0 && exact == 0 && !task.keeps_zero_sign) return o;
    o.right = false;
    o.rule = scan_rule::finite_items;
    if (!is_finite) return o;
    if (fixed_point<num_words>::holds(value, task.grid)) {
      fixed_point<num_words> difference = sum;
      difference.add(-value, task.grid);
      o.error = std::fabs(difference.template rounded<double>(task.grid));
    } else {
      o.error = std::fabs(value);
    }
    if (every_partial_sum_fits(task)) {
      o.rule = scan_rule::exact_in_any_order;
      o.bound = task.absolute;
      o.right = task.absolute > 0 && o.error <= task.absolute;
      return o;
    }
    o.rule = scan_rule::error_bound;
    o.bound = task.gamma * magnitudes + task.unit_roundoff * std::fabs(exact) + task.absolute;
    o.right = o.error <= o.bound;
    return o;
  }

 private:
  // All items are multiples of their lowest bit, and whatever is added up of them stays in the mantissa.
  __host__ __device__ bool every_partial_sum_fits(const scan_task& task) const {
    if (lowest_bit == no_bit) return true;
    const int mantissa = task.output_bytes == 8 ? 53 : 24;
    return magnitudes < std::ldexp(1.0, mantissa + lowest_bit);
  }
};

// Sums of doubles and of products take 512 bits, of narrower floats 256.
template <class F>
__host__ auto with_scan_state(const scan_task& task, F&& f) {
  if (task.op == catalog::op::compose) return f(composition{});
  if (task.op != catalog::op::plus) return f(extreme{});
  if (!task.output_is_float) return f(integer_sum{});
  if (task.input == catalog::scalar::f64 || task.has_pairs) return f(float_sum<8>{});
  return f(float_sum<4>{});
}

// What precedes the first item.
template <class State>
__host__ __device__ State state_of_init(const scan_task& task) {
  State state;
  if (task.has_init) state.absorb(task, task.init);
  return state;
}

// Absorbs the product of two items. What lies below a product's last place is an item of its own: nothing is lost.
template <class State>
__host__ __device__ void absorb_product(State& state, const scan_task& task, std::uint64_t x, std::uint64_t y) {
  if (!task.output_is_float) return state.absorb(task, x * y);
  const auto a = detail::bit_copy<double>(x), b = detail::bit_copy<double>(y);
  const double product = a * b, rest = fma(a, b, -product);
  state.absorb(task, detail::bit_copy<std::uint64_t>(product));
  if (rest != 0 && rest - rest == 0) state.absorb(task, detail::bit_copy<std::uint64_t>(rest));
}

// `items(made, i)` is item i of a sample, widened.
template <class State, class Items>
__host__ __device__ State state_of_part(const scan_task& task, std::size_t first, std::size_t last,
                                        const Items& items) {
  State state;
  for (std::size_t i = first; i < last; ++i) {
    if (task.has_pairs)
      absorb_product(state, task, items(task.made, i), items(task.second, i));
    else
      state.absorb(task, items(task.made, i));
  }
  return state;
}

// Judges the outputs of a part; `before` is the state of init and all that precedes it. Calls wrong(i, got, outcome).
template <class State, class Items, class Wrong>
__host__ __device__ void judge_part(const scan_task& task, State before, std::size_t first, std::size_t last,
                                    const Items& items, const Wrong& wrong) {
  for (std::size_t i = first; i < last; ++i) {
    if (task.inclusive) before.absorb(task, items(task.made, i));
    const std::uint64_t got = detail::output_at(task, i);
    const scan_outcome o = before.judge(task, got);
    if (!o.right) wrong(i, got, o);
    if (!task.inclusive) before.absorb(task, items(task.made, i));
  }
}

// Judges a row's one output; `items` is the state of the row's items alone.
template <class State, class Wrong>
__host__ __device__ void judge_row(const scan_task& task, const State& items, std::size_t row, const Wrong& wrong) {
  State total = state_of_init<State>(task);
  total.merge(task, items);
  const std::uint64_t got = detail::output_at(task, row);
  const scan_outcome o = total.judge(task, got);
  if (!o.right) wrong(row, got, o);
}

// What a checker found.
struct scan_report {
  unsigned long long num_wrong = 0;
  unsigned long long first = 0;  // the first wrong output
  std::uint64_t got = 0;
  scan_outcome outcome{};
};

// Of a reduction: its one output against the state of all items.
template <class State>
scan_report judge_total(const scan_task& task, const State& all) {
  State total = state_of_init<State>(task);
  total.merge(task, all);
  scan_report report;
  report.got = detail::output_at(task, 0);
  report.outcome = total.judge(task, report.got);
  report.num_wrong = report.outcome.right ? 0 : 1;
  return report;
}

}  // namespace rungs::tests
