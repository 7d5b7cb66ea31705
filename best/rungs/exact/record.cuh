// A sum that is held exactly: as an integer in units of the smallest number that its terms can be made of.
//
//   rungs::exact_sum<float> total;   // zero; in host or device memory
//   rungs::DeviceReduce::ExactSum(workspace, d_in, d_record, num_items);   // d_record points to a
//   rungs::exact_sum<float> total += record;                 // of another call, segment or GPU, in any order: the same
//   digits const float sum = total.rounded<float>();   // rounded once: to nearest, ties to even
//
// Works on the host and on the device, and is the same bytes on both. Records of two versions of the library may be
// merged as long as their types have the same name.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rungs/version.cuh"

struct __half;
struct __nv_bfloat16;

namespace rungs::v0 {
namespace exact {

// IEEE's formats. The bits of a number are a sign, a field of exponent_bits and a mantissa of mantissa_bits. A finite
// number is (mantissa + (field > 0) * 2^mantissa_bits) * 2^(max(field, 1) + least_exponent).
template <int exponent_bits_, int mantissa_bits_, class Bits>
struct ieee {
  using bits = Bits;
  static constexpr int exponent_bits = exponent_bits_, mantissa_bits = mantissa_bits_;
  static constexpr int greatest_field = (1 << exponent_bits) - 1;  // of infinities and NaN
  static constexpr int least_exponent = -(greatest_field / 2) - mantissa_bits;
  static constexpr Bits infinity = static_cast<Bits>(Bits(greatest_field) << mantissa_bits);
  static constexpr Bits nan = static_cast<Bits>(infinity | ((Bits(1) << mantissa_bits) - 1));
  static constexpr Bits sign = static_cast<Bits>(Bits(1) << (exponent_bits + mantissa_bits));
};

template <class T>
struct format_of {};
template <>
struct format_of<float> : ieee<8, 23, std::uint32_t> {};
template <>
struct format_of<double> : ieee<11, 52, std::uint64_t> {};
template <>
struct format_of<__half> : ieee<5, 10, std::uint16_t> {};
template <>
struct format_of<__nv_bfloat16> : ieee<8, 7, std::uint16_t> {};

template <class T>
inline constexpr bool is_item = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, __half> ||
                                std::is_same_v<T, __nv_bfloat16>;

// What else than finite terms has been seen.
enum seen : std::uint32_t { not_a_number = 1, plus_infinity = 2, minus_infinity = 4 };

// The sum of digits[i] * 2^(32 i + lowest_exponent). All digits but the last are from 0 to 2^32 - 1, the last has the
// sign: one number has one record. Where a flag is set, all are zero. 2^63 of the largest terms fit.
template <class Item, int lowest_exponent_, int num_digits_>
struct total {
  using item = Item;
  static constexpr int lowest_exponent = lowest_exponent_, num_digits = num_digits_;

  long long digits[num_digits] = {};
  std::uint32_t flags = 0, unused = 0;  // of `seen`

  // Brings digits that were added up, each less than 2^62, back to their range. Where a flag is set, they become zero.
  __host__ __device__ void carry() {
    if (flags == 0) return carry(0, num_digits - 1);
    for (long long& digit : digits) digit = 0;
  }

  __host__ __device__ total& operator+=(const total& other) {
    for (int i = 0; i < num_digits; ++i) digits[i] += other.digits[i];
    flags |= other.flags;
    carry();
    return *this;
  }

  // To nearest, ties to even; what is too large is an infinity, and zero is +0.
  template <class Result>
  __host__ __device__ Result rounded() const {
    total copy = *this;
    return copy.rounded_in_place<Result>(0, num_digits - 1);
  }
  // The same without a copy, of digits before carry(), where all but digits[first] to digits[last] are zero, and the
  // last has room for the sign. Afterwards the digits have no meaning.
  template <class Result>
  __host__ __device__ Result rounded_in_place(int first, int last) {
    using format = format_of<Result>;
    const auto bits = static_cast<typename format::bits>(rounded_bits<format>(first, last));
    Result result;
    static_assert(sizeof(result) == sizeof(bits));
    memcpy(static_cast<void*>(&result), &bits, sizeof(bits));
    return result;
  }

 private:
  template <class Format>
  __host__ __device__ std::uint64_t rounded_bits(int first_digit, int last_digit) {
    constexpr std::uint32_t both = plus_infinity | minus_infinity;
    if ((flags & not_a_number) != 0 || (flags & both) == both) return Format::nan;
    if (flags != 0) return Format::infinity | ((flags & minus_infinity) != 0 ? Format::sign : 0);
    carry(first_digit, last_digit);
    const bool is_negative = digits[last_digit] < 0;
    if (is_negative) {
      for (int i = first_digit; i <= last_digit; ++i) digits[i] = -digits[i];
      carry(first_digit, last_digit);
    }
    int top = last_digit;
    while (top > first_digit && digits[top] == 0) --top;
    if (digits[top] == 0) return 0;
    int leading = 32 * top + 31;  // the leading bit
#ifdef __CUDA_ARCH__
    leading -= __clz(static_cast<int>(digits[top]));
#else
    while (digits[top] >> (leading - 32 * top) == 0) --leading;
#endif
    // The last place of the result, counted from lowest_exponent, where it may lie before the digits.
    constexpr int finest = Format::least_exponent + 1 - lowest_exponent;
    const int coarse = leading - Format::mantissa_bits;
    const int last = coarse > finest ? coarse : finest;
    std::uint64_t kept = bits_from(last);
    if (rounds_up(last, kept, first_digit)) ++kept;
    // What is kept has its leading bit, which adds one to the field, unless the result is denormal or zero.
    if (last - finest >= Format::greatest_field)
      kept = Format::infinity;
    else
      kept += static_cast<std::uint64_t>(last - finest) << Format::mantissa_bits;
    if (kept > Format::infinity) kept = Format::infinity;
    return kept | (is_negative ? Format::sign : 0);
  }

  __host__ __device__ void carry(int first, int last) {
    long long carried = 0;
    for (int i = first; i < last; ++i) {
      carried += digits[i];
      digits[i] = carried & 0xffffffff;
      carried >>= 32;
    }
    digits[last] += carried;
  }

  // Of a magnitude: the bits from `first` on, which may be negative, as far as they fit.
  __host__ __device__ std::uint64_t bits_from(int first) const {
    const int behind = first < 0 ? -first : 0, from = (first + behind) / 32, by = (first + behind) % 32;
    const auto digit = [&](int i) { return i < num_digits ? static_cast<std::uint64_t>(digits[i]) : 0; };
    const std::uint64_t low = digit(from) | digit(from + 1) << 32;
    return (by == 0 ? low : low >> by | digit(from + 2) << (64 - by)) << behind;
  }

  __host__ __device__ bool rounds_up(int last, std::uint64_t kept, int first_digit) const {
    if (last <= 0 || (bits_from(last - 1) & 1) == 0) return false;
    if ((kept & 1) != 0) return true;
    const int half = last - 1;
    for (int i = first_digit; i < half / 32; ++i)
      if (digits[i] != 0) return true;
    return (static_cast<std::uint64_t>(digits[half / 32]) & ((std::uint64_t(1) << half % 32) - 1)) != 0;
  }
};

// The digits that sums of products of `factors` items need. A product is kept as a float or a double while it is
// added, whose last place may be below that of the smallest product.
template <class Item, int factors>
struct range_of {
  using format = format_of<Item>;
  using kept = format_of<std::conditional_t<format::mantissa_bits == 52 || factors == 2, double, float>>;
  static constexpr bool is_kept_whole = format::mantissa_bits == kept::mantissa_bits || format::mantissa_bits == 52;
  static constexpr int least_product = factors * (format::least_exponent + 1);
  static constexpr int lowest_exponent =
      is_kept_whole ? factors * format::least_exponent : least_product - kept::mantissa_bits;
  static constexpr int greatest_product = factors * (format::greatest_field / 2 + 1);
  static constexpr int num_digits = (greatest_product - lowest_exponent + 64 + 31) / 32;
};
template <class Item, int factors>
using total_of = total<Item, range_of<Item, factors>::lowest_exponent, range_of<Item, factors>::num_digits>;

template <class T>
inline constexpr bool is_total = false;
template <class Item, int lowest_exponent, int num_digits>
inline constexpr bool is_total<total<Item, lowest_exponent, num_digits>> = true;

}  // namespace exact

// The records of sums of items and of dot products; Item is float, double, __half or __nv_bfloat16.
template <class Item>
using exact_sum = exact::total_of<Item, 1>;
template <class Item>
using exact_dot = exact::total_of<Item, 2>;

}  // namespace rungs::v0
