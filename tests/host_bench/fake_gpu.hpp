// A GPU in a hundred lines: memory is the host's, a stream runs each launch at once, and time passes by what launches
// say they take. It stands in for the CUDA runtime, so that the device side of the instrument is tested where there is
// no GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace rungs::bench::fake_gpu {

// What a kernel launch is here: some work, and the time it takes. Captured where the stream is being captured.
cudaError_t launch(double microseconds, std::function<void()> work);

struct state {
  double now_us = 0;
  double clock_mhz = 1980;
  int launches = 0;                  // executed, not captured
  int allocations = 0;               // alive
  bool in_view = false;              // a profiler looks on
  int seen = 0, flushed_before = 0;  // launches that it saw, and how often a flush was the last thing before it did
  bool flushed = false;              // nothing was launched since the last flush
};
state& now();

}  // namespace rungs::bench::fake_gpu
