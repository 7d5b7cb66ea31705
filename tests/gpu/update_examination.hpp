// The cases of a record of the study of atomics, which reads no input: numbers of operations and of addresses, outputs
// and workspaces anywhere between red zones, two seeds, streams and graphs, and what must be refused.
#pragma once

#include "gpu/examination.hpp"

namespace rungs::tests {

verdict examine_updates(const catalog::record& subject, const examination& how);

}  // namespace rungs::tests
