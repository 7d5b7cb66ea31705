// Scans of affine maps and of structs of 3 to 200 bytes, by operators that do not commute.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {
namespace {

template <class Item>
void add_scans_of_members(kind_table& table) {
  add<from_memory<Item>, Item>(table, "inclusive_by_member." + std::to_string(sizeof(Item)) + "_bytes",
                               inclusive_scan(by_member_in_order{}), as_written<by_member_in_order>{});
}

}  // namespace

void add_struct_scans(kind_table& table) {
  add<from_memory<affine>, affine>(table, "inclusive_affine", inclusive_scan(compose{}), composed{});
  add_of<affine>(table, "exclusive_affine", exclusive_scan(compose{}), composed{});
  add_of<affine>(table, "exclusive_affine_future", exclusive_scan_future(compose{}), composed{});
  add_scans_of_members<pack<u8, 3>>(table);
  add_scans_of_members<pack<u8, 5>>(table);
  add_scans_of_members<pack<u32, 3>>(table);
  add_scans_of_members<pack<u32, 4>>(table);
  add_scans_of_members<pack<u64, 3>>(table);
  add_scans_of_members<pack<u64, 4>>(table);
  add_scans_of_members<pack<u64, 5>>(table);
  add_scans_of_members<pack<u64, 9>>(table);
  add_scans_of_members<pack<u32, 50>>(table);
  add_of<pack<u64, 3>>(table, "exclusive_by_member.24_bytes", exclusive_scan(by_member_in_order{}),
                       as_written<by_member_in_order>{});
}

}  // namespace rungs::fuzz
