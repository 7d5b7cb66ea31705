// DeviceSelect by flags and by a predicate, in place, too.
#include "fuzz/chosen_of.cuh"

namespace rungs::fuzz {

void add_selections(kind_table& table) {
  add_by_key<chosen<i32, u8, false>>(table, "select.flagged.i32", true);
  add_by_key<chosen<u8, i32, false>>(table, "select.flagged.u8", true);
  add_by_key<chosen<i64, u8, false>>(table, "select.flagged.i64", true);
  add_by_key<chosen<i32, void, false>>(table, "select.if.i32", true);
  add_by_key<chosen<u8, void, false>>(table, "select.if.u8", true);
  add_by_key<chosen<pack<i32, 3>, void, false>>(table, "select.if.3xi32", true);
}

}  // namespace rungs::fuzz
