// Values as their bits. Two values are the same only if every bit is: +0 and -0 differ, and so do NaN payloads.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "catalog.hpp"
#include "oracles/samples.hpp"

namespace rungs::tests {

inline bool same_bytes(const void* a, std::size_t bytes_a, const void* b, std::size_t bytes_b) {
  return bytes_a == bytes_b && (bytes_a == 0 || std::memcmp(a, b, bytes_a) == 0);
}

// One value of any scalar type, kept in its low bytes; the rest is zero.
struct value {
  std::uint64_t bits = 0;
  friend bool operator==(value, value) = default;
};

template <class T>
value make_value(T x) {
  value v;
  std::memcpy(&v.bits, &x, sizeof(T));
  return v;
}
template <class T>
T as(value v) {
  T x;
  std::memcpy(&x, &v.bits, sizeof(T));
  return x;
}

template <class T>
struct type_tag {
  using type = T;
};

// Calls f(type_tag<T>{}) with the type behind the name.
template <class F>
auto with_type(catalog::scalar type, F&& f) {
  using catalog::scalar;
  switch (type) {
    case scalar::i8:
      return f(type_tag<std::int8_t>{});
    case scalar::u8:
      return f(type_tag<std::uint8_t>{});
    case scalar::i16:
      return f(type_tag<std::int16_t>{});
    case scalar::u16:
      return f(type_tag<std::uint16_t>{});
    case scalar::u32:
      return f(type_tag<std::uint32_t>{});
    case scalar::i64:
      return f(type_tag<std::int64_t>{});
    case scalar::u64:
      return f(type_tag<std::uint64_t>{});
    case scalar::f16:
      return f(type_tag<f16>{});
    case scalar::bf16:
      return f(type_tag<bf16>{});
    case scalar::f32:
      return f(type_tag<float>{});
    case scalar::f64:
      return f(type_tag<double>{});
    case scalar::i32:
    default:
      return f(type_tag<std::int32_t>{});
  }
}

// The same, and affine maps: for what moves items and does not compare or count with them.
template <class F>
auto with_item_type(catalog::scalar type, F&& f) {
  return type == catalog::scalar::affine ? f(type_tag<affine>{}) : with_type(type, f);
}

inline bool is_floating(catalog::scalar type) {
  return type != catalog::scalar::affine &&
         with_type(type, [](auto t) { return is_float<typename decltype(t)::type>; });
}

// For messages: the value and, where printing might hide it, its bits.
std::string to_string(catalog::scalar type, value v);

}  // namespace rungs::tests
