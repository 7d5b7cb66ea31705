// Against results of the host: scans of some lanes, minima, ranges of fixed size; loads, stores, exchanges and counts
// that CUB refuses or does not define. Skipped without a GPU.
#include <gtest/gtest.h>

#include <rungs/block/block_histogram.cuh>
#include <rungs/block/block_load.cuh>
#include <rungs/block/block_reduce.cuh>
#include <rungs/block/block_store.cuh>
#include <rungs/warp/warp_exchange.cuh>
#include <rungs/warp/warp_reduce.cuh>
#include <rungs/warp/warp_scan.cuh>

#include <algorithm>
#include <cuda/std/array>
#include <cuda/std/span>
#include <vector>

#include "front_door/stage.cuh"
#include "gpu_test.hpp"

namespace rungs::tests {
namespace {

using Items = OnAGpu;

// Its operator counts invalid inputs, which it must never see.
struct marked {
  unsigned slope, offset;
  bool is_valid;
};
struct then_marked {
  __host__ __device__ marked operator()(const marked& a, const marked& b) const {
    return {a.slope * b.slope, a.offset * b.slope + b.offset, a.is_valid && b.is_valid};
  }
};
bool operator==(const marked& a, const marked& b) {
  return a.slope == b.slope && a.offset == b.offset && a.is_valid == b.is_valid;
}
marked numbered(int i) { return {static_cast<unsigned>(i) * 2654435761u | 1u, static_cast<unsigned>(i), true}; }

constexpr int first_valid = -2, partial_slots = 8;

template <int logical_threads>
__global__ void partial_kernel(const marked* in, marked* out, marked initial_value) {
  const int lane = static_cast<int>(threadIdx.x), rank = lane % logical_threads;
  if (lane - rank + logical_threads > 32) return;
  WarpScan<marked, logical_threads> scan;
  for (int valid = first_valid; valid <= logical_threads + 1; ++valid) {
    marked input = in[lane], results[partial_slots];
    for (marked& result : results) result = in[lane];
    input.is_valid = rank < valid;
    scan.InclusiveScanPartial(input, results[0], then_marked{}, valid, results[1]);
    scan.InclusiveScanPartial(input, results[2], initial_value, then_marked{}, valid);
    scan.ExclusiveScanPartial(input, results[3], then_marked{}, valid, results[4]);
    scan.ExclusiveScanPartial(input, results[5], initial_value, then_marked{}, valid);
    scan.ScanPartial(input, results[6], results[7], initial_value, then_marked{}, valid);
    for (int slot = 0; slot < partial_slots; ++slot)
      out[((valid - first_valid) * partial_slots + slot) * 32 + lane] = results[slot];
  }
}

template <int logical_threads>
void test_partial() {
  std::vector<marked> in(32);
  for (int i = 0; i < 32; ++i) in[i] = numbered(i);
  const marked initial_value = numbered(77);
  const device_array<marked> d_in(in), d_out(std::size_t{(logical_threads + 4) * partial_slots * 32});
  partial_kernel<logical_threads><<<1, 32>>>(d_in.read(), d_out.get(), initial_value);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<marked> out = copied_back(d_out);
  const then_marked op{};
  for (int valid = first_valid; valid <= logical_threads + 1; ++valid)
    for (int lane = 0; lane < 32 / logical_threads * logical_threads; ++lane) {
      const int rank = lane % logical_threads, first = lane - rank;
      const int num_valid = valid < 0 ? 0 : valid < logical_threads ? valid : logical_threads;
      const auto aggregate = [&](int end) {  // of ranks 0 to end - 1
        marked of_them = in[first];
        for (int i = 1; i < end; ++i) of_them = op(of_them, in[first + i]);
        return of_them;
      };
      const auto expect = [&](int slot, const marked& wanted) {
        EXPECT_TRUE(out[((valid - first_valid) * partial_slots + slot) * 32 + lane] == wanted)
            << logical_threads << " lanes, " << valid << " valid, lane " << lane << ", slot " << slot;
      };
      const bool is_valid = rank < num_valid;
      const marked own = in[lane], up_to = is_valid ? aggregate(rank + 1) : own;
      const marked before = is_valid ? aggregate(rank) : own;
      const marked from_init = is_valid ? op(initial_value, up_to) : own;
      const marked before_from_init = !is_valid ? own : rank == 0 ? initial_value : op(initial_value, before);
      expect(0, up_to);
      if (num_valid > 0) expect(1, aggregate(num_valid)), expect(4, aggregate(num_valid));
      expect(2, from_init);
      if (rank > 0 || !is_valid) expect(3, before);
      expect(5, before_from_init);
      expect(6, from_init);
      expect(7, before_from_init);
    }
}
TEST_F(Items, ScansOfSomeLanes) {
  test_partial<1>();
  test_partial<7>();
  test_partial<16>();
  test_partial<24>();
  test_partial<32>();
}

// Sums, minima and maxima: of a lane's input, of some lanes', of an array, and of ranges.
__global__ void minima_kernel(const int* in, int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  WarpReduce<int> reduce;
  const int input = in[lane], several[3] = {in[3 * lane], in[3 * lane + 1], in[3 * lane + 2]};
  const cuda::std::array<int, 3> array{several[0], several[1], several[2]};
  const cuda::std::span<const int, 3> span(several);
  const int results[] = {reduce.Min(input),
                         reduce.Max(input),
                         reduce.Min(input, 9),
                         reduce.Max(input, 9),
                         reduce.Min(several),
                         reduce.Max(several),
                         reduce.Min(array),
                         reduce.Max(span),
                         reduce.Sum(array),
                         reduce.Sum(several),
                         reduce.Reduce(span, [](int a, int b) { return a ^ b; }),
                         BlockReduce<int, 32>().Min(input)};
  if (lane == 0)
    for (int i = 0; i < 12; ++i) out[i] = results[i];
}
TEST_F(Items, MinimaAndRanges) {
  const std::vector<int> in = items<int>(96);
  const device_array<int> d_in(in), d_out(std::size_t{12});
  minima_kernel<<<1, 32>>>(d_in.read(), d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto least = [&](int end) { return *std::min_element(in.begin(), in.begin() + end); };
  const auto most = [&](int end) { return *std::max_element(in.begin(), in.begin() + end); };
  int sum = 0, parity = 0;
  for (const int item : in) sum += item, parity ^= item;
  EXPECT_EQ(copied_back(d_out), (std::vector<int>{least(32), most(32), least(9), most(9), least(96), most(96),
                                                  least(96), most(96), sum, sum, parity, least(32)}));
}

// Pointers that are not aligned to vectors, blocks that are no multiple of 32, types with constructors.
struct built {
  int value;
  __host__ __device__ built() : value(-1) {}
  __host__ __device__ built(int value) : value(value) {}
  __host__ __device__ built(const built& other) : value(other.value) {}
  __host__ __device__ built& operator=(const built& other) {
    value = other.value;
    return *this;
  }
};
bool operator==(const built& a, const built& b) { return a.value == b.value; }

template <class T, int block_threads, int num_items, BlockLoadAlgorithm loading, BlockStoreAlgorithm storing>
__global__ void __launch_bounds__(block_threads) copy_kernel(const T* in, T* out, int valid) {
  T items[num_items];
  BlockLoad<T, block_threads, num_items, loading>().Load(in, items);
  BlockStore<T, block_threads, num_items, storing>().Store(out, items);
  constexpr int block_items = block_threads * num_items;
  __syncthreads();
  BlockLoad<T, block_threads, num_items, loading>().Load(in, items, valid);
  BlockStore<T, block_threads, num_items, storing>().Store(out + block_items, items, valid);
}
template <class T, int block_threads, int num_items, BlockLoadAlgorithm loading, BlockStoreAlgorithm storing>
void test_copy() {
  constexpr int block_items = block_threads * num_items;
  std::vector<T> in;
  for (int i = 0; i < block_items + 3; ++i) in.push_back(T(i * 7919 % 10007));
  for (const int offset : {0, 1, 3})
    for (const int valid : {0, 1, block_items - 1, block_items}) {
      const device_array<T> d_in(in), d_out(std::size_t{2 * block_items + 3});
      copy_kernel<T, block_threads, num_items, loading, storing>
          <<<1, block_threads>>>(d_in.read() + offset, d_out.get() + offset, valid);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const std::vector<T> out = copied_back(d_out), untouched = copied_back(device_array<T>(std::size_t{1}));
      int wrong = 0;
      for (int i = 0; i < block_items; ++i) {
        wrong += !(out[offset + i] == in[offset + i]);
        wrong += !(out[offset + block_items + i] == (i < valid ? in[offset + i] : untouched[0]));
      }
      EXPECT_EQ(wrong, 0) << block_threads << " threads, " << num_items << " items, " << loading << ", from " << offset
                          << ", " << valid << " valid";
    }
}
TEST_F(Items, AreLoadedAndStored) {
  test_copy<int, 100, 8, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE>();
  test_copy<int, 20, 3, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, BLOCK_STORE_TRANSPOSE>();
  test_copy<int, 64, 4, BLOCK_LOAD_VECTORIZE, BLOCK_STORE_VECTORIZE>();
  test_copy<short, 64, 6, BLOCK_LOAD_VECTORIZE, BLOCK_STORE_DIRECT>();
  test_copy<double, 32, 3, BLOCK_LOAD_DIRECT, BLOCK_STORE_VECTORIZE>();
  test_copy<built, 96, 8, BLOCK_LOAD_TRANSPOSE, BLOCK_STORE_VECTORIZE>();
  test_copy<built, 33, 5, BLOCK_LOAD_STRIPED, BLOCK_STORE_STRIPED>();
}

// Logical warps of 12 lanes exchange items, and back; as other types, too.
__global__ void exchange_kernel(const built* in, double* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= 24) return;
  using exchange = WarpExchange<built, 8, 12, WARP_EXCHANGE_SHUFFLE>;
  __shared__ exchange::TempStorage temp_storage[2];
  built items[8];
  struct number {
    double value;
    __device__ number& operator=(const built& other) {
      value = other.value;
      return *this;
    }
  } numbers[8];
  for (int i = 0; i < 8; ++i) items[i] = in[lane * 8 + i];
  exchange(temp_storage[lane / 12]).BlockedToStriped(items, items);
  for (int i = 0; i < 8; ++i) out[lane / 12 * 96 + i * 12 + lane % 12] = items[i].value;
  __syncwarp(0xfffu << lane / 12 * 12);
  exchange(temp_storage[lane / 12]).StripedToBlocked(items, numbers);
  for (int i = 0; i < 8; ++i) out[192 + lane * 8 + i] = numbers[i].value;
}
TEST_F(Items, AreExchanged) {
  std::vector<built> in;
  for (int i = 0; i < 192; ++i) in.push_back(i * 7919 % 10007);
  const device_array<built> d_in(in);
  const device_array<double> d_out(std::size_t{384});
  exchange_kernel<<<1, 32>>>(d_in.read(), d_out.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<double> out = copied_back(d_out);
  for (int i = 0; i < 384; ++i) EXPECT_EQ(out[i], in[i % 192].value) << i;
}

// Counters in global memory, shared by blocks, of every size.
template <class Counter>
__global__ void count_kernel(const int* in, Counter* histogram) {
  int samples[3];
  for (int i = 0; i < 3; ++i) samples[i] = in[blockIdx.x * 210 + threadIdx.x * 3 + i];
  BlockHistogram<int, 70, 3, 11>().Composite(samples, histogram);
}
template <class Counter>
void test_counters() {
  const std::vector<int> in = items<int>(20 * 210, 11, 0);
  const device_array<int> d_in(in);
  const device_array<Counter> d_histogram(std::vector<Counter>(11, Counter(5)));
  count_kernel<<<20, 70>>>(d_in.read(), d_histogram.get());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<Counter> expected(11, Counter(5));
  for (const int sample : in) expected[sample] += 1;
  EXPECT_EQ(copied_back(d_histogram), expected) << sizeof(Counter);
}
TEST_F(Items, AreCounted) {
  test_counters<unsigned short>();
  test_counters<int>();
  test_counters<long long>();
  test_counters<float>();
  test_counters<double>();
}

}  // namespace
}  // namespace rungs::tests
