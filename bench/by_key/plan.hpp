// What rungs_by_key measures, in which order, and where its outputs lie: no CUDA in here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catalog.hpp"

namespace rungs::bench::by_key {

enum class operation : unsigned char {
  select_flagged,
  select_if,
  partition_flagged,
  partition_if,
  unique,
  unique_by_key,
  encode,
  non_trivial_runs,
  reduce_by_key,
  inclusive_sum_by_key,
  exclusive_sum_by_key,
  inclusive_segmented_sum
};
inline constexpr operation last_operation = operation::inclusive_segmented_sum;
constexpr std::string_view name(operation value) {
  constexpr std::string_view names[] = {"select_flagged",
                                        "select_if",
                                        "partition_flagged",
                                        "partition_if",
                                        "unique",
                                        "unique_by_key",
                                        "encode",
                                        "non_trivial_runs",
                                        "reduce_by_key",
                                        "inclusive_sum_by_key",
                                        "exclusive_sum_by_key",
                                        "inclusive_segmented_sum"};
  return names[static_cast<int>(value)];
}
constexpr bool has_flags(operation value) {
  return value == operation::select_flagged || value == operation::partition_flagged;
}
constexpr bool is_partition(operation value) {
  return value == operation::partition_flagged || value == operation::partition_if;
}
constexpr bool has_percent(operation value) { return value <= operation::partition_if; }
constexpr bool is_scan(operation value) { return value >= operation::inclusive_sum_by_key; }
constexpr bool has_segments(operation value) { return value == operation::inclusive_segmented_sum; }

// Of segments: one of half of the items, behind it short ones.
inline constexpr std::size_t mixed = ~std::size_t{0};

struct problem {
  by_key::operation operation{};
  catalog::scalar keys{};                          // of selections and segments the items
  catalog::scalar values = catalog::scalar::none;  // of calls with values beside their keys
  std::size_t structure = 0;  // of calls with a predicate or flags, how many percent are chosen; else the mean length
                              // of a run or a segment, 0 for one of all items, or mixed
  bool operator==(const problem&) const = default;
};

struct cell {
  problem about;
  std::size_t items = 0;
};

constexpr std::size_t bytes_of(catalog::scalar type) {
  switch (type) {
    case catalog::scalar::u8:
      return 1;
    case catalog::scalar::i32:
    case catalog::scalar::f32:
      return 4;
    case catalog::scalar::i64:
    case catalog::scalar::f64:
      return 8;
    default:
      return 0;
  }
}

// Bytes of one item of each input and output; 0 where there is none. Flags have one byte; lengths and positions of runs
// are of 32 bits. The second input of segments has the number of each item's segment, and behind these the offsets.
struct item_sizes {
  std::size_t first_in, second_in, first_out, second_out;
};
item_sizes sizes_of(const problem& about);

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Of n items that lie one array behind the other: where the second begins, and what lies behind it. The outputs are
// followed by their number, an int.
struct places {
  std::size_t second_at, behind;
};
constexpr places places_of(std::size_t n, std::size_t first, std::size_t second) {
  return {padded(n * first), padded(n * first) + padded(n * second)};
}

std::size_t num_segments(const cell& about);  // 0 where the call has none

// The least that a call has to read and write.
std::size_t footprint(const cell& about, std::size_t num_outputs);

// Room for any cell: inputs, outputs, and half of the footprint in each, which is what a copy moves.
struct room {
  std::size_t in = 0, out = 0;
};
room room_of(const cell& about);

// reduce_by_key/i32:f32/runs=256/n=1Mi
std::string name_of(const cell& about);

inline constexpr std::size_t all_items[] = {1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28};
inline constexpr std::size_t percents[] = {0, 1, 50, 100}, run_lengths[] = {1, 4, 16, 256, 0},
                             segment_lengths[] = {16, 256, 4096, 0, mixed};

struct question {
  std::size_t sizes_from = all_items[0], sizes_to = std::size_t{1} << 28;
  std::string filter;  // a regular expression of names; empty: all
};

// Fewest items first, so that a budget that ends early leaves out the largest. Throws usage_error where nothing is
// left.
std::vector<cell> plan_of(const question& asked);

}  // namespace rungs::bench::by_key
