#include <cub/device/device_select.cuh>
#include <rungs/device/device_select.cuh>

#include "by_key/pairs.cuh"

namespace rungs::bench::by_key {
namespace {

struct unique_by_key {
  using rungs_call = rungs::DeviceSelect;
  using cub_call = cub::DeviceSelect;
  template <class Select, class Key, class Value>
  static cudaError_t call(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                          cudaStream_t stream) {
    const outputs<Key, Value> out(a);
    return Select::UniqueByKey(d_temp_storage, temp_storage_bytes, first_in<Key>(a), second_in<Value>(a), out.first,
                               out.second, out.count, num_items(a), stream);
  }
};

}  // namespace

calls unique_by_key_calls(const problem& about) { return calls_of_pairs<unique_by_key>(about); }

}  // namespace rungs::bench::by_key
