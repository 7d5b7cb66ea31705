// A second copy of the library in a namespace of the user's, as CUB_WRAPPED_NAMESPACE gives CUB one.
#define rungs mine::rungs
#include <rungs/rungs.cuh>
#undef rungs

cudaError_t sum_in_mine(void* d_temp_storage, std::size_t& temp_storage_bytes, const int* d_in, int* d_out) {
  return mine::rungs::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, d_in, d_out, 1000);
}
