#include "fuzz/kind.hpp"

namespace rungs::fuzz {

const kind_table& kinds() {
  static const kind_table all = [] {
    kind_table made;
    add_integer_reductions(made);
    add_float_reductions(made);
    add_struct_reductions(made);
    add_extrema(made);
    add_integer_scans(made);
    add_float_scans(made);
    add_struct_scans(made);
    add_large_scans(made);
    add_iterators(made);
    add_library_operators(made);
    add_lambdas(made);
    add_device_lambdas(made);
    add_even_histograms(made);
    add_range_histograms(made);
    add_multi_histograms(made);
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
