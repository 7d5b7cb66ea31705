// Reductions and scans of integers of 128 bits.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {

void add_wide_integers(kind_table& table) {
  add<from_memory<i128>, i128>(table, "sum.i128", sum(), sums{});
  add<from_memory<i128>, i128>(table, "min.i128", min(), minima{});
  add<from_memory<i128>, i128>(table, "exclusive_sum.i128", exclusive_sum(), sums{});
  add<from_memory<u128>, u128>(table, "inclusive_xor.u128", inclusive_scan(bit_xor_functor{}), differing_bits{});
}

}  // namespace rungs::fuzz
