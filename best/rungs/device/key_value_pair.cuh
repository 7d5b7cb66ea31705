// What CUB's older ArgMin and ArgMax write: the index as key.
#pragma once

#include "rungs/contract.cuh"

namespace rungs::RUNGS_ABI {

template <class Key, class Value>
struct KeyValuePair {
  Key key;
  Value value;
};

}  // namespace rungs::RUNGS_ABI
