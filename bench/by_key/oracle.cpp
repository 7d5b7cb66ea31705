#include "by_key/oracle.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "by_key/items.hpp"

namespace rungs::bench::by_key {
namespace {

template <class T>
std::vector<unsigned char> bytes_of_all(const std::vector<T>& items) {
  std::vector<unsigned char> bytes(items.size() * sizeof(T));
  if (!items.empty()) std::memcpy(bytes.data(), items.data(), bytes.size());
  return bytes;
}

template <class T>
right_outputs chosen_of(const cell& about) {
  std::vector<T> front, others;
  const auto percent = static_cast<unsigned>(about.about.structure);
  for (std::size_t i = 0; i < about.items; ++i) {
    const T item = item_of<T>(i, percent);
    const bool goes_to_front = has_flags(about.about.operation) ? is_chosen(i, percent) : is_odd{}(item);
    (goes_to_front ? front : others).push_back(item);
  }
  const std::size_t count = front.size();
  if (is_partition(about.about.operation)) front.insert(front.end(), others.rbegin(), others.rend());
  return {bytes_of_all(front), {}, count};
}

template <class T>
right_outputs run_lengths_of(const cell& about) {
  std::vector<T> firsts;
  std::vector<std::int32_t> begins, lengths;
  for (std::size_t i = 0; i < about.items; ++i) {
    const T key = key_of<T>(run_of(i, about.about.structure));
    if (firsts.empty() || key != firsts.back()) {
      firsts.push_back(key);
      begins.push_back(static_cast<std::int32_t>(i));
      lengths.push_back(0);
    }
    ++lengths.back();
  }
  if (about.about.operation == operation::unique) return {bytes_of_all(firsts), {}, firsts.size()};
  if (about.about.operation == operation::encode) return {bytes_of_all(firsts), bytes_of_all(lengths), firsts.size()};
  std::size_t kept = 0;
  for (std::size_t run = 0; run < lengths.size(); ++run) {
    if (lengths[run] == 1) continue;
    begins[kept] = begins[run];
    lengths[kept++] = lengths[run];
  }
  begins.resize(kept);
  lengths.resize(kept);
  return {bytes_of_all(begins), bytes_of_all(lengths), kept};
}

template <class Key, class Value>
right_outputs by_key_of(const cell& about) {
  std::vector<Key> firsts;
  std::vector<Value> values, sums, inclusive, exclusive;
  for (std::size_t i = 0; i < about.items; ++i) {
    const Key key = key_of<Key>(run_of(i, about.about.structure));
    const Value value = value_of<Value>(i);
    if (firsts.empty() || key != firsts.back()) {
      firsts.push_back(key);
      values.push_back(value);
      sums.push_back(0);
    }
    exclusive.push_back(sums.back());
    sums.back() += value;
    inclusive.push_back(sums.back());
  }
  switch (about.about.operation) {
    case operation::inclusive_sum_by_key:
      return {bytes_of_all(inclusive), {}, 0};
    case operation::exclusive_sum_by_key:
      return {bytes_of_all(exclusive), {}, 0};
    case operation::unique_by_key:
      return {bytes_of_all(firsts), bytes_of_all(values), firsts.size()};
    default:
      return {bytes_of_all(firsts), bytes_of_all(sums), firsts.size()};
  }
}

template <class T>
right_outputs segmented_of(const cell& about) {
  std::vector<T> sums;
  std::size_t before = 0;
  for (std::size_t i = 0; i < about.items; ++i) {
    const std::size_t segment = segment_of(i, about.about.structure, about.items);
    sums.push_back(i > 0 && segment == before ? sums.back() + value_of<T>(i) : value_of<T>(i));
    before = segment;
  }
  return {bytes_of_all(sums), {}, 0};
}

template <class Key>
right_outputs of_keys(const cell& about) {
  using catalog::scalar;
  if (has_percent(about.about.operation)) return chosen_of<Key>(about);
  if (about.about.values == scalar::i32) return by_key_of<Key, std::int32_t>(about);
  if (about.about.values == scalar::f32) return by_key_of<Key, float>(about);
  if (about.about.values == scalar::f64) return by_key_of<Key, double>(about);
  return run_lengths_of<Key>(about);
}

}  // namespace

right_outputs right_outputs_of(const cell& about) {
  if (has_segments(about.about.operation))
    return about.about.keys == catalog::scalar::i32 ? segmented_of<std::int32_t>(about) : segmented_of<float>(about);
  if (about.about.keys == catalog::scalar::u8) return of_keys<std::uint8_t>(about);
  if (about.about.keys == catalog::scalar::i32) return of_keys<std::int32_t>(about);
  return of_keys<std::int64_t>(about);
}

std::size_t num_outputs(const cell& about, std::size_t count) {
  return is_partition(about.about.operation) || is_scan(about.about.operation) ? about.items : count;
}

std::string difference(const char* what, const std::vector<unsigned char>& right, const std::vector<unsigned char>& got,
                       std::size_t item_bytes) {
  if (right == got) return "";
  if (right.size() != got.size())
    return std::string(what) + " has " + std::to_string(got.size()) + " bytes instead of " +
           std::to_string(right.size());
  const auto at = std::ranges::mismatch(right, got).in1 - right.begin();
  return std::string(what) + ": item " + std::to_string(static_cast<std::size_t>(at) / item_bytes) + " of " +
         std::to_string(right.size() / item_bytes) + " is wrong";
}

}  // namespace rungs::bench::by_key
