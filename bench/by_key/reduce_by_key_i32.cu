#include "by_key/reduce_by_key.cuh"

namespace rungs::bench::by_key {

calls reduce_calls_of_i32(const problem& about) { return reduce_calls_of<int>(about); }

}  // namespace rungs::bench::by_key
