// What a front door calls of its rungs, as explicit instantiations: a rung's own units compile it (how: `template`),
// the front door's units only declare it (`extern template`). So a kernel is compiled once, and who edits a rung does
// not wait for the front door's kernels. That takes functions that are not inline: a rung behind a front door defines
// its call outside of its struct. cmake/variants.cmake writes the lines, one for each type and operator.
#pragma once

#include "enrol/enrol.cuh"

#define RUNGS_CALLS_OF_reductions(how, rung, input, accumulator, op)                                               \
  how cudaError_t rung::reduce(void*, std::size_t&, const catalog::input*, catalog::accumulator*, std::size_t, op, \
                               catalog::accumulator, cudaStream_t);

#define RUNGS_CALLS_OF_scans(how, rung, input, accumulator, op)     \
  RUNGS_CALL_OF_SCANS(how, rung, inclusive, input, accumulator, op) \
  RUNGS_CALL_OF_SCANS(how, rung, exclusive, input, accumulator, op)
#define RUNGS_CALL_OF_SCANS(how, rung, kind, input, accumulator, op)                                         \
  how cudaError_t rung::scan<rungs::parts::scan_kind::kind>(void*, std::size_t&, const catalog::input*,      \
                                                            catalog::accumulator*, op, catalog::accumulator, \
                                                            std::size_t, cudaStream_t);

#define RUNGS_CALLS_OF_histograms(how, rung, sample, counted, levels)                                                  \
  how cudaError_t rung::count(void*, std::size_t&, const catalog::sample*, std::size_t, catalog::u32*,                 \
                              const rungs::parts::levels##_bins<catalog::sample, catalog::level_of<catalog::sample>>&, \
                              cudaStream_t);
