// What a record is asked, and how it answers where it does not keep to its contract.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "catalog.hpp"
#include "oracles/bits.hpp"
#include "oracles/histogram_levels.hpp"
#include "oracles/reference.hpp"
#include "oracles/samples.hpp"

namespace rungs::tests {

struct problem {
  std::size_t num_items = 0;
  distribution kind = distribution::exact;
  std::uint64_t seed = 1;
  int in_offset = 0, out_offset = 0;  // in elements
  int second_offset = 0;              // likewise, of the second items of pairs
  int workspace_offset = 0;           // in bytes
  int poison = 0;                     // 0x00, 0xff, random
  int init = 0;                       // neutral, ordinary, dominant
  bool legacy_stream = false;
  bool in_place = false;  // d_out is d_in
  int percent = 50;       // of selections: how many of uniform items are chosen
  // Rows of a matrix only: as many items as they have. Of top-k also k.
  std::size_t num_rows = 0, num_columns = 0, k = 0;
  // Histograms only.
  int num_bins = 0;
  levels_kind levels = levels_kind::unit;
  int levels_offset = 0;  // of any edges, in elements
};

std::string describe(const problem& p);

// The problem with so many items or a few less: histograms count whole pixels, and a matrix has whole rows.
problem of_size(const catalog::record& subject, problem p, std::size_t num_items);

// The init of that level.
value init_of(const catalog::record& subject, int level);

// What a selection's chosen items are less than. Of 100 % of floats, infinity.
value threshold_of(const catalog::record& subject, int percent);

// What the record's result may differ by, of so many items that it is made of.
tolerance allowed_for(const catalog::record& subject, std::size_t num_items);

// The variant keeps to its contract or it does not: a finding, not an exception of the test itself.
struct broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The record cannot run this on this machine.
struct refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace rungs::tests
