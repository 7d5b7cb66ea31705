// A row by bins of levels: sums of weights are exact in each bin, and tokens of a bin are neighbours in the order.
//
// The blocks of a cluster have the row together, each a share, or a single block has it. Each block reads its share
// once. Then blocks
//   1. find the greatest and the least item, which say how wide bins are (level_extremes.cuh),
//   2. add up weights in bins, and find the windows of bins in which cuts and the draw lie (level_windows.cuh),
//   3. list the tokens of the windows (level_lists.cuh).
// The first block finds cuts and the draw among the listed tokens, by finer bins (chained_cuts.cuh). What passes
// between blocks are stores and copies that announce themselves on a barrier of the receiver, so blocks do not meet.
//
// Where many tokens are alike, the first block looks through the list again (cuts_in_list.cuh). Where there are too
// many for lists, as of equal logits, all blocks look through their shares for each cut (cuts_in_shares.cuh). For a cut
// they meet about five times then.
#pragma once

#include "rungs/production/sampling/cuts_in_shares.cuh"

namespace rungs::RUNGS_ABI::production {

// All phases: each file's class has that of the phase before as its base.
template <class T, bool of_logits>
using level_search = cuts_in_shares<T, of_logits>;

}  // namespace rungs::RUNGS_ABI::production
