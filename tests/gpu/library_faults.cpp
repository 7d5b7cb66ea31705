#include "gpu/library_faults.hpp"

#include "gpu/histogram_question.hpp"

namespace rungs::tests {
namespace {

using catalog::operation;
using catalog::record;
using catalog::scalar;

bool is_cub_device_histogram(const record& r) {
  return r.family == catalog::family::library_baselines && catalog::is_histogram(r.operation) &&
         r.rung.starts_with("cub_device");
}
// Fed such that the faults of narrow samples do not show.
bool is_expert(const record& r) { return r.rung.ends_with("_expert"); }
bool is_even(const record& r) { return r.operation != operation::histogram_range; }

// The lower and the upper level as numbers.
std::pair<double, double> ends(const record& subject, const problem& p) {
  const histogram_call& call = histogram_question::of(subject, p).call();
  const auto number = [&](std::size_t i) {
    return with_type(call.level, [&](auto t) { return to_double(as<typename decltype(t)::type>(call.level_at(i))); });
  };
  return {number(0), number(call.num_levels_given() - 1)};
}

constexpr library_fault faults[] = {
    {"negative_i8", "NVIDIA/cccl#10977: negative samples of one byte are not counted", true,
     [](const record& r) { return is_cub_device_histogram(r) && !is_expert(r) && r.input_type == scalar::i8; },
     [](const record& r, const problem& p) { return ends(r, p).first < 0; }},

    {"wide_i32", "NVIDIA/cccl#10975: the distance of the levels overflows their type, and a valid call is refused",
     true,
     [](const record& r) {
       return is_cub_device_histogram(r) && is_even(r) && r.input_type == scalar::i32 && r.level_type == scalar::i32;
     },
     [](const record& r, const problem& p) {
       const auto [lower, upper] = ends(r, p);
       return upper - lower > 2147483647.0;
     }},

    // The number of a bin goes through the type of the samples.
    {"bins_of_i16", "NVIDIA/cccl#10976: the number of a bin beyond 32768 does not fit the samples' type", true,
     [](const record& r) { return is_cub_device_histogram(r) && !is_expert(r) && r.input_type == scalar::i16; },
     [](const record&, const problem& p) { return p.num_bins > 32768; }},
    {"bins_of_u16", "NVIDIA/cccl#10976: the number of a bin beyond 65536 does not fit the samples' type", true,
     [](const record& r) { return is_cub_device_histogram(r) && r.input_type == scalar::u16; },
     [](const record&, const problem& p) { return p.num_bins > 65536; }},
    {"bins_of_f16",
     "NVIDIA/cccl#10976: the number of a bin beyond 2048 is rounded to the samples' type, and counted in memory that "
     "is "
     "not the histogram's",
     false, [](const record& r) { return is_cub_device_histogram(r) && !is_expert(r) && r.input_type == scalar::f16; },
     [](const record&, const problem& p) { return p.num_bins > 2048; }},

    {"beyond_the_last_bin",
     "a sample just below the upper level is rounded to the bin behind the last, and counted in memory that is not the "
     "histogram's (beside NVIDIA/cccl#10976)",
     false, [](const record& r) { return is_cub_device_histogram(r) && is_even(r) && is_floating(r.level_type); },
     [](const record& r, const problem& p) { return histogram_question::of(r, p).needs_clamp(); }},
};

}  // namespace

std::span<const library_fault> library_faults() { return faults; }

const library_fault* known_fault(const record& subject, const problem& p) {
  if (p.num_bins == 0) return nullptr;
  for (const library_fault& fault : faults)
    if (fault.concerns(subject) && fault.shows(subject, p)) return &fault;
  return nullptr;
}

}  // namespace rungs::tests
