// Programs run side by side, under a time limit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rungs::tests::sanitizer {

struct command {
  std::vector<std::string> words;          // the program, sought in PATH, and its arguments
  std::filesystem::path output;            // a file for what it prints
  std::vector<std::string> environment{};  // NAME=value, over this process's own
};

struct interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};
constexpr int timed_out = 124, not_started = 127;

// Starts all of them at once, each in a process group of its own, and tells of each as it ends: its exit status, minus
// the number of the signal that ended it, timed_out or not_started. After `limit_seconds` those that still run are
// killed with all that they started. SIGINT and SIGTERM kill them too; interrupted is thrown then.
void run_together(const std::vector<command>& commands, double limit_seconds,
                  const std::function<void(std::size_t index, int status)>& ended);

// One alone, however long it takes.
int run(const command& it);

}  // namespace rungs::tests::sanitizer
