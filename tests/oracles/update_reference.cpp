#include "oracles/update_reference.hpp"

#include <algorithm>

#include "text.hpp"
#include "update_oracle.hpp"

namespace rungs::tests {

std::vector<unsigned char> values_after(const update_call& call) {
  std::vector<unsigned char> bytes(call.num_addresses * catalog::size_of(call.type));
  bench::with_update(call.op, call.type, [&]<class Op, class T>() {
    std::vector<T> values(call.num_addresses);
    const auto work =
        parts::updates::of<Op, T>(call.num_operations, static_cast<unsigned>(call.num_addresses), call.seed);
    do_one_by_one<Op>(work, values.data());
    std::memcpy(bytes.data(), static_cast<const void*>(values.data()), bytes.size());
  });
  return bytes;
}

std::optional<std::string> disagreement(const update_call& call, const std::vector<unsigned char>& expected,
                                        const void* values) {
  const auto* const got = static_cast<const unsigned char*>(values);
  const std::size_t size = catalog::size_of(call.type);
  std::size_t num_wrong = 0, first_wrong = 0;
  bench::with_update(call.op, call.type, [&]<class Op, class T>() {
    const auto work =
        parts::updates::of<Op, T>(call.num_operations, static_cast<unsigned>(call.num_addresses), call.seed);
    for (std::size_t k = 0; k < call.num_addresses; ++k) {
      bool right = std::memcmp(got + k * size, expected.data() + k * size, size) == 0;
      if constexpr (std::is_same_v<Op, exchange>) {
        T last, start = parts::updates::start<Op, T>();
        std::memcpy(&last, expected.data() + k * size, size);
        if (last != start) {  // then any operation of this address may have been the last one
          T found;
          std::memcpy(&found, got + k * size, size);
          const auto i = static_cast<std::size_t>(found);
          right = i < call.num_operations && work.address_of(work.bits_of(i)) == k;
        }
      }
      if (!right && num_wrong++ == 0) first_wrong = k;
    }
  });
  if (num_wrong == 0) return std::nullopt;
  const auto in_hex = [&](const unsigned char* bytes) {
    std::string all;
    for (std::size_t b = size; b-- > 0;)
      for (const unsigned digit : {bytes[b] / 16u, bytes[b] % 16u}) all += "0123456789abcdef"[digit];
    return all;
  };
  return text("value ", first_wrong, " of ", call.num_addresses, ": expected 0x",
              in_hex(expected.data() + first_wrong * size),
              call.op == catalog::op::exchange ? " or another that was brought there" : "", ", got 0x",
              in_hex(got + first_wrong * size), "; wrong values: ", num_wrong);
}

}  // namespace rungs::tests
