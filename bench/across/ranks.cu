#include "across/ranks.hpp"

#include <cub/device/device_reduce.cuh>

#include "across/items.hpp"
#include "across_catalog.hpp"
#include "check.hpp"
#include "rungs/across/05_fused_sum.cuh"
#include "rungs/across/planned.cuh"
#include "rungs/across/windows.cuh"
#include "rungs/operators.cuh"

namespace rungs::bench::across_gpus {

struct connected_ranks::windows_of_all {
  rungs::across::windows windows;
};

std::vector<rung_facts> enrolled() {
  std::vector<rung_facts> found;
  const auto& all = across_records();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const problem about{operation::all_reduce, all[i].type, all[i].op};
    if (about != problems[0]) continue;
    found.push_back({std::string(all[i].rung), std::string(all[i].idea), std::string(all[i].against),
                     std::string(all[i].gains), std::string(all[i].costs), about, i});
  }
  return found;
}

cudaError_t sum_by_cub(void* d_temp_storage, std::size_t& temp_storage_bytes, const void* d_in, void* d_out,
                       std::size_t num_items, cudaStream_t stream) {
  return cub::DeviceReduce::Sum(d_temp_storage, temp_storage_bytes, static_cast<const float*>(d_in),
                                static_cast<float*>(d_out), num_items, stream);
}

connected_ranks::connected_ranks(const std::vector<int>& devices) : windows_(std::make_unique<windows_of_all>()) {
  check(windows_->windows.create(devices.data(), static_cast<int>(devices.size())));
}

connected_ranks::~connected_ranks() = default;

cudaError_t connected_ranks::planned(problem about, int rank, const void* d_in, void* d_out, std::size_t num_items,
                                     cudaStream_t stream) const {
  return with_item(about, [&](auto item) {
    using T = decltype(item);
    const auto me = windows_->windows.member(rank);
    if constexpr (std::is_same_v<T, float>) {
      if (about.operation == operation::reduce)
        return rungs::across::fused_sum::sum(me, static_cast<const T*>(d_in), static_cast<T*>(d_out), num_items,
                                             stream);
    }
    const auto call = [&](auto op) {
      return rungs::across::all_reduce(me, static_cast<const T*>(d_in), static_cast<T*>(d_out), num_items, op, stream);
    };
    if constexpr (std::is_integral_v<T>)
      return call(maximum{});
    else
      return call(plus{});
  });
}

cudaError_t connected_ranks::rung(std::size_t position, int rank, const void* d_in, void* d_out, std::size_t num_items,
                                  cudaStream_t stream) const {
  return across_records()[position].all_reduce(windows_->windows.member(rank), d_in, d_out, num_items, stream);
}

}  // namespace rungs::bench::across_gpus
