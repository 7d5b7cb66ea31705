// Programs of one block that call collectives. Included by a file for each library, which names it DOOR and what they
// are to be called COLLECTIVES. What CUB leaves undefined is not written.
#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda/std/functional>

#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

namespace device = DOOR;

__device__ int thread_of_block() {
  return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
}

template <class Program, class T>
__global__ void __launch_bounds__(Program::num_threads) program_kernel(const T* in, T* out) {
  Program{}(in, out);
}

template <class Program, class T>
void run(std::vector<outcome>& outcomes, const std::string& name, const std::vector<T>& host) {
  const device_array<T> d_in(host), d_out(std::size_t{Program::num_outputs});
  program_kernel<Program><<<1, Program::dimensions()>>>(d_in.read(), d_out.get());
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  outcomes.push_back({name, error, {}});
  if (error == cudaSuccess) outcomes.back().bytes = d_out.bytes();
}

template <class T, class Op, int x, int y = 1, int z = 1>
struct block_reductions {
  static constexpr int num_threads = x * y * z, num_items = 4;
  static constexpr std::size_t num_outputs = 4 + 2 * num_threads;
  static dim3 dimensions() { return dim3(x, y, z); }

  __device__ void operator()(const T* in, T* out) const {
    using collective = device::BlockReduce<T, x, device::BLOCK_REDUCE_WARP_REDUCTIONS, y, z>;
    __shared__ typename collective::TempStorage temp_storage;
    const int thread = thread_of_block();
    T items[num_items];
    for (int i = 0; i < num_items; ++i) items[i] = in[thread * num_items + i];
    const auto keep = [&](int slot, const T& result) {
      if (thread == 0) out[slot] = result;
      __syncthreads();
    };
    keep(0, collective(temp_storage).Reduce(in[thread], Op{}));
    keep(1, collective(temp_storage).Reduce(items, Op{}));
    for (int valid = 1; valid <= num_threads; ++valid)
      keep(3 + valid, collective(temp_storage).Reduce(in[thread], Op{}, valid));
    if constexpr (std::is_arithmetic_v<T>) {
      keep(2, collective(temp_storage).Sum(in[thread]));
      keep(3, collective(temp_storage).Sum(items));
      for (int valid = 1; valid <= num_threads; ++valid)
        keep(3 + num_threads + valid, collective(temp_storage).Sum(in[thread], valid));
    }
  }
};

// Hands every tile the aggregate of those before.
template <class T, class Op>
struct running_prefix {
  T prefix;
  __device__ T operator()(T block_aggregate) {
    const T before = prefix;
    prefix = Op{}(prefix, block_aggregate);
    return before;
  }
};

template <class T, class Op, int x, int y = 1, int z = 1>
struct block_scans {
  static constexpr int num_threads = x * y * z, num_items = 3;
  static constexpr std::size_t num_outputs = 40 * num_threads;
  static dim3 dimensions() { return dim3(x, y, z); }

  __device__ void operator()(const T* in, T* out) const {
    using collective = device::BlockScan<T, x, device::BLOCK_SCAN_WARP_SCANS, y, z>;
    __shared__ typename collective::TempStorage temp_storage;
    const int thread = thread_of_block();
    const T initial_value = in[num_threads * num_items];
    int slot = 0;
    T result, aggregate, items[num_items], results[num_items];
    for (int i = 0; i < num_items; ++i) items[i] = in[thread * num_items + i];
    const auto keep = [&](const T& value, bool is_defined = true) {
      if (is_defined) out[slot * num_threads + thread] = value;
      ++slot;
      __syncthreads();
    };
    const auto keep_all = [&](bool first_is_defined = true) {
      for (int i = 0; i < num_items; ++i) keep(results[i], first_is_defined || thread + i > 0);
    };

    collective(temp_storage).InclusiveScan(in[thread], result, Op{});
    keep(result);
    collective(temp_storage).InclusiveScan(in[thread], result, Op{}, aggregate);
    keep(result), keep(aggregate);
    collective(temp_storage).ExclusiveScan(in[thread], result, Op{}, aggregate);
    keep(result, thread > 0), keep(aggregate);
    collective(temp_storage).ExclusiveScan(in[thread], result, initial_value, Op{});
    keep(result);
    collective(temp_storage).ExclusiveScan(in[thread], result, initial_value, Op{}, aggregate);
    keep(result), keep(aggregate);

    collective(temp_storage).InclusiveScan(items, results, Op{}, aggregate);
    keep_all(), keep(aggregate);
    collective(temp_storage).InclusiveScan(items, results, initial_value, Op{});
    keep_all();
    collective(temp_storage).ExclusiveScan(items, results, Op{});
    keep_all(false);
    for (int i = 0; i < num_items; ++i) results[i] = items[i];
    collective(temp_storage).ExclusiveScan(results, results, initial_value, Op{}, aggregate);
    keep_all(), keep(aggregate);

    running_prefix<T, Op> prefix{initial_value};
    collective(temp_storage).InclusiveScan(in[thread], result, Op{}, prefix);
    keep(result);
    collective(temp_storage).ExclusiveScan(in[thread], result, Op{}, prefix);
    keep(result);
    collective(temp_storage).ExclusiveScan(items, results, Op{}, prefix);
    keep_all();

    if constexpr (std::is_arithmetic_v<T>) {
      collective(temp_storage).InclusiveSum(in[thread], result, aggregate);
      keep(result), keep(aggregate);
      collective(temp_storage).ExclusiveSum(in[thread], result, aggregate);
      keep(result), keep(aggregate);
      collective(temp_storage).ExclusiveSum(items, results);
      keep_all();
      collective(temp_storage).InclusiveSum(items, results, aggregate);
      keep_all(), keep(aggregate);
    }
  }
};

// Two warps, each cut into logical ones.
template <class T, class Op, int logical_threads>
struct warp_calls {
  static constexpr int num_threads = 64, num_warps = 64 / logical_threads;
  static constexpr bool has_segments = (logical_threads & (logical_threads - 1)) == 0;
  static constexpr std::size_t num_outputs = (logical_threads + 24 + 7 * 14) * num_threads;
  static dim3 dimensions() { return dim3(num_threads); }

  __device__ void operator()(const T* in, T* out) const {
    using reducing = device::WarpReduce<T, logical_threads>;
    using scanning = device::WarpScan<T, logical_threads>;
    __shared__ typename reducing::TempStorage of_reductions[num_warps];
    __shared__ typename scanning::TempStorage of_scans[num_warps];
    constexpr int warps_a_warp = 32 / logical_threads;
    const int thread = thread_of_block(), lane = thread % 32, rank = lane % logical_threads;
    if (lane >= warps_a_warp * logical_threads) return;
    const int warp = thread / 32 * warps_a_warp + lane / logical_threads;
    const unsigned members = 0xffffffffu >> (32 - logical_threads) << (lane - rank);
    reducing reduce(of_reductions[warp]);
    scanning scan(of_scans[warp]);
    const T input = in[thread], initial_value = in[num_threads];
    T result, other, aggregate;
    int slot = 0;
    const auto keep = [&](const T& value, bool is_defined = true) {
      if (is_defined) out[slot * num_threads + thread] = value;
      ++slot;
      __syncwarp(members);
    };

    keep(reduce.Reduce(input, Op{}), rank == 0);
    for (int valid = 1; valid <= logical_threads; ++valid) keep(reduce.Reduce(input, Op{}, valid), rank == 0);
    if constexpr (has_segments) {
      const auto is_flagged = [](int rank) { return rank % 5 == 2 || rank % 7 == 3; };
      keep(reduce.HeadSegmentedReduce(input, is_flagged(rank), Op{}), rank == 0 || is_flagged(rank));
      keep(reduce.TailSegmentedReduce(input, is_flagged(rank), Op{}), rank == 0 || is_flagged(rank - 1));
    }
    scan.InclusiveScan(input, result, Op{}, aggregate);
    keep(result), keep(aggregate);
    scan.ExclusiveScan(input, result, Op{});
    keep(result, rank > 0);
    scan.ExclusiveScan(input, result, initial_value, Op{}, aggregate);
    keep(result), keep(aggregate);
    scan.Scan(input, result, other, Op{});
    keep(result), keep(other, rank > 0);
    scan.Scan(input, result, other, initial_value, Op{});
    keep(result), keep(other);
    keep(scan.Broadcast(input, logical_threads / 2));
    if constexpr (std::is_arithmetic_v<T>) {
      keep(reduce.Sum(input), rank == 0);
      scan.InclusiveSum(input, result);
      keep(result);
      scan.ExclusiveSum(input, result, aggregate);
      keep(result), keep(aggregate);
    }
#if CUB_VERSION >= 300200
    // Of some lanes. The others' outputs stay as they were; of none there is no aggregate.
    for (const int valid : {-3, 0, 1, 2, logical_threads - 1, logical_threads, logical_threads + 5}) {
      const auto keep_outputs = [&](bool first_is_defined) {
        const bool is_defined = first_is_defined || rank > 0;
        keep(result, is_defined), keep(other, is_defined);
        result = other = initial_value;
      };
      result = other = initial_value;
      scan.InclusiveScanPartial(input, result, Op{}, valid);
      scan.InclusiveScanPartial(input, other, initial_value, Op{}, valid);
      keep_outputs(true);
      scan.InclusiveScanPartial(input, result, Op{}, valid, aggregate);
      keep(aggregate, valid > 0);
      scan.InclusiveScanPartial(input, other, initial_value, Op{}, valid, aggregate);
      keep(aggregate, valid > 0), keep_outputs(true);
      scan.ExclusiveScanPartial(input, result, Op{}, valid);
      scan.ExclusiveScanPartial(input, other, Op{}, valid, aggregate);
      keep(aggregate, valid > 0), keep_outputs(false);
      scan.ExclusiveScanPartial(input, result, initial_value, Op{}, valid);
      scan.ExclusiveScanPartial(input, other, initial_value, Op{}, valid, aggregate);
      keep(aggregate, valid > 0), keep_outputs(true);
      scan.ScanPartial(input, result, other, initial_value, Op{}, valid);
      keep_outputs(true);
      if constexpr (std::is_arithmetic_v<T>)
        if (valid > 0) keep(reduce.Min(input, valid), rank == 0), keep(reduce.Max(input, valid), rank == 0);
    }
#endif
  }
};

// Items of a lane change places with those of others.
template <class T, int num_items, int logical_threads>
struct warp_exchanges {
  static constexpr int num_threads = 64;
  static constexpr std::size_t num_outputs = 4 * num_threads * num_items;
  static dim3 dimensions() { return dim3(num_threads); }

  __device__ void operator()(const T* in, T* out) const {
    using collective = device::WarpExchange<T, num_items, logical_threads>;
    __shared__ typename collective::TempStorage temp_storage[num_threads / logical_threads];
    const int thread = thread_of_block(), rank = thread % logical_threads;
    collective exchange(temp_storage[thread / logical_threads]);
    T items[num_items], results[num_items];
    int ranks[num_items], slot = 0;
    for (int i = 0; i < num_items; ++i) {
      items[i] = in[thread * num_items + i];
      ranks[i] = ((rank + i * logical_threads) * 5 + 3) % (logical_threads * num_items);
    }
    const auto keep = [&](const T(&kept)[num_items]) {
      for (int i = 0; i < num_items; ++i) out[(slot * num_items + i) * num_threads + thread] = kept[i];
      ++slot;
      __syncwarp();
    };
    exchange.BlockedToStriped(items, results);
    keep(results);
    exchange.StripedToBlocked(items, results);
    keep(results);
    int ranks_again[num_items];  // CUB adds what it pads to ranks
    for (int i = 0; i < num_items; ++i) ranks_again[i] = ranks[i];
    exchange.ScatterToStriped(items, results, ranks);
    keep(results);
    exchange.ScatterToStriped(items, ranks_again);
    keep(items);
  }
};

// Not a pointer: the items before `last`, and it.
template <class Pointer>
struct backwards {
  Pointer last;
  __device__ decltype(auto) operator[](int i) const { return (last[-i]); }
  __device__ backwards operator+(int i) const { return {last - i}; }
};

// Items that are loaded and stored, by each algorithm: what threads hold, and what is stored; some of them, too.
template <class T, int num_items, int x, int y = 1>
struct block_moves {
  static constexpr int num_threads = x * y, block_items = num_threads * num_items;
  static constexpr int slot_items = block_items + 16, num_slots = 16;
  static constexpr std::size_t num_outputs = 6 * num_slots * slot_items;
  static dim3 dimensions() { return dim3(x, y); }

  template <device::BlockLoadAlgorithm load_algorithm, device::BlockStoreAlgorithm store_algorithm>
  static __device__ void move(const T* in, T* out) {
    using loading = device::BlockLoad<T, x, num_items, load_algorithm, y>;
    using storing = device::BlockStore<T, x, num_items, store_algorithm, y>;
    __shared__ union storages {
      typename loading::TempStorage of_load;
      typename storing::TempStorage of_store;
      __device__ storages() {}
    } temp_storage;
    T items[num_items];
    const auto load = [&](auto from, auto... limits) {
      loading(temp_storage.of_load).Load(from, items, limits...);
      __syncthreads();
    };
    int slot = num_slots * static_cast<int>(load_algorithm);
    const auto of_slot = [&] { return out + slot * slot_items; };
    const auto store = [&](auto to, auto... limits) {
      T stored[num_items];  // CUB rearranges them
      for (int i = 0; i < num_items; ++i) stored[i] = items[i];
      storing(temp_storage.of_store).Store(to, stored, limits...);
      __syncthreads();
      ++slot;
    };
    load(in);
    for (int i = 0; i < num_items; ++i) of_slot()[thread_of_block() * num_items + i] = items[i];
    ++slot;
    store(of_slot());
    if constexpr (load_algorithm != device::BLOCK_LOAD_VECTORIZE) {  // CUB wants alignment there
      load(in + 1);
      store(of_slot() + 1);
    }
    load(backwards<const T*>{in + block_items});
    store(backwards<T*>{of_slot() + block_items});
    for (const int valid : {0, 1, block_items / 2 + 1, block_items}) {
      load(in, valid, in[block_items]);
      store(of_slot());
      store(of_slot(), valid);
      load(in, valid);
      store(of_slot(), valid);
    }
  }
  __device__ void operator()(const T* in, T* out) const {
    move<device::BLOCK_LOAD_DIRECT, device::BLOCK_STORE_DIRECT>(in, out);
    move<device::BLOCK_LOAD_STRIPED, device::BLOCK_STORE_STRIPED>(in, out);
    move<device::BLOCK_LOAD_VECTORIZE, device::BLOCK_STORE_VECTORIZE>(in, out);
    move<device::BLOCK_LOAD_TRANSPOSE, device::BLOCK_STORE_TRANSPOSE>(in, out);
    if constexpr (num_threads % 32 == 0) {  // which CUB asks for
      move<device::BLOCK_LOAD_WARP_TRANSPOSE, device::BLOCK_STORE_WARP_TRANSPOSE>(in, out);
      move<device::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, device::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(in, out);
    }
  }
};

// Samples that are counted, counted in addition, and counters that are cleared.
template <class Sample, class Counter, device::BlockHistogramAlgorithm algorithm, int num_items, int bins, int x,
          int y = 1>
struct block_counts {
  static constexpr int num_threads = x * y;
  static constexpr std::size_t num_outputs = 3 * bins;
  static dim3 dimensions() { return dim3(x, y); }

  __device__ void operator()(const int* in, int* out) const {
    using collective = device::BlockHistogram<Sample, x, num_items, bins, algorithm, y>;
    __shared__ typename collective::TempStorage temp_storage;
    __shared__ Counter histogram[bins];
    Sample samples[num_items];
    const auto sample = [&](int modulus) {
      for (int i = 0; i < num_items; ++i)
        samples[i] = static_cast<Sample>((in[thread_of_block() * num_items + i] + 500) % modulus);
    };
    const auto keep = [&] {
      __syncthreads();
      for (int bin = thread_of_block(); bin < bins; bin += num_threads) out[bin] = static_cast<int>(histogram[bin]);
      out += bins;
      __syncthreads();
    };
    sample(bins);
    collective(temp_storage).Histogram(samples, histogram);
    keep();
    sample(3);
    collective(temp_storage).Composite(samples, histogram);
    keep();
    collective(temp_storage).InitHistogram(histogram);
    keep();
  }
};

template <class T, class Op, int... dimensions>
void run_block(std::vector<outcome>& outcomes, const std::string& what, const std::vector<T>& in) {
  const std::string threads = " of " + std::to_string((dimensions * ...)) + " threads: " + what;
  run<block_reductions<T, Op, dimensions...>>(outcomes, "reductions" + threads, in);
  run<block_scans<T, Op, dimensions...>>(outcomes, "scans" + threads, in);
}
template <class T, class Op, int... logical_threads>
void run_warps(std::vector<outcome>& outcomes, const std::string& what, const std::vector<T>& in) {
  (run<warp_calls<T, Op, logical_threads>>(outcomes,
                                           "warps of " + std::to_string(logical_threads) + " threads: " + what, in),
   ...);
}

}  // namespace

std::vector<outcome> COLLECTIVES() {
  constexpr std::size_t most_items = 1024 * 4 + 1;
  const auto ints = items<int>(most_items);
  const auto doubles = items<double>(most_items);
  std::vector<map> maps(most_items);
  for (std::size_t i = 0; i < most_items; ++i) maps[i] = numbered_map{}(static_cast<unsigned>(i));
  const auto of_12_bytes = bundles<3>(most_items);
  const auto of_16_bytes = bundles<4>(most_items);

  std::vector<outcome> outcomes;
  run_warps<int, cuda::maximum<>, 32, 16, 1>(outcomes, "ints", ints);
  run_warps<map, then, 32, 8, 24, 7>(outcomes, "maps", maps);
  run_warps<double, cuda::minimum<>, 32>(outcomes, "doubles", doubles);
  run_warps<bundle<3>, by_value, 32>(outcomes, "12 bytes", of_12_bytes);

  run_block<int, cuda::maximum<>, 32>(outcomes, "ints", ints);
  run_block<int, cuda::maximum<>, 128>(outcomes, "ints", ints);
  run_block<int, cuda::maximum<>, 1024>(outcomes, "ints", ints);
  run_block<map, then, 20>(outcomes, "maps", maps);
  run_block<map, then, 96>(outcomes, "maps", maps);
  run_block<map, then, 8, 4, 4>(outcomes, "maps in three dimensions", maps);
  run_block<map, then, 5, 21>(outcomes, "maps in two dimensions", maps);
  run_block<map, then, 1000>(outcomes, "maps", maps);
  run_block<map, then, 1024>(outcomes, "maps", maps);
  run_block<double, cuda::minimum<>, 256>(outcomes, "doubles", doubles);
  run_block<bundle<3>, by_value, 96>(outcomes, "12 bytes", of_12_bytes);
  run_block<bundle<4>, by_value, 1000>(outcomes, "16 bytes", of_16_bytes);

  run<warp_exchanges<int, 4, 32>>(outcomes, "exchanges of ints", ints);
  run<warp_exchanges<int, 8, 16>>(outcomes, "exchanges of 8 ints in 16 lanes", ints);
  run<warp_exchanges<double, 3, 8>>(outcomes, "exchanges of 3 doubles in 8 lanes", doubles);
  run<warp_exchanges<bundle<3>, 16, 32>>(outcomes, "exchanges of 12 bytes", of_12_bytes);
  run<block_moves<int, 4, 128>>(outcomes, "moves of ints", ints);
  run<block_moves<int, 7, 100>>(outcomes, "moves of 7 ints", ints);
  run<block_moves<double, 8, 8, 12>>(outcomes, "moves of doubles in two dimensions", doubles);
  run<block_moves<unsigned char, 16, 64>>(outcomes, "moves of bytes", items<unsigned char>(most_items, 251, 0));
  run<block_moves<bundle<3>, 5, 33>>(outcomes, "moves of 12 bytes", of_12_bytes);
  run<block_counts<unsigned char, unsigned, device::BLOCK_HISTO_ATOMIC, 4, 256, 128>>(outcomes, "counts of bytes",
                                                                                      ints);
  run<block_counts<int, int, device::BLOCK_HISTO_SORT, 3, 100, 8, 20>>(outcomes, "counts, sorted", ints);
  run<block_counts<unsigned, unsigned short, device::BLOCK_HISTO_SORT, 2, 37, 1024>>(outcomes, "16 bits", ints);
  run<block_counts<short, float, device::BLOCK_HISTO_ATOMIC, 2, 513, 50>>(outcomes, "floats count", ints);
  return outcomes;
}

}  // namespace rungs::tests
