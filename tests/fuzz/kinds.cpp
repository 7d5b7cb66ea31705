#include "fuzz/kind.hpp"

namespace rungs::fuzz {

const kind_table& kinds() {
  static const kind_table all = [] {
    kind_table made;
    add_reductions(made);
    add_extrema(made);
    add_scans(made);
    add_struct_scans(made);
    add_operators(made);
    add_histograms(made);
    add_selections(made);
    add_partitions(made);
    add_runs(made);
    add_reductions_by_key(made);
    add_scans_by_key(made);
    add_saturating_sums(made);
    add_wide_integers(made);
    add_segments(made);
    return made;
  }();
  return all;
}

std::span<const traits> all_traits() {
  static const std::vector<traits> all = [] {
    std::vector<traits> made;
    for (const auto& each : kinds()) made.push_back(each->about());
    return made;
  }();
  return all;
}

}  // namespace rungs::fuzz
