#include "tally/summary.hpp"

#include <charconv>
#include <initializer_list>

#include "lines.hpp"

namespace rungs::tests::tally {
namespace {

// A line, read from its left. What does not fit is left where it is.
class reader {
 public:
  explicit reader(std::string_view line) : rest_(line) {}

  bool take(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }
  bool take_one_of(std::initializer_list<std::string_view> choices) {
    for (const std::string_view words : choices)
      if (take(words)) return true;
    return false;
  }
  // As many of these characters as there are.
  std::string_view take_all(std::string_view characters) {
    const std::string_view taken = rest_.substr(0, rest_.find_first_not_of(characters));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  bool take(int& number) {
    const std::string_view digits = take_all("0123456789");
    return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{};
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// "3 passed, 0 failed, 1 skipped", and nothing else.
std::optional<counts> ours(reader line) {
  counts c;
  if (line.take(c.passed) && line.take(" passed, ") && line.take(c.failed) && line.take(" failed, ") &&
      line.take(c.skipped) && line.take(" skipped") && line.at_end())
    return c;
  return std::nullopt;
}

// "[==========] 5 tests from 2 test suites ran. (3 ms total)"
bool ends_googletest(reader line) {
  int number = 0;
  return line.take("[==========] ") && line.take(number) && line.take_one_of({" tests from ", " test from "}) &&
         line.take(number) &&
         line.take_one_of({" test suites ran", " test suite ran", " test cases ran", " test case ran"});
}

// "[  PASSED  ] 4 tests." or "[  FAILED  ] 1 test, listed below:", but not "[  FAILED  ] suite.name"
void read_googletest(reader line, counts& c) {
  if (!line.take("[  ")) return;
  int* const count = line.take("PASSED")    ? &c.passed
                     : line.take("FAILED")  ? &c.failed
                     : line.take("SKIPPED") ? &c.skipped
                                            : nullptr;
  int number = 0;
  line.take_all(" ");
  if (count != nullptr && line.take("] ") && line.take(number) &&
      line.take_one_of({" tests.", " tests,", " test.", " test,"}))
    *count = number;
}

// "===== 1 failed, 41 passed, 2 xfailed in 8.15s =====", with or without the rules
std::optional<counts> pytest(reader line) {
  if (!line.take_all("=").empty() && !line.take(" ")) return std::nullopt;
  counts c;
  int number = 0, kinds = 0;
  for (; line.take(number); ++kinds) {
    if (line.take_one_of({" failed", " errors", " error", " xpassed"}))
      c.failed += number;
    else if (line.take_one_of({" skipped", " xfailed"}))
      c.skipped += number;
    else if (line.take(" passed"))
      c.passed += number;
    else if (!line.take_one_of({" deselected", " warnings", " warning"}))
      return std::nullopt;
    line.take(", ");
  }
  if (kinds == 0 || !line.take(" in ") || line.take_all("0123456789.").empty() || !line.take("s")) return std::nullopt;
  return c;
}

}  // namespace

std::optional<counts> read_summary(std::string_view output) {
  std::optional<counts> last_of_ours, last_of_pytest;
  counts googletest;
  bool googletest_ended = false;
  for (const std::string_view line : lines(output)) {
    if (const auto c = ours(reader(line))) last_of_ours = c;
    if (const auto c = pytest(reader(line))) last_of_pytest = c;
    read_googletest(reader(line), googletest);
    googletest_ended = googletest_ended || ends_googletest(reader(line));
  }
  if (last_of_ours) return last_of_ours;
  if (googletest_ended) return googletest;
  return last_of_pytest;
}

}  // namespace rungs::tests::tally
