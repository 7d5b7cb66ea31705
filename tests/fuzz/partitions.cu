// DevicePartition by flags and by a predicate.
#include "fuzz/chosen_of.cuh"

namespace rungs::fuzz {

void add_partitions(kind_table& table) {
  add_by_key<chosen<i32, u8, true>>(table, "partition.flagged.i32");
  add_by_key<chosen<u8, u8, true>>(table, "partition.flagged.u8");
  add_by_key<chosen<i64, void, true>>(table, "partition.if.i64");
  add_by_key<chosen<u16, void, true>>(table, "partition.if.u16");
  add_by_key<chosen<pack<i32, 6>, void, true>>(table, "partition.if.6xi32");
}

}  // namespace rungs::fuzz
