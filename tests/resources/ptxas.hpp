// What the compiler says about each kernel (ptxas -v), read and judged: no kernel of ours may spill or use a stack
// frame.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rungs::tests::resources {

struct kernel {
  std::string mangled{}, architecture{};
  bool is_entry = false;  // else a device function that was not inlined
  int registers = -1, stack_bytes = -1, spill_store_bytes = -1, spill_load_bytes = -1, shared_bytes = 0;
  // In namespace rungs: the kernels of CUB, Thrust and cooperative groups are not ours to judge.
  bool ours() const;
  // Every number was there.
  bool complete() const {
    return registers >= 0 && stack_bytes >= 0 && spill_store_bytes >= 0 && spill_load_bytes >= 0;
  }
};

// Reads one report; device functions that were not inlined count as kernels. Throws std::runtime_error on a line of it
// that cannot be understood.
std::vector<kernel> parse(std::string_view report);

struct judgement {
  std::size_t ours = 0, others = 0;
  std::vector<std::string> complaints;
  bool good() const { return complaints.empty() && ours > 0; }
};
judgement judge(const std::vector<kernel>& kernels);

}  // namespace rungs::tests::resources
