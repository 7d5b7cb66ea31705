#include "tally/tally.hpp"

#include <algorithm>
#include <stdexcept>

#include "lines.hpp"
#include "tally/junit.hpp"
#include "text.hpp"

namespace rungs::tests::tally {
namespace {

namespace fs = std::filesystem;

struct program {
  std::string name, output;
  ending how;
  bool on_gpu;
};

std::vector<program> from_junit(const fs::path& file) {
  std::vector<program> programs;
  for (junit_case& c : read_junit(contents(file))) {
    const bool skipped = c.skipped || c.status == "notrun" || c.status == "disabled";
    const ending how = skipped ? ending::skipped : c.status == "fail" ? ending::failed : ending::passed;
    programs.push_back({std::move(c.name), std::move(c.output), how, file.stem() == "gpu"});
  }
  return programs;
}

std::vector<program> from_log(const fs::path& file) {
  const std::string text_of_it = contents(fs::path(file).replace_extension(".status"));
  const auto written = lines(text_of_it);
  if (written.size() != 1 || written[0].find_first_not_of("0123456789") != written[0].npos)
    throw std::runtime_error("its exit status is not beside it");
  const ending how = written[0] == "0" ? ending::passed : written[0] == "77" ? ending::skipped : ending::failed;
  const std::string name = file.stem().string();
  return {{name, contents(file), how, name.starts_with("gpu")}};
}

// Tests are skipped for other reasons too, such as a compute capability or a library's known fault, and say so; a
// program that was skipped as a whole may say nothing.
bool for_want_of_a_gpu(const program& p) {
  return p.output.find("no usable GPU") != p.output.npos || !read_summary(p.output);
}

}  // namespace

counts judge(std::string_view output, ending how) {
  const auto found = read_summary(output);
  if (!found) return {how == ending::passed, how == ending::failed, how == ending::skipped};
  counts c = *found;
  if (how == ending::failed && c.failed == 0) c.failed = 1;  // it died after or outside of its tests
  if (how == ending::skipped && c.sum() == 0) c.skipped = 1;
  return c;
}

total tally(const fs::path& folder, bool require_gpu) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const auto kind = entry.path().extension(); kind == ".xml" || kind == ".log") files.push_back(entry.path());
  std::ranges::sort(files, {}, [](const fs::path& file) { return std::pair(file.extension() == ".log", file); });

  total t;
  for (const fs::path& file : files) {
    try {
      for (const program& p : file.extension() == ".xml" ? from_junit(file) : from_log(file)) {
        counts c = judge(p.output, p.how);
        if (p.on_gpu && require_gpu && c.skipped > 0 && for_want_of_a_gpu(p)) {
          t.remarks.push_back(text(p.name, ": ", c.skipped, " skipped, but a GPU is required"));
          c = {c.passed, c.failed + c.skipped, 0};
        } else if (c.failed > 0) {
          t.remarks.push_back(text(p.name, ": ", c.failed, " failed"));
        }
        t.sum += c;
      }
    } catch (const std::exception& problem) {
      t.remarks.push_back(text(file.filename().string(), ": ", problem.what()));
      t.sum.failed += 1;
    }
  }
  if (t.sum.sum() == 0) {
    t.remarks.push_back("no test was run");
    t.sum.failed = 1;
  }
  return t;
}

}  // namespace rungs::tests::tally
