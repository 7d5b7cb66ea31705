#include "update_oracle.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace rungs::bench {
namespace {

template <class Op, class T>
parts::updates work_of(const update_question& of) {
  return parts::updates::of<Op, T>(of.num_operations, static_cast<unsigned>(of.num_addresses), of.seed);
}

// Largest whole number up to which T holds all.
template <class T>
constexpr double whole_below = std::is_same_v<T, __half2>          ? 2048
                               : std::is_same_v<T, __nv_bfloat162> ? 256
                               : std::is_same_v<T, float>          ? 0x1p24
                                                                   : 0x1p53;

// What an address with operations must hold. False where the sum is too large to be exact in T.
template <class Op, class T>
bool value_of_word(std::uint64_t word, T& value) {
  if constexpr (parts::is_pair<T>) {
    const auto low = static_cast<float>(word & 0xffffffff), high = static_cast<float>(word >> 32);
    if constexpr (std::is_same_v<T, __half2>)
      value = __floats2half2_rn(low, high);
    else
      value = __floats2bfloat162_rn(low, high);
    return low <= whole_below<T> && high <= whole_below<T>;
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto whole =
        static_cast<double>(static_cast<std::int64_t>(parts::is_extreme<Op> ? word ^ std::uint64_t{1} << 63 : word));
    value = static_cast<T>(whole);
    return std::abs(whole) <= whole_below<T>;
  } else {
    value = static_cast<T>(parts::is_extreme<Op> && std::is_signed_v<T> ? word ^ std::uint64_t{1} << 63 : word);
    return true;
  }
}

template <class T>
std::string in_words(const T& value) {
  if constexpr (std::is_same_v<T, __half2>)
    return std::to_string(__half2float(__low2half(value))) + ", " + std::to_string(__half2float(__high2half(value)));
  else if constexpr (std::is_same_v<T, __nv_bfloat162>)
    return std::to_string(__bfloat162float(__low2bfloat16(value))) + ", " +
           std::to_string(__bfloat162float(__high2bfloat16(value)));
  else
    return std::to_string(value);
}

// What is wrong with one address; empty where nothing is.
template <class Op, class T>
std::string wrong_at(const parts::updates& work, std::size_t address, std::uint64_t word, std::uint32_t count,
                     const T& got) {
  T wanted = parts::updates::start<Op, T>();
  if constexpr (std::is_same_v<Op, exchange>) {
    if (count != 0) {
      const auto i = static_cast<std::size_t>(got);
      const bool brought = i < work.num_operations && work.address_of(work.bits_of(i)) == address;
      return brought ? "" : "holds " + in_words(got) + ", which no operation brought there";
    }
  } else if (count != 0 && !value_of_word<Op>(word, wanted)) {
    return "comes to more than the type holds exactly";
  }
  if (std::memcmp(&wanted, &got, sizeof got) == 0) return "";
  return "expected " + in_words(wanted) + ", got " + in_words(got);
}

}  // namespace

bool has_oracle_of_atomics(const catalog::record& record) {
  return with_update(record.op, record.output_type, []<class Op, class T>() {});
}

folding how_folded(const update_question& of) {
  folding how = folding::none;
  with_update(of.op, of.type, [&]<class Op, class T>() { how = folding_of<Op>; });
  return how;
}

updated fold_updates(const update_question& of) {
  updated all;
  with_update(of.op, of.type, [&]<class Op, class T>() {
    const parts::updates work = work_of<Op, T>(of);
    all.words.assign(of.num_addresses, nothing_folded(folding_of<Op>));
    all.counts.assign(of.num_addresses, 0);
    for (std::size_t i = 0; i < of.num_operations; ++i) {
      const unsigned bits = work.bits_of(i), address = work.address_of(bits);
      const std::uint64_t word = word_of_value<Op>(work.value_of<Op, T>(i, bits));
      all.words[address] = fold_words(folding_of<Op>, all.words[address], word);
      ++all.counts[address];
    }
  });
  return all;
}

updated merge(const update_question& of, std::span<const std::uint64_t> words, std::span<const std::uint32_t> counts) {
  const folding how = how_folded(of);
  updated all;
  all.words.assign(of.num_addresses, nothing_folded(how));
  all.counts.assign(of.num_addresses, 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t address = i % of.num_addresses;
    all.words[address] = fold_words(how, all.words[address], words[i]);
    all.counts[address] += counts[i];
  }
  return all;
}

std::string find_wrong(const update_question& of, const updated& expected, const void* values) {
  std::string found = "there are no such operations";
  with_update(of.op, of.type, [&]<class Op, class T>() {
    const parts::updates work = work_of<Op, T>(of);
    std::size_t num_wrong = 0;
    found.clear();
    for (std::size_t address = 0; address < of.num_addresses; ++address) {
      T got;
      std::memcpy(static_cast<void*>(&got), static_cast<const unsigned char*>(values) + address * sizeof(T), sizeof(T));
      const std::string here = wrong_at<Op>(work, address, expected.words[address], expected.counts[address], got);
      if (here.empty()) continue;
      if (num_wrong++ == 0)
        found = "address " + std::to_string(address) + " of " + std::to_string(of.num_addresses) + ": " + here;
    }
    if (num_wrong > 1) found += "; wrong addresses: " + std::to_string(num_wrong);
  });
  return found;
}

}  // namespace rungs::bench
