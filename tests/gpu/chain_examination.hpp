// The cases of a record of the studies of costs, which read no input: lengths of chains, everyone who may take part,
// outputs and workspaces anywhere between red zones, two seeds, a captured graph, and what must be refused.
#pragma once

#include "gpu/examination.hpp"

namespace rungs::tests {

verdict examine_chains(const catalog::record& subject, const examination& how);

}  // namespace rungs::tests
