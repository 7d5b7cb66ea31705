// What the examples share: a failed call ends the program, arrays can be read on the host and on the device, and a
// result is reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

// 77 is what tests take for "could not be run here".
inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  const bool has_no_gpu = error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice;
  std::printf("%s%s\n", has_no_gpu ? "no usable GPU: " : "", cudaGetErrorString(error));
  std::exit(has_no_gpu ? 77 : 1);
}

template <class T>
class array {
 public:
  explicit array(std::size_t size) : size_(size) { check(cudaMallocManaged(&items_, size * sizeof(T))); }
  ~array() { cudaFree(items_); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;

  T* data() const { return items_; }
  T* begin() const { return items_; }
  T* end() const { return items_ + size_; }
  T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::size_t size_;
  T* items_ = nullptr;
};

// The exit code of main.
inline int verdict(bool is_right) {
  std::printf("%s\n", is_right ? "right" : "WRONG");
  return is_right ? 0 : 1;
}
