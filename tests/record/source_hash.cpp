#include "record/source_hash.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace rungs::tests::record {
namespace {

// Where an #include in angle or plain quotes may lead, beside the including file's own folder.
constexpr const char* include_roots[] = {"handwritten", "cluster", "best", "library_baselines", "bench"};

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The names in a source's #include lines; comments are gone already.
std::vector<std::string> includes_in(const std::string& source) {
  std::vector<std::string> names;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    std::size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line[at] != '#') continue;
    at = line.find_first_not_of(" \t", at + 1);
    if (at == std::string::npos || line.compare(at, 7, "include") != 0) continue;
    const std::size_t open = line.find_first_of("<\"", at + 7);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close != std::string::npos) names.push_back(line.substr(open + 1, close - open - 1));
  }
  return names;
}

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

void collect(const std::filesystem::path& root, const std::string& source, std::vector<std::string>& files) {
  if (std::find(files.begin(), files.end(), source) != files.end()) return;
  files.push_back(source);
  const auto folder = std::filesystem::path(source).parent_path();
  for (const std::string& name : includes_in(without_comments(read(root / source)))) {
    std::vector<std::filesystem::path> candidates{folder / name};
    for (const char* include_root : include_roots) candidates.push_back(std::filesystem::path(include_root) / name);
    for (const auto& candidate : candidates) {
      const auto normal = candidate.lexically_normal();
      if (normal.begin()->string() == ".." || normal.is_absolute() || !std::filesystem::is_regular_file(root / normal))
        continue;
      collect(root, normal.generic_string(), files);
      break;
    }
  }
}

}  // namespace

std::string without_comments(std::string_view source) {
  std::string out;
  bool space = false, newline = false;
  const auto put = [&](char c) {
    if (c == '\n')
      newline = true;
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f')
      space = true;
    else {
      if (!out.empty() && newline)
        out += '\n';
      else if (!out.empty() && space)
        out += ' ';
      space = newline = false;
      out += c;
    }
  };
  const auto raw = [&](char c) {  // inside a literal
    put('x');
    out.back() = c;
  };
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    if (c == '/' && source.substr(i, 2) == "//") {
      // A backslash at the end of the line continues the comment.
      while (i < source.size() && !(source[i] == '\n' && source[i - 1] != '\\')) ++i;
    } else if (c == '/' && source.substr(i, 2) == "/*") {
      const std::size_t end = source.find("*/", i + 2);
      i = end == std::string_view::npos ? source.size() : end + 2;
      put(' ');
    } else if (c == '"' && i > 0 && source[i - 1] == 'R') {  // R"tag( ... )tag"
      const std::size_t open = source.find('(', i);
      std::string close;
      if (open != std::string_view::npos)
        close.append(1, ')').append(source.substr(i + 1, open - i - 1)).append(1, '"');
      const std::size_t end = close.empty() ? std::string_view::npos : source.find(close, open);
      const std::size_t stop = end == std::string_view::npos ? source.size() : end + close.size();
      for (; i < stop; ++i) raw(source[i]);
    } else if (c == '"' ||
               (c == '\'' &&
                !(i > 0 && std::isalnum(static_cast<unsigned char>(source[i - 1]))))) {  // 1'000 is no literal
      raw(source[i++]);
      while (i < source.size() && source[i] != c && source[i] != '\n') {
        if (source[i] == '\\' && i + 1 < source.size()) raw(source[i++]);
        raw(source[i++]);
      }
      if (i < source.size() && source[i] == c) raw(source[i++]);
    } else {
      put(c);
      ++i;
    }
  }
  if (!out.empty()) out += '\n';
  return out;
}

std::vector<std::string> sources_of(const std::filesystem::path& root, const std::string& source) {
  std::vector<std::string> files;
  collect(root, source, files);
  return files;
}

std::string hash_of(const std::filesystem::path& root, const std::string& source, std::string_view compile_flags) {
  std::uint64_t hash = fnv1a(compile_flags, 0xcbf29ce484222325ull);
  for (const std::string& file : sources_of(root, source)) {
    hash = fnv1a(file, hash);
    hash = fnv1a(std::string_view("\0", 1), hash);
    hash = fnv1a(without_comments(read(root / file)), hash);
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[hash >> shift & 15];
  return text;
}

}  // namespace rungs::tests::record
