#include "oracles/update_reference.hpp"

#include <algorithm>
#include <thread>

#include "text.hpp"

namespace rungs::tests {
namespace {

// Each thread has addresses of its own.
template <class Op, class T>
void do_one_by_one(const parts::updates& work, T* values) {
  std::fill_n(values, work.num_addresses, parts::updates::start<Op, T>());
  const unsigned num_threads =
      work.num_operations < 1 << 20 ? 1 : std::clamp(std::thread::hardware_concurrency(), 1u, work.num_addresses);
  std::vector<std::jthread> threads;
  for (unsigned own = 0; own < num_threads; ++own)
    threads.emplace_back([=] {
      for (std::size_t i = 0; i < work.num_operations; ++i) {
        const unsigned bits = work.bits_of(i), address = work.address_of(bits);
        if (address % num_threads == own)
          values[address] = changed<Op>(values[address], work.template value_of<Op, T>(i, bits));
      }
    });
}

}  // namespace

bool has_reference(const update_call& call) {
  return with_update(call.op, call.type, []<class Op, class T>() {});
}

std::vector<unsigned char> values_after(const update_call& call) {
  std::vector<unsigned char> bytes(call.num_addresses * catalog::size_of(call.type));
  with_update(call.op, call.type, [&]<class Op, class T>() {
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
  with_update(call.op, call.type, [&]<class Op, class T>() {
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
  return text("address ", first_wrong, " of ", call.num_addresses, ": expected 0x",
              in_hex(expected.data() + first_wrong * size),
              call.op == catalog::op::exchange ? " or another that was brought there" : "", ", got 0x",
              in_hex(got + first_wrong * size), "; wrong addresses: ", num_wrong);
}

}  // namespace rungs::tests
