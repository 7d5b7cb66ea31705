// Prefix sums: of all items, and of each row of a packed matrix.
#include <rungs/device/device_scan.cuh>

#include "types.cuh"

using namespace rungs_torch;

int rungs_scan(int type, int exclusive, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in, void* d_out,
               size_t num_items, void* stream) {
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const auto items = static_cast<const T*>(d_in);
    const auto sums = static_cast<sum_of<T>*>(d_out);
    if constexpr (std::is_same_v<T, int>) {
      // The type of the initial value is the one that integers are added in.
      return exclusive ? rungs::DeviceScan::ExclusiveScan(d_temp_storage, *temp_storage_bytes, items, sums,
                                                          rungs::plus{}, 0ll, num_items, stream_of(stream))
                       : rungs::DeviceScan::InclusiveScanInit(d_temp_storage, *temp_storage_bytes, items, sums,
                                                              rungs::plus{}, 0ll, num_items, stream_of(stream));
    } else {
      return exclusive ? rungs::DeviceScan::ExclusiveSum(d_temp_storage, *temp_storage_bytes, items, sums, num_items,
                                                         stream_of(stream))
                       : rungs::DeviceScan::InclusiveSum(d_temp_storage, *temp_storage_bytes, items, sums, num_items,
                                                         stream_of(stream));
    }
  });
}
