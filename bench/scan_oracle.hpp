// What a scan must write, element by element. Item i is a pure function of (seed, i), so a check makes the items again
// and reads nothing but the output. First every chunk of items is folded by itself, exactly; the host puts together
// what comes before each chunk; then every chunk is walked again from there, and every element of the output compared.
// Host and device compile the same functions. Of rows of a matrix, chunks are the rows, and each comes to one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace rungs::bench {

// What some items in a row come to. Floats: high + low is the sum to about 2^-100 of the magnitudes, or high is the
// extreme. Integers: the sum modulo 2^64, or the extreme as a key that orders like the values. Affine maps: the slope
// in the lower half of bits, the offset in the upper.
struct running {
  double high = 0, low = 0, magnitudes = 0;
  std::uint64_t bits = 0;
  bool any = false;
};

// An element may err by gamma * (sum of magnitudes so far) + roundoff * |expected|, and not at all while the magnitudes
// are below exact_below.
struct tolerance {
  double gamma = 0, roundoff = 0, exact_below = 0;

  __host__ __device__ double allowed(double magnitudes, double expected) const {
    if (magnitudes < exact_below) return 0;
    return gamma * magnitudes + roundoff * (expected < 0 ? -expected : expected);
  }
};

struct scan_question {
  workload from;
  catalog::op op{};
  catalog::scalar output_type{};
  int output_size = 0;  // bytes of an element
  bool exclusive = false;
  std::size_t chunk_items = 1;
  bool of_rows = false;

  __host__ __device__ std::size_t num_chunks() const { return (from.num_items + chunk_items - 1) / chunk_items; }
  __host__ __device__ std::size_t end_of(std::size_t chunk) const {
    const std::size_t end = (chunk + 1) * chunk_items;
    return end < from.num_items ? end : from.num_items;
  }
  __host__ __device__ std::size_t num_outputs() const { return of_rows ? num_chunks() : from.num_items; }
};

inline constexpr std::size_t max_chunks = std::size_t{1} << 17, fewest_chunk_items = 64;
scan_question question_of(catalog::operation operation, catalog::op op, catalog::scalar output_type,
                          const workload& from);
scan_question question_of_rows(catalog::op op, catalog::scalar output_type, const workload& from,
                               std::size_t num_columns);

// What a check found. The largest error is among the elements that are right; it is 0 for exact types.
struct tally {
  std::uint64_t num_wrong = 0;
  std::size_t first_wrong = ~std::size_t{0};
  double largest_error = 0, largest_magnitude = 0;
};

__host__ __device__ inline void merge(tally& into, const tally& other) {
  into.num_wrong += other.num_wrong;
  if (other.first_wrong < into.first_wrong) into.first_wrong = other.first_wrong;
  if (other.largest_error > into.largest_error) into.largest_error = other.largest_error;
  if (other.largest_magnitude > into.largest_magnitude) into.largest_magnitude = other.largest_magnitude;
}

__host__ __device__ inline affine map_of(const running& all) {
  if (!all.any) return {1, 0};
  return {static_cast<unsigned>(all.bits), static_cast<unsigned>(all.bits >> 32)};
}

__host__ __device__ inline void apply_next(running& all, const affine& next) {
  const affine before = map_of(all);
  const unsigned slope = before.slope * next.slope, offset = before.offset * next.slope + next.offset;
  all.bits = std::uint64_t{offset} << 32 | slope;
}

template <class T>
__host__ __device__ void include(running& all, catalog::op op, T value) {
  if constexpr (std::is_same_v<T, affine>) {
    apply_next(all, value);
  } else if constexpr (is_floating<T>) {
    const double number = to_double(value);
    if (op == catalog::op::plus) {
      add_exactly(all.high, all.low, number);
      all.magnitudes += number < 0 ? -number : number;
    } else if (!all.any || (op == catalog::op::minimum ? number < all.high : number > all.high)) {
      all.high = number;
    }
  } else if (op == catalog::op::plus) {
    all.bits += static_cast<std::uint64_t>(value);
  } else {
    const std::uint64_t key = order_key(value);
    if (!all.any || (op == catalog::op::minimum ? key < all.bits : key > all.bits)) all.bits = key;
  }
  all.any = true;
}

// `next` follows `all`; T is the type of the items.
template <class T>
__host__ __device__ void append(running& all, catalog::op op, const running& next) {
  if (!next.any) return;
  if (!all.any) {
    all = next;
    return;
  }
  if constexpr (std::is_same_v<T, affine>) {
    apply_next(all, map_of(next));
  } else if (op == catalog::op::plus) {
    add_exactly(all.high, all.low, next.high);
    all.low += next.low;
    all.magnitudes += next.magnitudes;
    all.bits += next.bits;
  } else {
    const bool least = op == catalog::op::minimum;
    if (least ? next.high < all.high : next.high > all.high) all.high = next.high;
    if (least ? next.bits < all.bits : next.bits > all.bits) all.bits = next.bits;
  }
}

// All items of a chunk, or every so many-th of them from one on.
template <class T>
__host__ __device__ running fold_chunk(const scan_question& of, std::size_t chunk, std::size_t from = 0,
                                       std::size_t step = 1) {
  running all;
  const std::size_t end = of.end_of(chunk);
  for (std::size_t i = chunk * of.chunk_items + from; i < end; i += step) include(all, of.op, item<T>(of.from, i));
  return all;
}

__host__ __device__ inline double load_number(const void* values, catalog::scalar type, std::size_t i) {
  switch (type) {
    case catalog::scalar::f64:
      return static_cast<const double*>(values)[i];
    case catalog::scalar::f16:
      return to_double(static_cast<const __half*>(values)[i]);
    case catalog::scalar::bf16:
      return to_double(static_cast<const __nv_bfloat16*>(values)[i]);
    default:
      return static_cast<const float*>(values)[i];
  }
}

__host__ __device__ inline std::uint64_t load_bits(const void* values, int size, std::size_t i) {
  switch (size) {
    case 1:
      return static_cast<const std::uint8_t*>(values)[i];
    case 2:
      return static_cast<const std::uint16_t*>(values)[i];
    case 4:
      return static_cast<const std::uint32_t*>(values)[i];
    default:
      return static_cast<const std::uint64_t*>(values)[i];
  }
}

// The expected element of an integer type, in its lowest bytes.
template <class T>
__host__ __device__ std::uint64_t integer_of(const scan_question& of, const running& all) {
  const std::uint64_t bits =
      of.op != catalog::op::plus && std::is_signed_v<T> ? all.bits ^ (std::uint64_t{1} << 63) : all.bits;
  return of.output_size == 8 ? bits : bits & ((std::uint64_t{1} << 8 * of.output_size) - 1);
}

// Element i of the output against what the items come to.
template <class T>
__host__ __device__ void compare_element(const scan_question& of, const tolerance& within, const running& all,
                                         std::size_t i, const void* output, tally& found) {
  bool right;
  if constexpr (std::is_same_v<T, affine>) {
    const affine expected = map_of(all), got = static_cast<const affine*>(output)[i];
    right = got.slope == expected.slope && got.offset == expected.offset;
  } else if constexpr (is_floating<T>) {
    const double got = load_number(output, of.output_type, i), expected = all.high + all.low;
    const double difference = (got - all.high) - all.low, error = difference < 0 ? -difference : difference;
    const double magnitude = expected < 0 ? -expected : expected;
    // Neither a NaN nor an infinity is at most the greatest double.
    right = error <= within.allowed(all.magnitudes, expected) && error <= 0x1.fffffffffffffp1023;
    if (right && error > found.largest_error) found.largest_error = error;
    if (magnitude > found.largest_magnitude) found.largest_magnitude = magnitude;
  } else {
    right = load_bits(output, of.output_size, i) == integer_of<T>(of, all);
  }
  if (right) return;
  ++found.num_wrong;
  if (i < found.first_wrong) found.first_wrong = i;
}

template <class T>
__host__ __device__ tally check_chunk(const scan_question& of, const tolerance& within, running all, std::size_t chunk,
                                      const void* output) {
  tally found;
  const std::size_t end = of.end_of(chunk);
  for (std::size_t i = chunk * of.chunk_items; i < end; ++i) {
    const T next = item<T>(of.from, i);
    if (of.exclusive) compare_element<T>(of, within, all, i, output, found);
    include(all, of.op, next);
    if (!of.exclusive) compare_element<T>(of, within, all, i, output, found);
  }
  return found;
}

// `items` of a row, which `init` precedes.
template <class T>
__host__ __device__ void check_row(const scan_question& of, const tolerance& within, running init, const running& items,
                                   std::size_t row, const void* output, tally& found) {
  append<T>(init, of.op, items);
  compare_element<T>(of, within, init, row, output, found);
}

// On the host.
std::vector<running> fold_chunks(const scan_question& of);
// Turns what each chunk comes to into what comes before it; `before` is before them all.
void scan_chunks(const scan_question& of, running before, std::vector<running>& chunks);
// Of rows, `befores` is init alone.
tally check_scan(const scan_question& of, const tolerance& within, const std::vector<running>& befores,
                 const void* output);
// What element i must be.
running running_at(const scan_question& of, const std::vector<running>& befores, std::size_t i);
std::uint64_t hash(const void* bytes, std::size_t num_bytes);

// What word i adds to a hash: the same bits in another order have another hash.
__host__ __device__ inline std::uint64_t hash_of_word(std::uint32_t word, std::size_t i) {
  return random_bits(word, i);
}

}  // namespace rungs::bench
