// cuBLAS's dot product, its result in device memory. The library is loaded when it is first called: who has none builds
// and runs all else.
#pragma once

#include <cublas_v2.h>
#include <dlfcn.h>

#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/parts/storage.cuh"

namespace rungs::RUNGS_ABI::dots {

// The functions of cuBLAS that a dot product takes; null where this machine has no such library.
struct cublas_library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = nullptr;
  decltype(&cublasSdot_v2_64) dot_of_floats = nullptr;
  decltype(&cublasDdot_v2_64) dot_of_doubles = nullptr;

  cublas_library() {
    constexpr const char* names[] = {"libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.13", "libcublas.so.12",
                                     "/usr/local/cuda/lib64/libcublas.so.12"};
    void* library = nullptr;
    for (const char* name : names)
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(create, "cublasCreate_v2");
    find(set_stream, "cublasSetStream_v2");
    find(set_workspace, "cublasSetWorkspace_v2");
    find(set_pointer_mode, "cublasSetPointerMode_v2");
    find(dot_of_floats, "cublasSdot_v2_64");
    find(dot_of_doubles, "cublasDdot_v2_64");
  }
  bool is_complete() const {
    return create && set_stream && set_workspace && set_pointer_mode && dot_of_floats && dot_of_doubles;
  }
  static const cublas_library& loaded() {
    static const cublas_library library;
    return library;
  }
};

// A thread's own, of the device that was current when it was first asked for. It lives as long as the process.
inline cublasHandle_t cublas_handle() {
  thread_local const cublasHandle_t handle = [] {
    const cublas_library& library = cublas_library::loaded();
    cublasHandle_t made = nullptr;
    if (!library.is_complete() || library.create(&made) != CUBLAS_STATUS_SUCCESS) return cublasHandle_t{};
    return library.set_pointer_mode(made, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS ? made
                                                                                               : cublasHandle_t{};
  }();
  return handle;
}

struct cublas_dot {
  static constexpr auto idea = "cublasSdot and cublasDdot";
  static constexpr int block_threads = 128, items_per_thread = 1;  // not documented
  static constexpr bool deterministic = false;                     // nothing is said of two addresses
  static constexpr std::size_t workspace_bytes = 4 << 20;          // enough for partial sums, and the caller's own

  template <class Item, class T>
  static cudaError_t dot(void* d_temp_storage, std::size_t& temp_storage_bytes, const Item* d_x, const Item* d_y,
                         T* d_out, std::size_t num_items, cudaStream_t stream = nullptr) {
    static_assert(std::is_same_v<Item, T> && (std::is_same_v<T, float> || std::is_same_v<T, double>));
    const cublas_library& library = cublas_library::loaded();
    const cublasHandle_t handle = cublas_handle();
    char* region;
    cudaError_t error;
    if (handle == nullptr) return cudaErrorNotSupported;
    if (parts::answered(d_temp_storage, temp_storage_bytes, workspace_bytes, region, error)) return error;
    cublasStatus_t status = library.set_stream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS) status = library.set_workspace(handle, region, workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS) {
      const auto n = static_cast<std::int64_t>(num_items);
      if constexpr (std::is_same_v<T, float>)
        status = library.dot_of_floats(handle, n, d_x, 1, d_y, 1, d_out);
      else
        status = library.dot_of_doubles(handle, n, d_x, 1, d_y, 1, d_out);
    }
    return status == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown;
  }
};

}  // namespace rungs::RUNGS_ABI::dots
