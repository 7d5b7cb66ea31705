// Sums of narrow integers that saturate, by functors without an identity and with one. ptxas 13.0 knows the bounds of
// such sums, and has kept some of them in half a register (rungs/parts/maybe.cuh).
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_saturating_sums(kind_table& table) {
  add_of<u8>(table, "saturating.u8", reduce(saturating_plus{}), saturated_sums<u8>{});
  add_of<i16>(table, "saturating.i16", reduce(saturating_plus{}), saturated_sums<i16>{});
  add_of<i8>(table, "saturating_from_zero.i8", reduce(saturating_plus_from_zero{}), saturated_sums<i8>{});
  add_of<u16>(table, "saturating_from_zero.u16", reduce(saturating_plus_from_zero{}), saturated_sums<u16>{});
  add_of<u8>(table, "exclusive_saturating.u8", exclusive_scan(saturating_plus{}), saturated_sums<u8>{});
  add<from_memory<i8>, i8>(table, "inclusive_saturating_from_zero.i8", inclusive_scan(saturating_plus_from_zero{}),
                           saturated_sums<i8>{});
}

}  // namespace rungs::fuzz
