// Arguments for calls over the fake runtime.
#pragma once

#include <cstdint>

namespace rungs::tests {

// Addresses that no kernel will touch, the same for the same i.
template <class T>
T* far_away(int i) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(i) << 40);
}

}  // namespace rungs::tests
