#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <rungs/device/device_scan.cuh>

#include "by_key/pairs.cuh"

namespace rungs::bench::by_key {
namespace {

// Each with its default for the equality of keys.
template <bool is_inclusive>
struct sum_by_key {
  struct rungs_call {
    using scan = rungs::DeviceScan;
    using equal = rungs::device::equal_items;
  };
  struct cub_call {
    using scan = cub::DeviceScan;
    using equal = cuda::std::equal_to<>;
  };
  template <class Library, class Key, class Value>
  static cudaError_t call(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                          cudaStream_t stream) {
    const auto sum = [&](auto call) {
      return call(d_temp_storage, temp_storage_bytes, first_in<Key>(a), second_in<Value>(a),
                  static_cast<Value*>(a.d_out), num_items(a), typename Library::equal{}, stream);
    };
    if constexpr (is_inclusive)
      return sum([](auto&&... all) { return Library::scan::InclusiveSumByKey(all...); });
    else
      return sum([](auto&&... all) { return Library::scan::ExclusiveSumByKey(all...); });
  }
};

}  // namespace

calls sum_calls(const problem& about) {
  const bool is_inclusive = about.operation == operation::inclusive_sum_by_key;
  return is_inclusive ? calls_of_pairs<sum_by_key<true>>(about) : calls_of_pairs<sum_by_key<false>>(about);
}

}  // namespace rungs::bench::by_key
