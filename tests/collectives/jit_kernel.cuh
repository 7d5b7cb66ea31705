// A kernel of one block that calls every collective. nvcc and NVRTC compile it, and both have to give the same results.
#include "rungs/block/block_histogram.cuh"
#include "rungs/block/block_load.cuh"
#include "rungs/block/block_reduce.cuh"
#include "rungs/block/block_scan.cuh"
#include "rungs/block/block_store.cuh"
#include "rungs/cluster/cluster_reduce.cuh"
#include "rungs/cluster/cluster_scan.cuh"
#include "rungs/device/cuda_std_operators.cuh"
#include "rungs/warp/warp_exchange.cuh"
#include "rungs/warp/warp_reduce.cuh"
#include "rungs/warp/warp_scan.cuh"

constexpr int jit_threads = 96, jit_items = 8, jit_slots = 20;

struct jit_pair {
  int sum, last;
};
struct jit_then {
  __device__ jit_pair operator()(const jit_pair& a, const jit_pair& b) const { return {a.sum + b.sum, b.last}; }
};

// `out` has jit_slots values a thread.
extern "C" __global__ void __launch_bounds__(jit_threads) every_collective(const int* in, int* out) {
  const int thread = static_cast<int>(threadIdx.x);
  int slot = 0, value = in[thread], result, aggregate, items[jit_items];
  const auto keep = [&](int kept) { out[slot++ * jit_threads + thread] = kept; };

  using load = rungs::BlockLoad<int, jit_threads, jit_items, rungs::BLOCK_LOAD_WARP_TRANSPOSE>;
  using store = rungs::BlockStore<int, jit_threads, jit_items, rungs::BLOCK_STORE_VECTORIZE>;
  __shared__ load::TempStorage of_load;
  load(of_load).Load(in, items);
  store().Store(out, items);
  slot += jit_items;

  keep(rungs::BlockReduce<int, jit_threads>().AllSum(items));
  __syncthreads();
  keep(rungs::BlockReduce<int, jit_threads>().AllReduce(value, cuda::maximum<>{}));
  rungs::BlockScan<int, jit_threads>().ExclusiveSum(value, result, aggregate);
  keep(result), keep(aggregate);
  jit_pair pair{value, thread};
  rungs::WarpScan<jit_pair>().InclusiveScan(pair, pair, jit_then{});
  keep(pair.sum + pair.last);
  result = value;
  rungs::WarpScan<int>().InclusiveScanPartial(value, result, rungs::plus{}, 20);
  keep(result);
  result = rungs::WarpReduce<int, 16>().Min(value, 5);
  keep(thread % 16 == 0 ? result : 0);

  using exchange = rungs::WarpExchange<int, jit_items>;
  __shared__ exchange::TempStorage of_exchange[jit_threads / 32];
  exchange(of_exchange[thread / 32]).BlockedToStriped(items, items);
  keep(items[3]);

  using histogram = rungs::BlockHistogram<int, jit_threads, jit_items, jit_threads>;
  __shared__ int counters[jit_threads];
  for (int& item : items) item = (item & 0xffff) % jit_threads;
  histogram().Histogram(items, counters);
  __syncthreads();
  keep(counters[thread]);
#if __CUDA_ARCH__ >= 900
  keep(rungs::ClusterReduce<int, jit_threads>().AllSum(value));
  rungs::ClusterScan<int, jit_threads>().InclusiveSum(value, result);
  keep(result);
#endif
}
