#include <cub/device/device_select.cuh>
#include <rungs/device/device_select.cuh>

#include "by_key/places.cuh"

namespace rungs::bench::by_key {
namespace {

template <class Select, class T>
cudaError_t unique(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                   cudaStream_t stream) {
  const outputs<T, void> out(a);
  return Select::Unique(d_temp_storage, temp_storage_bytes, first_in<T>(a), out.first, out.count, num_items(a), stream);
}
template <class T>
constexpr calls both = {unique<rungs::DeviceSelect, T>, unique<cub::DeviceSelect, T>};

}  // namespace

calls unique_calls(const problem& about) {
  if (about.keys == catalog::scalar::u8) return both<unsigned char>;
  if (about.keys == catalog::scalar::i32) return both<int>;
  if (about.keys == catalog::scalar::i64) return both<long long>;
  return {};
}

}  // namespace rungs::bench::by_key
