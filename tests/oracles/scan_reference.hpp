// Whether the outputs of a scan are right.
#pragma once

#include <optional>
#include <string>

#include "oracles/bits.hpp"
#include "oracles/reference.hpp"
#include "oracles/scan_check.hpp"

namespace rungs::tests {

struct scan_call {
  catalog::op op{};
  bool inclusive = true;
  catalog::scalar input{}, accumulator{};  // the outputs are of the accumulator's type
  std::optional<value> init{};             // an inclusive scan may have none
};

// The host oracle: output i is the reduction of a prefix, which the oracle of reductions knows. Takes the square of
// num_items. Empty if every output is right.
std::optional<std::string> disagreement(const scan_call& call, const void* items, const void* outputs,
                                        std::size_t num_items, const tolerance& allowed);

// The checker's task for this call, the pointer to the outputs still to be filled in. Empty where it cannot say: an
// accumulator that is neither as floating nor as signed as the items.
std::optional<scan_task> task_of(const scan_call& call, const sample& made, std::size_t num_items,
                                 const tolerance& allowed);

// Likewise of a dot product of pairs that two samples make.
std::optional<scan_task> task_of_dot(catalog::scalar input, catalog::scalar accumulator, const sample& made,
                                     const sample& second, std::size_t num_items, const tolerance& allowed);

// The checker on host memory, in that many parts.
scan_report check_on_host(const scan_task& task, std::size_t num_parts);
// Of a reduction; of one reduction a row of so many items.
scan_report check_total_on_host(const scan_task& task);
scan_report check_rows_on_host(const scan_task& task, std::size_t row_items);

// For a report with num_wrong > 0: the first wrong output in a few words; and where it stands.
std::string describe_first(const scan_task& task, const scan_report& report);
std::string describe(const scan_task& task, const scan_report& report);

}  // namespace rungs::tests
