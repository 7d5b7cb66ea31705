// Storage that may hold anything, at the speed of storage that was zeroed once: what a call posts bears a tag that no
// other call has.
//
// The host draws 64 bits for each call, from a generator that the system seeds for each thread. What storage happens to
// hold is taken for a post of the call with a probability of 2^-64 for each word that is read as a tag: for a scan of
// 2^30 items, of 2^17 tiles, less than 2^-46.
//
// Who waits for a post reads words that may never have been written; compute-sanitizer's initcheck reports that, where
// nobody has filled the storage.
//
// A call that is captured keeps its tag, and every replay has it again. So a captured call clears its storage first, by
// a launch with which its own overlaps. Storage whose earlier contents are copied back while a replay runs is outside
// of this, and of CUB's contract.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#if __has_include(<sys/random.h>)
#include <sys/random.h>
#else
#include <random>
#endif

#include "rungs/parts/mailboxes.cuh"
#include "rungs/parts/overlapped_clear.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::parts {

inline unsigned long long seed_of_tags() {
  unsigned long long seed;
#if __has_include(<sys/random.h>)
  if (getentropy(&seed, sizeof(seed)) == 0) return seed;
  seed = reinterpret_cast<unsigned long long>(&seed);  // without a kernel that has it: where the stack happens to be
#else
  std::random_device device;
  seed = static_cast<unsigned long long>(device()) << 32 | device();
#endif
  return seed;
}

// A new one; never 0. Steele, Lea and Flood's SplitMix64: a bijection of a counter, so that a thread has none twice.
inline tag draw_tag() {
  thread_local unsigned long long counter = seed_of_tags();
  unsigned long long bits = counter += 0x9e3779b97f4a7c15ull;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
  bits ^= bits >> 31;
  return bits != 0 && bits != ~0ull ? bits : draw_tag();
}

inline cudaError_t is_captured(cudaStream_t stream, bool& captured) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  captured = status != cudaStreamCaptureStatusNone;
  return error;
}

// What a call begins with that posts under a tag in `bytes` bytes of storage, a multiple of four. The kernel is then
// launched by launch_overlapped(…, opened.clears, …), and calls wait_until_cleared() before it touches the storage.
struct opened_storage {
  char* region = nullptr;  // where it begins
  tag of_call = 0;
  bool clears = false;  // whether the launch before clears it, and the next one may overlap with that

  // answered(), and for a call of any items open(). Returns true when the caller is to return `error` at once.
  bool answers(void* d_temp_storage, std::size_t& temp_storage_bytes, std::size_t bytes, std::size_t num_items,
               cudaStream_t stream, cudaError_t& error) {
    if (answered(d_temp_storage, temp_storage_bytes, bytes, region, error) || num_items == 0) return true;
    error = open(region, bytes, stream);
    return error != cudaSuccess;
  }
  cudaError_t open(char* region, std::size_t bytes, cudaStream_t stream) {
    of_call = draw_tag();
    bool captured = false;
    cudaError_t error = is_captured(stream, captured);
    if (error != cudaSuccess || !captured) return error;
    error = launch_clear(reinterpret_cast<unsigned*>(region), static_cast<unsigned>(bytes / sizeof(unsigned)), stream);
    if (error == cudaSuccess) error = overlaps_launches(clears);
    return error;
  }
};

}  // namespace rungs::RUNGS_ABI::parts
