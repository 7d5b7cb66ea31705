#include "resources/ptxas.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace rungs::tests::resources {
namespace {

// The number before `unit`, in a line like "0 bytes stack frame, 0 bytes spill stores".
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return -1;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = -1;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, number);
  if (error != std::errc{} || stop != line.data() + end)
    throw std::runtime_error("no number before '" + std::string(unit) + "' in: " + std::string(line));
  return number;
}

std::string quoted(std::string_view line, std::size_t nth) {
  std::size_t open = std::string_view::npos, at = 0;
  for (std::size_t i = 0; i <= nth; ++i) {
    open = line.find('\'', at);
    const std::size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
    if (close == std::string_view::npos) throw std::runtime_error("no name in: " + std::string(line));
    if (i == nth) return std::string(line.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return {};
}

}  // namespace

bool kernel::ours() const { return mangled.starts_with("_ZN5rungs"); }

std::vector<kernel> parse(std::string_view report) {
  std::vector<kernel> kernels;
  std::string described;  // whose properties the next line holds
  kernel* entry = nullptr;
  for (std::size_t begin = 0; begin < report.size();) {
    const std::size_t end = std::min(report.find('\n', begin), report.size());
    const std::string_view line = report.substr(begin, end - begin);
    begin = end + 1;
    constexpr std::string_view properties = "Function properties for ";
    if (line.find("Compiling entry function '") != std::string_view::npos) {
      kernels.push_back({.mangled = quoted(line, 0), .architecture = quoted(line, 1), .is_entry = true});
      entry = &kernels.back();
    } else if (const std::size_t at = line.find(properties); at != std::string_view::npos) {
      described = line.substr(at + properties.size());
    } else if (line.find("bytes stack frame") != std::string_view::npos) {
      if (described.empty()) throw std::runtime_error("whose stack frame is this? " + std::string(line));
      kernel* it = entry;
      if (entry == nullptr || entry->mangled != described) {  // a device function that was not inlined
        const std::string architecture = entry != nullptr ? entry->architecture : "";
        const std::size_t entry_index = entry != nullptr ? static_cast<std::size_t>(entry - kernels.data()) : 0;
        kernels.push_back({.mangled = described, .architecture = architecture, .registers = 0});
        if (entry != nullptr) entry = &kernels[entry_index];
        it = &kernels.back();
      }
      it->stack_bytes = number_before(line, "bytes stack frame");
      it->spill_store_bytes = number_before(line, "bytes spill stores");
      it->spill_load_bytes = number_before(line, "bytes spill loads");
      described.clear();
    } else if (line.find("Used ") != std::string_view::npos && line.find(" registers") != std::string_view::npos) {
      if (entry == nullptr) throw std::runtime_error("whose registers are these? " + std::string(line));
      entry->registers = number_before(line, "registers");
      if (line.find("bytes smem") != std::string_view::npos) entry->shared_bytes = number_before(line, "bytes smem");
    }
  }
  return kernels;
}

judgement judge(const std::vector<kernel>& kernels) {
  judgement j;
  for (const kernel& k : kernels) {
    if (!k.ours()) {
      ++j.others;
      continue;
    }
    ++j.ours;
    const std::string where = k.mangled + " (" + k.architecture + "): ";
    if (!k.complete())
      j.complaints.push_back(where + "the report is incomplete");
    else if (k.stack_bytes != 0 || k.spill_store_bytes != 0 || k.spill_load_bytes != 0)
      j.complaints.push_back(where + std::to_string(k.stack_bytes) + " bytes stack frame, " +
                             std::to_string(k.spill_store_bytes) + " bytes spill stores, " +
                             std::to_string(k.spill_load_bytes) + " bytes spill loads");
  }
  return j;
}

}  // namespace rungs::tests::resources
