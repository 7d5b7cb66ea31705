// What CUB has no counterpart to: results in all threads, clusters, collectives that bring their own storage; and the
// results that differ on purpose. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/block/block_reduce.cuh>
#include <rungs/block/block_scan.cuh>
#include <rungs/cluster/cluster_reduce.cuh>
#include <rungs/cluster/cluster_scan.cuh>
#include <rungs/cluster/parts/launch.cuh>
#include <rungs/warp/warp_reduce.cuh>
#include <rungs/warp/warp_scan.cuh>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "front_door/stage.cuh"
#include "gpu_test.hpp"

namespace rungs::tests {
namespace {

using Collectives = OnAGpu;

bool operator==(const map& a, const map& b) { return a.slope == b.slope && a.offset == b.offset; }
template <int n>
bool operator==(const bundle<n>& a, const bundle<n>& b) {
  return std::memcmp(a.values, b.values, sizeof(a.values)) == 0;
}

// The aggregates of items[0] to items[i], in their order.
template <class T, class Op>
std::vector<T> prefixes(std::vector<T> items, Op op) {
  for (std::size_t i = 1; i < items.size(); ++i) items[i] = op(items[i - 1], items[i]);
  return items;
}

std::vector<map> maps(std::size_t num_items) {
  std::vector<map> made(num_items);
  for (std::size_t i = 0; i < num_items; ++i) made[i] = numbered_map{}(static_cast<unsigned>(i));
  return made;
}

// With constructors of its own: shared memory and registers hold it bit by bit.
struct built_map : map {
  __host__ __device__ built_map() : map{3, 5} {}
  __host__ __device__ built_map(const map& other) : map(other) {}
  __host__ __device__ built_map(const built_map& other) : map(other) {}
  __host__ __device__ built_map& operator=(const built_map& other) {
    slope = other.slope;
    offset = other.offset;
    return *this;
  }
};
std::vector<built_map> built_maps(std::size_t num_items) {
  const std::vector<map> made = maps(num_items);
  return {made.begin(), made.end()};
}

constexpr int items_per_thread = 3;

// Everybody keeps each result: slot 0 of all items, slot 1 of an item a thread, slot 1 + v of the first v threads.
template <class Collective, class T, class Op>
__device__ void reduce_to_all(Collective collective, const T* in, T* out, int thread, int num_threads, Op op) {
  T items[items_per_thread];
  for (int i = 0; i < items_per_thread; ++i) items[i] = in[thread * items_per_thread + i];
  out[thread] = collective.AllReduce(items, op);
  __syncthreads();
  out[num_threads + thread] = collective.AllReduce(in[thread], op);
  for (int valid = 1; valid <= num_threads; ++valid) {
    __syncthreads();
    out[(1 + valid) * num_threads + thread] = collective.AllReduce(in[thread], op, valid);
  }
}

template <class T, class Op>
void expect_in_all(const std::vector<T>& in, const std::vector<T>& out, int num_threads, Op op) {
  const std::vector<T> upto = prefixes(in, op);
  int wrong = 0;
  for (int slot = 0; slot < 2 + num_threads; ++slot) {
    const int num_items = slot == 0 ? num_threads * items_per_thread : slot == 1 ? num_threads : slot - 1;
    for (int thread = 0; thread < num_threads; ++thread)
      if (!(out[slot * num_threads + thread] == upto[num_items - 1]) && wrong++ == 0)
        ADD_FAILURE() << "of " << num_threads << " threads, slot " << slot << ", thread " << thread;
  }
  EXPECT_EQ(wrong, 0);
}

template <class T, class Op, int x, int y, int z>
__global__ void __launch_bounds__(x* y* z) block_kernel(const T* in, T* out) {
  const int thread = static_cast<int>((threadIdx.z * y + threadIdx.y) * x + threadIdx.x);
  using collective = BlockReduce<T, x, BLOCK_REDUCE_WARP_REDUCTIONS, y, z>;
  __shared__ typename collective::TempStorage temp_storage;
  reduce_to_all(collective(temp_storage), in, out, thread, x * y * z, Op{});
}
template <class T, class Op, int x, int y = 1, int z = 1>
void test_block(const std::vector<T>& items) {
  constexpr int num_threads = x * y * z;
  const std::vector<T> in(items.begin(), items.begin() + num_threads * items_per_thread);
  const device_array<T> d_in(in), d_out(std::size_t{num_threads} * (2 + num_threads));
  block_kernel<T, Op, x, y, z><<<1, dim3(x, y, z)>>>(d_in.read(), d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expect_in_all(in, copied_back(d_out), num_threads, Op{});
}

TEST_F(Collectives, BlocksTellAllThreads) {
  const auto ints = items<int>(1024 * items_per_thread);
  test_block<int, plus, 1>(ints);
  test_block<int, plus, 256>(ints);
  test_block<int, maximum, 1024>(ints);
  test_block<int, plus, 1000>(ints);
  test_block<map, then, 20>(maps(60));
  test_block<map, then, 96>(maps(96 * items_per_thread));
  test_block<map, then, 8, 4, 3>(maps(96 * items_per_thread));
  test_block<map, then, 5, 21>(maps(105 * items_per_thread));
  test_block<map, then, 1000>(maps(1000 * items_per_thread));
  test_block<built_map, then, 72>(built_maps(72 * items_per_thread));
  test_block<bundle<3>, by_value, 128>(bundles<3>(128 * items_per_thread));
  test_block<bundle<6>, by_value, 40>(bundles<6>(40 * items_per_thread));
}

// Slot 0: of all lanes; slot v: of the first v.
template <class T, class Op, int logical_threads>
__global__ void warp_kernel(const T* in, T* out) {
  const int rank = static_cast<int>(threadIdx.x) % 32 % logical_threads;
  if (threadIdx.x % 32 - rank + logical_threads > 32) return;
  out[threadIdx.x] = WarpReduce<T, logical_threads>{}.AllReduce(in[threadIdx.x], Op{});
  // Logical warps that go their own ways.
  if ((threadIdx.x - rank) % 3 == 0)
    for (int valid = 1; valid <= logical_threads; ++valid)
      out[64 * valid + threadIdx.x] = WarpReduce<T, logical_threads>{}.AllReduce(in[threadIdx.x], Op{}, valid);
  else
    for (int valid = logical_threads; valid > 0; --valid)
      out[64 * valid + threadIdx.x] = WarpReduce<T, logical_threads>{}.AllReduce(in[threadIdx.x], Op{}, valid);
}
template <class T, class Op, int logical_threads>
void test_warps(const std::vector<T>& in) {
  const device_array<T> d_in(in), d_out(std::size_t{64} * (1 + logical_threads));
  warp_kernel<T, Op, logical_threads><<<1, 64>>>(d_in.read(), d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<T> out = copied_back(d_out);
  for (int thread = 0; thread < 64; ++thread) {
    const int first = thread - thread % 32 % logical_threads;
    if (first % 32 + logical_threads > 32) continue;
    const auto upto = prefixes(std::vector<T>(in.begin() + first, in.begin() + first + logical_threads), Op{});
    for (int valid = 0; valid <= logical_threads; ++valid)
      EXPECT_TRUE(out[64 * valid + thread] == upto[valid == 0 ? logical_threads - 1 : valid - 1])
          << "thread " << thread << ", " << valid << " of " << logical_threads;
  }
}

TEST_F(Collectives, WarpsTellAllLanes) {
  test_warps<int, plus, 32>(items<int>(64));
  test_warps<int, plus, 8>(items<int>(64));
  test_warps<float, minimum, 32>(items<float>(64));
  test_warps<unsigned char, maximum, 32>(items<unsigned char>(64, 251, 0));
  test_warps<map, then, 32>(maps(64));
  test_warps<map, then, 16>(maps(64));
  test_warps<map, then, 7>(maps(64));
  test_warps<map, then, 1>(maps(64));
  test_warps<bundle<3>, by_value, 24>(bundles<3>(64));
}

// Sums whose rounding depends on the order are the same bits in every thread, whatever it has been.
template <int block_threads>
__global__ void __launch_bounds__(block_threads) rounding_kernel(const float* in, float* out) {
  out[threadIdx.x] = BlockReduce<float, block_threads>{}.AllSum(in[threadIdx.x]);
}
template <int block_threads>
void test_rounding() {
  std::vector<float> in(block_threads);
  for (int i = 0; i < block_threads; ++i) in[i] = 1.0f / static_cast<float>(3 + i * 7919 % 1009);
  const device_array<float> d_in(in), d_out(std::size_t{block_threads});
  rounding_kernel<block_threads><<<1, block_threads>>>(d_in.read(), d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<float> out = copied_back(d_out);
  double sum = 0;
  for (const float item : in) sum += item;
  EXPECT_LE(std::abs(out[0] - sum), 10 * std::numeric_limits<float>::epsilon() * sum);
  for (const float result : out) EXPECT_EQ(result, out[0]) << block_threads;
}
TEST_F(Collectives, AllThreadsGetTheSameBits) {
  test_rounding<32>();
  test_rounding<100>();
  test_rounding<512>();
  test_rounding<1000>();
}

__global__ void nan_kernel(float* out) {
  const float item = threadIdx.x == 37 ? NAN : static_cast<float>(threadIdx.x);
  out[threadIdx.x] = BlockReduce<float, 64>{}.AllReduce(item, minimum{});
}
TEST_F(Collectives, MinimumPropagatesNaN) {
  const device_array<float> d_out(std::size_t{64});
  nan_kernel<<<1, 64>>>(d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const float result : copied_back(d_out)) EXPECT_TRUE(std::isnan(result));
}

// Two clusters, each of which has its own inputs and outputs. Calls follow each other without a barrier. Slot by slot,
// a value for each thread, where there is one.
constexpr int num_clusters = 2, cluster_slots = 6 + items_per_thread;

template <class T, class Op, int x, int y>
__global__ void __launch_bounds__(x* y)
    cluster_kernel(const T* in, T* out, int cluster_blocks, int valid_items, T initial_value) {
  using reducing = ClusterReduce<T, x, y>;
  using scanning = ClusterScan<T, x, y>;
  __shared__ typename reducing::TempStorage of_reductions;
  __shared__ typename scanning::TempStorage of_scans;
  const int num_threads = cluster_blocks * x * y, cluster = static_cast<int>(blockIdx.x) / cluster_blocks;
  const int rank = static_cast<int>(blockIdx.x) % cluster_blocks;
  const int thread = rank * x * y + static_cast<int>(threadIdx.y * x + threadIdx.x);
  in += cluster * num_threads * items_per_thread;
  out += cluster * num_threads * cluster_slots;
  const auto keep = [&](int slot, const T& value) { out[slot * num_threads + thread] = value; };
  const T input = in[thread];
  T items[items_per_thread], aggregate = input, result = input;
  for (int i = 0; i < items_per_thread; ++i) items[i] = in[thread * items_per_thread + i];

  keep(0, reducing(of_reductions).AllReduce(input, Op{}));
  keep(1, reducing(of_reductions).AllReduce(input, Op{}, valid_items));
  keep(2, reducing(of_reductions).AllReduce(items, Op{}));
  const T in_first = reducing(of_reductions).Reduce(input, Op{}, valid_items);
  if (thread == 0) keep(3, in_first);
  scanning(of_scans).InclusiveScan(input, result, Op{}, aggregate);
  keep(4, result);
  keep(5, aggregate);
  scanning(of_scans).ExclusiveScan(items, items, initial_value, Op{});
  for (int i = 0; i < items_per_thread; ++i) keep(6 + i, items[i]);
}

template <class T, class Op, int x, int y = 1>
void test_cluster(const std::vector<T>& items, int cluster_blocks, int valid_items) {
  const int num_threads = cluster_blocks * x * y, num_items = num_threads * items_per_thread;
  const T initial_value = items.back();
  const std::vector<T> in(items.begin(), items.begin() + num_clusters * num_items);
  const device_array<T> d_in(in), d_out(std::size_t(num_clusters) * num_threads * cluster_slots);
  const auto kernel = cluster_kernel<T, Op, x, y>;
  const auto sized = [&](const char* what) {
    return std::string(what) + " in " + std::to_string(cluster_blocks) + " blocks of " + std::to_string(x * y) + ", " +
           std::to_string(valid_items) + " valid";
  };
  cudaLaunchAttribute dimension{};
  dimension.id = cudaLaunchAttributeClusterDimension;
  dimension.val.clusterDim.x = static_cast<unsigned>(cluster_blocks);
  dimension.val.clusterDim.y = dimension.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(num_clusters * cluster_blocks));
  config.blockDim = dim3(x, y);
  config.attrs = &dimension;
  config.numAttrs = 1;
  ASSERT_EQ(cluster::parts::allow_cluster(kernel, cluster_blocks), cudaSuccess);
  ASSERT_EQ(
      cudaLaunchKernelEx(&config, kernel, d_in.read(), d_out.get(), cluster_blocks, valid_items, T(initial_value)),
      cudaSuccess)
      << sized("launch");
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << sized("run");

  const std::vector<T> out = copied_back(d_out);
  const Op op{};
  int wrong = 0;
  const auto expect = [&](const T& got, const T& wanted, const char* what, int thread) {
    if (!(got == wanted) && wrong++ == 0) ADD_FAILURE() << sized(what) << ", thread " << thread;
  };
  for (int cluster = 0; cluster < num_clusters; ++cluster) {
    const auto first = in.begin() + cluster * num_items;
    const auto upto = prefixes(std::vector<T>(first, first + num_items), op);
    const T *const slots = out.data() + cluster * num_threads * cluster_slots, all = upto[num_threads - 1];
    const T of_valid = upto[valid_items - 1];
    expect(slots[3 * num_threads], of_valid, "Reduce", 0);
    for (int i = 0; i < num_threads; ++i) {
      expect(slots[i], all, "AllReduce", i);
      expect(slots[num_threads + i], of_valid, "AllReduce of some", i);
      expect(slots[2 * num_threads + i], upto.back(), "AllReduce of several", i);
      expect(slots[4 * num_threads + i], upto[i], "InclusiveScan", i);
      expect(slots[5 * num_threads + i], all, "aggregate", i);
      for (int item = 0; item < items_per_thread; ++item) {
        const int place = i * items_per_thread + item;
        expect(slots[(6 + item) * num_threads + i], place == 0 ? initial_value : T(op(initial_value, upto[place - 1])),
               "ExclusiveScan", i);
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(Collectives, Clusters) {
  int device = 0, has_clusters = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device), cudaSuccess);
  if (!has_clusters) GTEST_SKIP() << "no clusters";
  constexpr std::size_t most_items = 16 * 1024 * items_per_thread * num_clusters + 1;
  const auto ints = items<int>(most_items);
  const auto all_maps = maps(most_items);
  const auto all_built_maps = built_maps(most_items);
  const auto wide = bundles<3>(most_items);
  for (const int blocks : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int valid : {1, 63, 64 * blocks - 1, 64 * blocks}) test_cluster<int, plus, 64>(ints, blocks, valid);
    for (const int valid : {1, 40, 40 * blocks / 2 + 1, 40 * blocks})
      test_cluster<map, then, 40>(all_maps, blocks, valid);
    test_cluster<map, then, 8>(all_maps, blocks, 8 * blocks);  // fewer threads than blocks
    test_cluster<built_map, then, 33>(all_built_maps, blocks, 33 * blocks);
    test_cluster<map, then, 6, 16>(all_maps, blocks, 96 * blocks);
    test_cluster<bundle<3>, by_value, 1000>(wide, blocks, 1000 * blocks - 1);
    test_cluster<map, then, 1024>(all_maps, blocks, 1024 * blocks);
  }
}

}  // namespace
}  // namespace rungs::tests
