// rungs_record: looks after tests/gpu_record.json without a GPU.
#include <cstdlib>
#include <iostream>
#include <string>

#include "record/tree.hpp"

namespace {

constexpr auto help =
    R"(rungs_record check [FILE]     is every record of the catalog in the GPU record, as its sources are now?
rungs_record pending [FILE]   enters missing and stale ones as pending, and drops what is no longer built

FILE is tests/gpu_record.json unless given. Only `rungs_gpu_tests --record FILE`, on a GPU, enters what passed.
check: 0 in order (pending ones are counted and named), 1 missing, stale or superfluous ones, 2 usage.
)";

void print(const std::string& what, const std::vector<std::string>& names) {
  for (const std::string& name : names) std::cout << "  " << what << ": " << name << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rungs::tests::record;
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "--help") {
    std::cout << help;
    return 0;
  }
  if (argc < 2 || argc > 3 || (verb != "check" && verb != "pending")) {
    std::cerr << help;
    return 2;
  }
  try {
    const auto file = argc == 3 ? std::filesystem::path(argv[2]) : default_file();
    const auto now = subjects_of_catalog();
    if (now.empty()) throw std::runtime_error("the catalog is empty");
    if (verb == "pending") write(file, with_pending(read(file), now));
    const state s = compare(read(file), now);
    print("missing", s.missing);
    print("stale", s.stale);
    print("not built any more", s.superfluous);
    print("pending", s.pending);
    std::cout << "GPU record: " << s.passed << " passed, " << s.pending.size() << " pending, " << s.stale.size()
              << " stale, " << s.missing.size() << " missing, " << s.superfluous.size() << " not built any more\n";
    if (!s.good()) {
      std::cout << "On a GPU, `tests/run --record --changed` runs them; without one, `rungs_record pending` enters "
                   "them as pending.\n";
      return 1;
    }
  } catch (const std::exception& error) {
    std::cerr << "rungs_record: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
