// Programs that reduce. Included by a file for each library, which names it DOOR and what they are to be called
// REDUCTIONS.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include <cuda/functional>
#include <cuda/std/functional>

#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

namespace device = DOOR;

struct sum_and_most {
  using pair = thrust::tuple<int, int>;
  __host__ __device__ pair operator()(const pair& a, const pair& b) const {
    const int most = thrust::get<1>(a) < thrust::get<1>(b) ? thrust::get<1>(b) : thrust::get<1>(a);
    return pair(thrust::get<0>(a) + thrust::get<0>(b), most);
  }
};

// Whole numbers from -7 to 8, so that a few of them are added up exactly.
template <class Half>
std::vector<Half> halves_of(std::size_t num_items) {
  std::vector<Half> made(num_items);
  for (std::size_t i = 0; i < num_items; ++i) made[i] = Half(static_cast<float>(static_cast<int>(i * 7919 % 16) - 7));
  return made;
}

}  // namespace

std::vector<outcome> REDUCTIONS(std::size_t num_items) {
  stage on;
  const int n = static_cast<int>(num_items);
  const device_array<int> d_ints(items<int>(num_items));
  const device_array<float> d_floats(items<float>(num_items));
  const device_array<unsigned char> d_bytes(items<unsigned char>(num_items, 251, 0));
  const device_array<int> d_int(std::size_t{1});
  const device_array<float> d_float(std::size_t{1});
  const device_array<long long> d_wide(std::size_t{1}), d_index(std::size_t{1});

  on.run("Sum of floats", d_float,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., d_floats.read(), d_float.get(), n); });
  on.run("Sum of bytes into an int", d_int, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., d_bytes.read(), d_int.get(), num_items);
  });
  const device_array<unsigned char> d_byte(std::size_t{1});
  on.run("Sum of bytes into a byte", d_byte,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., d_bytes.read(), d_byte.get(), n); });
  on.run("Max of bytes", d_byte,
         [&](auto&... storage) { return device::DeviceReduce::Max(storage..., d_bytes.read(), d_byte.get(), n); });
  on.run("Min of ints", d_int,
         [&](auto&... storage) { return device::DeviceReduce::Min(storage..., d_ints.read(), d_int.get(), n); });
  std::vector<unsigned char> flags(num_items);
  for (std::size_t i = 0; i < num_items; ++i) flags[i] = i % 3 == 0;
  const device_array<unsigned char> d_flags(flags);
  on.run("Sum of bools", d_int, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., reinterpret_cast<const bool*>(d_flags.read()), d_int.get(), n);
  });
  // Halves hold whole numbers up to 2048 exactly.
  std::vector<__half> halves(num_items);
  for (std::size_t i = 0; i < num_items; ++i) halves[i] = __float2half(i < 2000 ? float(int(i % 3) - 1) : 0.0f);
  const device_array<__half> d_halves(halves), d_half(std::size_t{1});
  on.run("Sum of halves", d_half,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., d_halves.read(), d_half.get(), n); });
  const device_array<__half> d_many_halves(halves_of<__half>(num_items));
  const device_array<__nv_bfloat16> d_brief(halves_of<__nv_bfloat16>(num_items)), d_brief_one(std::size_t{1});
  const int num_brief = n > 200 ? 200 : n > 0 ? n - 1 : 0;
  on.run("Reduce of bfloat16s by cuda::std::plus", d_brief_one, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., d_brief.read() + 1, d_brief_one.get(), num_brief,
                                        cuda::std::plus<>{}, __float2bfloat16(3.0f));
  });
  const device_array<__int128> d_int128(std::size_t{1});
  on.run("Sum of 128-bit integers", d_int128, [&](auto&... storage) {
    return device::DeviceReduce::Sum(storage..., thrust::constant_iterator<__int128>(__int128{1} << 70), d_int128.get(),
                                     n);
  });
  std::vector<__int128> wide(num_items);
  for (std::size_t i = 0; i < num_items; ++i)
    wide[i] = (static_cast<__int128>(i * 0x9e3779b97f4a7c15ull) << 10) * (i % 2 == 0 ? 1 : -1) - 7;
  const device_array<__int128> d_int128s(wide);
  on.run("Sum of 128-bit integers from memory", d_int128,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., d_int128s.read(), d_int128.get(), n); });
  on.run("Reduce of 128-bit integers by cuda::maximum", d_int128, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., d_int128s.read(), d_int128.get(), n, cuda::maximum<>{},
                                        -(__int128{1} << 100));
  });

  const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(-300), square{});
  on.run("Sum of a transform of a counter", d_wide,
         [&](auto&... storage) { return device::DeviceReduce::Sum(storage..., squares, d_wide.get(), n); });
  on.run("Sum through a transform of the output", d_int, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., d_ints.read(),
                                        thrust::make_transform_output_iterator(d_int.get(), negate{}), n,
                                        cuda::std::plus<>{}, 5);
  });
  const auto zipped = thrust::make_zip_iterator(d_ints.read(), thrust::counting_iterator<int>(3));
  const device_array<int> d_sum_and_most(std::size_t{2});
  on.run("Reduce of a zip", d_sum_and_most, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., zipped,
                                        thrust::make_zip_iterator(d_sum_and_most.get(), d_sum_and_most.get() + 1), n,
                                        sum_and_most{}, thrust::tuple<int, int>(11, -4));
  });
  const auto differing = [] __host__ __device__(int a, int b) -> int { return a ^ b; };
  on.run("Reduce by a lambda", d_int, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., d_ints.read(), d_int.get(), n, differing, 99);
  });
  on.run("Reduce by cuda::maximum", d_float, [&](auto&... storage) {
    return device::DeviceReduce::Reduce(storage..., d_floats.read(), d_float.get(), n, cuda::maximum<>{}, -1e30f);
  });
  on.run("TransformReduce", d_wide, [&](auto&... storage) {
    return device::DeviceReduce::TransformReduce(storage..., d_ints.read(), d_wide.get(), n, cuda::std::plus<>{},
                                                 square{}, 1000ll);
  });
  if (n > 0) {  // of nothing there is no extremum, and no agreement either
    on.run("ArgMin: value", d_float, [&](auto&... storage) {
      return device::DeviceReduce::ArgMin(storage..., d_floats.read(), d_float.get(), d_index.get(), n);
    });
    on.run("ArgMin: index", d_index, [&](auto&... storage) {
      return device::DeviceReduce::ArgMin(storage..., d_floats.read(), d_float.get(), d_index.get(), n);
    });
    on.run("ArgMax of a counter: index", d_index, [&](auto&... storage) {
      return device::DeviceReduce::ArgMax(storage..., thrust::counting_iterator<int>(-300), d_int.get(), d_index.get(),
                                          n);
    });
    on.run("ArgMin of a transform of a counter: index", d_index, [&](auto&... storage) {
      return device::DeviceReduce::ArgMin(storage..., squares, d_wide.get(), d_index.get(), n);
    });
    on.run("Min of halves", d_half, [&](auto&... storage) {
      return device::DeviceReduce::Min(storage..., d_many_halves.read(), d_half.get(), n);
    });
    on.run("Max of bfloat16s", d_brief_one, [&](auto&... storage) {
      return device::DeviceReduce::Max(storage..., d_brief.read(), d_brief_one.get(), n);
    });
  }
  return on.outcomes;
}

}  // namespace rungs::tests
