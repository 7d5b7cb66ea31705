// What a unit hands its records to. It knows nothing of std::vector, which every unit would read for half a second.
#pragma once

#include "catalog.hpp"

namespace rungs::catalog {

struct collector {
  virtual void add(const record& each) = 0;

 protected:
  ~collector() = default;
};

}  // namespace rungs::catalog
