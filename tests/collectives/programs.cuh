// Programs of one block that call collectives. Included by a file for each library, which names it DOOR and what they
// are to be called COLLECTIVES. What CUB leaves undefined is not written.
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
  static constexpr std::size_t num_outputs = (logical_threads + 24) * num_threads;
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
  return outcomes;
}

}  // namespace rungs::tests
