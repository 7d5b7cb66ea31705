#include <cuda/std/functional>
#include <cuda/std/version>
#include <rungs/device/device_segmented_scan.cuh>

#if CCCL_VERSION >= 3003000
#include <cub/device/device_segmented_scan.cuh>
#else
#include <cub/device/device_scan.cuh>
#endif

#include "by_key/places.cuh"

namespace rungs::bench::by_key {
namespace {

// Library: a DeviceSegmentedScan.
template <class Library, class T>
cudaError_t segmented_sum(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                          cudaStream_t stream) {
  const int* const d_offsets = second_in<int>(a) + a.num_items;
  return Library::InclusiveSegmentedSum(d_temp_storage, temp_storage_bytes, first_in<T>(a), static_cast<T*>(a.d_out),
                                        d_offsets, d_offsets + 1, static_cast<int>(a.num_rows), stream);
}

#if CCCL_VERSION >= 3003000
template <class T>
constexpr calls both = {segmented_sum<rungs::DeviceSegmentedScan, T>, segmented_sum<cub::DeviceSegmentedScan, T>};
#else
// This CUB scans no segments between offsets. Its nearest call reads the number of the segment beside each item; the
// numbers are there before the clock starts.
template <class T>
cudaError_t sum_by_number(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                          cudaStream_t stream) {
  return cub::DeviceScan::InclusiveSumByKey(d_temp_storage, temp_storage_bytes, second_in<int>(a), first_in<T>(a),
                                            static_cast<T*>(a.d_out), num_items(a), cuda::std::equal_to<>{}, stream);
}
template <class T>
constexpr calls both = {segmented_sum<rungs::DeviceSegmentedScan, T>, sum_by_number<T>};
#endif

}  // namespace

calls segmented_sum_calls(const problem& about) {
  if (about.keys == catalog::scalar::i32) return both<int>;
  if (about.keys == catalog::scalar::f32) return both<float>;
  return {};
}

}  // namespace rungs::bench::by_key
