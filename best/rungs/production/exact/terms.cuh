// The terms of an exact sum: items, or products of two items.
//
// A term is a float or a double that holds it exactly: floats and halves are floats, their products are doubles. Only
// the product of two doubles fits neither; it stays a pair of factors. Operations that round, or may flush denormal
// numbers, are written in PTX, so that -use_fast_math changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/exact/record.cuh"
#include "rungs/parts/tile.cuh"

namespace rungs::RUNGS_ABI::production {

template <class Bits, class T>
__device__ Bits bits_of(const T& value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

// The number (words[0] + words[1] * 2^32 + …) * 2^exponent; of what is not finite, no meaning. Words but the last count
// as unsigned; the last bears the sign, and bits to spare.
template <int num_words_>
struct taken_apart {
  static constexpr int num_words = num_words_;
  unsigned words[num_words];
  int exponent;  // where the number is zero, without meaning
  bool is_finite;
};

template <int num_words>
__device__ void negate_if(bool is_negative, unsigned (&words)[num_words]) {
  const unsigned flipped = is_negative ? ~0u : 0;
  unsigned long long carried = is_negative;
#pragma unroll
  for (int i = 0; i < num_words; ++i) {
    carried += words[i] ^ flipped;
    words[i] = static_cast<unsigned>(carried);
    carried >>= 32;
  }
}

// |number| to be compared: a float, which is no NaN where another number is compared with it; of a double the upper
// half of its bits, where a NaN is above all numbers.
__device__ inline float magnitude_of(float number) { return fabsf(number); }
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline unsigned magnitude_of(double number) { return __double2hiint(number) & 0x7fffffffu; }
__device__ inline unsigned larger(unsigned a, unsigned b) { return a < b ? b : a; }
// Of a magnitude, the upper 32 bits.
__device__ inline unsigned upper_bits_of(float magnitude) { return __float_as_uint(magnitude); }
__device__ inline unsigned upper_bits_of(unsigned magnitude) { return magnitude; }

// The parts of a float or a double: mantissa * 2^exponent.
template <class Number>
struct number_parts {
  using format = exact::format_of<Number>;
  using bits = typename format::bits;
  bits mantissa;
  int exponent;
  bool is_negative, is_finite;

  __device__ explicit number_parts(const Number& number) {
    const bits all = bits_of<bits>(number), leading = bits{1} << format::mantissa_bits;
    const int field = static_cast<int>(all >> format::mantissa_bits) & format::greatest_field;
    exponent = field + format::least_exponent;
    is_negative = (all & format::sign) != 0;
    is_finite = field != format::greatest_field;
    // The unit of denormal numbers is that of field 1: in field 0 stands twice the mantissa.
    mantissa = field == 0 ? (all & (leading - 1)) << 1 : (all & (leading - 1)) | leading;
  }
  __device__ bool is_zero() const { return mantissa == 0; }
  __device__ unsigned seen() const {
    if (is_finite) return 0;
    if (mantissa != bits{1} << format::mantissa_bits) return exact::not_a_number;
    return is_negative ? exact::minus_infinity : exact::plus_infinity;
  }
};

__device__ inline auto take_apart(float number) {
  const number_parts<float> parts(number);
  taken_apart<1> taken{{parts.mantissa}, parts.exponent, parts.is_finite};
  negate_if(parts.is_negative, taken.words);
  return taken;
}
__device__ inline auto take_apart(double number) {
  const number_parts<double> parts(number);
  taken_apart<2> taken{{static_cast<unsigned>(parts.mantissa), static_cast<unsigned>(parts.mantissa >> 32)},
                       parts.exponent,
                       parts.is_finite};
  negate_if(parts.is_negative, taken.words);
  return taken;
}
// What a number is that is not finite, as exact::seen.
template <class Number>
__device__ unsigned seen_in(const Number& number) {
  return number_parts<Number>(number).seen();
}

struct factors {
  double a, b;
};
__device__ inline auto take_apart(const factors& both) {
  const number_parts<double> a(both.a), b(both.b);
  const std::uint64_t low = a.mantissa * b.mantissa, high = __umul64hi(a.mantissa, b.mantissa);
  taken_apart<4> taken{{static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                        static_cast<unsigned>(high >> 32)},
                       a.exponent + b.exponent,
                       a.is_finite && b.is_finite};
  negate_if(a.is_negative != b.is_negative, taken.words);
  return taken;
}
__device__ inline unsigned seen_in(const factors& both) {
  const number_parts<double> a(both.a), b(both.b);
  const unsigned seen = a.seen() | b.seen();
  if (seen == 0) return 0;
  if ((seen & exact::not_a_number) != 0 || a.is_zero() || b.is_zero()) return exact::not_a_number;
  return a.is_negative != b.is_negative ? exact::minus_infinity : exact::plus_infinity;
}

// An item as the number that it is.
__device__ inline float as_number(float item) { return item; }
__device__ inline double as_number(double item) { return item; }
template <class Half>
__device__ float as_number(const Half& item) {
  const auto bits = bits_of<unsigned short>(item);
  float number;
  if constexpr (exact::format_of<Half>::exponent_bits == 8)
    number = __uint_as_float(unsigned{bits} << 16);
  else
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
  return number;
}
__device__ inline double as_double(float number) {
  double same;
  asm("cvt.f64.f32 %0, %1;" : "=d"(same) : "f"(number));
  return same;
}

__device__ inline double product_of(float a, float b) { return __dmul_rn(as_double(a), as_double(b)); }
__device__ inline factors product_of(double a, double b) { return {a, b}; }

template <class Item>
__device__ void load_vector(const Item* from, parts::vector<Item>& loaded) {
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"  // volatile: as early as it stands here
               : "=r"(loaded.words[0]), "=r"(loaded.words[1]), "=r"(loaded.words[2]), "=r"(loaded.words[3])
               : "l"(from));
}

// Each item is a term.
template <class InputIteratorT>
struct exact_items {
  using item = parts::item_of<InputIteratorT>;
  using term = decltype(as_number(std::declval<item>()));
  using total = exact_sum<item>;
  static constexpr bool in_vectors = parts::is_vectorisable<InputIteratorT>;
  static constexpr int vector_items = in_vectors ? 16 / sizeof(item) : 1;
  struct vector {
    parts::vector<item> items;
    __device__ term operator[](int i) const { return as_number(items[i]); }
  };

  InputIteratorT d_in;

  __device__ term operator[](std::size_t i) const {
    return as_number(static_cast<item>(d_in[static_cast<std::ptrdiff_t>(i)]));
  }
  __device__ void load(std::size_t first, vector& loaded) const { load_vector(d_in + first, loaded.items); }
  // How many items come before the first that is aligned as a vector is.
  std::size_t items_before_vectors() const {
    return (16 - reinterpret_cast<std::uintptr_t>(d_in) % 16) % 16 / sizeof(item);
  }
};

// Each product of an item of one input with its item of the other is a term.
template <class InputIteratorT, class OtherIteratorT>
struct exact_products {
  using item = parts::item_of<InputIteratorT>;
  static_assert(std::is_same_v<item, parts::item_of<OtherIteratorT>>,
                "both inputs of a dot product have one item type");
  using term = decltype(product_of(as_number(std::declval<item>()), as_number(std::declval<item>())));
  using total = exact_dot<item>;
  static constexpr bool in_vectors = parts::is_vectorisable<InputIteratorT> && parts::is_vectorisable<OtherIteratorT>;
  static constexpr int vector_items = in_vectors ? 16 / sizeof(item) : 1;
  struct vector {
    parts::vector<item> a, b;
    __device__ term operator[](int i) const { return product_of(as_number(a[i]), as_number(b[i])); }
  };

  InputIteratorT d_a;
  OtherIteratorT d_b;

  __device__ term operator[](std::size_t i) const {
    const auto at = static_cast<std::ptrdiff_t>(i);
    return product_of(as_number(static_cast<item>(d_a[at])), as_number(static_cast<item>(d_b[at])));
  }
  __device__ void load(std::size_t first, vector& loaded) const {
    load_vector(d_a + first, loaded.a);
    load_vector(d_b + first, loaded.b);
  }
  // All of them where no item of both inputs is aligned as a vector is.
  std::size_t items_before_vectors() const {
    const std::size_t before = exact_items<InputIteratorT>{d_a}.items_before_vectors();
    return before == exact_items<OtherIteratorT>{d_b}.items_before_vectors() ? before : ~std::size_t{0};
  }
};

}  // namespace rungs::RUNGS_ABI::production
