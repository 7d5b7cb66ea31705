// The GPU record, tests/gpu_record.json: for every record of the catalog, what of it passed on which GPU, and a hash of
// what it was made of then. Kernels can thus not change without having been run. One line an entry, in the catalog's
// order.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rungs::tests::record {

struct identity {
  std::string family, ladder, rung, operation, op, input_type, accumulator_type;
  friend auto operator<=>(const identity&, const identity&) = default;
  std::string name() const;  // as full_name(record)
};

struct machine {
  std::string gpu, driver, toolkit;
};

struct line {
  identity what;
  std::string hash;     // of the sources and the flags
  std::string outcome;  // "passed" or "pending"
  int cases = 0;
  machine where;  // empty while pending
};

// What the tree holds now: in the catalog's order.
struct subject {
  identity what;
  std::string hash;
};

using lines = std::vector<line>;

// Throws std::runtime_error naming the file and what is wrong with it. A file that does not exist holds no lines.
lines read(const std::filesystem::path& file);
// Written aside and renamed.
void write(const std::filesystem::path& file, const lines& all);
std::string to_json(const lines& all);
lines from_json(const std::string& text, const std::string& file_name);

struct state {
  std::vector<std::string> missing, stale, pending, superfluous;
  std::size_t passed = 0;
  bool good() const { return missing.empty() && stale.empty() && superfluous.empty(); }
};
state compare(const lines& all, const std::vector<subject>& now);

// Missing and stale ones become pending, superfluous ones leave; what passed stays. In the order of `now`.
lines with_pending(const lines& all, const std::vector<subject>& now);

// Enters a run: passed ones with this machine; failed ones become pending; skipped ones and those not run stay as they
// were.
struct run {
  std::string name;
  bool passed = false, skipped = false;
  int cases = 0;
};
lines with_runs(const lines& all, const std::vector<subject>& now, const std::vector<run>& runs, const machine& where);

}  // namespace rungs::tests::record
