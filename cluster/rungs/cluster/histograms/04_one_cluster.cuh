// Rung 4. One cluster for all samples, whose blocks send each other their counts of a slice of the bins.
// Against histograms/13_split_bins: for inputs so small that clearing the bins in memory, and adding to them there,
// costs more than the multiprocessors that stand idle (16 Ki i32 in 4096 bins on an H200: 5.5 us against 6.2). Each
// block owns a slice of the bins. What the others counted for it they store into its inbox, asynchronously, and a
// barrier there counts the bytes; it adds the counts up and stores the bins, whatever they held. So there is one
// launch, one barrier of the cluster, whose wait the samples' loads hide, and no atomic on memory. Stores of sixteen
// bytes: by eight it takes 7.1 us. The price: every block sends every bin, so with more than a few thousand of them, or
// more samples than sixteen multiprocessors read in a microsecond, a grid is faster. Bins that do not fit twice into
// shared memory are counted in memory (histograms/00_global_atomics).
#pragma once

#include "rungs/cluster/parts/grid.cuh"
#include "rungs/cluster/parts/remote.cuh"
#include "rungs/contract.cuh"
#include "rungs/histograms/00_global_atomics.cuh"
#include "rungs/parts/edge_table.cuh"
#include "rungs/parts/histogram_calls.cuh"
#include "rungs/parts/private_bins.cuh"
#include "rungs/parts/sample_rows.cuh"
#include "rungs/parts/storage.cuh"
#include "rungs/parts/warp.cuh"

namespace rungs::RUNGS_ABI::cluster::histograms {

// Where in a block's shared memory what begins. Slices are of whole quads: four bins, sixteen bytes.
struct slice_places {
  unsigned slice_quads, inbox_at, finder_at;
};

template <class Rows, class CounterT, class Finder>
__global__ void __launch_bounds__(Rows::block_threads, parts::blocks_to_fit<Rows::block_threads <= 128>)
    one_cluster_kernel(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram, Finder bins,
                       slice_places places) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ parts::phase_barrier barrier;
  const auto inbox = reinterpret_cast<uint4*>(shared_memory + places.inbox_at);
  const unsigned rank = parts::block_rank(), cluster_blocks = parts::num_blocks(), num_bins = bins.num_bins;
  const unsigned slice_quads = places.slice_quads, slice_bins = 4 * slice_quads;
  const parts::private_bins counters{reinterpret_cast<unsigned*>(shared_memory), num_bins, 1};
  if (threadIdx.x < parts::warp_threads) parts::expect(barrier, cluster_blocks * slice_quads * sizeof(uint4));
  parts::arrive_started();
  Rows::for_each(
      d_samples, num_samples, rank, cluster_blocks,
      [&](auto) {
        counters.clear();
        bins.prepare(shared_memory + places.finder_at);
        __syncthreads();
      },
      [&](const auto& unit, std::size_t) {
#pragma unroll
        for (int i = 0; i < unit.num_items; ++i) counters.count(counters.counters, bins.bin_of(unit[i]));
      });
  __syncthreads();
  parts::wait();
  const auto counted = [&](unsigned bin) { return bin < num_bins ? counters.total(bin) : 0; };
  for (unsigned quad = threadIdx.x; quad < cluster_blocks * slice_quads; quad += Rows::block_threads) {
    const unsigned owner = quad / slice_quads, bin = 4 * quad;
    parts::store_remote(inbox + rank * slice_quads + quad % slice_quads, barrier, owner,
                        uint4{counted(bin), counted(bin + 1), counted(bin + 2), counted(bin + 3)});
  }
  barrier.wait_for_cluster(0);
  const auto received = reinterpret_cast<const unsigned*>(inbox);
  for (unsigned i = threadIdx.x; i < slice_bins; i += Rows::block_threads) {
    unsigned sum = 0;
#pragma unroll 8
    for (unsigned k = 0; k < cluster_blocks; ++k) sum += received[k * slice_bins + i];
    if (rank * slice_bins + i < num_bins) d_histogram[rank * slice_bins + i] = CounterT(sum);
  }
#endif
}

// How much shared memory a block takes for these bins: its counters, and its inbox for a slice of them from each block.
struct cluster_storage {
  std::size_t counter_bytes, num_quads;

  explicit cluster_storage(std::size_t num_bins)
      : counter_bytes(parts::private_bins_room(num_bins, 1)), num_quads(parts::ceil_div(num_bins, 4)) {}
  std::size_t most_bytes() const {
    constexpr std::size_t barrier_bytes = 16;
    return counter_bytes + (num_quads + parts::greatest_cluster_blocks) * sizeof(uint4) + barrier_bytes;
  }
};

// Launches the kernel in one cluster of at most most_blocks blocks that have most_bytes of shared memory each.
template <class Rows, int most_blocks, class Bins, class CounterT>
cudaError_t count_by_cluster(typename Rows::iterator d_samples, std::size_t num_samples, CounterT* d_histogram,
                             const Bins& bins, std::size_t most_bytes, cudaStream_t stream) {
  constexpr std::size_t least_bins_per_block = 512;  // more blocks than the samples ask for send less each
  const cluster_storage storage(bins.num_bins);
  const std::size_t by_samples = parts::ceil_div(num_samples, Rows::row_samples);
  const std::size_t by_bins = parts::ceil_div(bins.num_bins, least_bins_per_block);
  const std::size_t wanted_blocks =
      parts::at_most(by_samples > by_bins ? by_samples : by_bins, std::size_t(most_blocks));
  const auto launch = [&](const auto& finder, std::size_t finder_bytes) {
    using found = std::remove_cv_t<std::remove_reference_t<decltype(finder)>>;
    const auto kernel = one_cluster_kernel<Rows, CounterT, found>;
    parts::cluster_shape shape{0, Rows::block_threads, storage.most_bytes() + finder_bytes,
                               most_blocks <= parts::blocks_on_one_multiprocessor};
    cudaError_t error =
        parts::choose_cluster<parts::any_size>(kernel, Rows::block_threads, wanted_blocks, shape.cluster_blocks);
    if (error == cudaSuccess) error = parts::fit_memory(kernel, shape);
    if (error != cudaSuccess) return error;
    const std::size_t slice_quads = parts::ceil_div(storage.num_quads, shape.cluster_blocks);
    const std::size_t finder_at = storage.counter_bytes + shape.cluster_blocks * slice_quads * sizeof(uint4);
    shape.dynamic_bytes = finder_at + finder_bytes;
    return parts::launch_clusters(
        kernel, 1, shape, stream, d_samples, num_samples, d_histogram, finder,
        slice_places{static_cast<unsigned>(slice_quads), static_cast<unsigned>(storage.counter_bytes),
                     static_cast<unsigned>(finder_at)});
  };
  return parts::with_quick_finder(bins, most_bytes - storage.most_bytes(), launch);
}

struct one_cluster : parts::histogram_calls<one_cluster> {
  static constexpr auto idea = "one cluster, whose blocks send each other their counts of a slice of the bins";
  static constexpr int block_threads = 512, rows_in_flight = 2, items_per_thread = 4 * rows_in_flight;
  static constexpr bool deterministic = true;
  static constexpr int min_cc = 90;
  static constexpr contents temp_storage = contents::none;
  static constexpr std::size_t max_items = 0xffffffff;  // the blocks' counters are 32 bits wide

  // Returns cudaErrorNotSupported where the device has no clusters.
  template <class Bins, class SampleIteratorT, class CounterT>
  static cudaError_t count(void* d_temp_storage, std::size_t& temp_storage_bytes, SampleIteratorT d_samples,
                           std::size_t num_samples, CounterT* d_histogram, const Bins& bins, cudaStream_t stream) {
    using rows = parts::sample_rows<block_threads, rows_in_flight, SampleIteratorT>;
    char* unused;
    std::size_t allowed_bytes;
    cudaError_t error;
    if (parts::answered(d_temp_storage, temp_storage_bytes, 0, unused, error)) return error;
    error = parts::most_shared_bytes(allowed_bytes);
    if (error != cudaSuccess) return error;
    if (cluster_storage(bins.num_bins).most_bytes() > allowed_bytes)
      return rungs::histograms::global_atomics::count(d_temp_storage, temp_storage_bytes, d_samples, num_samples,
                                                      d_histogram, bins, stream);
    return count_by_cluster<rows, parts::greatest_cluster_blocks>(d_samples, num_samples, d_histogram, bins,
                                                                  allowed_bytes, stream);
  }
};

}  // namespace rungs::RUNGS_ABI::cluster::histograms
