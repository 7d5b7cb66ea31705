// Scans of structs of 40, 72 and 200 bytes.
#include "fuzz/kind_of.cuh"

// Accumulators of more than about 192 bytes.
#ifndef RUNGS_FUZZ_LARGE_ACCUMULATORS
#define RUNGS_FUZZ_LARGE_ACCUMULATORS 1
#endif

namespace rungs::fuzz {

namespace {

template <class Item>
void add_members(kind_table& table) {
  const std::string size = std::to_string(sizeof(Item)) + "_bytes";
  add_scan<from_memory<Item>, Item>(table, "inclusive_by_member." + size, call_inclusive_scan<by_member_in_order>{},
                                    as_written<by_member_in_order>{});
}

}  // namespace

void add_large_scans(kind_table& table) {
  add_members<pack<u64, 5>>(table);
  add_members<pack<u64, 9>>(table);
#if RUNGS_FUZZ_LARGE_ACCUMULATORS
  add_members<pack<u32, 50>>(table);
#endif
}

}  // namespace rungs::fuzz
