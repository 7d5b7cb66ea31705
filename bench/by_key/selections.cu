#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>
#include <rungs/device/device_partition.cuh>
#include <rungs/device/device_select.cuh>

#include "by_key/items.hpp"
#include "by_key/places.cuh"

namespace rungs::bench::by_key {
namespace {

// Library: a DeviceSelect, or a DevicePartition.
template <class Library, class T>
cudaError_t flagged(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                    cudaStream_t stream) {
  const outputs<T, void> out(a);
  return Library::Flagged(d_temp_storage, temp_storage_bytes, first_in<T>(a), second_in<unsigned char>(a), out.first,
                          out.count, num_items(a), stream);
}
template <class Library, class T>
cudaError_t by_predicate(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                         cudaStream_t stream) {
  const outputs<T, void> out(a);
  return Library::If(d_temp_storage, temp_storage_bytes, first_in<T>(a), out.first, out.count, num_items(a), is_odd{},
                     stream);
}
template <class Select, class T>
cudaError_t unique(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                   cudaStream_t stream) {
  const outputs<T, void> out(a);
  return Select::Unique(d_temp_storage, temp_storage_bytes, first_in<T>(a), out.first, out.count, num_items(a), stream);
}

template <class T>
calls of_type(operation what) {
  switch (what) {
    case operation::select_flagged:
      return {flagged<rungs::DeviceSelect, T>, flagged<cub::DeviceSelect, T>};
    case operation::partition_flagged:
      return {flagged<rungs::DevicePartition, T>, flagged<cub::DevicePartition, T>};
    case operation::select_if:
      return {by_predicate<rungs::DeviceSelect, T>, by_predicate<cub::DeviceSelect, T>};
    case operation::partition_if:
      return {by_predicate<rungs::DevicePartition, T>, by_predicate<cub::DevicePartition, T>};
    default:
      return {unique<rungs::DeviceSelect, T>, unique<cub::DeviceSelect, T>};
  }
}

}  // namespace

calls selection_calls(const problem& about) {
  if (about.keys == catalog::scalar::u8) return of_type<unsigned char>(about.operation);
  if (about.keys == catalog::scalar::i32) return of_type<int>(about.operation);
  if (about.keys == catalog::scalar::i64) return of_type<long long>(about.operation);
  return {};
}

}  // namespace rungs::bench::by_key
