#include "device_work.hpp"

namespace rungs::bench::device_work {
namespace {

constexpr int flush_threads = 512, summary_threads = 256, hash_threads = 256, count_threads = 256;

__device__ unsigned long long global_timer() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ stamp read_clocks() {
  unsigned long long clocks;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks));
  return {clocks, global_timer()};
}

__device__ void store_passed(const stamp& since, stamp* seen) {
  const stamp now = read_clocks();
  if (seen != nullptr) *seen = {now.clocks - since.clocks, now.nanoseconds - since.nanoseconds};
}

__global__ void __launch_bounds__(flush_threads)
    read_flush_kernel(const uint4* vectors, std::size_t num_vectors, unsigned* never, stamp* seen) {
  const stamp start = read_clocks();
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  unsigned bits = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_vectors; i += 4 * stride) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (i + u * stride < num_vectors) {
        const uint4 vector = vectors[i + u * stride];
        bits |= vector.x | vector.y | vector.z | vector.w;
      }
    }
  }
  // The host passes null, so nothing is stored; the compiler cannot know that.
  if (bits != 0 && never != nullptr) *never = bits;
  if (blockIdx.x == 0 && threadIdx.x == 0) store_passed(start, seen);
}

__global__ void spin_kernel(unsigned long long nanoseconds, stamp* seen) {
  const stamp start = read_clocks();
  while (global_timer() - start.nanoseconds < nanoseconds) {
  }
  store_passed(start, seen);
}

template <class T>
__global__ void generate_kernel(workload from, T* items) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < from.num_items; i += stride)
    items[i] = item<T>(from, i);
}

template <class T>
__global__ void generate_samples_kernel(sample_source from, T* samples) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < from.num_items; i += stride)
    samples[i] = sample<T>(from, i);
}

// What a block's threads found, of which there are a power of two.
template <int num_threads, class Found>
__device__ void store_merged(const Found& found, Found* of_blocks) {
  __shared__ alignas(Found) unsigned char storage[num_threads * sizeof(Found)];
  Found* const shared = reinterpret_cast<Found*>(storage);
  shared[threadIdx.x] = found;
  for (int distance = num_threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) merge(shared[threadIdx.x], shared[threadIdx.x + distance]);
  }
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = shared[0];
}

template <class T>
__global__ void __launch_bounds__(summary_threads)
    summarise_kernel(const T* items, std::size_t num_items, summary_of_items* summaries) {
  summary_of_items about;
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride)
    include(about, items[i]);
  store_merged<summary_threads>(about, summaries);
}

template <class T>
__global__ void __launch_bounds__(summary_threads)
    summarise_products_kernel(const T* x, const T* y, std::size_t num_items, summary_of_items* summaries) {
  summary_of_items about;
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride)
    include_product(about, x[i], y[i]);
  store_merged<summary_threads>(about, summaries);
}

template <class T>
__global__ void first_extreme_kernel(const T* items, std::size_t num_items, summary_of_items about, bool least,
                                     unsigned long long* first) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_items; i += stride) {
    if (!is_extreme(about, least, items[i])) continue;
    atomicMin(first, static_cast<unsigned long long>(i));
    return;  // all that follow stand behind it
  }
}

template <class T>
__global__ void __launch_bounds__(chunks_per_tally) fold_kernel(scan_question of, running* chunks) {
  const std::size_t chunk = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (chunk < of.num_chunks()) chunks[chunk] = fold_chunk<T>(of, chunk);
}

// A thread walks a chunk alone: its loads are not coalesced, but the next ones find their sector in L1.
template <class T>
__global__ void __launch_bounds__(chunks_per_tally)
    check_kernel(scan_question of, tolerance within, const running* befores, const void* output, tally* tallies) {
  const std::size_t chunk = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  tally found;
  if (chunk < of.num_chunks()) found = check_chunk<T>(of, within, befores[chunk], chunk, output);
  store_merged<chunks_per_tally>(found, tallies);
}

// A warp walks a row: rows may be few.
template <class T>
__global__ void __launch_bounds__(chunks_per_tally)
    check_rows_kernel(scan_question of, tolerance within, const running* init, const void* output, tally* tallies) {
  constexpr int lanes = 32, num_warps = chunks_per_tally / lanes;
  __shared__ alignas(running) unsigned char storage[chunks_per_tally * sizeof(running)];
  running* const shared = reinterpret_cast<running*>(storage) + threadIdx.x;
  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  tally found;
  for (std::size_t row = std::size_t(blockIdx.x) * num_warps + warp; row < of.num_chunks();
       row += std::size_t(gridDim.x) * num_warps) {
    __syncwarp();
    *shared = fold_chunk<T>(of, row, lane, lanes);
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      __syncwarp();
      if (lane < distance) append<T>(shared[0], of.op, shared[distance]);
    }
    if (lane == 0) check_row<T>(of, within, *init, *shared, row, output, found);
  }
  store_merged<chunks_per_tally>(found, tallies);
}

// Lanes of one counter add once, together; blocks add to different copies, so that many of one sample cost little.
template <class T>
__global__ void __launch_bounds__(count_threads)
    count_kernel(histogram_question of, const T* samples, unsigned long long* counts, unsigned num_copies) {
  unsigned long long* const own = counts + blockIdx.x % num_copies * of.num_counters();
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long inside = 0;
  for (std::size_t first = std::size_t(blockIdx.x) * blockDim.x; first < of.num_items; first += stride) {
    const std::size_t i = first + threadIdx.x;
    const bool counts_here = i < of.num_items && is_active(of, i) && is_inside(of, samples[i]);
    constexpr unsigned none = ~0u;
    const unsigned counter = counts_here ? static_cast<unsigned>(first_counter(of, i)) + bin_of(of, samples[i]) : none;
    const unsigned alike = __match_any_sync(0xffffffff, counter);
    if (counts_here && __ffs(static_cast<int>(alike)) == static_cast<int>(threadIdx.x % 32) + 1)
      atomicAdd(&own[counter], static_cast<unsigned long long>(__popc(alike)));
    inside += counts_here;
  }
  if (inside != 0) atomicAdd(&counts[num_copies * of.num_counters()], inside);
}

__global__ void __launch_bounds__(hash_threads)
    hash_kernel(const std::uint32_t* words, std::size_t num_words, const unsigned char* rest, int rest_bytes,
                unsigned long long* into) {
  __shared__ unsigned long long all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  unsigned long long own = 0;
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < num_words; i += stride)
    own += hash_of_word(words[i], i);
  if (rest_bytes != 0 && blockIdx.x == 0 && threadIdx.x == 0) {
    std::uint32_t last = 0;
    for (int i = 0; i < rest_bytes; ++i) last |= std::uint32_t{rest[i]} << 8 * i;
    own += hash_of_word(last, num_words);
  }
  atomicAdd(&all, own);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(into, all);
}

int multiprocessors() {
  int device = 0, count = 1;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace

cudaError_t read_flush(const void* buffer, std::size_t num_bytes, stamp* seen, cudaStream_t stream) {
  // One wave, so that the first block sees the clock over the whole flush.
  read_flush_kernel<<<3 * multiprocessors(), flush_threads, 0, stream>>>(static_cast<const uint4*>(buffer),
                                                                         num_bytes / 16, nullptr, seen);
  return cudaGetLastError();
}

cudaError_t spin(unsigned long long nanoseconds, stamp* seen, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(nanoseconds, seen);
  return cudaGetLastError();
}

cudaError_t generate(const workload& from, void* items, cudaStream_t stream) {
  with_type(from.type, [&]<class T>(T) {
    generate_kernel<T><<<8 * multiprocessors(), 256, 0, stream>>>(from, static_cast<T*>(items));
  });
  return cudaGetLastError();
}

cudaError_t generate(const sample_source& from, void* samples, cudaStream_t stream) {
  with_type(from.type, [&]<class T>(T) {
    if constexpr (is_sample<T>)
      generate_samples_kernel<T><<<8 * multiprocessors(), 256, 0, stream>>>(from, static_cast<T*>(samples));
  });
  return cudaGetLastError();
}

cudaError_t summarise(catalog::scalar type, const void* items, std::size_t num_items, summary_of_items* summaries,
                      cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>)
      summarise_kernel<T>
          <<<max_summaries, summary_threads, 0, stream>>>(static_cast<const T*>(items), num_items, summaries);
  });
  return cudaGetLastError();
}

cudaError_t summarise_products(catalog::scalar type, const void* x, const void* y, std::size_t num_items,
                               summary_of_items* summaries, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>)
      summarise_products_kernel<T><<<max_summaries, summary_threads, 0, stream>>>(
          static_cast<const T*>(x), static_cast<const T*>(y), num_items, summaries);
  });
  return cudaGetLastError();
}

cudaError_t first_extreme(catalog::scalar type, const void* items, std::size_t num_items, const summary_of_items& about,
                          bool least, std::uint64_t* first, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>)
      first_extreme_kernel<T><<<8 * multiprocessors(), 256, 0, stream>>>(
          static_cast<const T*>(items), num_items, about, least, reinterpret_cast<unsigned long long*>(first));
  });
  return cudaGetLastError();
}

cudaError_t fold_chunks(const scan_question& of, running* chunks, cudaStream_t stream) {
  const auto grid_blocks = static_cast<unsigned>(num_tallies(of));
  if (grid_blocks == 0) return cudaSuccess;
  with_type(of.from.type,
            [&]<class T>(T) { fold_kernel<T><<<grid_blocks, chunks_per_tally, 0, stream>>>(of, chunks); });
  return cudaGetLastError();
}

cudaError_t check_scan(const scan_question& of, const tolerance& within, const running* befores, const void* output,
                       tally* tallies, cudaStream_t stream) {
  const auto grid_blocks = static_cast<unsigned>(num_tallies(of));
  if (grid_blocks == 0) return cudaSuccess;
  with_type(of.from.type, [&]<class T>(T) {
    const auto kernel = of.of_rows ? check_rows_kernel<T> : check_kernel<T>;
    kernel<<<grid_blocks, chunks_per_tally, 0, stream>>>(of, within, befores, output, tallies);
  });
  return cudaGetLastError();
}

cudaError_t count_samples(const histogram_question& of, const void* samples, std::uint64_t* counts,
                          cudaStream_t stream) {
  static_assert(sizeof *counts == sizeof(unsigned long long));
  with_type(of.type, [&]<class T>(T) {
    if constexpr (is_sample<T>)
      count_kernel<T><<<8 * multiprocessors(), count_threads, 0, stream>>>(
          of, static_cast<const T*>(samples), reinterpret_cast<unsigned long long*>(counts),
          static_cast<unsigned>(num_copies(of)));
  });
  return cudaGetLastError();
}

cudaError_t hash(const void* bytes, std::size_t num_bytes, std::uint64_t* into, cudaStream_t stream) {
  const std::size_t num_words = num_bytes / 4;
  static_assert(sizeof *into == sizeof(unsigned long long));
  hash_kernel<<<8 * multiprocessors(), hash_threads, 0, stream>>>(
      static_cast<const std::uint32_t*>(bytes), num_words, static_cast<const unsigned char*>(bytes) + 4 * num_words,
      static_cast<int>(num_bytes % 4), reinterpret_cast<unsigned long long*>(into));
  return cudaGetLastError();
}

}  // namespace rungs::bench::device_work
