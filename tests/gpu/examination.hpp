// The cases that every record of the catalog meets. The catalog's tests, the variants wrong on purpose and the
// sanitizer run all call examine(), so that what refuses a planted bug is what guards the ladders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog.hpp"

namespace rungs::tests {

enum class extent { normal, full, sanitizer };

struct examination {
  std::uint64_t seed = 1;
  extent how_much = extent::normal;
  bool few_accesses = false;   // of the sanitizer's cases, not those of millions of accesses to shared memory
  double seconds = 0.8;        // a record's time for large inputs; beyond it sizes shrink, and a note says so
  std::string only_case = {};  // run this one alone
  // Under the sanitizer, the workspace is filled before a call for records of these sources alone.
  std::vector<std::string> filled = {};
  // Only the cases in which this known fault of a library shows, by its name; without one those are left out.
  std::string only_fault = {};
  std::vector<const catalog::record*> peers = {};  // of the same variant: they may share its workspace
  std::function<void(const std::string&)> on_case = [](const std::string&) {};  // called before each
};

struct finding {
  std::string case_name;  // for --case
  std::string what;
};

struct verdict {
  int cases = 0;
  std::vector<finding> findings;
  std::vector<std::string> notes;  // what was left out, and why
  std::string skipped;             // not empty: nothing was run, for this reason
  bool known_fault = false;        // skipped, because a library is known to be wrong there
  bool device_lost = false;        // an error that stays: this process is of no more use
};

verdict examine(const catalog::record& subject, const examination& how);

// The cases that the first leaves out for this fault: skipped where it shows, passed where it is gone.
struct library_fault;
verdict examine(const catalog::record& subject, const library_fault& fault, const examination& how);

// "handwritten/reductions/warp_shuffle/plus/f32", with "u8_u32" where the accumulator's type differs;
// "handwritten/scans/one_block/inclusive_scan/plus/f32".
std::string full_name(const catalog::record& subject);

// Empty where a usable GPU is present, else the reason.
const std::string& no_gpu_reason();
// Empty where the record can run, else the reason: no usable GPU, or one below its min_cc.
std::string cannot_run_reason(const catalog::record& subject);

}  // namespace rungs::tests
