// Reductions of structs of 3 to 200 bytes.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

namespace {

template <class Item>
void add_members(kind_table& table) {
  add_reduction<from_memory<Item>, Item, Item>(table, "by_member." + std::to_string(sizeof(Item)) + "_bytes",
                                               call_reduce<by_member>{}, as_written<by_member>{});
}

}  // namespace

void add_struct_reductions(kind_table& table) {
  add_members<pack<u8, 3>>(table);
  add_members<pack<u8, 5>>(table);
  add_members<pack<u32, 3>>(table);
  add_members<pack<u32, 4>>(table);
  add_members<pack<u64, 3>>(table);
  add_members<pack<u64, 4>>(table);
  add_members<pack<u64, 5>>(table);
  add_members<pack<u64, 9>>(table);
  add_members<pack<u32, 50>>(table);
}

}  // namespace rungs::fuzz
