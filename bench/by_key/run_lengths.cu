#include <cub/device/device_run_length_encode.cuh>
#include <rungs/device/device_run_length_encode.cuh>

#include "by_key/places.cuh"

namespace rungs::bench::by_key {
namespace {

template <class Encode, class T>
cudaError_t encode(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                   cudaStream_t stream) {
  const outputs<T, int> out(a);
  return Encode::Encode(d_temp_storage, temp_storage_bytes, first_in<T>(a), out.first, out.second, out.count,
                        num_items(a), stream);
}
template <class Encode, class T>
cudaError_t non_trivial(void* d_temp_storage, std::size_t& temp_storage_bytes, const catalog::arguments& a,
                        cudaStream_t stream) {
  const outputs<int, int> out(a);
  return Encode::NonTrivialRuns(d_temp_storage, temp_storage_bytes, first_in<T>(a), out.first, out.second, out.count,
                                num_items(a), stream);
}

template <class T>
calls of_type(operation what) {
  using ours = rungs::DeviceRunLengthEncode;
  using theirs = cub::DeviceRunLengthEncode;
  if (what == operation::encode) return {encode<ours, T>, encode<theirs, T>};
  return {non_trivial<ours, T>, non_trivial<theirs, T>};
}

}  // namespace

calls run_length_calls(const problem& about) {
  if (about.keys == catalog::scalar::i32) return of_type<int>(about.operation);
  if (about.keys == catalog::scalar::i64) return of_type<long long>(about.operation);
  return {};
}

}  // namespace rungs::bench::by_key
