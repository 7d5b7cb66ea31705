// Programs that scan. Included by a file for each library, which names it DOOR and what they are to be called SCANS.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>

#include <cuda/functional>

#include "front_door/stage.cuh"

namespace rungs::tests {
namespace {

namespace device = DOOR;

// Halves hold whole numbers up to 2048 exactly.
struct numbered_half {
  __host__ __device__ __half operator()(int i) const { return __float2half(i < 2000 ? float(i % 3 - 1) : 0.0f); }
};

// Of maps x -> slope * x + offset modulo 2^64, the offset in the upper half: first a, then b.
struct then_packed {
  __host__ __device__ unsigned __int128 operator()(unsigned __int128 a, unsigned __int128 b) const {
    const auto slope = static_cast<unsigned long long>(b), offset = static_cast<unsigned long long>(b >> 64);
    const auto upper = static_cast<unsigned long long>(a >> 64) * slope + offset;
    return static_cast<unsigned __int128>(upper) << 64 | static_cast<unsigned long long>(a) * slope;
  }
};

}  // namespace

std::vector<outcome> SCANS(std::size_t num_items) {
  stage on;
  const int n = static_cast<int>(num_items);
  const device_array<int> d_ints(items<int>(num_items)), d_int_out(num_items + 1);
  const device_array<unsigned char> d_bytes(items<unsigned char>(num_items, 251, 0));

  on.run("InclusiveSum of bytes into ints", d_int_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveSum(storage..., d_bytes.read(), d_int_out.get(), n);
  });
  const device_array<float> d_floats(items<float>(num_items)), d_float_out(num_items + 1);
  on.run("ExclusiveSum of floats", d_float_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveSum(storage..., d_floats.read(), d_float_out.get(), num_items);
  });
  const device_array<int> d_data(items<int>(num_items));
  on.run("InclusiveSum in place", d_data,
         [&](auto&... storage) { return device::DeviceScan::InclusiveSum(storage..., d_data.get(), n); });
  on.run("InclusiveScan by cuda::maximum", d_int_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., d_ints.read(), d_int_out.get(), cuda::maximum<>{}, n);
  });
  std::vector<map> maps(num_items);
  for (std::size_t i = 0; i < num_items; ++i) maps[i] = numbered_map{}(static_cast<unsigned>(i));
  const device_array<map> d_maps(maps), d_map_out(num_items + 1);
  on.run("InclusiveScan that does not commute", d_map_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., d_maps.read(), d_map_out.get(), then{}, n);
  });
  const auto numbered = thrust::make_transform_iterator(thrust::counting_iterator<unsigned>(0), numbered_map{});
  on.run("InclusiveScanInit that does not commute", d_map_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScanInit(storage..., numbered, d_map_out.get(), then{}, map{3, 5}, n);
  });
  const auto scattered = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), scattered_int{});
  const auto greater = [] __host__ __device__(int a, int b) -> int { return a < b ? b : a; };
  on.run("ExclusiveScan by a lambda", d_int_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveScan(storage..., scattered, d_int_out.get(), greater, -2400, n);
  });
  const auto halves = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), numbered_half{});
  const device_array<__half> d_half_out(num_items + 1);
  on.run("InclusiveSum of halves", d_half_out,
         [&](auto&... storage) { return device::DeviceScan::InclusiveSum(storage..., halves, d_half_out.get(), n); });
  std::vector<__half> small(num_items);
  for (std::size_t i = 0; i < num_items; ++i) small[i] = __float2half(static_cast<float>(static_cast<int>(i % 3) - 1));
  const device_array<__half> d_halves(small);
  on.run("ExclusiveSum of halves from memory", d_half_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveSum(storage..., d_halves.read(), d_half_out.get(), n);
  });
  on.run("InclusiveScan of halves by cuda::maximum, misaligned", d_half_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., d_halves.read() + 1, d_half_out.get(), cuda::maximum<>{},
                                             n > 0 ? n - 1 : 0);
  });
  std::vector<__nv_bfloat16> brief(num_items);
  for (std::size_t i = 0; i < num_items; ++i) brief[i] = __nv_bfloat16(static_cast<float>(static_cast<int>(i % 5) - 2));
  const device_array<__nv_bfloat16> d_brief(brief), d_brief_out(num_items + 1);
  on.run("InclusiveScanInit of bfloat16s", d_brief_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScanInit(storage..., d_brief.read(), d_brief_out.get(), cuda::std::plus<>{},
                                                 __float2bfloat16(9.0f), n);
  });
  const device_array<__int128> d_wide_out(num_items + 1);
  on.run("ExclusiveSum of 128-bit integers", d_wide_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveSum(storage..., thrust::constant_iterator<__int128>(__int128{1} << 70),
                                            d_wide_out.get(), n);
  });
  std::vector<__int128> wide(num_items);
  for (std::size_t i = 0; i < num_items; ++i)
    wide[i] = (static_cast<__int128>(i * 0x9e3779b97f4a7c15ull) << 10) * (i % 2 == 0 ? 1 : -1) - 7;
  const device_array<__int128> d_wide(wide), d_wide_data(wide);
  on.run("InclusiveScan of 128-bit integers by cuda::std::plus", d_wide_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., d_wide.read(), d_wide_out.get(), cuda::std::plus<>{}, n);
  });
  on.run("ExclusiveScan of 128-bit integers by cuda::minimum", d_wide_out, [&](auto&... storage) {
    return device::DeviceScan::ExclusiveScan(storage..., d_wide.read(), d_wide_out.get(), cuda::minimum<>{},
                                             __int128{1} << 90, n);
  });
  on.run("ExclusiveSum of 128-bit integers in place", d_wide_data,
         [&](auto&... storage) { return device::DeviceScan::ExclusiveSum(storage..., d_wide_data.get(), n); });
  const device_array<unsigned __int128> d_lines(std::vector<unsigned __int128>(wide.begin(), wide.end())),
      d_line_out(num_items + 1);
  on.run("InclusiveScan of 128-bit integers that does not commute", d_line_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveScan(storage..., d_lines.read(), d_line_out.get(), then_packed{}, n);
  });
  const auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(-300), square{});
  const device_array<long long> d_sums(num_items + 1);
  on.run("ExclusiveSum of a transform of a counter", d_sums,
         [&](auto&... storage) { return device::DeviceScan::ExclusiveSum(storage..., squares, d_sums.get(), n); });
  on.run("InclusiveSum through a transform of the output", d_int_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveSum(storage..., d_ints.read(),
                                            thrust::make_transform_output_iterator(d_int_out.get(), negate{}), n);
  });
  on.run("InclusiveSum that is discarded", d_int_out, [&](auto&... storage) {
    return device::DeviceScan::InclusiveSum(storage..., d_ints.read(), thrust::make_discard_iterator(), n);
  });
  return on.outcomes;
}

}  // namespace rungs::tests
