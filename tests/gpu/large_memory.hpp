// Memory for inputs and outputs around 2^32 items: made once for all records, given up where another needs its room.
#pragma once

#include <map>

#include "gpu/site.hpp"

namespace rungs::tests {

class large_memory {
 public:
  static constexpr std::size_t num_items = (1ull << 32) + 1;
  // What every input is made of; prefixes of it serve the smaller sizes.
  static sample made() { return make_sample(distribution::exact, 7, num_items); }

  explicit large_memory(site& where) : where_(where) {}

  // Null where there is no room, even without the others.
  void* input_of(catalog::scalar type, cudaStream_t stream);
  void* output(std::size_t bytes);
  // Gives everything up where little is left for other cases.
  void make_way();

 private:
  static constexpr std::size_t left_for_others = std::size_t{4} << 30;
  bool make_room(std::size_t bytes);
  void release(void*& memory);

  site& where_;
  std::map<catalog::scalar, void*> inputs_;
  catalog::scalar in_use_{};
  void* output_ = nullptr;
  std::size_t output_bytes_ = 0;
};

}  // namespace rungs::tests
