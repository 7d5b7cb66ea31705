#include <vector>

#include "enrol/enrol.cuh"
#include "others/plan.hpp"
#include "rungs/baselines/cub_device_histogram.cuh"
#include "rungs/histograms/front_door.cuh"
#include "rungs/scans/repeatable_door.cuh"

namespace rungs::bench::others {
namespace {

using catalog::arguments, catalog::record, catalog::scalar;

// gpu-mode's histogram has counters of 64 bits; the catalog's have 32.
template <class Variant>
record with_wide_counters(record about) {
  about = catalog::describe<Variant>(about);
  about.operation = catalog::operation::histogram_even;
  about.input_type = scalar::u8;
  about.accumulator_type = about.output_type = scalar::u64;
  about.level_type = scalar::i32;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto levels = static_cast<const int*>(a.levels);
    return Variant::histogram_even(d_temp_storage, temp_storage_bytes, static_cast<const unsigned char*>(a.d_in),
                                   static_cast<unsigned long long*>(a.d_out), a.num_levels, levels[0], levels[1],
                                   a.num_items, stream);
  };
  return about;
}

record ours(const char* ladder, const char* rung) {
  return {.family = catalog::family::handwritten, .ladder = ladder, .rung = rung};
}

}  // namespace

std::vector<record> more_records() {
  using baselines::cub_device_histogram, scans::repeatable_door;
  record repeatable = catalog::describe<repeatable_door>(ours("front_door_of_scans", "repeatable_door"));
  return {with_wide_counters<cub_device_histogram>(
              {.family = catalog::family::library_baselines, .ladder = "baselines", .rung = "cub_device_histogram"}),
          with_wide_counters<histograms::front_door>(ours("front_door_of_histograms", "front_door")),
          with_wide_counters<histograms::overlapped_clear>(ours("histograms", "overlapped_clear")),
          with_wide_counters<histograms::lane_private>(ours("histograms", "lane_private")),
          with_wide_counters<histograms::split_bins>(ours("histograms", "split_bins")),
          with_wide_counters<histograms::hot_bins>(ours("histograms", "hot_bins")),
          catalog::inclusive_scan<repeatable_door, catalog::element<float>, plus>(repeatable)};
}

}  // namespace rungs::bench::others
