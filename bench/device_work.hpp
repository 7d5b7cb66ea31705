// The instrument's own kernels: plain functions, so that the host programs need no CUDA syntax. All are asynchronous.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "histogram_oracle.hpp"
#include "scan_oracle.hpp"
#include "workload.hpp"

namespace rungs::bench::device_work {

// How many SM clocks and nanoseconds a kernel saw pass: their quotient is the SM clock.
struct stamp {
  unsigned long long clocks, nanoseconds;
};

// Reads the whole buffer, so that the caches hold it, clean, and nothing else.
cudaError_t read_flush(const void* buffer, std::size_t num_bytes, stamp* seen, cudaStream_t stream);

// One block of one thread that waits by %globaltimer.
cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t stream);

cudaError_t generate(const workload& from, void* items, cudaStream_t stream);
cudaError_t generate(const sample_source& from, void* samples, cudaStream_t stream);

inline constexpr int max_summaries = 1024;
// Writes max_summaries partial summaries, to be merged on the host.
cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t stream);
cudaError_t summarise_products(catalog::scalar type, const void* x, const void* y, std::size_t num_items,
                               summary_of_items* summaries, cudaStream_t stream);
// As bench::first_extreme: *first becomes less where an item stands further in front. The caller has set it to ~0.
cudaError_t first_extreme(catalog::scalar type, const void* items, std::size_t num_items, const summary_of_items& about,
                          bool least, std::uint64_t* first, cudaStream_t stream);

// As the functions of these names in scan_oracle.hpp. A check writes num_tallies(of) tallies, to be merged on the host.
cudaError_t fold_chunks(const scan_question& of, running* chunks, cudaStream_t stream);
inline constexpr int chunks_per_tally = 128;
inline constexpr std::size_t max_tallies = max_chunks / chunks_per_tally;
inline std::size_t num_tallies(const scan_question& of) {
  const std::size_t tallies = (of.num_chunks() + chunks_per_tally - 1) / chunks_per_tally;
  return of.of_rows && tallies > max_tallies ? max_tallies : tallies;
}
cudaError_t check_scan(const scan_question& of, const tolerance& within, const running* befores, const void* output,
                       tally* tallies, cudaStream_t stream);
// As count_samples in histogram_oracle.hpp; `of.edges` is a device pointer. Adds to num_copies(of) sets of counters,
// one after the other, and to the number of samples inside behind them, all of which the caller has set to zero.
inline std::size_t num_copies(const histogram_question& of) {
  const std::size_t copies = 65536 / of.num_counters();
  return copies < 1 ? 1 : copies > 64 ? 64 : copies;
}
cudaError_t count_samples(const histogram_question& of, const void* samples, std::uint64_t* counts,
                          cudaStream_t stream);
// Adds to *into, which the caller has set to zero. `bytes` is aligned to 4.
cudaError_t hash(const void* bytes, std::size_t num_bytes, std::uint64_t* into, cudaStream_t stream);

}  // namespace rungs::bench::device_work
