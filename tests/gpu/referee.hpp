// What a call was to write, and whether it did: a referee for each kind of operation.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/problem.hpp"
#include "gpu/site.hpp"

namespace rungs::tests {

// A call as its referee sees it. The input was made of `items`, of which the problem may take a part only.
struct judged_call {
  const problem& asked;
  const sample& items;
  const void *d_in, *d_out;
  cudaStream_t stream;
  const sample* second = nullptr;  // of pairs
  const void* d_second = nullptr;
};

class referee {
 public:
  virtual ~referee() = default;
  virtual std::size_t output_items(const problem& asked) const = 0;
  // Before the call, while the input is there; `of_input` is its checksum.
  virtual void learn(const judged_call& call, std::uint64_t of_input) = 0;
  // After the call that was learnt last: empty if the output is right, else what is wrong with it. Waits.
  virtual std::optional<std::string> fault(const judged_call& call) = 0;
  // The output in a few words, the same for the same bits only. Waits.
  virtual std::string fingerprint(const judged_call& call) = 0;
};

std::unique_ptr<referee> referee_of(const catalog::record& subject, site& where);

}  // namespace rungs::tests
