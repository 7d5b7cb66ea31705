// Calls of one cell by both libraries: verified, then timed together.
#pragma once

#include <vector>

#include "by_key/cells.hpp"
#include "device.hpp"
#include "instruments.hpp"
#include "sampler.hpp"

namespace rungs::bench::by_key {

class study {
 public:
  // Up to so many items the host makes the right outputs, too; above, ours are compared with CUB's.
  static constexpr std::size_t items_of_host = 1 << 20;

  // Buffers for the largest of the cells. Throws where the GPU has no memory for them.
  study(const device_facts& device, const room& largest);

  // `seconds`: for the samples. What could not run is added to the omissions.
  measured_cell measure(const cell& about, double seconds, std::vector<omission>& omissions);

 private:
  struct entry;
  struct found_outputs {
    std::size_t count = 0;
    std::uint64_t hash = 0;
    bool operator==(const found_outputs&) const = default;
  };

  // Enqueues the call and waits. The outputs held nothing of the call before.
  void run_once(const entry& one);
  found_outputs look(const cell& about);
  std::string defect_by_host(const cell& about, const found_outputs& found);

  event_bench bench_;
  clock_guard clocks_;
  device_memory in_, out_, hash_;
};

}  // namespace rungs::bench::by_key
