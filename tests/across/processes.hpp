// Ranks in processes of their own: this program, started again with an argument.
#pragma once

#include <string>

namespace rungs::tests::across {

// What the processes do. all_reduce: rungs of all kinds, and their answers. differing: their options differ, and all
// have to be refused.
enum class job { all_reduce, differing };

// Starts so many, and waits for them. Empty where all ended well; else what did not.
std::string run_processes(job what, int num_ranks);

// What such a process does. Returns its exit status, if its arguments are such a process's; else -1.
int run_as_rank(int argc, char** argv);

}  // namespace rungs::tests::across
