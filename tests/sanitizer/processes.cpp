#include "sanitizer/processes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <string_view>
#include <thread>

namespace rungs::tests::sanitizer {
namespace {

volatile std::sig_atomic_t caught = 0;

// Keeps SIGINT and SIGTERM from ending this process before its children, which the terminal's Ctrl-C does not reach.
class signal_guard {
 public:
  signal_guard() {
    caught = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) { caught = signal; };
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~signal_guard() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  signal_guard(const signal_guard&) = delete;
  signal_guard& operator=(const signal_guard&) = delete;

 private:
  struct sigaction before_int_ {
  }, before_term_{};
};

std::string_view variable(std::string_view setting) { return setting.substr(0, setting.find('=')); }

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  return raw;
}

// The child's process id, or 0.
pid_t start(command it) {
  for (char** own = environ; *own != nullptr; ++own)
    if (std::ranges::none_of(it.environment, [&](const std::string& ours) { return variable(ours) == variable(*own); }))
      it.environment.emplace_back(*own);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, it.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = posix_spawnp(&child, it.words.at(0).c_str(), &files, &attributes, pointers(it.words).data(),
                                 pointers(it.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? child : 0;
}

}  // namespace

void run_together(const std::vector<command>& commands, double limit_seconds,
                  const std::function<void(std::size_t, int)>& ended) {
  using clock = std::chrono::steady_clock;
  const signal_guard guard;
  const auto begun = clock::now();
  std::vector<pid_t> children;  // 0: it has ended
  for (const command& it : commands) children.push_back(start(it));
  std::size_t running = commands.size();
  for (std::size_t i = 0; i < children.size(); ++i)
    if (children[i] == 0) --running, ended(i, not_started);

  bool late = false, stopped = false;
  while (running > 0) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (const auto it = std::ranges::find(children, child); child > 0 && it != children.end()) {
      *it = 0;
      --running;
      kill(-child, SIGKILL);  // what it started and left
      if (!stopped)
        ended(static_cast<std::size_t>(it - children.begin()), late                  ? timed_out
                                                               : WIFSIGNALED(status) ? -WTERMSIG(status)
                                                                                     : WEXITSTATUS(status));
      continue;
    }
    late = late || std::chrono::duration<double>(clock::now() - begun).count() > limit_seconds;
    stopped = stopped || caught != 0;
    if (late || stopped)
      for (const pid_t still : children)
        if (still != 0) kill(-still, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (stopped || caught != 0) throw interrupted("interrupted");
}

int run(const command& it) {
  int result = not_started;
  run_together({it}, std::numeric_limits<double>::infinity(), [&](std::size_t, int status) { result = status; });
  return result;
}

}  // namespace rungs::tests::sanitizer
