// Scans of affine maps and of structs of up to 72 bytes, by operators that do not commute.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

namespace {

template <class Item>
void add_members(kind_table& table) {
  add_scan<from_memory<Item>, Item>(table, "inclusive_by_member." + std::to_string(sizeof(Item)) + "_bytes",
                                    call_inclusive_scan<by_member_in_order>{}, as_written<by_member_in_order>{});
}

}  // namespace

void add_struct_scans(kind_table& table) {
  add_scan<from_memory<affine>, affine>(table, "inclusive_affine", call_inclusive_scan<compose>{}, composed{});
  add_scan<from_memory<affine>, affine, affine>(table, "exclusive_affine", call_exclusive_scan<compose>{}, composed{});
  add_scan<from_memory<affine>, affine, affine>(table, "exclusive_affine_future", call_exclusive_scan_future<compose>{},
                                                composed{});
  add_members<pack<u8, 3>>(table);
  add_members<pack<u8, 5>>(table);
  add_members<pack<u32, 3>>(table);
  add_members<pack<u32, 4>>(table);
  add_members<pack<u64, 3>>(table);
  add_members<pack<u64, 4>>(table);
  add_scan<from_memory<pack<u64, 3>>, pack<u64, 3>, pack<u64, 3>>(table, "exclusive_by_member.24_bytes",
                                                                  call_exclusive_scan<by_member_in_order>{},
                                                                  as_written<by_member_in_order>{});
}

}  // namespace rungs::fuzz
