#include "across/nccl.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <set>
#include <stdexcept>

namespace rungs::bench::across_gpus {
namespace {

// The part of NCCL's interface that is used, by its documented values: the header is not in every toolkit.
constexpr int success = 0, sum = 0, maximum = 2, int32 = 2, float32 = 7, bfloat16 = 9, symmetric_window = 1;

}  // namespace

struct nccl::functions {
  void* handle = nullptr;
  int (*get_version)(int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*comm_init_all)(ncclComm**, int, const int*) = nullptr;
  int (*comm_destroy)(ncclComm*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, ncclComm*, cudaStream_t) = nullptr;
  // Since 2.27; null in older ones.
  int (*mem_alloc)(void**, std::size_t) = nullptr;
  int (*mem_free)(void*) = nullptr;
  int (*window_register)(ncclComm*, void*, std::size_t, void**, int) = nullptr;
  int (*window_deregister)(ncclComm*, void*) = nullptr;

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }
};

std::unique_ptr<nccl> nccl::load(const std::string& library, const std::vector<int>& devices, std::string& why_not) {
  if (std::set<int>(devices.begin(), devices.end()).size() != devices.size()) {
    why_not = "NCCL takes one rank a GPU, and several ranks share one here";
    return nullptr;
  }
  setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0);
  auto call = std::make_unique<functions>();
  call->handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (call->handle == nullptr) {
    why_not = dlerror();
    return nullptr;
  }
  for (const bool found :
       {call->find(call->get_version, "ncclGetVersion"), call->find(call->get_error_string, "ncclGetErrorString"),
        call->find(call->comm_init_all, "ncclCommInitAll"), call->find(call->comm_destroy, "ncclCommDestroy"),
        call->find(call->all_reduce, "ncclAllReduce")}) {
    if (found) continue;
    why_not = library + " lacks a function of NCCL";
    return nullptr;
  }
  call->find(call->mem_alloc, "ncclMemAlloc");
  call->find(call->mem_free, "ncclMemFree");
  call->find(call->window_register, "ncclCommWindowRegister");
  call->find(call->window_deregister, "ncclCommWindowDeregister");

  std::unique_ptr<nccl> made(new nccl);
  made->call_ = std::move(call);
  made->windows_.resize(devices.size());
  std::vector<ncclComm*> communicators(devices.size());
  int result = made->call_->get_version(&made->version_);
  if (result == success)
    result = made->call_->comm_init_all(communicators.data(), static_cast<int>(devices.size()), devices.data());
  if (result != success) {
    why_not = std::string("ncclCommInitAll: ") + made->call_->get_error_string(result);
    return nullptr;
  }
  made->communicators_ = std::move(communicators);
  return made;
}

nccl::~nccl() = default;

void nccl::close(int rank) {
  const auto own = static_cast<std::size_t>(rank);
  for (const auto& [memory, handle] : windows_[own]) {
    if (handle != nullptr) check(call_->window_deregister(communicators_[own], handle), "ncclCommWindowDeregister");
    if (memory != nullptr) check(call_->mem_free(memory), "ncclMemFree");
  }
  windows_[own] = {};
  check(call_->comm_destroy(communicators_[own]), "ncclCommDestroy");
}

std::string nccl::version() const {
  // 2.9 was the first to count minor versions by hundreds.
  const int major = version_ < 2900 ? version_ / 1000 : version_ / 10000;
  const int minor = version_ < 2900 ? version_ % 1000 / 100 : version_ % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version_ % 100);
}

void nccl::allocate_windows(int rank, std::size_t bytes) {
  if (call_->mem_alloc == nullptr || call_->mem_free == nullptr || call_->window_register == nullptr ||
      call_->window_deregister == nullptr)
    throw std::runtime_error("NCCL " + version() + " has no symmetric windows (ncclCommWindowRegister)");
  // Whole pages of 2 MiB: the same size on every rank, and a multiple of what windows are aligned to.
  constexpr std::size_t page = std::size_t{2} << 20;
  bytes = (bytes + page - 1) / page * page;
  const auto own = static_cast<std::size_t>(rank);
  for (window& each : windows_[own]) {
    check(call_->mem_alloc(&each.memory, bytes), "ncclMemAlloc");
    check(call_->window_register(communicators_[own], each.memory, bytes, &each.handle, symmetric_window),
          "ncclCommWindowRegister");
    if (each.handle == nullptr) throw std::runtime_error("ncclCommWindowRegister: no symmetric windows here");
  }
}

void nccl::all_reduce(problem about, int rank, const void* d_in, void* d_out, std::size_t num_items,
                      cudaStream_t stream) const {
  const int type = about.type == catalog::scalar::f32    ? float32
                   : about.type == catalog::scalar::bf16 ? bfloat16
                                                         : int32;
  check(call_->all_reduce(d_in, d_out, num_items, type, about.op == catalog::op::plus ? sum : maximum,
                          communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclAllReduce");
}

void nccl::check(int result, const char* call) const {
  if (result != success) throw std::runtime_error(std::string(call) + ": " + call_->get_error_string(result));
}

}  // namespace rungs::bench::across_gpus
