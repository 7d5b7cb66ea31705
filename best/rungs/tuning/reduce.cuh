// Provisional.
#pragma once

#include "rungs/tuning/table.cuh"

namespace rungs::RUNGS_ABI::tuning {

// clang-format off
enum class reduce_rung : unsigned char { one_block, compact_cluster, two_passes, tagged_aggregates };

inline constexpr row<reduce_rung> reduce_rows[] = {
    {operators::sum, 0, 0, 0, reduce_rung::one_block},  // not measured
    {operators::sum, 0, 0, 4097, reduce_rung::tagged_aggregates},  // not measured
    {operators::sum, 90, 0, 0, reduce_rung::one_block},  // provisional
    {operators::sum, 90, 0, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::sum, 90, 0, 131073, reduce_rung::tagged_aggregates},  // provisional
    {operators::sum, 90, 2, 0, reduce_rung::one_block},  // provisional
    {operators::sum, 90, 2, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::sum, 90, 2, 65537, reduce_rung::tagged_aggregates},  // provisional
    {operators::sum, 90, 4, 0, reduce_rung::one_block},  // provisional
    {operators::sum, 90, 4, 8193, reduce_rung::compact_cluster},  // provisional
    {operators::sum, 90, 4, 32769, reduce_rung::tagged_aggregates},  // provisional
    {operators::sum, 90, 8, 0, reduce_rung::one_block},  // provisional
    {operators::sum, 90, 8, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::sum, 90, 8, 16385, reduce_rung::tagged_aggregates},  // provisional
    {operators::order, 0, 0, 0, reduce_rung::one_block},  // not measured
    {operators::order, 0, 0, 4097, reduce_rung::tagged_aggregates},  // not measured
    {operators::order, 90, 0, 0, reduce_rung::one_block},  // provisional
    {operators::order, 90, 0, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::order, 90, 0, 131073, reduce_rung::tagged_aggregates},  // provisional
    {operators::order, 90, 2, 0, reduce_rung::one_block},  // provisional
    {operators::order, 90, 2, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::order, 90, 2, 65537, reduce_rung::tagged_aggregates},  // provisional
    {operators::order, 90, 4, 0, reduce_rung::one_block},  // provisional
    {operators::order, 90, 4, 8193, reduce_rung::compact_cluster},  // provisional
    {operators::order, 90, 4, 32769, reduce_rung::tagged_aggregates},  // provisional
    {operators::order, 90, 8, 0, reduce_rung::one_block},  // provisional
    {operators::order, 90, 8, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::order, 90, 8, 16385, reduce_rung::tagged_aggregates},  // provisional
    {operators::any, 0, 0, 0, reduce_rung::one_block},  // not measured
    {operators::any, 0, 0, 4097, reduce_rung::tagged_aggregates},  // not measured
    {operators::any, 90, 0, 0, reduce_rung::one_block},  // provisional
    {operators::any, 90, 0, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::any, 90, 0, 131073, reduce_rung::tagged_aggregates},  // provisional
    {operators::any, 90, 2, 0, reduce_rung::one_block},  // provisional
    {operators::any, 90, 2, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::any, 90, 2, 65537, reduce_rung::tagged_aggregates},  // provisional
    {operators::any, 90, 4, 0, reduce_rung::one_block},  // provisional
    {operators::any, 90, 4, 8193, reduce_rung::compact_cluster},  // provisional
    {operators::any, 90, 4, 32769, reduce_rung::tagged_aggregates},  // provisional
    {operators::any, 90, 8, 0, reduce_rung::one_block},  // provisional
    {operators::any, 90, 8, 4097, reduce_rung::compact_cluster},  // provisional
    {operators::any, 90, 8, 16385, reduce_rung::tagged_aggregates},  // provisional
};
// clang-format on

}  // namespace rungs::RUNGS_ABI::tuning
