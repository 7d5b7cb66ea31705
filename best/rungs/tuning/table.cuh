// How the tables of this folder are read. Plain constexpr C++: the front door asks at run time which rung to take, and
// at compile time which rungs a call can come to, so that no others are instantiated.
//
// Every column of a table is a step: a row holds from its value on, until a later row holds. Rows ascend, column by
// column, and each group begins with a row of the least value, so the last row that does not exceed a question answers
// it, and every question has an answer. An operation has rows of its own where other rungs are best for it than for
// sums; elsewhere those of sums answer. A chip that was never measured takes the rows of the nearest one below it; rows
// of compute capability 75 are derived for those below all, and those of 0 are for what no chip was measured with.
#pragma once

#include <cstddef>

#include "rungs/version.cuh"

namespace rungs::RUNGS_ABI::tuning {

// What a reduction or scan is made with: additions, minimum or maximum, or anything else.
enum class operators : unsigned char { sum, order, any };

template <class Rung>
struct row {
  operators operation;  // not a step
  int cc;               // 10 * major + minor
  int item_bytes;       // of an item of the input
  std::size_t num_items;
  Rung rung;
};

template <class Rung>
struct histogram_row {
  bool has_edges;  // arbitrary levels; not a step, but has to be equal
  int cc;
  int sample_bytes;
  unsigned num_bins;
  std::size_t num_samples;
  Rung rung;
};

// The rung for num_items items.
template <class Rung, std::size_t num_rows>
constexpr Rung choose(const row<Rung> (&rows)[num_rows], operators operation, int cc, std::size_t item_bytes,
                      std::size_t num_items) {
  const row<Rung>* group = rows;  // the first row of sums for such a chip and such items
  for (const row<Rung>& each : rows)
    if (each.operation == operators::sum && each.num_items == 0 && each.cc <= cc &&
        static_cast<std::size_t>(each.item_bytes) <= item_bytes)
      group = &each;
  Rung of_sums = group->rung, chosen = of_sums;
  bool has_own = false;
  for (const row<Rung>& each : rows) {
    if (each.cc != group->cc || each.item_bytes != group->item_bytes) continue;
    if (each.operation == operators::sum && each.num_items <= num_items) of_sums = each.rung;
    if (each.operation != operation) continue;
    has_own = true;
    if (each.num_items <= num_items) chosen = each.rung;
  }
  return has_own ? chosen : of_sums;
}

// The rung for num_samples samples and num_bins bins.
template <class Rung, std::size_t num_rows>
constexpr Rung choose(const histogram_row<Rung> (&rows)[num_rows], bool has_edges, int cc, std::size_t sample_bytes,
                      unsigned num_bins, std::size_t num_samples) {
  Rung chosen = rows[0].rung;
  for (const histogram_row<Rung>& each : rows)
    if (each.has_edges == has_edges && each.cc <= cc && static_cast<std::size_t>(each.sample_bytes) <= sample_bytes &&
        each.num_bins <= num_bins && each.num_samples <= num_samples)
      chosen = each.rung;
  return chosen;
}

// Whether a call of this kind can come to this rung, on any device up to compute capability `cc`.
template <class Rung, std::size_t num_rows>
constexpr bool names(const row<Rung> (&rows)[num_rows], Rung rung, operators operation, int cc,
                     std::size_t item_bytes) {
  for (const row<Rung>& each : rows)
    if (each.rung == rung && each.cc <= cc && choose(rows, operation, each.cc, item_bytes, each.num_items) == rung)
      return true;
  return false;
}
// The same where the call takes suited(rung) for a rung that the table names.
template <class Rung, std::size_t num_rows>
constexpr bool names_suited(const row<Rung> (&rows)[num_rows], Rung rung, operators operation, int cc,
                            std::size_t item_bytes, Rung (*suited)(Rung)) {
  for (const row<Rung>& each : rows)
    if (suited(each.rung) == rung && names(rows, each.rung, operation, cc, item_bytes)) return true;
  return false;
}
template <class Rung, std::size_t num_rows>
constexpr bool names(const histogram_row<Rung> (&rows)[num_rows], Rung rung, bool has_edges, int cc,
                     std::size_t sample_bytes) {
  for (const histogram_row<Rung>& each : rows)
    if (each.rung == rung && each.has_edges == has_edges && each.cc <= cc &&
        choose(rows, has_edges, each.cc, sample_bytes, each.num_bins, each.num_samples) == rung)
      return true;
  return false;
}

}  // namespace rungs::RUNGS_ABI::tuning
