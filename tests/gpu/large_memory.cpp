#include "gpu/large_memory.hpp"

#include <utility>

namespace rungs::tests {

void* large_memory::input_of(catalog::scalar type, cudaStream_t stream) {
  in_use_ = type;
  void*& input = inputs_[type];
  const std::size_t bytes = num_items * catalog::size_of(type);
  if (input == nullptr && make_room(bytes)) {
    input = where_.allocate(bytes);
    where_.generate(type, input, made(), stream);
  }
  return input;
}

void* large_memory::output(std::size_t bytes) {
  if (output_ != nullptr && bytes <= output_bytes_) return output_;
  release(output_);
  if (make_room(bytes)) {
    output_ = where_.allocate(bytes);
    output_bytes_ = bytes;
  }
  return output_;
}

void large_memory::make_way() {
  if (where_.free_memory() >= 2 * left_for_others) return;
  release(output_);
  for (auto& [type, input] : inputs_) release(input);
}

// The output goes first, then the inputs of other types.
bool large_memory::make_room(std::size_t bytes) {
  const auto enough = [&] { return where_.free_memory() >= bytes + left_for_others; };
  if (!enough()) release(output_);
  for (auto& [type, input] : inputs_)
    if (!enough() && type != in_use_) release(input);
  return enough();
}

void large_memory::release(void*& memory) {
  if (void* const given_up = std::exchange(memory, nullptr); given_up != nullptr) where_.free(given_up);
}

}  // namespace rungs::tests
