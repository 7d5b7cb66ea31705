// The oracle of the study of atomics, on the device.
#include "device_work.hpp"

namespace rungs::bench::device_work {
namespace {

// Always on 64-bit words in memory. Copies keep blocks apart that would meet on few addresses.
template <class Op, class T>
__global__ void fold_kernel(parts::updates work, std::size_t copies, std::uint64_t* words, std::uint32_t* counts) {
  const std::size_t first_word = blockIdx.x % copies * work.num_addresses;
  const std::size_t num_threads = std::size_t{gridDim.x} * blockDim.x;
#pragma unroll 1
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < work.num_operations; i += num_threads) {
    const unsigned bits = work.bits_of(i);
    const std::size_t address = first_word + work.address_of(bits);
    const auto at = reinterpret_cast<unsigned long long*>(words + address);
    const unsigned long long word = word_of_value<Op>(work.value_of<Op, T>(i, bits));
    constexpr folding how = folding_of<Op>;
    if constexpr (how == folding::sum)
      atomicAdd(at, word);
    else if constexpr (how == folding::least)
      atomicMin(at, word);
    else if constexpr (how == folding::greatest)
      atomicMax(at, word);
    else if constexpr (how == folding::all_bits)
      atomicAnd(at, word);
    else if constexpr (how == folding::any_bit)
      atomicOr(at, word);
    else if constexpr (how == folding::odd_bits)
      atomicXor(at, word);
    atomicAdd(counts + address, 1u);
  }
}

}  // namespace

cudaError_t fold_updates(const update_question& of, std::uint64_t* words, std::uint32_t* counts, cudaStream_t stream) {
  if (of.num_operations == 0) return cudaSuccess;
  cudaError_t error = cudaErrorInvalidValue;
  with_update(of.op, of.type, [&]<class Op, class T>() {
    const auto work = parts::updates::of<Op, T>(of.num_operations, static_cast<unsigned>(of.num_addresses), of.seed);
    fold_kernel<Op, T><<<1024, 256, 0, stream>>>(work, num_copies(of), words, counts);
    error = cudaGetLastError();
  });
  return error;
}

}  // namespace rungs::bench::device_work
