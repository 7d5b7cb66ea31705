// The greatest or least items of each row.
#include <rungs/device/device_top_k.cuh>

#include "types.cuh"

using namespace rungs_torch;

int rungs_top_k(int type, int greatest, int sorted, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                size_t in_stride, void* d_items, long long* d_columns, size_t num_rows, size_t num_columns, size_t k,
                void* stream) {
  const shape of_rows{num_rows, num_columns}, of_results{num_rows, k};
  const auto order = sorted ? rungs::top_k_order::sorted : rungs::top_k_order::unsorted;
  return with_type<float, __half, __nv_bfloat16, int>(type, [&](auto item) {
    using T = typename decltype(item)::named;
    using rungs::DeviceBatchedTopK;
    const auto in = of_rows.read<T>(d_in, in_stride);
    const auto items = of_results.written<T>(d_items);
    const auto columns = of_results.written<long long>(d_columns);
    constexpr rungs::columns_as_values own;
    return greatest ? DeviceBatchedTopK::MaxPairs(d_temp_storage, *temp_storage_bytes, in, items, own, columns, k,
                                                  stream_of(stream), order)
                    : DeviceBatchedTopK::MinPairs(d_temp_storage, *temp_storage_bytes, in, items, own, columns, k,
                                                  stream_of(stream), order);
  });
}
