// Provisional.
#pragma once

#include "rungs/tuning/table.cuh"

namespace rungs::RUNGS_ABI::tuning {

// clang-format off
enum class scan_rung : unsigned char { one_block, compact_cluster, tagged_look_back, tagged_wave, claimed_pipeline };

inline constexpr row<scan_rung> scan_rows[] = {
    {operators::sum, 0, 0, 0, scan_rung::one_block},  // not measured
    {operators::sum, 0, 0, 4097, scan_rung::tagged_look_back},  // not measured
    {operators::sum, 90, 0, 0, scan_rung::compact_cluster},  // provisional
    {operators::sum, 90, 0, 16385, scan_rung::tagged_wave},  // provisional
    {operators::sum, 90, 0, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::sum, 90, 2, 0, scan_rung::compact_cluster},  // provisional
    {operators::sum, 90, 2, 16385, scan_rung::tagged_wave},  // provisional
    {operators::sum, 90, 2, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::sum, 90, 4, 0, scan_rung::one_block},  // provisional
    {operators::sum, 90, 4, 4097, scan_rung::compact_cluster},  // provisional
    {operators::sum, 90, 4, 16385, scan_rung::tagged_wave},  // provisional
    {operators::sum, 90, 4, 2097153, scan_rung::claimed_pipeline},  // provisional
    {operators::sum, 90, 8, 0, scan_rung::compact_cluster},  // provisional
    {operators::sum, 90, 8, 8193, scan_rung::tagged_wave},  // provisional
    {operators::sum, 90, 8, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::order, 0, 0, 0, scan_rung::one_block},  // not measured
    {operators::order, 0, 0, 4097, scan_rung::tagged_look_back},  // not measured
    {operators::order, 90, 0, 0, scan_rung::compact_cluster},  // provisional
    {operators::order, 90, 0, 16385, scan_rung::tagged_wave},  // provisional
    {operators::order, 90, 0, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::order, 90, 2, 0, scan_rung::compact_cluster},  // provisional
    {operators::order, 90, 2, 16385, scan_rung::tagged_wave},  // provisional
    {operators::order, 90, 2, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::order, 90, 4, 0, scan_rung::one_block},  // provisional
    {operators::order, 90, 4, 4097, scan_rung::compact_cluster},  // provisional
    {operators::order, 90, 4, 16385, scan_rung::tagged_wave},  // provisional
    {operators::order, 90, 4, 2097153, scan_rung::claimed_pipeline},  // provisional
    {operators::order, 90, 8, 0, scan_rung::compact_cluster},  // provisional
    {operators::order, 90, 8, 8193, scan_rung::tagged_wave},  // provisional
    {operators::order, 90, 8, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::any, 0, 0, 0, scan_rung::one_block},  // not measured
    {operators::any, 0, 0, 4097, scan_rung::tagged_look_back},  // not measured
    {operators::any, 90, 0, 0, scan_rung::compact_cluster},  // provisional
    {operators::any, 90, 0, 16385, scan_rung::tagged_wave},  // provisional
    {operators::any, 90, 0, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::any, 90, 2, 0, scan_rung::compact_cluster},  // provisional
    {operators::any, 90, 2, 16385, scan_rung::tagged_wave},  // provisional
    {operators::any, 90, 2, 1048577, scan_rung::claimed_pipeline},  // provisional
    {operators::any, 90, 4, 0, scan_rung::one_block},  // provisional
    {operators::any, 90, 4, 4097, scan_rung::compact_cluster},  // provisional
    {operators::any, 90, 4, 16385, scan_rung::tagged_wave},  // provisional
    {operators::any, 90, 4, 2097153, scan_rung::claimed_pipeline},  // provisional
    {operators::any, 90, 8, 0, scan_rung::compact_cluster},  // provisional
    {operators::any, 90, 8, 8193, scan_rung::tagged_wave},  // provisional
    {operators::any, 90, 8, 1048577, scan_rung::claimed_pipeline},  // provisional
};
// clang-format on

}  // namespace rungs::RUNGS_ABI::tuning
