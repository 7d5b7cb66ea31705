#include "across/processes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "across/crew.cuh"
#include "across_catalog.hpp"
#include "text.hpp"

extern char** environ;

namespace rungs::tests::across {
namespace {

using std::filesystem::path;

constexpr auto patience = std::chrono::seconds(40);

// An all-gather by files: what rank r says the n-th time stands in the file n.r of a folder.
struct by_files {
  path folder;
  int rank, num_ranks, told = 0;

  cudaError_t operator()(const void* mine, void* all, std::size_t bytes) {
    const path aside = folder / text("aside.", rank);
    std::ofstream(aside, std::ios::binary).write(static_cast<const char*>(mine), static_cast<std::streamsize>(bytes));
    std::filesystem::rename(aside, folder / text(told, '.', rank));
    const auto end = std::chrono::steady_clock::now() + patience;
    for (int r = 0; r < num_ranks; ++r) {
      const path file = folder / text(told, '.', r);
      while (!std::filesystem::exists(file)) {
        if (std::chrono::steady_clock::now() > end) return cudaErrorTimeout;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::ifstream(file, std::ios::binary)
          .read(static_cast<char*>(all) + r * bytes, static_cast<std::streamsize>(bytes));
    }
    ++told;
    return cudaSuccess;
  }
};

std::string reduce_in_turn(const rungs::across::member& member) {
  constexpr std::size_t most_items = 30'000;
  const memory in(most_items * 4), out(most_items * 4);
  for (const bench::across_record& record : bench::across_records()) {
    if (record.op != catalog::op::plus || record.type != catalog::scalar::f32) continue;
    for (const std::size_t num_items : {std::size_t{1}, std::size_t{1001}, most_items}) {
      const auto items = items_of(record.type, items::whole, member.rank, num_items, num_items);
      upload(in.get(), items.data(), items.size());
      check(record.all_reduce(member, in.get(), out.get(), num_items, nullptr));
      std::vector<unsigned char> found(items.size());
      check(cudaMemcpy(found.data(), out.get(), found.size(), cudaMemcpyDeviceToHost));
      if (found != answers_of(record.type, record.op, items::whole, member.num_ranks, num_items, num_items))
        return text(record.rung, ", n=", num_items, ": wrong on rank ", member.rank);
    }
  }
  return {};
}

}  // namespace

std::string run_processes(job what, int num_ranks) {
  std::string folder = (std::filesystem::temp_directory_path() / "rungs_across_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return "no folder for files";
  std::vector<pid_t> started;
  std::string failed;
  for (int r = 0; r < num_ranks; ++r) {
    std::vector<std::string> words = {"rungs_across_tests", "--as-rank", text(static_cast<int>(what)), text(r),
                                      text(num_ranks),      folder};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0)
      started.push_back(child);
    else
      failed = "a process did not start";
  }
  const auto end = std::chrono::steady_clock::now() + patience + std::chrono::seconds(10);
  for (const pid_t child : started) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (ended == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      failed = text("a process ended with status ", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return failed;
}

int run_as_rank(int argc, char** argv) {
  if (argc != 6 || std::string(argv[1]) != "--as-rank") return -1;
  const job what = static_cast<job>(std::atoi(argv[2]));
  const int rank = std::atoi(argv[3]), num_ranks = std::atoi(argv[4]);
  try {
    int num_devices = 0;
    check(cudaGetDeviceCount(&num_devices));
    check(cudaSetDevice(rank % num_devices));
    by_files gather{argv[5], rank, num_ranks};
    rungs::across::window_options options{1 << 20, 64 << 10, 8, 0};
    if (what == job::differing) options.num_blocks += rank;
    rungs::across::windows windows;
    const cudaError_t error = windows.create(rank, num_ranks, std::ref(gather), options);
    if (what == job::differing) return error == cudaErrorInvalidValue && windows.num_ranks() == 0 ? 0 : 2;
    check(error);
    const std::string wrong = reduce_in_turn(windows.member(rank));
    if (!wrong.empty()) throw std::runtime_error(wrong);
    check(windows.disconnect());
    std::vector<char> all(num_ranks);
    check(gather("", all.data(), 1));  // a barrier: nobody frees what another one has opened
    check(windows.release());
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "rank %d: %s\n", rank, problem.what());
    return 1;
  }
}

}  // namespace rungs::tests::across
