#include "by_key/plan.hpp"

#include <algorithm>
#include <regex>
#include <span>

#include "by_key/items.hpp"
#include "check.hpp"
#include "sizes.hpp"

namespace rungs::bench::by_key {
namespace {

using catalog::scalar;

struct types {
  scalar keys, values;
};
constexpr types items[] = {{scalar::u8, scalar::none}, {scalar::i32, scalar::none}, {scalar::i64, scalar::none}};
constexpr types segmented[] = {{scalar::i32, scalar::none}, {scalar::f32, scalar::none}};
constexpr types keys_alone[] = {{scalar::i32, scalar::none}, {scalar::i64, scalar::none}};
constexpr types pairs[] = {
    {scalar::i32, scalar::i32}, {scalar::i32, scalar::f32}, {scalar::i64, scalar::i32}, {scalar::i64, scalar::f32}};
constexpr types reduced[] = {{scalar::i32, scalar::i32}, {scalar::i32, scalar::f32}, {scalar::i32, scalar::f64},
                             {scalar::i64, scalar::i32}, {scalar::i64, scalar::f32}, {scalar::i64, scalar::f64},
                             {scalar::u8, scalar::i32},  {scalar::u8, scalar::f32},  {scalar::u8, scalar::f64}};

std::span<const types> types_of(operation what) {
  switch (what) {
    case operation::encode:
    case operation::non_trivial_runs:
      return keys_alone;
    case operation::unique_by_key:
    case operation::inclusive_sum_by_key:
    case operation::exclusive_sum_by_key:
      return pairs;
    case operation::reduce_by_key:
      return reduced;
    case operation::inclusive_segmented_sum:
      return segmented;
    default:
      return items;
  }
}

std::span<const std::size_t> structures_of(operation what) {
  if (has_percent(what)) return percents;
  if (has_segments(what)) return segment_lengths;
  return run_lengths;
}

}  // namespace

item_sizes sizes_of(const problem& about) {
  const std::size_t keys = bytes_of(about.keys), values = bytes_of(about.values);
  switch (about.operation) {
    case operation::select_flagged:
    case operation::partition_flagged:
      return {keys, 1, keys, 0};
    case operation::select_if:
    case operation::partition_if:
    case operation::unique:
      return {keys, 0, keys, 0};
    case operation::encode:
      return {keys, 0, keys, 4};
    case operation::non_trivial_runs:
      return {keys, 0, 4, 4};
    case operation::inclusive_sum_by_key:
    case operation::exclusive_sum_by_key:
      return {keys, values, values, 0};
    case operation::inclusive_segmented_sum:
      return {keys, 2 * sizeof(int), keys, 0};
    default:
      return {keys, values, keys, values};
  }
}

std::size_t num_segments(const cell& about) {
  if (!has_segments(about.about.operation) || about.items == 0) return 0;
  return segment_of(about.items - 1, about.about.structure, about.items) + 1;
}

std::size_t footprint(const cell& about, std::size_t num_outputs) {
  const item_sizes each = sizes_of(about.about);
  if (has_segments(about.about.operation))  // nobody has to read the numbers of segments
    return about.items * each.first_in + (num_segments(about) + 1) * sizeof(int) + num_outputs * each.first_out;
  const std::size_t count = is_scan(about.about.operation) ? 0 : sizeof(int);
  return about.items * (each.first_in + each.second_in) + num_outputs * (each.first_out + each.second_out) + count;
}

room room_of(const cell& about) {
  const item_sizes each = sizes_of(about.about);
  const std::size_t half = padded(footprint(about, about.items) / 2 + 1);
  return {std::max(places_of(about.items, each.first_in, each.second_in).behind, half),
          std::max(places_of(about.items, each.first_out, each.second_out).behind + padded(sizeof(int)), half)};
}

std::string name_of(const cell& about) {
  const problem& of = about.about;
  std::string text = std::string(name(of.operation)) + "/" + std::string(catalog::name(of.keys));
  if (of.values != scalar::none) text += ":" + std::string(catalog::name(of.values));
  if (has_percent(of.operation))
    text += "/chosen=" + std::to_string(of.structure) + "%";
  else
    text += "/runs=" + (of.structure == 0 ? "one" : of.structure == mixed ? "mixed" : std::to_string(of.structure));
  return text + "/n=" + format_size(about.items);
}

std::vector<cell> plan_of(const question& asked) {
  const std::regex filter = parse_filter(asked.filter);
  std::vector<cell> made;
  for (const std::size_t n : all_items) {
    if (n < asked.sizes_from || n > asked.sizes_to) continue;
    for (int i = 0; i <= static_cast<int>(last_operation); ++i) {
      const auto what = static_cast<operation>(i);
      for (const types& of : types_of(what)) {
        for (const std::size_t structure : structures_of(what)) {
          const cell each{{what, of.keys, of.values, structure}, n};
          if (std::regex_search(name_of(each), filter)) made.push_back(each);
        }
      }
    }
  }
  if (made.empty())
    throw usage_error("nothing is left to measure: --filter=" + asked.filter + ", from " +
                      format_size(asked.sizes_from) + " to " + format_size(asked.sizes_to) +
                      " items; sizes are 64Ki, 1Mi, 16Mi, 64Mi and 256Mi");
  return made;
}

}  // namespace rungs::bench::by_key
