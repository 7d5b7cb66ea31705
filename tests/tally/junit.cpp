#include "tally/junit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace rungs::tests::tally {
namespace {

constexpr std::string_view blanks = " \t\r\n";

// The text with its references resolved. Only ASCII is ever counted: other numbers become a question mark.
std::string decoded(std::string_view raw) {
  constexpr std::array<std::pair<std::string_view, char>, 5> named{
      {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}}};
  std::string text;
  for (std::size_t at; (at = raw.find('&')) != raw.npos;) {
    text += raw.substr(0, at);
    const std::size_t end = raw.find(';', at);
    if (end == raw.npos) throw std::runtime_error("a reference without an end");
    std::string_view name = raw.substr(at + 1, end - at - 1);
    raw.remove_prefix(end + 1);
    if (name.starts_with('#')) {
      const int base = name.starts_with("#x") ? 16 : 10;
      name.remove_prefix(base == 16 ? 2 : 1);
      unsigned number = 0;
      const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number, base);
      if (error != std::errc{} || stop != name.data() + name.size())
        throw std::runtime_error("no number: &#" + std::string(name) + ";");
      text += number < 128 ? static_cast<char>(number) : '?';
      continue;
    }
    const auto* known = named.begin();
    while (known != named.end() && known->first != name) ++known;
    if (known == named.end()) throw std::runtime_error("unknown reference &" + std::string(name) + ";");
    text += known->second;
  }
  return text += raw;
}

class parser {
 public:
  explicit parser(std::string_view xml) : rest_(xml) {}

  std::vector<junit_case> run() {
    while (!rest_.empty()) {
      if (!rest_.starts_with('<'))
        add_text(decoded(until("<", false)));
      else if (take("<![CDATA["))
        add_text(std::string(until("]]>")));
      else if (take("<!--"))
        until("-->");
      else if (take("<?"))
        until("?>");
      else if (take("<!"))
        until(">");
      else if (take("</"))
        close(until(">"));
      else if (take("<"))
        open();
    }
    if (!seen_element_) throw std::runtime_error("no XML");
    if (!path_.empty()) throw std::runtime_error("cut off within <" + path_.back() + ">");
    return std::move(cases_);
  }

 private:
  bool take(std::string_view words) {
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }
  // What stands before `mark`, which is taken too.
  std::string_view until(std::string_view mark, bool needed = true) {
    const std::size_t at = rest_.find(mark);
    if (at == rest_.npos && needed) throw std::runtime_error("cut off before " + std::string(mark));
    const std::string_view before = rest_.substr(0, at);
    rest_.remove_prefix(before.size() + (needed ? mark.size() : 0));
    return before;
  }
  std::string_view name() {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(" \t\r\n=/>"));
    if (taken.empty()) throw std::runtime_error("a name is missing");
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size())); }

  void open() {
    const std::string element(name());
    seen_element_ = true;
    if (element == "testcase") cases_.emplace_back();
    if (element == "skipped" && !path_.empty() && path_.back() == "testcase") cases_.back().skipped = true;
    for (skip_blanks(); !take(">"); skip_blanks()) {
      if (take("/>")) return;
      const std::string attribute(name());
      skip_blanks();
      if (!take("=")) throw std::runtime_error(attribute + " has no value");
      skip_blanks();
      const std::string_view quote = take("\"") ? "\"" : take("'") ? "'" : "";
      if (quote.empty()) throw std::runtime_error("the value of " + attribute + " is not quoted");
      std::string value = decoded(until(quote));
      if (element == "testcase" && attribute == "name")
        cases_.back().name = std::move(value);
      else if (element == "testcase" && attribute == "status")
        cases_.back().status = std::move(value);
    }
    path_.push_back(element);
  }
  void close(std::string_view element) {
    while (!element.empty() && blanks.find(element.back()) != blanks.npos) element.remove_suffix(1);
    if (path_.empty() || path_.back() != element)
      throw std::runtime_error("</" + std::string(element) + "> closes nothing");
    path_.pop_back();
  }
  void add_text(const std::string& text) {
    const std::size_t depth = path_.size();
    if (depth >= 2 && path_[depth - 1] == "system-out" && path_[depth - 2] == "testcase") cases_.back().output += text;
  }

  std::string_view rest_;
  std::vector<std::string> path_;  // the elements that are open
  std::vector<junit_case> cases_;
  bool seen_element_ = false;
};

}  // namespace

std::vector<junit_case> read_junit(std::string_view xml) { return parser(xml).run(); }

}  // namespace rungs::tests::tally
