// The records of a variant that is in no catalog.
#pragma once

#include <vector>

#include "enrol/enrol.cuh"

namespace rungs::wrong {

template <class Variant, class T, class Op>
std::vector<catalog::record> enrolled(const catalog::record& about) {
  struct collected final : catalog::collector {
    std::vector<catalog::record> records;
    void add(const catalog::record& each) override { records.push_back(each); }
  } variant;
  catalog::enrol<Variant>(variant, about, catalog::elements<catalog::element<T>>{}, catalog::operators<Op>{});
  return variant.records;
}

}  // namespace rungs::wrong
