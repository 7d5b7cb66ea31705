// What rungs_across measures, in which order and how often: no CUDA in here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catalog.hpp"

namespace rungs::bench::across_gpus {

enum class mode : unsigned char { stream, graph };
constexpr std::string_view name(mode value) { return value == mode::stream ? "stream" : "graph"; }

enum class kind : unsigned char { rung, planned, library };  // a library is what the others are compared with
constexpr std::string_view name(kind value) {
  constexpr std::string_view names[] = {"rung", "planned", "library"};
  return names[static_cast<int>(value)];
}

// all_reduce: item i of all ranks becomes item i on every rank. reduce: all items of all ranks become one item.
enum class operation : unsigned char { all_reduce, reduce };
constexpr std::string_view name(operation value) { return value == operation::reduce ? "reduce" : "all_reduce"; }

struct problem {
  across_gpus::operation operation{};
  catalog::scalar type{};
  catalog::op op{};
  bool operator==(const problem&) const = default;
};

// Of the first the whole ladder is timed, of the others what users call and the libraries.
inline constexpr problem problems[] = {{operation::all_reduce, catalog::scalar::f32, catalog::op::plus},
                                       {operation::all_reduce, catalog::scalar::bf16, catalog::op::plus},
                                       {operation::all_reduce, catalog::scalar::i32, catalog::op::maximum},
                                       {operation::reduce, catalog::scalar::f32, catalog::op::plus}};

// Of a result on each rank.
constexpr std::size_t output_items(const problem& about, std::size_t items) {
  return about.operation == operation::reduce ? 1 : items;
}
std::size_t bytes_of(const problem& about, std::size_t items);

struct contender_name {
  std::string name;
  bench::across_gpus::kind kind{};
  problem about;
};

// Contenders of one problem at one size in one mode, which are sampled together.
struct cell {
  problem about;
  std::size_t items = 0;
  across_gpus::mode mode{};
  std::vector<std::string> contenders;

  std::size_t bytes() const { return bytes_of(about, items); }
};

// A count that is verified and not timed.
struct checked_count {
  problem about;
  std::size_t items = 0;
  std::vector<std::string> contenders;
};

struct plan {
  std::vector<cell> cells;
  std::vector<checked_count> checks;

  std::size_t largest_bytes() const;
};

struct question {
  std::size_t from_bytes = 4, to_bytes = std::size_t{1} << 30;
  std::string filter;  // a regular expression of names; empty: all
};

inline constexpr std::size_t checked_items[] = {1, 3, 31, 1023, 12'345, 65'537, 1'000'003, 4'194'301};

// all_reduce/f32/plus/n=16Ki/graph/one_shot
std::string name_of(const cell& about, std::string_view contender);

// Powers of four bytes from the least to the most. Largest cells last, so that a budget that ends early leaves them
// out. Libraries stay in each cell that the filter leaves a contender in. Throws usage_error where nothing is left.
plan plan_of(const question& asked, const std::vector<contender_name>& contenders);

// Calls in one sample: as many as take about 0.4 ms, from 2 to 100, so that the events' resolution does not count.
int calls_of(std::size_t bytes);

// The GPU of each rank: one each where there are enough, else all in turns.
std::vector<int> devices_of(int num_ranks, int num_gpus);

}  // namespace rungs::bench::across_gpus
