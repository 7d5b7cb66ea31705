// A call of the front door by whichever storage: d_temp_storage and its size, or a workspace.
#pragma once

#include <rungs/workspace.cuh>

#include <cstddef>
#include <functional>

namespace rungs::tests {

template <class... Arguments>
class both_forms {
 public:
  // Made of call(arguments..., storage...).
  template <class Call>
  explicit both_forms(Call call)
      : in_two_phases_([=](void* d_temp_storage, std::size_t& temp_storage_bytes, Arguments... arguments) {
          return call(arguments..., d_temp_storage, temp_storage_bytes);
        }),
        with_workspace_([=](workspace& workspace, Arguments... arguments) { return call(arguments..., workspace); }) {}

  cudaError_t operator()(void* d_temp_storage, std::size_t& temp_storage_bytes, Arguments... arguments) const {
    return in_two_phases_(d_temp_storage, temp_storage_bytes, arguments...);
  }
  cudaError_t operator()(workspace& workspace, Arguments... arguments) const {
    return with_workspace_(workspace, arguments...);
  }

 private:
  std::function<cudaError_t(void*, std::size_t&, Arguments...)> in_two_phases_;
  std::function<cudaError_t(workspace&, Arguments...)> with_workspace_;
};

}  // namespace rungs::tests
