// What rungs_others measures: problems of tasks and studies that others published, flushed as they flush. No CUDA in
// here.
#pragma once

#include <span>
#include <vector>

#include "planner.hpp"

namespace rungs::bench::others {

// dirty  they write a buffer larger than the L2 before each call
// warm   they flush nothing
struct cell {
  catalog::operation operation{};
  catalog::scalar input_type{}, output_type{};
  std::size_t num_items = 0;
  bench::mode mode{};
  std::size_t contention = 0;  // of a histogram: percent of the samples that are of one bin, the others are uniform
};

inline constexpr std::size_t num_bins = 256;  // of every histogram
inline constexpr cell all_cells[] = {
    // gpu-mode/reference-kernels, pmpp_v2: the scored sizes, and the histograms of its other contentions.
    {catalog::operation::reduce, catalog::scalar::f32, catalog::scalar::f32, 52'428'800, mode::dirty},
    {catalog::operation::histogram_even, catalog::scalar::u8, catalog::scalar::u64, 2'621'440, mode::dirty, 40},
    {catalog::operation::histogram_even, catalog::scalar::u8, catalog::scalar::u64, 2'621'440, mode::dirty, 90},
    {catalog::operation::histogram_even, catalog::scalar::u8, catalog::scalar::u64, 10'485'760, mode::dirty, 10},
    // NVIDIA/cccl pull request 9565, by nvbench. The largest is gpu-mode's prefix sum as well.
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 1 << 16, mode::dirty},
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 1 << 20, mode::dirty},
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 1 << 24, mode::dirty},
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 1 << 28, mode::dirty},
    // shreyansh26/scan.cu.
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 1'000'000, mode::warm},
    {catalog::operation::inclusive_scan, catalog::scalar::f32, catalog::scalar::f32, 4'194'303, mode::warm},
    // yencal/gpu-scan-optimization and gpu-histogram-optimization.
    {catalog::operation::inclusive_scan, catalog::scalar::i32, catalog::scalar::i32, 1 << 30, mode::warm},
    {catalog::operation::histogram_even, catalog::scalar::u8, catalog::scalar::u32, 1 << 30, mode::warm}};

// Of each cell CUB, the front door and the rungs of these records that run on the device. What does not fit its memory
// is left out.
run_plan plan_of(std::span<const catalog::record> records, const device_facts& device);

// Beside the catalog's: histograms of 64-bit counters, and scans whose bits repeat.
std::vector<catalog::record> more_records();

}  // namespace rungs::bench::others
