#include "gpu/large_memory.hpp"

namespace rungs::tests {

large_memory::input* large_memory::input_of(catalog::scalar type, cudaStream_t stream) {
  input& wanted = inputs_[type];
  in_use_ = &wanted;
  if (wanted.items == nullptr) {
    const std::size_t bytes = num_items * catalog::size_of(type);
    if (!make_room(bytes, &wanted)) return nullptr;
    wanted.items = where_.allocate(bytes);
    where_.generate(type, wanted.items, made(), stream);
  }
  return &wanted;
}

void* large_memory::output(std::size_t bytes) {
  if (bytes <= output_bytes_) return output_;
  release_output();
  if (!make_room(bytes, in_use_)) return nullptr;
  output_ = where_.allocate(bytes);
  output_bytes_ = bytes;
  return output_;
}

void large_memory::make_way() {
  if (where_.free_memory() >= 2 * left_for_others) return;
  release_output();
  for (auto& [type, old] : inputs_) release(old);
}

// The output goes first, then the inputs of other types.
bool large_memory::make_room(std::size_t bytes, const input* kept) {
  const auto enough = [&] { return where_.free_memory() >= bytes + left_for_others; };
  if (!enough()) release_output();
  for (auto& [type, old] : inputs_)
    if (!enough() && &old != kept) release(old);
  return enough();
}

void large_memory::release(input& old) {
  if (old.items != nullptr) where_.free(old.items);
  old = {};
}

void large_memory::release_output() {
  if (output_ != nullptr) where_.free(output_);
  output_ = nullptr;
  output_bytes_ = 0;
}

}  // namespace rungs::tests
