// The ceiling of what reads bytes and writes as many words: each byte becomes a word. A copy of as many bytes reads and
// writes half of them each; this reads one part in five and writes four.
#pragma once

#include "rungs/roofs/parts/widening.cuh"

namespace rungs::RUNGS_ABI::roofs {

struct widen_bytes : parts::widening<catalog::operation::widen_bytes> {
  static constexpr auto idea = "read bytes once and write each as a word, 16 bytes a store";
};

}  // namespace rungs::RUNGS_ABI::roofs
