// Variants that run on the host, right ones and wrong ones, as records without a catalog: what the bench must refuse,
// and what the cases must (gpu/examination_test.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catalog.hpp"
#include "rungs/operators.cuh"

namespace rungs::bench::fakes {

inline std::size_t calls = 0;  // since a test set it to 0

inline bool only_size(void* workspace, std::size_t& num_bytes) {
  if (workspace != nullptr) return false;
  num_bytes = 16;
  return true;
}

// In four parts, because an addition waits for the one before it: this is most of what the tests' time goes to.
template <class T>
T sum(const catalog::arguments& a, std::size_t num_items) {
  const auto* const in = static_cast<const T*>(a.d_in);
  T s0 = *static_cast<const T*>(a.init), s1{}, s2{}, s3{};
  std::size_t i = 0;
  for (; i + 4 <= num_items; i += 4) s0 += in[i], s1 += in[i + 1], s2 += in[i + 2], s3 += in[i + 3];
  for (; i < num_items; ++i) s0 += in[i];
  return (s0 + s1) + (s2 + s3);
}

template <class T>
cudaError_t right(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  *static_cast<T*>(a.d_out) = sum<T>(a, a.num_items);
  return cudaSuccess;
}

template <class T>
cudaError_t drops_the_last(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  *static_cast<T*>(a.d_out) = sum<T>(a, a.num_items - 1);
  return cudaSuccess;
}

// Right while it is looked at first, wrong once it is timed.
inline cudaError_t tires(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  *static_cast<int*>(a.d_out) = sum<int>(a, a.num_items) + (++calls > 30);
  return cudaSuccess;
}

// Right while it is looked at first.
inline cudaError_t stops_writing(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  if (++calls < 100) *static_cast<int*>(a.d_out) = sum<int>(a, a.num_items);
  return cudaSuccess;
}

// Remembers the first answer it gave.
inline cudaError_t remembers(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  static int first = 0;
  if (calls++ == 0) first = sum<int>(a, a.num_items);
  *static_cast<int*>(a.d_out) = first;
  return cudaSuccess;
}

// The scans that bench/scan_oracle.hpp must tell apart. An output is a function of what comes before each element.
template <class T>
T combined(catalog::op op, T a, T b) {
  if constexpr (std::is_same_v<T, affine>)
    return compose{}(a, b);
  else if (op == catalog::op::plus)
    return static_cast<T>(a + b);
  else
    return (op == catalog::op::minimum) == (b < a) ? b : a;
}

template <class In, class Out>
std::vector<Out> scanned(const catalog::record& about, const In* items, std::size_t num_items, const Out& init) {
  std::vector<Out> output(num_items);
  const bool exclusive = about.operation == catalog::operation::exclusive_scan;
  Out all = init;
  bool any = about.takes_init;
  for (std::size_t i = 0; i < num_items; ++i) {
    const Out next = static_cast<Out>(items[i]), before = all;
    all = any ? combined(about.op, all, next) : next;
    any = true;
    output[i] = exclusive ? before : all;
  }
  return output;
}

enum class flaw { none, last_off_by_one, last_unwritten, other_kind, no_init, lost_prefix, tires };

template <class T, catalog::operation kind, flaw planted = flaw::none, class In = T>
cudaError_t scan(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  catalog::record about;
  about.op = catalog::op::plus;
  about.operation = (kind == catalog::operation::exclusive_scan) != (planted == flaw::other_kind)
                        ? catalog::operation::exclusive_scan
                        : catalog::operation::inclusive_scan;
  about.takes_init = kind == catalog::operation::exclusive_scan || !std::is_same_v<In, T>;
  auto* const out = static_cast<T*>(a.d_out);
  const auto* const in = static_cast<const In*>(a.d_in);
  const T init = planted == flaw::no_init ? T{} : *static_cast<const T*>(a.init);
  const auto output = scanned(about, in, a.num_items, init);
  std::copy(output.begin(), output.end() - (planted == flaw::last_unwritten), out);
  if constexpr (planted == flaw::last_off_by_one) out[a.num_items - 1] += 1;
  if constexpr (planted == flaw::tires) out[a.num_items - 1] += ++calls > 30;
  if constexpr (planted == flaw::lost_prefix) {
    const std::size_t half = a.num_items / 2;
    const auto second = scanned(about, in + half, a.num_items - half, T{});
    std::copy(second.begin(), second.end(), out + half);
  }
  return cudaSuccess;
}

// Slips are coarse, or so fine that few cases show them.
template <class T>
T plus_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)  // wraps around
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

enum class row_slip {
  none,
  last_column,
  last_column_of_some,
  init_once,
  next_row,
  column_of_the_next_row,
  last_row_unwritten,
  last_of_many_rows_unwritten,
  one_row_too_many,
  empty_rows_left_out,
  row_of_32_bits,
  tires
};

template <class T, row_slip planted = row_slip::none>
cudaError_t row_sums(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  const auto* const in = static_cast<const T*>(a.d_in);
  const T init = *static_cast<const T*>(a.init);
  std::size_t rows = a.num_rows - (planted == row_slip::last_row_unwritten);
  if (planted == row_slip::last_of_many_rows_unwritten && rows > 32) --rows;
  if (planted == row_slip::one_row_too_many && rows % 32 == 31) ++rows;
  if (planted == row_slip::empty_rows_left_out && a.num_columns == 0) rows = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    T total = planted == row_slip::init_once && row > 0 ? T{} : init;
    std::size_t end = a.num_columns - (planted == row_slip::last_column);
    std::size_t first = (planted == row_slip::next_row ? (row + 1) % a.num_rows : row) * a.num_columns;
    if (planted == row_slip::last_column_of_some && end % 4 == 1) --end;
    if (planted == row_slip::column_of_the_next_row && end > 2000 && row + 1 < rows) ++end;
    if (planted == row_slip::row_of_32_bits) first = first % 65536;
    for (std::size_t i = 0; row < a.num_rows && i < end; ++i) total = plus_of(total, in[first + i]);
    static_cast<T*>(a.d_out)[row] = total + (planted == row_slip::tires && calls > 30);
  }
  return cudaSuccess;
}

enum class norm_slip {
  none,
  last_column,
  no_weights,
  weight_of_the_next_column,
  no_epsilon,
  mean_of_the_first_row,
  no_root,
  last_row_unwritten,
  tires
};

template <norm_slip planted = norm_slip::none>
cudaError_t norms(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  const auto* const weights = static_cast<const float*>(a.d_second);
  for (std::size_t row = 0; row < a.num_rows - (planted == norm_slip::last_row_unwritten); ++row) {
    const float* const in = static_cast<const float*>(a.d_in) + row * a.num_columns;
    const float* const own = planted == norm_slip::mean_of_the_first_row ? static_cast<const float*>(a.d_in) : in;
    float* const out = static_cast<float*>(a.d_out) + row * a.num_columns;
    double squares = planted == norm_slip::tires && calls > 30 ? 1 : 0;
    for (std::size_t c = 0; c < a.num_columns - (planted == norm_slip::last_column && a.num_columns > 0); ++c)
      squares += double{own[c]} * own[c];
    const double mean = squares / static_cast<double>(a.num_columns);
    const double root = std::sqrt(mean + (planted == norm_slip::no_epsilon ? 0 : catalog::norm_epsilon));
    for (std::size_t c = 0; c < a.num_columns; ++c) {
      const double weight =
          planted == norm_slip::no_weights
              ? 1
              : weights[planted == norm_slip::weight_of_the_next_column ? (c + 1) % a.num_columns : c];
      out[c] = static_cast<float>(in[c] / (planted == norm_slip::no_root ? mean : root) * weight);
    }
  }
  return cudaSuccess;
}

enum class pair_slip {
  none,
  last_pair,
  last_pair_of_some,
  first_twice,
  next_second,
  next_second_of_many,
  product_rounded_to_the_item,
  changes_second,
  tires
};

template <class In, pair_slip planted = pair_slip::none, class T = In>
cudaError_t dot(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  const auto* const x = static_cast<const In*>(a.d_in);
  const auto* const y = static_cast<const In*>(planted == pair_slip::first_twice ? a.d_in : a.d_second);
  std::size_t last = a.num_items - (planted == pair_slip::last_pair);
  if (planted == pair_slip::last_pair_of_some && last % 4 == 3) --last;
  const bool shifts =
      planted == pair_slip::next_second || (planted == pair_slip::next_second_of_many && a.num_items > 100);
  T total{};
  for (std::size_t i = 0; i < last; ++i) {
    const In second = y[shifts ? (i + 1) % a.num_items : i];
    total +=
        planted == pair_slip::product_rounded_to_the_item ? T(static_cast<In>(x[i] * second)) : T(x[i]) * T(second);
  }
  if (planted == pair_slip::changes_second && last > 5) const_cast<In*>(y)[5] = In{1};
  *static_cast<T*>(a.d_out) = total + (planted == pair_slip::tires && calls > 30);
  return cudaSuccess;
}

enum class place_slip {
  none,
  last_item,
  last_of_equals,
  nan_left_out,
  item_of_another_index,
  index_in_a_tile,
  word_of_32_bits,
  tires
};

// The place of the least or the greatest item, behind so many bytes of the output. A NaN comes before all numbers.
template <class T, bool least, place_slip planted>
void find_place(const catalog::arguments& a, std::size_t out_offset) {
  using limits = std::numeric_limits<T>;
  const auto* const items = static_cast<const T*>(a.d_in);
  T best = limits::has_infinity ? (least ? limits::infinity() : -limits::infinity())
                                : (least ? limits::max() : limits::lowest());
  std::uint64_t index = a.num_items > 0 ? a.num_items : 1;
  const std::size_t last = a.num_items - (planted == place_slip::last_item && a.num_items > 1);
  for (std::size_t i = 0; i < last; ++i) {
    const bool is_nan = items[i] != items[i] && planted != place_slip::nan_left_out;
    const bool is_equal = items[i] == best && (index == a.num_items || planted == place_slip::last_of_equals);
    if (best != best || !(is_nan || is_equal || (least ? items[i] < best : items[i] > best))) continue;
    best = items[i];
    index = i;
  }
  if (planted == place_slip::item_of_another_index && index > 40) best = items[index - 1];
  if (planted == place_slip::index_in_a_tile) index %= 64;
  if (planted == place_slip::tires && calls > 30) best += 1;
  auto* const out = static_cast<char*>(a.d_out) + out_offset;
  std::memcpy(out, &index, planted == place_slip::word_of_32_bits ? 4 : 8);
  std::memcpy(out + sizeof index, &best, sizeof best);
}

template <class T, place_slip planted = place_slip::none, bool least = true>
cudaError_t place_of_the_least(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  find_place<T, least, planted>(a, 0);
  return cudaSuccess;
}

// Both: the least and the greatest, of which the greatest may be wrong.
template <class T, place_slip planted = place_slip::none>
cudaError_t both_places(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t stream) {
  const cudaError_t error = place_of_the_least<T>(workspace, num_bytes, a, stream);
  if (workspace != nullptr) find_place<T, false, planted>(a, 16);
  return error;
}

enum class choice_slip {
  none,
  last_item,
  last_item_left_out,
  order,
  order_of_many,
  equal_chosen,
  nan_chosen,
  one_too_many,
  count_unwritten,
  count_of_32_bits,
  tires
};

template <class T, choice_slip planted = choice_slip::none>
cudaError_t chosen(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  const auto* const items = static_cast<const T*>(a.d_in);
  const T threshold = *static_cast<const T*>(a.levels);
  auto* const out = static_cast<T*>(a.d_out);
  std::size_t count = 0;
  const std::size_t last = a.num_items - (planted == choice_slip::last_item_left_out && a.num_items > 1);
  for (std::size_t i = 0; i < last; ++i)
    if (items[i] < threshold || (planted == choice_slip::equal_chosen && items[i] == threshold) ||
        (planted == choice_slip::nan_chosen && items[i] != items[i]))
      out[count++] = items[i];
  if (planted == choice_slip::order) std::swap(out[0], out[count - 1]);
  if (planted == choice_slip::order_of_many && count > 100) std::swap(out[count / 2], out[count - 1]);
  if (planted == choice_slip::one_too_many && count < a.num_items) out[count] = threshold;
  if (planted == choice_slip::tires && calls > 30) out[0] = 0;
  if (planted == choice_slip::last_item) --count;
  if (planted == choice_slip::count_unwritten && count == 0) return cudaSuccess;
  std::memcpy(catalog::count_behind(a.d_out, a.num_items, sizeof(T)), &count,
              planted == choice_slip::count_of_32_bits ? 4 : 8);
  return cudaSuccess;
}

enum class top_k_slip {
  none,
  last_of_equals,
  nan_lost,
  zeros_differ,
  unsorted,
  last_column,
  last_column_left_out,
  key_rounded,
  tires
};

template <class T, top_k_slip planted = top_k_slip::none>
cudaError_t greatest(void* workspace, std::size_t& num_bytes, const catalog::arguments& a, cudaStream_t) {
  if (only_size(workspace, num_bytes)) return cudaSuccess;
  ++calls;
  auto* const columns_out = static_cast<std::uint32_t*>(a.d_out);
  std::vector<std::uint32_t> columns(a.num_columns - (planted == top_k_slip::last_column) -
                                     (planted == top_k_slip::last_column_left_out && a.k < a.num_columns));
  for (std::size_t row = 0; row < a.num_rows; ++row) {
    const T* const items = static_cast<const T*>(a.d_in) + row * a.num_columns;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::uint32_t>(i);
    const auto comes_first = [=](std::uint32_t i, std::uint32_t j) {
      const T x = items[i], y = items[j];
      if (x < y || x > y) return x > y;
      if ((x != x) != (y != y)) return (x != x) != (planted == top_k_slip::nan_lost);
      if (planted == top_k_slip::zeros_differ && std::signbit(double(x)) != std::signbit(double(y)))
        return std::signbit(double(y));
      return planted == top_k_slip::last_of_equals ? i > j : i < j;
    };
    std::partial_sort(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(a.k), columns.end(), comes_first);
    if (planted == top_k_slip::unsorted && a.k > 100) std::swap(columns[50], columns[51]);
    if (planted == top_k_slip::tires && calls > 30) columns[0] = columns[1];
    for (std::size_t i = 0; i < a.k; ++i) {
      const bool rounds = planted == top_k_slip::key_rounded && items[columns[i]] == 0;
      const T key = rounds ? T{} : items[columns[i]];
      columns_out[row * a.k + i] = columns[i];
      std::memcpy(columns_out + (a.num_rows + row) * a.k + i, &key, sizeof(T));
    }
  }
  return cudaSuccess;
}

inline cudaError_t does_nothing(void* workspace, std::size_t& num_bytes, const catalog::arguments&, cudaStream_t) {
  only_size(workspace, num_bytes);
  return cudaSuccess;
}

template <cudaError_t error>
cudaError_t answers(void* workspace, std::size_t& num_bytes, const catalog::arguments&, cudaStream_t) {
  return only_size(workspace, num_bytes) ? cudaSuccess : error;
}
inline constexpr catalog::call_t fails = answers<cudaErrorInvalidValue>, refuses = answers<cudaErrorNotSupported>;

inline catalog::record record(std::string_view rung, catalog::call_t call, catalog::scalar type = catalog::scalar::i32,
                              executor where = executor::host) {
  catalog::record about;
  about.family = catalog::family::library_baselines;
  about.ladder = "fakes";
  about.rung = rung;
  about.operation = catalog::operation::reduce;
  about.op = catalog::op::plus;
  about.input_type = about.accumulator_type = about.output_type = type;
  about.executes_on = where;
  about.call = call;
  return about;
}

inline catalog::record a_scan(std::string_view rung, catalog::operation operation, catalog::call_t call,
                              catalog::scalar type = catalog::scalar::i32, executor where = executor::host) {
  catalog::record about = record(rung, call, type, where);
  about.operation = operation;
  about.takes_init = operation == catalog::operation::exclusive_scan;
  return about;
}

inline catalog::record without_init(catalog::record about, catalog::operation operation, catalog::op op) {
  about.operation = operation;
  about.op = op;
  about.takes_init = false;
  return about;
}
inline catalog::record of_pairs(const catalog::record& about) {
  return without_init(about, catalog::operation::dot, catalog::op::plus);
}
inline catalog::record of_selections(const catalog::record& about) {
  return without_init(about, catalog::operation::select_if, catalog::op::none);
}
inline catalog::record of_norms(const catalog::record& about) {
  return without_init(about, catalog::operation::row_norm, catalog::op::none);
}
inline catalog::record of_places(catalog::record about, catalog::op op = catalog::op::minimum) {
  about.output_type = catalog::scalar::i64;
  return without_init(about, catalog::operation::arg_extremum, op);
}
inline catalog::record of_both_places(const catalog::record& about) { return of_places(about, catalog::op::both); }
inline catalog::record of_top_k(catalog::record about) {
  about.output_type = catalog::scalar::u32;
  return without_init(about, catalog::operation::top_k, catalog::op::none);
}
inline catalog::record of_rows(catalog::record about) {
  about.operation = catalog::operation::row_reduce;
  return about;
}

}  // namespace rungs::bench::fakes
