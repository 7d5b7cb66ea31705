// The ceiling of what reads halves of words and writes as many words: each half, 16 bits of any type, becomes a word.
// One part in three is read, two are written.
#pragma once

#include "rungs/roofs/parts/widening.cuh"

namespace rungs::RUNGS_ABI::roofs {

struct widen_halves : parts::widening<catalog::operation::widen_halves> {
  static constexpr auto idea = "read items of 16 bits once and write each as a word, 16 bytes a store";
};

}  // namespace rungs::RUNGS_ABI::roofs
