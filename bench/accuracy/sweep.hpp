// What exact sums and dot products cost at each size, beside plain ones.
#pragma once

#include <cstddef>

#include "device.hpp"
#include "environment.hpp"

namespace rungs::bench {

// Of every type, at sizes up to `most` items: cold times of all ways together. Results of exact ones are compared with
// the exact sum, bit for bit; a wrong one has no time.
json sweep_of_sizes(const device_facts& device, std::size_t most);

}  // namespace rungs::bench
