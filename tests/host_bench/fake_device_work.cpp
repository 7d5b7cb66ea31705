// The kernels of bench/device_work.hpp, done on the host, where the CUDA runtime is the fake one.
#include "fake_device_work.hpp"

#include <algorithm>

#include "device_work.hpp"
#include "faults/fake_runtime.hpp"

namespace rungs::bench::device_work {

using tests::fake::current, tests::fake::launch;

double fake_clock_mhz = 1980;

namespace {
void leave(stamp* seen, double microseconds) {
  if (seen != nullptr)
    *seen = {static_cast<unsigned long long>(microseconds * fake_clock_mhz),
             static_cast<unsigned long long>(microseconds * 1e3)};
}
}  // namespace

cudaError_t read_flush(const void*, std::size_t, stamp* seen, cudaStream_t) {
  return launch(60, [=] {
    leave(seen, 60);
    current().flushed = true;
  });
}

cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t) {
  const double microseconds = static_cast<double>(nanoseconds) * 1e-3;
  return launch(microseconds, [=] { leave(seen, microseconds); });
}

cudaError_t generate(const workload& from, void* items, cudaStream_t) {
  return launch(1, [=] { bench::generate(from, items); });
}

cudaError_t generate(const sample_source& from, void* samples, cudaStream_t) {
  return launch(1, [=] { bench::generate(from, samples); });
}

cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t) {
  return launch(1, [=] {
    for (int i = 0; i < max_summaries; ++i) summaries[i] = {};
    summaries[1] = summarise_items(type, items, num_items / 2);
    const std::size_t rest = num_items - num_items / 2;
    summaries[max_summaries - 1] =
        summarise_items(type, static_cast<const char*>(items) + (num_items - rest) * catalog::size_of(type), rest);
  });
}

cudaError_t summarise_products(catalog::scalar type, const void* x, const void* y, std::size_t num_items,
                               summary_of_items* summaries, cudaStream_t) {
  return launch(1, [=] {
    for (int i = 0; i < max_summaries; ++i) summaries[i] = {};
    summaries[1] = bench::summarise_products(type, x, y, num_items);
  });
}

cudaError_t first_extreme(catalog::scalar type, const void* items, std::size_t num_items, const summary_of_items& about,
                          bool least, std::uint64_t* first, cudaStream_t) {
  return launch(1, [=] { *first = bench::first_extreme(type, items, num_items, about, least); });
}

cudaError_t fold_chunks(const scan_question& of, running* chunks, cudaStream_t) {
  return launch(1, [=] {
    const auto all = bench::fold_chunks(of);
    std::copy(all.begin(), all.end(), chunks);
  });
}

cudaError_t check_scan(const scan_question& of, const tolerance& within, const running* befores, const void* output,
                       tally* tallies, cudaStream_t) {
  return launch(1, [=] {
    for (std::size_t i = 0; i < num_tallies(of); ++i) tallies[i] = {};
    tallies[num_tallies(of) - 1] =
        bench::check_scan(of, within, {befores, befores + (of.of_rows ? 1 : of.num_chunks())}, output);
  });
}

cudaError_t count_samples(const histogram_question& of, const void* samples, std::uint64_t* counts, cudaStream_t) {
  return launch(1, [=] {
    const counted all = bench::count_samples(of, samples);
    const std::size_t copies = num_copies(of), counters = of.num_counters();
    for (std::size_t i = 0; i < counters; ++i) counts[(i % copies) * counters + i] += all.counters[i];
    counts[copies * counters] += all.inside;
  });
}

cudaError_t hash(const void* bytes, std::size_t num_bytes, std::uint64_t* into, cudaStream_t) {
  return launch(1, [=] { *into += bench::hash(bytes, num_bytes); });
}

}  // namespace rungs::bench::device_work
