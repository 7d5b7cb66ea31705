// All items reduced to one; and what belongs to no family.
#include <rungs/device/device_reduce.cuh>

#include "types.cuh"

using namespace rungs_torch;

#define RUNGS_TEXT_OF(value) #value
#define RUNGS_TEXT(value) RUNGS_TEXT_OF(value)

int rungs_interface() { return RUNGS_INTERFACE; }
const char* rungs_version() {
  static_assert(rungs::version_major == 0 && rungs::version_minor == 1 && rungs::version_patch == 0);
  return "0.1.0";
}
const char* rungs_error_string(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int rungs_reduce(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                 void* d_out, size_t num_items, void* stream) {
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const auto items = static_cast<const T*>(d_in);
    switch (operation) {
      case rungs_sum:
        return rungs::DeviceReduce::Sum(d_temp_storage, *temp_storage_bytes, items, static_cast<sum_of<T>*>(d_out),
                                        num_items, stream_of(stream));
      case rungs_min:
        return rungs::DeviceReduce::Min(d_temp_storage, *temp_storage_bytes, items, static_cast<T*>(d_out), num_items,
                                        stream_of(stream));
      case rungs_max:
        return rungs::DeviceReduce::Max(d_temp_storage, *temp_storage_bytes, items, static_cast<T*>(d_out), num_items,
                                        stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}

int rungs_arg_reduce(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                     void* d_extremum, long long* d_index, size_t num_items, void* stream) {
  return with_number(type, [&](auto item) {
    using T = typename decltype(item)::named;
    const auto items = static_cast<const T*>(d_in);
    const auto extremum = static_cast<T*>(d_extremum);
    const auto count = static_cast<long long>(num_items);
    switch (operation) {
      case rungs_min:
        return rungs::DeviceReduce::ArgMin(d_temp_storage, *temp_storage_bytes, items, extremum, d_index, count,
                                           stream_of(stream));
      case rungs_max:
        return rungs::DeviceReduce::ArgMax(d_temp_storage, *temp_storage_bytes, items, extremum, d_index, count,
                                           stream_of(stream));
    }
    return cudaErrorInvalidValue;
  });
}
