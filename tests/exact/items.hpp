// Items for exact sums, as their bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "exact/calls.hpp"

namespace rungs::tests::exact {

using bits = std::uint64_t;
using items = std::vector<bits>;

enum class kind {
  uniform,       // in (-1, 1), all bits of the mantissa
  normal,        // a bell around zero
  integers,      // to +-1000, or as far as all of them are numbers
  spread,        // uniform * 2^-10 to 2^10
  log_uniform,   // 2^-125 to 2^125, f64 2^-1000 to 2^1000, as far as there are such numbers
  cancelling,    // big, tiny, -big
  denormals,     // and zeros
  ascending,     // from the least to the greatest magnitudes
  any_finite,    // random bits
  near_largest,  // the greatest binade
  outliers,      // one binade, and now and then a number above or below it; those far above cancel
  powers,        // powers of two, and numbers just above them; now and then greater ones
  equal          // one number
};
inline constexpr kind kinds[] = {kind::uniform,     kind::normal,       kind::integers,  kind::spread,
                                 kind::log_uniform, kind::cancelling,   kind::denormals, kind::ascending,
                                 kind::any_finite,  kind::near_largest, kind::outliers,  kind::equal};
constexpr const char* name(kind of) {
  constexpr const char* names[] = {"uniform",    "normal",    "integers",  "spread",     "log-uniform",
                                   "cancelling", "denormals", "ascending", "any finite", "near largest",
                                   "outliers",   "powers",    "equal"};
  return names[static_cast<int>(of)];
}

constexpr int greatest_finite_field(float_format of) { return (1 << of.exponent_bits) - 2; }
constexpr int middle_field(float_format of) { return (1 << (of.exponent_bits - 1)) - 1; }  // of 1
constexpr bits ones(float_format of) { return (bits{1} << of.mantissa_bits) - 1; }

inline bits with_field(float_format of, int field, bits mantissa, bool is_negative) {
  return (is_negative ? of.sign() : 0) | static_cast<bits>(field) << of.mantissa_bits | mantissa;
}

// significand * 2^exponent as a number of the format; none where there is no such number.
inline std::optional<bits> encoded(float_format of, bool is_negative, bits significand, int exponent) {
  if (significand == 0) return is_negative ? of.sign() : 0;
  while (exponent < of.least_exponent() && (significand & 1) == 0) significand >>= 1, ++exponent;
  while (significand > ones(of) * 2 + 1 && (significand & 1) == 0) significand >>= 1, ++exponent;
  while (exponent > of.least_exponent() && significand <= ones(of)) significand <<= 1, --exponent;
  if (exponent < of.least_exponent() || significand > ones(of) * 2 + 1) return std::nullopt;
  if (significand <= ones(of)) return with_field(of, 0, significand, is_negative);
  const int field = exponent - of.least_exponent() + 1;
  if (field > greatest_finite_field(of)) return std::nullopt;
  return with_field(of, field, significand & ones(of), is_negative);
}

inline items make_items(number type, kind of, std::uint64_t seed, std::size_t num_items) {
  const float_format format = format_of(type);
  const int middle = middle_field(format), top = greatest_finite_field(format), places = format.mantissa_bits;
  const int reach = std::min(type == number::f64 ? 1000 : 125, middle - 1);
  std::mt19937_64 random(seed * 64 + static_cast<std::uint64_t>(of) * 4 + static_cast<std::uint64_t>(type));
  const auto below = [&](auto n) { return static_cast<int>(random() % static_cast<bits>(n)); };
  // `places` bits or fewer, with a sign, times 2^exponent.
  const auto fixed = [&](std::int64_t value, int exponent) {
    return encoded(format, value < 0, static_cast<bits>(value < 0 ? -value : value), exponent).value_or(0);
  };
  const auto in_binade = [&](int field) {
    const bits r = random();
    return with_field(format, field, r & ones(format), r >> 63 != 0);
  };
  const auto signed_places = [&] { return static_cast<std::int64_t>(random()) >> (63 - places); };
  const bits alike = in_binade(middle);
  // Often a power of two or just above one.
  const auto beside_power = [&](int field) {
    const bits by_chance = random() & ones(format);
    const bits mantissas[] = {0, 0, 1, 2, 5, by_chance & 0xff, by_chance >> (places / 3), ones(format), by_chance};
    return with_field(format, std::clamp(field, 0, top), mantissas[below(std::size(mantissas))] & ones(format),
                      below(2) != 0);
  };
  bits far_above = 0;  // and not cancelled yet; 0: none is
  const auto outlier = [&] {
    if (far_above != 0 && below(2) == 0) return std::exchange(far_above, 0) ^ format.sign();
    const int by = far_above != 0 || below(2) == 0 ? below(6) - 2 : below(2 * reach) - reach;
    const bits it = beside_power(middle + by);
    if (by > 3) far_above = it;
    return it;
  };
  items made(num_items);
  for (std::size_t i = 0; i < num_items; ++i) {
    switch (of) {
      case kind::uniform:
        made[i] = fixed(signed_places(), -places);
        break;
      case kind::normal: {
        std::int64_t sum = 0;
        for (int k = 0; k < 4; ++k) sum += signed_places() / 4;
        made[i] = fixed(sum, 2 - places);
        break;
      }
      case kind::integers:
        made[i] = fixed(below(2001) % static_cast<std::int64_t>(2 * ones(format)) * (below(2) == 0 ? 1 : -1) / 2, 0);
        break;
      case kind::spread:
        made[i] = fixed(signed_places(), below(21) - 10 - places);
        break;
      case kind::log_uniform:
        made[i] = in_binade(middle + below(2 * reach + 1) - reach);
        break;
      case kind::cancelling:
        made[i] = i % 3 == 0   ? in_binade(top - below(middle / 2))
                  : i % 3 == 1 ? in_binade(below(middle / 2))
                               : made[i - 2] ^ format.sign();
        break;
      case kind::denormals:
        made[i] = in_binade(0);
        break;
      case kind::ascending:
        made[i] = in_binade(static_cast<int>(i * static_cast<std::size_t>(top + 1) / num_items));
        break;
      case kind::any_finite:
        made[i] = in_binade(below(top + 1));
        break;
      case kind::near_largest:
        made[i] = in_binade(top);
        break;
      case kind::outliers:
        made[i] = below(200) == 0 ? outlier() : in_binade(middle);
        break;
      case kind::powers:
        made[i] = beside_power(middle - below(2) + (below(64) == 0 ? below(6) : 0));
        break;
      case kind::equal:
        made[i] = alike;
        break;
    }
  }
  return made;
}

// Two inputs; a sum is of the first alone.
struct inputs {
  items a, b;
};
// Where the two inputs of one call begin, and how many items they have.
struct range {
  std::size_t first_a, first_b, num_items;
};

// Many inputs behind each other.
struct list_of_inputs {
  inputs all;
  std::vector<range> ranges;

  void append(const items& a, const items& b) {
    ranges.push_back({all.a.size(), all.b.size(), a.size()});
    all.a.insert(all.a.end(), a.begin(), a.end());
    all.b.insert(all.b.end(), b.begin(), b.end());
  }
};

// Numbers beside every border of a result's type, by parts of the last place. A sum's items are the parts, a dot
// product's terms are: parts that are no items are products. Big numbers that cancel stand around them.
inline list_of_inputs halfway_cases(operation what, number of, number result) {
  const float_format item = format_of(of), out = format_of(result);
  std::mt19937_64 random(7);
  list_of_inputs list;
  struct part {
    bits significand;
    int exponent;
    bool is_negative;
  };
  inputs made;
  const auto append_part = [&](const part& p) {
    const auto whole = encoded(item, p.is_negative, p.significand, p.exponent), one = encoded(item, false, 1, 0);
    if (whole) return made.a.push_back(*whole), made.b.push_back(*one), true;
    if (what == operation::sum) return false;
    for (const int exponent : {p.exponent - p.exponent / 2, p.exponent + 40, p.exponent - 40, p.exponent + 1000}) {
      const auto a = encoded(item, p.is_negative, p.significand, exponent);
      const auto b = encoded(item, false, 1, p.exponent - exponent);
      if (a && b) return made.a.push_back(*a), made.b.push_back(*b), true;
    }
    return false;
  };
  // In two halves, where the items have fewer places than the result.
  const auto append = [&](const part& p) {
    const inputs before = made;
    if (append_part(p)) return true;
    made = before;
    bool all = true;
    for (int first = 0; first < 64; first += item.mantissa_bits + 1) {
      const bits piece = p.significand >> first & (2 * ones(item) + 1);
      if (piece != 0) all = all && append_part({piece, p.exponent + first, p.is_negative});
    }
    return all;
  };
  const int top = greatest_finite_field(out);
  for (const int field : {0, 1, 2, middle_field(out), top - 1, top})
    for (const bits mantissa : {bits{0}, bits{1}, bits{2}, bits{3}, ones(out) - 1, ones(out)}) {
      const int last = out.least_exponent() + std::max(field, 1) - 1;
      const bits significand = mantissa + (field > 0 ? ones(out) + 1 : 0);
      for (const part& rest : {part{1, last - 1, false}, part{1, last - 1, true}, part{1, last - 2, false}})
        for (const int depth : {0, 2, 20, 60, 100, 250})
          for (const bool below : {false, true})
            for (const bool is_negative : {false, true}) {
              if (depth == 0 && below) continue;
              made = {};
              bool all = append({significand, last, is_negative});
              all = all && append({1, rest.exponent, rest.is_negative != is_negative});
              if (depth > 0) all = all && append({1, last - depth, below != is_negative});
              if (!all) continue;
              const bits big = with_field(item, greatest_finite_field(item), random() & ones(item), false);
              made.a.insert(made.a.begin(), big);
              made.a.push_back(big ^ item.sign());
              made.b.insert(made.b.begin(), *encoded(item, false, 1, 0));
              made.b.push_back(made.b.front());
              // Some long, so that parts lie far from each other.
              if (random() % 8 == 0) {
                const auto zeros = static_cast<std::size_t>(random() % 5000);
                made.a.insert(made.a.begin() + 2, zeros, 0);
                made.b.insert(made.b.begin() + 2, zeros, made.b.front());
              }
              list.append(made.a, made.b);
            }
    }
  return list;
}

// What is not finite or not positive: alone, among other items, early and late.
inline list_of_inputs special_cases(number of) {
  const float_format item = format_of(of);
  const bits one = *encoded(item, false, 1, 0), infinity = item.infinity(), sign = item.sign();
  const bits special[] = {0,   sign, infinity, infinity | sign, item.nan(),           infinity + 1, item.nan() | sign,
                          one, 1,    1 | sign, infinity - 1,    (infinity - 1) | sign};
  constexpr std::size_t lengths[] = {33, 3000, 20'000};
  std::vector<inputs> ordinary;
  for (const std::size_t n : lengths)
    ordinary.push_back({make_items(of, kind::uniform, n, n), make_items(of, kind::uniform, n + 1, n)});
  list_of_inputs list;
  list.append({}, {});
  for (const bits a : special) {
    for (const bits b : special) {
      list.append({a}, {b});
      list.append({a, b}, {one, one});
      for (inputs many : ordinary) {
        const std::size_t n = many.a.size();
        many.a[n / 2] = a, many.a[n - 1] = b;
        many.b[n / 2] = one, many.b[n - 1] = special[n % std::size(special)];
        list.append(many.a, many.b);
      }
    }
    list.append(items(5000, a), items(5000, one));
  }
  return list;
}

// Of exponents from the least to the greatest, 700 equal numbers: as great a sum as one place can have.
inline list_of_inputs equal_cases(number of) {
  const float_format item = format_of(of);
  const bits one = *encoded(item, false, 1, 0);
  const int greatest = greatest_finite_field(item), step = greatest > 300 ? 7 : 1;
  list_of_inputs list;
  for (int field = 0; field <= greatest; field += step)
    for (const bits mantissa : {bits{0}, bits{1}, ones(item) / 2 + 1, ones(item)})
      list.append(items(700, with_field(item, field, mantissa, field % 2 != 0)), items(700, one));
  return list;
}

}  // namespace rungs::tests::exact
