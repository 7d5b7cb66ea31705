// The cases of a record of the studies, which read no input: atomics (numbers of operations and of addresses), and
// collectives and barriers (chains of any length, groups of blocks and threads). Outputs and workspaces stand anywhere
// between red zones; two seeds, graphs, and what must be refused.
#pragma once

#include "gpu/examination.hpp"

namespace rungs::tests {

verdict examine_study(const catalog::record& subject, const examination& how);

}  // namespace rungs::tests
