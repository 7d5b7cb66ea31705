#include "selection_oracle.hpp"

#include <cstring>
#include <string>

namespace rungs::bench {

value_bytes threshold_of(catalog::scalar type, std::size_t percent, bool changed) {
  value_bytes bytes{};
  const double share = static_cast<double>(changed ? (percent + 37) / 2 : percent) / 100;
  with_type(type, [&]<class T>(T) {
    if constexpr (is_floating<T> || (is_number<T> && std::is_signed_v<T> && sizeof(T) >= 4)) {
      // How far general items go to both sides.
      const double most = is_floating<T> ? 1 : sizeof(T) == 4 ? 0x1p12 : 0x1p40;
      const T threshold = static_cast<T>(static_cast<float>((2 * share - 1) * most));
      std::memcpy(bytes.data(), &threshold, sizeof threshold);
    }
  });
  return bytes;
}

chosen_items choose(const workload& from, const value_bytes& threshold) {
  chosen_items found;
  with_type(from.type, [&]<class T>(T) {
    if constexpr (is_number<T> && sizeof(T) >= 4) {
      T most;
      std::memcpy(&most, threshold.data(), sizeof most);
      constexpr std::size_t num_words = sizeof(T) / 4;
      for (std::size_t i = 0; i < from.num_items; ++i) {  // without branches, which could not be foreseen
        const T each = item<T>(from, i);
        const bool is_chosen = each < most;
        std::uint32_t words[num_words];
        std::memcpy(words, &each, sizeof each);
        for (std::size_t w = 0; w < num_words; ++w)
          found.hash += is_chosen * hash_of_word(words[w], num_words * found.count + w);
        found.count += is_chosen;
      }
    }
  });
  return found;
}

judgement judge_selection(const chosen_items& expected, const chosen_items& got) {
  if (got.count != expected.count)
    return {.why = "expected " + std::to_string(expected.count) + " chosen items, got " + std::to_string(got.count)};
  if (got.hash != expected.hash)
    return {.why = "the " + std::to_string(got.count) + " items are not those that were to be chosen, in their order"};
  return {.right = true};
}

}  // namespace rungs::bench
